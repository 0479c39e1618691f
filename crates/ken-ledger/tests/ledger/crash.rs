//! Crash tests: every call fails and the machine stops at every point; no acknowledged event is
//! lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::EventId;
use ken_core::values::kind::EntryKind;
use ken_ledger::check::LedgerSeverity;
use ken_ledger::{GitView, Ledger, LedgerParts};

use crate::sample;
use crate::sim::{DiskFault, SimulatedDisk};
use crate::support::{CountingIds, SimulatedGit, is_long, ledger_lines};

/// Returns the number of random crash outcomes tried at each stopping point.
fn restart_count() -> u64 {
    if is_long() { 100 } else { 4 }
}

/// Location of the ledger's local state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalStateLocation {
    InGit,
    Outside,
}

fn open_ledger(
    disk: &SimulatedDisk,
    place: LocalStateLocation,
    git: &Arc<SimulatedGit>,
    boot: &str,
) -> Ledger {
    let local = match place {
        LocalStateLocation::InGit => "git",
        LocalStateLocation::Outside => "ken/.local",
    };
    Ledger::with_parts(LedgerParts {
        ken: disk.dir("ken"),
        local: disk.dir(local),
        worktree: disk.dir(local),
        git: (place == LocalStateLocation::InGit).then(|| Arc::clone(git) as Arc<dyn GitView>),
        boot: Some(boot.to_owned()),
    })
}

/// Results that callers received.
#[derive(Default)]
struct CallerResults {
    acknowledged: BTreeMap<EventId, RecordedEvent>,
    tried: BTreeSet<EventId>,
    /// A requested redaction, and whether it was reported as done.
    blanked: Option<(EventId, bool)>,
}

/// Writes in several processes, moves HEAD, packs outside git and redacts; continues after
/// failures.
fn write_through_faults(
    disk: &SimulatedDisk,
    place: LocalStateLocation,
    git: &Arc<SimulatedGit>,
) -> CallerResults {
    let mut told = CallerResults::default();
    let mut ids = CountingIds(0);
    let kinds = [
        EntryKind::Learning,
        EntryKind::Learning,
        EntryKind::CommitNorm,
    ];
    let mut n = 0;
    for process in 0..4 {
        let ledger = open_ledger(disk, place, git, "first");
        for size in [1, 3] {
            let batch: Vec<_> = (0..size)
                .map(|at| {
                    n += 1;
                    sample::event_of(n, kinds[at])
                })
                .collect();
            told.tried.extend(batch.iter().map(|event| event.event.id));
            if ledger.append(&batch, sample::start(), &mut ids).is_ok() {
                let events = batch.into_iter().map(|event| (event.event.id, event));
                told.acknowledged.extend(events);
            }
        }
        if process == 1 {
            git.say(|said| said.token = "2".into());
        }
        if process == 2 {
            let event = sample::event(1).event.id;
            let done = ledger
                .blank(&BTreeSet::from([event]), sample::start(), &mut ids)
                .is_ok();
            told.blanked = Some((event, done));
        }
        if disk.has_stopped() {
            break;
        }
    }
    told
}

/// Compares the events that a new process reads with the results that callers received.
fn verify_results(ledger: &Ledger, told: &CallerResults, context: &str) {
    let mut found: BTreeMap<EventId, Vec<RecordedEvent>> = BTreeMap::new();
    for line in ledger_lines(ledger) {
        let event = RecordedEvent::parse(line.as_bytes())
            .unwrap_or_else(|error| panic!("{context}: a reader saw a bad line: {error}"));
        found.entry(event.event.id).or_default().push(event);
    }
    for (id, event) in &told.acknowledged {
        let copies = found
            .get(id)
            .unwrap_or_else(|| panic!("{context}: {id} is lost"));
        match told.blanked {
            Some((blanked, true)) if blanked == *id => {
                assert!(
                    copies.iter().all(RecordedEvent::is_redacted),
                    "{context}: {id} is back"
                );
            }
            Some((blanked, false)) if blanked == *id => {}
            _ => assert!(copies.contains(event), "{context}: {id} differs"),
        }
    }
    for id in found.keys() {
        assert!(told.tried.contains(id), "{context}: {id} was never written");
    }
    let damage = ledger.check().unwrap().findings;
    let damage: Vec<_> = damage
        .iter()
        .filter(|f| f.severity == LedgerSeverity::Damage)
        .collect();
    let blanking = told.blanked.is_some_and(|(_, done)| !done);
    assert!(damage.is_empty() || blanking, "{context}: {damage:?}");
}

fn fail_every_call(place: LocalStateLocation, fault: DiskFault) {
    for call in 1.. {
        let (disk, git) = (SimulatedDisk::default(), SimulatedGit::new());
        disk.plan(call, fault);
        let told = write_through_faults(&disk, place, &git);
        if !disk.was_fault_reached() {
            assert!(call > 50, "the story ran to its end after {call} calls");
            break;
        }
        let context = format!("{place:?}, {fault:?} at call {call}, {}", disk.hit());
        if !disk.has_stopped() {
            let ledger = open_ledger(&disk, place, &git, "first");
            ledger.heal();
            verify_results(&ledger, &told, &context);
        }
        for seed in 0..restart_count() {
            let context = format!("{context}, restart {seed}");
            let disk = disk.restarted(seed);
            let ledger = open_ledger(&disk, place, &git, "second");
            ledger.heal();
            verify_results(&ledger, &told, &context);
            write_after_restart(&disk, place, &git, &told, &context);
        }
    }
}

/// Writes after the restart, which must succeed and damage nothing.
fn write_after_restart(
    disk: &SimulatedDisk,
    place: LocalStateLocation,
    git: &Arc<SimulatedGit>,
    told: &CallerResults,
    context: &str,
) {
    let mut ids = CountingIds(1 << 40);
    let event = sample::event(999);
    let ledger = open_ledger(disk, place, git, "second");
    let batch = std::slice::from_ref(&event);
    ledger
        .append(batch, sample::start(), &mut ids)
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    let mut told = CallerResults {
        acknowledged: told.acknowledged.clone(),
        tried: told.tried.clone(),
        blanked: told.blanked,
    };
    if let Some((id, false)) = told.blanked {
        ledger
            .blank(&BTreeSet::from([id]), sample::start(), &mut ids)
            .unwrap_or_else(|e| panic!("{context}: {e}"));
        told.blanked = Some((id, true));
    }
    told.tried.insert(event.event.id);
    told.acknowledged.insert(event.event.id, event);
    verify_results(&open_ledger(disk, place, git, "second"), &told, context);
}

#[test]
fn no_failing_call_loses_an_acknowledged_event_in_git() {
    fail_every_call(LocalStateLocation::InGit, DiskFault::CallFails);
    fail_every_call(LocalStateLocation::InGit, DiskFault::ShortWrite);
}

#[test]
fn no_failing_call_loses_an_acknowledged_event_outside_git() {
    fail_every_call(LocalStateLocation::Outside, DiskFault::CallFails);
    fail_every_call(LocalStateLocation::Outside, DiskFault::ShortWrite);
}

#[test]
fn no_power_cut_loses_an_acknowledged_event_in_git() {
    fail_every_call(LocalStateLocation::InGit, DiskFault::StopsBefore);
    fail_every_call(LocalStateLocation::InGit, DiskFault::StopsAfter);
}

#[test]
fn no_power_cut_loses_an_acknowledged_event_outside_git() {
    fail_every_call(LocalStateLocation::Outside, DiskFault::StopsBefore);
    fail_every_call(LocalStateLocation::Outside, DiskFault::StopsAfter);
}
