//! Coverage of the generated histories: a law proves nothing if its situation never occurs.

use std::collections::BTreeMap;

use ken_core::ledger::event::{
    ArchiveReason, Archived, Confirmed, Linked, QuarantineLifted, Restored,
};
use ken_core::ledger::state::{EventSet, LedgerState};

use super::*;

/// Number of sampled histories.
const SAMPLE: usize = 400;

fn sample(manners: WriterStyle) -> Vec<EventHistory> {
    let mut numbers = SeededNumbers(7);
    (0..SAMPLE)
        .map(|i| {
            // The lengths vary, so that short histories are covered, too.
            let steps: Vec<u64> = (0..=i % STEPS_LIGHT).map(|_| numbers.next()).collect();
            generate_history(manners, &steps)
        })
        .collect()
}

/// Returns the names of all interesting situations in a history.
fn situations(history: &EventHistory) -> Vec<&'static str> {
    let mut set = EventSet::with_redacted(history.remembered.iter().copied());
    history.copies.iter().for_each(|copy| set.add(copy.clone()));
    let events: Vec<Event> = set.events().map(|copy| copy.event).collect();
    let state = set.fold();
    let mut found = in_events(history, &events);
    found.extend(in_entries(&state, &events));
    found.extend(in_workspace(&state));
    found
}

fn in_events(history: &EventHistory, events: &[Event]) -> Vec<&'static str> {
    let any = |test: &dyn Fn(&Event) -> bool| events.iter().any(test);
    let copies = &history.copies;
    let twice =
        |a: &RecordedEvent, b: &RecordedEvent| a.event.id == b.event.id && a.line() != b.line();
    let met = [
        ("in 2099", any(&|e| e.at.wall.millis() > 4_000_000_000_000)),
        (
            "a blanked event",
            any(&|e| matches!(e.body, EventBody::Blanked { .. })),
        ),
        (
            "an order by nobody who may",
            any(&|e| e.body.type_name() == "event.blanked" && redaction_target(e).is_none()),
        ),
        (
            "an unknown type",
            any(&|e| matches!(e.body, EventBody::Unknown { .. })),
        ),
        ("an unknown field", any(&|e| e.unknown_fields > 0)),
        (
            "a confirmation withdrawn",
            any(&|e| {
                e.get::<Confirmed>()
                    .is_some_and(|d| !d.withdraws.is_empty())
            }),
        ),
        (
            "a link withdrawn",
            any(&|e| e.get::<Linked>().is_some_and(|d| !d.withdraws.is_empty())),
        ),
        ("restored", any(&|e| e.get::<Restored>().is_some())),
        (
            "lifted by a person",
            any(&|e| e.by.is_human() && e.get::<QuarantineLifted>().is_some()),
        ),
        (
            "an unauthorized blanked copy",
            copies
                .iter()
                .any(|c| c.is_redacted() && any(&|e| e.id == c.event.id && e.salt.is_some())),
        ),
        (
            "two full copies that differ",
            copies.iter().enumerate().any(|(i, a)| {
                let full = |b: &&RecordedEvent| !a.is_redacted() && !b.is_redacted();
                copies[..i].iter().filter(full).any(|b| twice(a, b))
            }),
        ),
        ("remembered as blanked", !history.remembered.is_empty()),
        ("reworded knowingly", !history.rewordings.is_empty()),
    ];
    met.iter()
        .filter(|(_, met)| *met)
        .map(|(n, _)| *n)
        .collect()
}

fn in_entries(state: &LedgerState, events: &[Event]) -> Vec<&'static str> {
    let any = |test: &dyn Fn(&Entry) -> bool| state.entries.values().any(test);
    // Archived by decay, not restored and yet not archived: a confirmation voided it.
    let void = |entry: &Entry| {
        events.iter().any(|event| {
            let decay = event.get::<Archived>();
            let ours = event.entries().any(|id| id == entry.id);
            ours && decay.is_some_and(|d| d.because == ArchiveReason::Decay)
                && !standing(entry).contains(&event.id)
                && !events.iter().any(|e| {
                    let restored = e.get::<Restored>();
                    restored.is_some_and(|d| d.undoes.contains(&event.id))
                })
        })
    };
    let met = [
        ("two entries or more", state.entries.len() > 1),
        ("concurrent wordings", any(&|e| !e.concurrent.is_empty())),
        (
            "a revision on several heads",
            any(&|e| e.revision.len() > 1),
        ),
        (
            "several heads of a status",
            any(&|e| e.status.heads.len() > 1),
        ),
        (
            "a changed scope",
            any(&|e| e.scope.value != Default::default()),
        ),
        ("archived", any(&|e| e.archived.is_some())),
        ("archiving that is void", any(&void)),
        ("retracted", any(&|e| e.retracted.is_some())),
        ("a tombstone", any(&Entry::is_tombstone)),
        ("quarantined", any(&|e| !e.quarantine.is_empty())),
        ("read-only", any(&Entry::is_read_only)),
        ("a collision", any(&|e| !e.history.collisions.is_empty())),
        ("no wording", any(&|e| e.content.is_none())),
        ("merged away", any(&|e| e.merged_into.is_some())),
        ("merged in", any(&|e| !e.merged_from.is_empty())),
        ("superseded", any(&|e| e.superseded_by.is_some())),
        ("linked", any(&|e| !e.links.is_empty())),
        ("overlaid", any(&|e| !e.overlays.is_empty())),
        (
            "confirmed independently",
            any(&|e| e.confirmation.independent > 0),
        ),
        ("confirmed by hand", any(&|e| e.confirmation.manual > 0)),
        ("primed agreement", any(&|e| e.confirmation.primed > 0)),
        ("cited again", any(&|e| e.citations.len() > 1)),
        ("tallied", any(&|e| !e.tallies.days.is_empty())),
        ("reset", any(&|e| e.tallies.reset.is_some())),
        ("live", any(&Entry::is_live)),
    ];
    met.iter()
        .filter(|(_, met)| *met)
        .map(|(n, _)| *n)
        .collect()
}

fn standing(entry: &Entry) -> &[EventId] {
    entry.archived.as_ref().map_or(&[], |a| &a.events)
}

fn in_workspace(state: &LedgerState) -> Vec<&'static str> {
    let workspace = &state.workspace;
    let settings = &workspace.settings;
    let met = [
        ("a setting", !settings.is_empty()),
        (
            "several heads of a setting",
            settings.values().any(|s| s.heads.len() > 1),
        ),
        ("a revoked source", !workspace.revoked.is_empty()),
        ("a dismissed pair", !workspace.dismissed.is_empty()),
        ("a contradiction", !workspace.contradictions.is_empty()),
        ("a peer", !workspace.peers.is_empty()),
    ];
    met.iter()
        .filter(|(_, met)| *met)
        .map(|(n, _)| *n)
        .collect()
}

fn count_situations(manners: WriterStyle) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for history in sample(manners) {
        for situation in situations(&history) {
            *counts.entry(situation).or_default() += 1;
        }
    }
    counts
}

/// Every situation occurs in at least one percent of the histories, the common ones in 8 percent.
#[test]
fn everything_worth_testing_happens() {
    // The number of situations named above; each must occur.
    const NAMES: usize = 44;
    let counts = count_situations(WriterStyle::Any);
    assert_eq!(counts.len(), NAMES, "{counts:#?}");
    for (situation, count) in &counts {
        assert!(*count >= SAMPLE / 100, "{situation}: {count} of {SAMPLE}");
    }
    for common in [
        "two entries or more",
        "concurrent wordings",
        "a blanked event",
        "archived",
        "quarantined",
        "read-only",
        "in 2099",
        "live",
    ] {
        assert!(
            counts[common] >= SAMPLE / 12,
            "{common}: {}",
            counts[common]
        );
    }
}

#[test]
fn honest_histories_have_no_forgeries() {
    let counts = count_situations(WriterStyle::Honest);
    for foul in [
        "an unknown type",
        "an unknown field",
        "two full copies that differ",
        "an unauthorized blanked copy",
        "a collision",
        "read-only",
    ] {
        assert_eq!(counts.get(foul), None);
    }
    assert!(counts["reworded knowingly"] > SAMPLE / 4);
}

#[test]
fn the_same_numbers_give_the_same_history() {
    let lines = |history: &EventHistory| -> Vec<String> {
        let lines = history.copies.iter().map(|copy| copy.line().to_owned());
        lines.collect()
    };
    for (one, two) in sample(WriterStyle::Any)
        .iter()
        .zip(&sample(WriterStyle::Any))
    {
        assert_eq!(lines(one), lines(two));
    }
}

#[test]
fn our_own_sum_is_the_one_the_core_writes() {
    for history in sample(WriterStyle::Honest) {
        for copy in history.copies {
            let envelope = serde_json::from_str(copy.line()).expect("a line is JSON");
            assert_eq!(seal(envelope), copy.line());
        }
    }
}
