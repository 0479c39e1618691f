//! Reference trace of rediscoveries: one scan per run, for histories with few runs.

use std::collections::BTreeSet;

use ken_core::ledger::event::{
    Confirmed, Event, Proposed, Provenance, Reanchored, Revised, RunEffects,
};
use ken_core::ledger::rediscovery::{
    CHANCES_KEPT, RediscoveryChance, RediscoveryTrace, UNSEEN_MAX, run_tag,
};
use ken_core::values::anchor::Anchor;
use ken_core::values::citation::CitationType;
use ken_core::values::id::EntryId;

use super::events_of_type;

/// Returns the trace of an entry; `standing` are the confirmations that were not withdrawn.
pub(super) fn rediscovery(
    id: EntryId,
    events: &[&Event],
    standing: &[(&Event, &Confirmed)],
) -> RediscoveryTrace {
    let proposals = events_of_type::<Proposed>(events);
    let proposed = proposals.first().map(|(_, data)| *data);
    let source = proposed.and_then(|data| data.run.clone()).map(|run| run.id);
    let finds: Vec<(usize, &str)> = standing
        .iter()
        .filter(|(_, data)| data.provenance == Provenance::Independent)
        .filter_map(|(event, data)| Some((position(events, event), data.run.as_deref()?)))
        .collect();
    let agreed = finds.iter().any(|(_, run)| source.as_deref() == Some(run));
    let chances: Vec<(usize, &str, u32)> = events_of_type::<RunEffects>(events)
        .into_iter()
        .flat_map(|(event, data)| {
            let own = data
                .effects
                .iter()
                .filter(|it| it.entry == id && it.blind > 0);
            own.map(move |it| (event, data.run.as_str(), it.blind.max(it.unseen)))
        })
        .map(|(event, run, unseen)| (position(events, event), run, unseen))
        .collect();
    let named = chances.iter().map(|(_, run, _)| *run);
    let runs: BTreeSet<&str> = named.chain(finds.iter().map(|(_, run)| *run)).collect();
    let mut found = Vec::new();
    for run in runs
        .into_iter()
        .filter(|run| source.as_deref() != Some(run))
    {
        let unseen = chances.iter().filter(|it| it.1 == run).map(|it| it.2).max();
        let first_chance = chances.iter().filter(|it| it.1 == run).map(|it| it.0);
        let first_find = finds.iter().filter(|it| it.1 == run).map(|it| it.0);
        let first = first_chance
            .chain(first_find)
            .min()
            .expect("a run has an event");
        let chance = RediscoveryChance {
            run: run_tag(run),
            unseen: unseen.unwrap_or(1).min(UNSEEN_MAX),
            found: finds.iter().any(|it| it.1 == run),
            changed: false,
        };
        found.push((first, chance));
    }
    found.sort_by_key(|(first, _)| *first);
    assert!(found.len() <= CHANCES_KEPT, "this fold keeps everything");
    let mut is_pending = false;
    for at in code_changes(events) {
        // The first chance after the change carries it.
        match found.iter_mut().find(|(first, _)| *first > at) {
            Some((_, chance)) => chance.changed = true,
            None => is_pending = true,
        }
    }
    let count = |test: &dyn Fn(&RediscoveryChance) -> bool| {
        let count = found.iter().filter(|(_, chance)| test(chance)).count();
        u32::try_from(count).expect("few chances")
    };
    RediscoveryTrace {
        alone: proposed.is_some_and(has_only_own_words) && !agreed,
        found: count(&|chance| chance.found),
        chances: count(&|_| true),
        earlier: None,
        recent: found.iter().map(|(_, chance)| *chance).collect(),
        changed: is_pending,
    }
}

/// Returns whether an entry cites nothing but the run that added it.
fn has_only_own_words(proposed: &Proposed) -> bool {
    proposed.run.as_ref().is_some_and(|run| {
        proposed.citations.iter().all(|it| {
            it.evidence_type == CitationType::Transcript && it.evidence_ref.as_str() == run.id
        })
    })
}

/// Returns the positions of events after which the anchors name other code.
fn code_changes(events: &[&Event]) -> Vec<usize> {
    let anchors = |event: &Event| -> Option<Vec<Anchor>> {
        let proposed = event.get::<Proposed>().map(|it| it.content.anchors.clone());
        let revised = event
            .get::<Revised>()
            .and_then(|it| it.changes.anchors.clone());
        let moved = event.get::<Reanchored>().map(|it| it.anchors.clone());
        proposed.or(revised).or(moved)
    };
    let fingerprints = |anchors: Vec<Anchor>| -> BTreeSet<String> {
        anchors
            .into_iter()
            .filter_map(|it| it.fingerprint)
            .collect()
    };
    let is_change = |at: &usize| {
        let event = events[*at];
        let before = events[..*at].iter().rev().find_map(|event| anchors(event));
        let after = anchors(event).map(fingerprints).unwrap_or_default();
        event.get::<Reanchored>().is_some()
            && !event.by.is_human()
            && after != fingerprints(before.unwrap_or_default())
    };
    (0..events.len()).filter(is_change).collect()
}

fn position(events: &[&Event], event: &Event) -> usize {
    let found = events.iter().position(|it| it.id == event.id);
    found.expect("an event of the list")
}
