//! Every call failing, every point of stopping: no acknowledged event is ever lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::kind::Kind;
use ken_ledger::check::Severity;
use ken_ledger::{GitView, Ledger, Parts};

use crate::sample;
use crate::sim::{Disk, Fault};
use crate::support::{Counting, StillGit, is_long, lines};

/// Ways a restart may treat what was not synced, tried at each point of stopping.
fn restarts() -> u64 {
    if is_long() { 100 } else { 4 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    InGit,
    Outside,
}

fn open(disk: &Disk, place: Where, git: &Arc<StillGit>, boot: &str) -> Ledger {
    let local = match place {
        Where::InGit => "git",
        Where::Outside => "ken/.local",
    };
    Ledger::with_parts(Parts {
        ken: disk.dir("ken"),
        local: disk.dir(local),
        worktree: disk.dir(local),
        git: (place == Where::InGit).then(|| Arc::clone(git) as Arc<dyn GitView>),
        boot: Some(boot.to_owned()),
    })
}

/// What a caller was told.
#[derive(Default)]
struct Told {
    acknowledged: BTreeMap<EventId, Recorded>,
    tried: BTreeSet<EventId>,
    /// Blanking was asked for, and whether it was said to be done.
    blanked: Option<(EventId, bool)>,
}

/// Writes in several processes, moves HEAD, packs outside git, blanks; goes on after failures.
fn story(disk: &Disk, place: Where, git: &Arc<StillGit>) -> Told {
    let mut told = Told::default();
    let mut ids = Counting(0);
    let kinds = [Kind::Learning, Kind::Learning, Kind::CommitNorm];
    let mut n = 0;
    for process in 0..4 {
        let ledger = open(disk, place, git, "first");
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

/// Compares what a new process reads with what callers were told.
fn verify(ledger: &Ledger, told: &Told, context: &str) {
    let mut found: BTreeMap<EventId, Vec<Recorded>> = BTreeMap::new();
    for line in lines(ledger) {
        let event = Recorded::parse(line.as_bytes())
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
                    copies.iter().all(Recorded::is_blanked),
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
        .filter(|f| f.severity == Severity::Damage)
        .collect();
    let blanking = told.blanked.is_some_and(|(_, done)| !done);
    assert!(damage.is_empty() || blanking, "{context}: {damage:?}");
}

fn every_call(place: Where, fault: Fault) {
    for call in 1.. {
        let (disk, git) = (Disk::default(), StillGit::new());
        disk.plan(call, fault);
        let told = story(&disk, place, &git);
        if !disk.was_hit() {
            assert!(50 < call, "the story ran to its end after {call} calls");
            break;
        }
        let context = format!("{place:?}, {fault:?} at call {call}, {}", disk.hit());
        if !disk.has_stopped() {
            let ledger = open(&disk, place, &git, "first");
            ledger.heal();
            verify(&ledger, &told, &context);
        }
        for seed in 0..restarts() {
            let context = format!("{context}, restart {seed}");
            let disk = disk.restarted(seed);
            let ledger = open(&disk, place, &git, "second");
            ledger.heal();
            verify(&ledger, &told, &context);
            go_on(&disk, place, &git, &told, &context);
        }
    }
}

/// Writes after the restart, which must work and hurt nothing.
fn go_on(disk: &Disk, place: Where, git: &Arc<StillGit>, told: &Told, context: &str) {
    let mut ids = Counting(1 << 40);
    let event = sample::event(999);
    let ledger = open(disk, place, git, "second");
    let batch = std::slice::from_ref(&event);
    ledger
        .append(batch, sample::start(), &mut ids)
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    let mut told = Told {
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
    verify(&open(disk, place, git, "second"), &told, context);
}

#[test]
fn no_failing_call_loses_an_acknowledged_event_in_git() {
    every_call(Where::InGit, Fault::Fails);
    every_call(Where::InGit, Fault::ShortWrite);
}

#[test]
fn no_failing_call_loses_an_acknowledged_event_outside_git() {
    every_call(Where::Outside, Fault::Fails);
    every_call(Where::Outside, Fault::ShortWrite);
}

#[test]
fn no_power_cut_loses_an_acknowledged_event_in_git() {
    every_call(Where::InGit, Fault::StopsBefore);
    every_call(Where::InGit, Fault::StopsAfter);
}

#[test]
fn no_power_cut_loses_an_acknowledged_event_outside_git() {
    every_call(Where::Outside, Fault::StopsBefore);
    every_call(Where::Outside, Fault::StopsAfter);
}
