//! Reference fold of one entry: one scan per part, over events in canonical order.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::cooccurrence::{
    CooccurrencePartners, CooccurrenceWeight, PAIRED_MAX, PARTNERS_MAX,
};
use ken_core::ledger::entry::{
    AnnotationState, Archival, CausalValue, Confirmation, Entry, EntryApproval, EntryCreation,
    EntryLink, EntryTallies, HistorySummary, Retraction,
};
use ken_core::ledger::event::{
    ApprovalGranted, ArchiveReason, Archived, Arm, Cited, ConfidenceReset, Confirmed, Event,
    EventBody, Feedback, FeedbackGiven, Linked, Merged, Origin, Overlay, OverlaySet, Proposed,
    Provenance, QuarantineLifted, Reanchored, Restored, Retracted, Revised, RunEffects,
    ScopeChanged, StatusChanged, Superseded,
};
use ken_core::values::citation::Citation;
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::status::EntryStatus;
use ken_core::values::text::slug;
use ken_core::values::time::Date;

use super::causality::{CausalWrite, resolve_writes};
use super::content::resolve_content;
use super::events_of_type;
use super::rediscovery::rediscovery;

pub(super) fn fold_entry(id: EntryId, events: &[&Event]) -> Entry {
    let wording = resolve_content(id, events);
    let merges = events_of_type::<Merged>(events);
    Entry {
        id,
        created: created(id, events),
        content: wording.content,
        revision: wording.revision,
        concurrent: wording.concurrent,
        status: status(events),
        scope: scope(events),
        citations: citations(events),
        confirmation: confirmation(events),
        archived: archived(events),
        retracted: retracted(events),
        quarantine: quarantine(id, events),
        links: links(id, events),
        overlays: overlays(events),
        merged_from: merges
            .iter()
            .filter(|(_, data)| data.target == id)
            .flat_map(|(event, data)| data.sources.iter().map(|source| (event.id, *source)))
            // Merging an entry with itself changes nothing.
            .filter(|(_, source)| *source != id)
            .filter(|(merge, source)| !is_separated(*merge, *source, events))
            .map(|(_, source)| source)
            .collect(),
        merged_into: merges
            .iter()
            .filter(|(_, data)| data.target != id && data.sources.contains(&id))
            .filter(|(event, _)| !is_restored(event.id, events))
            .map(|(_, data)| data.target)
            // The last merge in canonical order wins.
            .next_back(),
        superseded_by: events_of_type::<Superseded>(events)
            .iter()
            // An entry cannot supersede itself.
            .filter(|(_, data)| data.old == id && data.new != id)
            .filter(|(event, _)| !is_restored(event.id, events))
            .map(|(_, data)| data.new)
            .next_back(),
        approvals: approvals(id, events)
            .into_iter()
            .map(|(approval, _)| approval)
            .collect(),
        tallies: tallies(id, events),
        history: history(events),
    }
}

/// Returns the event that created the entry.
fn proposal<'e>(events: &[&'e Event]) -> Option<&'e Event> {
    events_of_type::<Proposed>(events)
        .first()
        .map(|(event, _)| *event)
}

fn created(id: EntryId, events: &[&Event]) -> Option<EntryCreation> {
    let proposals = events_of_type::<Proposed>(events);
    let (event, data) = proposals.first()?;
    Some(EntryCreation {
        event: event.id,
        at: event.at,
        by: event.by.clone(),
        kind: data.kind,
        // Content of a less trusted origin lowers the origin of the entry for good.
        origin: events_of_type::<Merged>(events)
            .iter()
            .filter(|(_, merged)| merged.target == id)
            .filter_map(|(_, merged)| merged.origin)
            .chain(
                events_of_type::<Revised>(events)
                    .iter()
                    .filter_map(|(_, revised)| revised.origin),
            )
            .chain(
                events_of_type::<Reanchored>(events)
                    .iter()
                    .filter_map(|(_, moved)| moved.origin),
            )
            .fold(data.origin, Origin::least_trusted),
        schema_version: data.schema_version.clone(),
        slug: slug(data.content.statement.as_str()),
        alias: data.alias.clone(),
        thread: data.thread.clone(),
        run: data.run.clone(),
        promoted_from: data.promoted_from.clone(),
        copied_from: data.copied_from.clone(),
        foraged: data.foraged.clone(),
    })
}

fn history(events: &[&Event]) -> HistorySummary {
    let count = |wanted: &dyn Fn(&Event) -> bool| {
        u32::try_from(events.iter().filter(|event| wanted(event)).count()).expect("few events")
    };
    HistorySummary {
        events: count(&|_| true),
        first: events[0].at,
        last: events[events.len() - 1].at,
        blanked: count(&|event| matches!(event.body, EventBody::Blanked { .. })),
        // Unknown fields count too: a newer build wrote something this one cannot interpret.
        unknown: count(&|event| {
            matches!(event.body, EventBody::Unknown { .. }) || event.unknown_fields > 0
        }),
        // The first proposal creates the entry; others with the same entry id are collisions.
        collisions: events_of_type::<Proposed>(events)
            .iter()
            .skip(1)
            .map(|(event, _)| event.id)
            .collect(),
    }
}

fn resolve_ranked<T: Clone + Default>(writes: &[CausalWrite<T>]) -> CausalValue<T> {
    resolve_writes(writes, writes).map_or_else(CausalValue::default, |stands| CausalValue {
        value: stands.value,
        heads: stands.heads,
    })
}

fn status(events: &[&Event]) -> CausalValue<EntryStatus> {
    let mut writes = Vec::new();
    for event in events {
        if let Some(data) = event.get::<Proposed>() {
            writes.push(CausalWrite::new(event, &[], data.status));
        } else if let Some(data) = event.get::<StatusChanged>() {
            writes.push(CausalWrite::new(event, &data.replaces, data.to));
        }
    }
    resolve_ranked(&writes)
}

fn scope(events: &[&Event]) -> CausalValue<EntryScope> {
    let mut writes = Vec::new();
    for event in events {
        if let Some(data) = event.get::<Proposed>() {
            writes.push(CausalWrite::new(event, &[], data.scope));
        } else if let Some(data) = event.get::<ScopeChanged>() {
            writes.push(CausalWrite::new(event, &data.replaces, data.to));
        }
    }
    resolve_ranked(&writes)
}

fn citations(events: &[&Event]) -> Vec<Citation> {
    // Citations are only added, never removed.
    let mut all: Vec<Citation> = Vec::new();
    for event in events {
        if let Some(data) = event.get::<Proposed>() {
            all.extend(data.citations.iter().cloned());
        } else if let Some(data) = event.get::<Cited>() {
            all.push(data.citation.clone());
        }
    }
    all
}

/// Returns the confirmations that were not withdrawn, in canonical order.
fn confirmations<'a>(events: &[&'a Event]) -> Vec<(&'a Event, &'a Confirmed)> {
    let all = events_of_type::<Confirmed>(events);
    let withdrawn = |id: EventId| all.iter().any(|(_, data)| data.withdraws.contains(&id));
    all.iter()
        // An event that withdraws others is not a confirmation itself.
        .filter(|(event, data)| data.withdraws.is_empty() && !withdrawn(event.id))
        .copied()
        .collect()
}

fn confirmation(events: &[&Event]) -> Confirmation {
    let standing = confirmations(events);
    let count = |wanted: Provenance| {
        let of = standing
            .iter()
            .filter(|(_, data)| data.provenance == wanted);
        u32::try_from(of.count()).expect("few events")
    };
    let proposed = proposal(events);
    let confirming: Vec<_> = standing
        .iter()
        .filter(|(_, data)| data.provenance.confirms())
        .collect();
    let days = confirming.iter().map(|(_, data)| data.on);
    // A proposal counts as an independent finding.
    let agreed = standing.last().map(|(_, data)| data.provenance);
    let latest = confirming.last().map(|(event, _)| event.id);
    Confirmation {
        last: days
            .chain(proposed.iter().map(|event| event.at.wall.date()))
            .max(),
        provenance: agreed.or(proposed.as_ref().map(|_| Provenance::Independent)),
        by: latest.or(proposed.map(|event| event.id)),
        independent: count(Provenance::Independent),
        manual: count(Provenance::Manual),
        primed: count(Provenance::Primed),
        unwitnessed: count(Provenance::Unwitnessed),
    }
}

fn is_restored(id: EventId, events: &[&Event]) -> bool {
    events_of_type::<Restored>(events)
        .iter()
        .any(|(_, data)| data.undoes.contains(&id))
}

/// Returns whether a restoration that names the merge is about the source.
fn is_separated(merge: EventId, source: EntryId, events: &[&Event]) -> bool {
    events_of_type::<Restored>(events)
        .iter()
        .any(|(event, data)| {
            data.undoes.contains(&merge) && event.entries().any(|about| about == source)
        })
}

fn archived(events: &[&Event]) -> Option<Archival> {
    let all = events_of_type::<Archived>(events);
    let standing: Vec<_> = all
        .iter()
        .filter(|(event, data)| !is_restored(event.id, events) && !is_void(event, data, events))
        .collect();
    let (last, data) = standing.last()?;
    Some(Archival {
        events: standing.iter().map(|(event, _)| event.id).collect(),
        because: data.because,
        since: last.at.wall.date(),
    })
}

/// Returns whether a confirmation exists that the decay archival did not know.
///
/// If the event it is based on is missing, or is neither confirmation nor proposal, only events
/// after the archival count.
fn is_void(archiving: &Event, data: &Archived, events: &[&Event]) -> bool {
    // Without a named basis, decay counts from the proposal.
    let named = data
        .rests_on
        .or_else(|| proposal(events).map(|event| event.id));
    let speaks =
        |event: &Event| event.get::<Confirmed>().is_some() || event.get::<Proposed>().is_some();
    let basis = events
        .iter()
        .find(|event| Some(event.id) == named && speaks(event))
        .map_or((archiving.at, archiving.id), |event| (event.at, event.id));
    data.because == ArchiveReason::Decay
        && confirmations(events).iter().any(|(event, confirmed)| {
            confirmed.provenance.confirms() && basis < (event.at, event.id)
        })
}

fn retracted(events: &[&Event]) -> Option<Retraction> {
    let all = events_of_type::<Retracted>(events);
    let standing: Vec<_> = all
        .iter()
        .filter(|(event, _)| !is_restored(event.id, events))
        .collect();
    let (last, data) = standing.last()?;
    Some(Retraction {
        events: standing.iter().map(|(event, _)| event.id).collect(),
        reason: data.reason,
        by: last.by.clone(),
        since: last.at.wall.date(),
        note: data.note.clone(),
    })
}

fn quarantine(id: EntryId, events: &[&Event]) -> Vec<EventId> {
    let lifted: Vec<EventId> = events_of_type::<QuarantineLifted>(events)
        .iter()
        .filter(|(event, _)| event.by.is_human())
        .flat_map(|(_, data)| data.lifts.clone())
        .collect();
    let approved: Vec<EventId> = approvals(id, events)
        .into_iter()
        .flat_map(|(_, covered)| covered)
        .collect();
    // A promoted entry stays quarantined until a person approves its content.
    let promoted = created(id, events).is_some_and(|it| !it.promoted_from.is_empty());
    events
        .iter()
        .filter(|event| {
            let quarantined = event.is_quarantined() && !lifted.contains(&event.id);
            let unapproved = promoted && writes_content(id, event);
            (quarantined || unapproved) && !approved.contains(&event.id)
        })
        .map(|event| event.id)
        .collect()
}

/// Returns whether an event sets the content of the entry, by proposal, revision or merge.
fn writes_content(id: EntryId, event: &Event) -> bool {
    let merged = event.get::<Merged>();
    event.get::<Proposed>().is_some()
        || event.get::<Revised>().is_some()
        || merged.is_some_and(|data| data.target == id)
}

/// Returns the valid approvals, each with the content writes it covers.
fn approvals(id: EntryId, events: &[&Event]) -> Vec<(EntryApproval, Vec<EventId>)> {
    let mut found = Vec::new();
    for (event, data) in events_of_type::<ApprovalGranted>(events) {
        // Only people approve, and a quarantined approval has no effect.
        if data.entry != id || !event.by.is_human() || event.is_quarantined() {
            continue;
        }
        let past = collect_ancestors(id, &data.covers, events);
        let covered: Vec<&&Event> = events
            .iter()
            .filter(|it| past.contains(&it.id) && writes_content(id, it))
            .collect();
        // An author cannot approve their own content.
        if covered.is_empty() || covered.iter().any(|it| it.by == event.by) {
            continue;
        }
        let approval = EntryApproval {
            event: event.id,
            by: event.by.clone(),
            on: event.at.wall.date(),
            artifact: data.artifact.clone(),
            signature: data.signature.clone(),
            covers: data.covers.clone(),
        };
        found.push((approval, covered.iter().map(|it| it.id).collect()));
    }
    found
}

/// Returns `named` and all writes those are based on, computed until nothing new is found.
fn collect_ancestors(id: EntryId, named: &[EventId], events: &[&Event]) -> BTreeSet<EventId> {
    let mut past: BTreeSet<EventId> = named.iter().copied().collect();
    loop {
        let before = past.clone();
        for event in events.iter().filter(|it| before.contains(&it.id)) {
            let revised = event.get::<Revised>().map(|data| &data.replaces);
            let merged = event.get::<Merged>().filter(|data| data.target == id);
            let followed = event.get::<Reanchored>().map(|data| &data.replaces);
            let based = revised.or(followed).or(merged.map(|data| &data.replaces));
            past.extend(based.into_iter().flatten().copied());
        }
        if past == before {
            return past;
        }
    }
}

/// Returns the links that start at `id`, the first entry a link names.
fn links(id: EntryId, events: &[&Event]) -> Vec<EntryLink> {
    let mut all = events_of_type::<Linked>(events);
    all.retain(|(event, _)| event.entries().next() == Some(id));
    let withdrawn = |id: EventId| all.iter().any(|(_, data)| data.withdraws.contains(&id));
    all.iter()
        .filter(|(event, data)| data.withdraws.is_empty() && !withdrawn(event.id))
        .map(|(event, data)| EntryLink {
            event: event.id,
            to: data.to,
            rel: data.rel,
        })
        .collect()
}

fn overlays(events: &[&Event]) -> BTreeMap<Overlay, AnnotationState> {
    let all = events_of_type::<OverlaySet>(events);
    let mut marks = BTreeMap::new();
    for overlay in [
        Overlay::Pin,
        Overlay::Mute,
        Overlay::Invalidate,
        Overlay::Annotate,
    ] {
        let writes: Vec<CausalWrite<&OverlaySet>> = all
            .iter()
            .filter(|(_, data)| data.overlay == overlay)
            .map(|(event, data)| CausalWrite::new(event, &data.replaces, *data))
            .collect();
        if let Some(stands) = resolve_writes(&writes, &writes) {
            let mark = AnnotationState {
                state: stands.value.state,
                heads: stands.heads,
                note: stands.value.note.clone(),
            };
            marks.insert(overlay, mark);
        }
    }
    marks
}

/// Returns the co-occurrence partners, computed by partner and day; the real fold adds event by
/// event.
fn cooccurrence_partners(id: EntryId, events: &[&Event]) -> CooccurrencePartners {
    let mut days: BTreeMap<EntryId, BTreeMap<Date, u32>> = BTreeMap::new();
    for event in events {
        let Some(data) = event.get::<RunEffects>() else {
            continue;
        };
        let helped = data.effects.iter().filter(|it| it.alpha_milli > 0);
        let mut used: Vec<EntryId> = Vec::new();
        for effect in helped {
            // Pairing is quadratic, so both folds cap the entries per run in the same order.
            if used.len() < PAIRED_MAX && !used.contains(&effect.entry) {
                used.push(effect.entry);
            }
        }
        if used.contains(&id) {
            for other in used.into_iter().filter(|other| *other != id) {
                let runs = days.entry(other).or_default();
                *runs.entry(event.at.wall.date()).or_default() += 1;
            }
        }
    }
    let mut partners = Vec::new();
    for (other, runs) in days {
        let mut pair: Option<CooccurrenceWeight> = None;
        for (day, count) in runs {
            for _ in 0..count {
                pair =
                    Some(pair.map_or_else(|| CooccurrenceWeight::first(day), |it| it.again(day)));
            }
        }
        partners.extend(pair.map(|it| (other, it)));
    }
    // Heaviest first, ties by id.
    partners.sort_by_key(|(other, it)| (u32::MAX - it.weight_milli, *other));
    partners.truncate(PARTNERS_MAX);
    partners.into_iter().collect()
}

fn tallies(id: EntryId, events: &[&Event]) -> EntryTallies {
    let mut sums = EntryTallies {
        together: cooccurrence_partners(id, events),
        rediscovery: rediscovery(id, events, &confirmations(events)),
        ..EntryTallies::default()
    };
    for event in events {
        let day = event.at.wall.date();
        if let Some(data) = event.get::<RunEffects>() {
            for effect in data.effects.iter().filter(|effect| effect.entry == id) {
                let tally = sums.days.entry(day).or_default();
                tally.alpha_milli += u64::from(effect.alpha_milli);
                tally.beta_milli += u64::from(effect.beta_milli);
                sums.shown += u64::from(effect.shown);
                sums.blind += u64::from(effect.blind);
                if effect.source_outcome > sums.source_outcome {
                    sums.source_outcome = effect.source_outcome;
                }
                if let Some(since) = effect.since {
                    let seen = sums.since.entry(since).or_default();
                    seen.shown += u64::from(effect.shown);
                    seen.blind += u64::from(effect.blind);
                }
                for trial in &effect.trials {
                    let arms = sums.trials.entry(trial.propensity_milli).or_default();
                    if trial.arm == Arm::Shown {
                        arms.shown.all += 1;
                        arms.shown.succeeded += u64::from(trial.succeeded);
                    } else {
                        arms.withheld.all += 1;
                        arms.withheld.succeeded += u64::from(trial.succeeded);
                    }
                }
            }
        } else if let Some(data) = event.get::<FeedbackGiven>() {
            let tally = sums.days.entry(day).or_default();
            match data.verdict {
                Feedback::Helpful => tally.alpha_milli += u64::from(data.weight_milli),
                Feedback::Unhelpful => {
                    tally.beta_milli += u64::from(data.weight_milli);
                    sums.unhelpful += 1;
                }
            }
        } else if event.get::<ConfidenceReset>().is_some() {
            // The latest reset counts, regardless of the order of arrival.
            sums.reset = sums.reset.max(Some(day));
        }
    }
    sums
}
