//! The fold: a pure function from the events of an entry to its state.
//!
//! Events may arrive in any order and more than once. [`EntryFold`] collects the events of one
//! entry and resolves them once. It never reads the clock, random numbers, current policy or a
//! scanner: those decisions are recorded in the events.

mod quarantine;

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::causal::CausalGraph;
use crate::ledger::cooccurrence;
use crate::ledger::entry::{
    AnnotationState, Archival, CausalValue, Confirmation, Entry, EntryCreation, EntryLink,
    EntryTallies, HistorySummary, Retraction,
};
use crate::ledger::event::{
    ArchiveReason, Archived, Arm, Cited, ConfidenceReset, Confirmed, EntryEffect, Event, EventBody,
    EventData, EventOrder, Feedback, FeedbackGiven, Linked, Merged, Origin, Overlay, OverlaySet,
    Proposed, Provenance, Reanchored, Restored, Retracted, Revised, RunEffects, ScopeChanged,
    StatusChanged, Superseded,
};
use crate::ledger::rediscovery;
use crate::values::citation::Citation;
use crate::values::content::{Content, ContentChanges, EntryScope, resolve_fields};
use crate::values::id::{EntryId, EventId};
use crate::values::status::EntryStatus;
use crate::values::text::{Statement, slug};
use crate::values::time::Date;

/// Collects and resolves the events of one entry.
#[derive(Debug)]
pub struct EntryFold<'a> {
    id: EntryId,
    // Keyed by the canonical order: insertion sorts and deduplicates.
    events: BTreeMap<EventOrder, &'a Event>,
}

/// Folds the events of one entry; events about other entries are ignored.
pub fn fold_entry<'a>(id: EntryId, events: impl IntoIterator<Item = &'a Event>) -> Option<Entry> {
    let mut fold = EntryFold::new(id);
    for event in events {
        fold.add(event);
    }
    fold.finish()
}

/// Folds the entry as of the content events `revision` and their ancestors.
pub fn fold_entry_at(id: EntryId, revision: &[EventId], events: &[Event]) -> Option<Entry> {
    let mut full = EntryFold::new(id);
    for event in events {
        full.add(event);
    }
    let mut causal = CausalGraph::default();
    for event in full.iter() {
        if let Some((_, replaces)) = full.content_change(event) {
            causal.add(event.order(), replaces);
        }
    }
    let mut past = causal.ancestors(revision);
    past.extend(revision.iter().copied());
    // An edit need not name the proposal, but without it the entry has no kind or statement.
    past.extend(full.proposals().map(|(event, _)| event.id));
    let mut fold = EntryFold::new(id);
    for event in full.iter().filter(|event| past.contains(&event.id)) {
        fold.add(event);
    }
    fold.finish()
}

impl<'a> EntryFold<'a> {
    /// Creates a fold without events.
    pub fn new(id: EntryId) -> Self {
        Self {
            id,
            events: BTreeMap::new(),
        }
    }

    /// Adds an event. An event about another entry, or added before, changes nothing.
    pub fn add(&mut self, event: &'a Event) {
        if event.entries().any(|id| id == self.id) {
            self.events.insert(event.order(), event);
        }
    }

    /// Resolves the entry, or returns `None` without events.
    pub fn finish(&self) -> Option<Entry> {
        let history = self.history()?;
        let created = self.created();
        let (content, revision, concurrent) = self.content();
        let (merged_from, merged_into, superseded_by) = self.succession();
        Some(Entry {
            id: self.id,
            content,
            revision,
            concurrent,
            status: self.status(),
            scope: self.scope(),
            citations: self.citations(),
            confirmation: self.confirmation(),
            archived: self.archived(),
            retracted: self.retracted(),
            quarantine: self.quarantine(),
            links: self.links(),
            overlays: self.overlays(),
            merged_from,
            merged_into,
            superseded_by,
            approvals: self.approvals().into_iter().map(|(it, _)| it).collect(),
            tallies: self.tallies(),
            history,
            created,
        })
    }

    fn iter(&self) -> impl Iterator<Item = &'a Event> + '_ {
        self.events.values().copied()
    }

    fn history(&self) -> Option<HistorySummary> {
        let first = self.iter().next()?.at;
        let last = self.iter().last()?.at;
        let count = |test: &dyn Fn(&Event) -> bool| self.iter().filter(|e| test(e)).count() as u32;
        Some(HistorySummary {
            events: self.events.len() as u32,
            first,
            last,
            blanked: count(&|e| matches!(e.body, EventBody::Blanked { .. })),
            unknown: count(&is_not_understood),
            collisions: self
                .proposals()
                // The first proposal creates the entry.
                .skip(1)
                .map(|(event, _)| event.id)
                .collect(),
        })
    }

    fn proposals(&self) -> impl Iterator<Item = (&'a Event, &'a Proposed)> + '_ {
        self.events_of::<Proposed>()
    }

    /// Returns the events of type `T` with their data, in canonical order.
    fn events_of<T: EventData + 'a>(&self) -> impl Iterator<Item = (&'a Event, &'a T)> + '_ {
        self.iter()
            .filter_map(|event| Some((event, event.get::<T>()?)))
    }

    /// Returns the creation from the earliest proposal. A later one with the same id is a
    /// collision.
    fn created(&self) -> Option<EntryCreation> {
        let (event, data) = self.proposals().next()?;
        Some(EntryCreation {
            event: event.id,
            at: event.at,
            by: event.by.clone(),
            kind: data.kind,
            origin: self.origin(data.origin),
            schema_version: data.schema_version.clone(),
            // From the first statement, not the current one, so an edit never renames the entry
            // file.
            slug: slug(data.content.statement.as_str()),
            alias: data.alias.clone(),
            thread: data.thread.clone(),
            run: data.run.clone(),
            promoted_from: data.promoted_from.clone(),
            copied_from: data.copied_from.clone(),
            foraged: data.foraged.clone(),
        })
    }

    /// Returns the least trusted origin among the proposal, merges and edits, so that less trusted
    /// text cannot gain trust by being merged into a trusted entry.
    fn origin(&self, own: Origin) -> Origin {
        let merged = self
            .events_of::<Merged>()
            .filter(|(_, data)| data.target == self.id);
        let edited = self
            .events_of::<Revised>()
            .filter_map(|(_, data)| data.origin);
        let moved = self
            .events_of::<Reanchored>()
            .filter_map(|(_, data)| data.origin);
        merged
            .filter_map(|(_, data)| data.origin)
            .chain(edited)
            .chain(moved)
            .fold(own, Origin::least_trusted)
    }

    fn content(&self) -> (Option<Content>, Vec<EventId>, Vec<EventId>) {
        let mut causal = CausalGraph::default();
        let mut writes: Vec<(EventId, ContentChanges)> = Vec::new();
        for event in self.iter() {
            let Some((changes, replaces)) = self.content_change(event) else {
                continue;
            };
            causal.add(event.order(), replaces);
            writes.push((event.id, changes));
        }
        let mut concurrent = BTreeSet::new();
        let by_ref: Vec<(EventId, &ContentChanges)> =
            writes.iter().map(|(id, c)| (*id, c)).collect();
        // Fields share one causal graph, but each is resolved among its own writers only.
        let (statement, rest) = resolve_fields(&by_ref, |writers| {
            let winner = causal.winner_among(writers)?;
            concurrent.extend(
                causal
                    .heads_among(writers)
                    .into_iter()
                    .filter(|h| *h != winner),
            );
            Some(winner)
        });
        let content = statement.map(|text: Statement| Content::new(text).with(rest));
        (content, causal.heads(), concurrent.into_iter().collect())
    }

    /// Returns the content changes of `event` and the events they are based on.
    fn content_change(&self, event: &'a Event) -> Option<(ContentChanges, &'a [EventId])> {
        if let Some(data) = event.get::<Proposed>() {
            return Some((data.content.clone().into_changes(), &[]));
        }
        if let Some(data) = event.get::<Revised>() {
            return Some((data.changes.clone(), &data.replaces));
        }
        if let Some(data) = event.get::<Reanchored>() {
            let anchors = Some(data.anchors.clone());
            return Some((
                ContentChanges {
                    anchors,
                    ..ContentChanges::default()
                },
                &data.replaces,
            ));
        }
        // The sources of a merge keep their content; only the target's changes.
        let data = event
            .get::<Merged>()
            .filter(|data| data.target == self.id)?;
        Some((data.changes.clone(), &data.replaces))
    }

    fn status(&self) -> CausalValue<EntryStatus> {
        self.resolve_value(|event| {
            let first = event.get::<Proposed>().map(|data| (data.status, &[][..]));
            first.or_else(|| {
                event
                    .get::<StatusChanged>()
                    .map(|data| (data.to, &data.replaces[..]))
            })
        })
    }

    fn scope(&self) -> CausalValue<EntryScope> {
        self.resolve_value(|event| {
            let first = event.get::<Proposed>().map(|data| (data.scope, &[][..]));
            first.or_else(|| {
                event
                    .get::<ScopeChanged>()
                    .map(|data| (data.to, &data.replaces[..]))
            })
        })
    }

    /// Resolves a single value that `read` extracts from some events.
    fn resolve_value<T: Copy + Default>(
        &self,
        read: impl Fn(&'a Event) -> Option<(T, &'a [EventId])>,
    ) -> CausalValue<T> {
        let mut causal = CausalGraph::default();
        let mut values = BTreeMap::new();
        for event in self.iter() {
            let Some((value, replaces)) = read(event) else {
                continue;
            };
            causal.add(event.order(), replaces);
            values.insert(event.id, value);
        }
        let heads = causal.heads();
        let winner = causal
            .winner_among(&heads)
            .and_then(|id| values.get(&id).copied());
        CausalValue {
            // Without a known write, such as after redaction of the proposal, the default applies.
            value: winner.unwrap_or_default(),
            heads,
        }
    }

    fn citations(&self) -> Vec<Citation> {
        let mut citations = Vec::new();
        for event in self.iter() {
            if let Some(data) = event.get::<Proposed>() {
                citations.extend(data.citations.iter().cloned());
            }
            citations.extend(event.get::<Cited>().map(|data| data.citation.clone()));
        }
        citations
    }

    /// Returns the confirmations that were not withdrawn.
    fn confirmations(&self) -> impl Iterator<Item = (&'a Event, &'a Confirmed)> + '_ {
        // Collected first: a withdrawal may sort before the confirmation it names.
        let withdrawn: BTreeSet<EventId> = self
            .events_of::<Confirmed>()
            .flat_map(|(_, data)| data.withdraws.iter().copied())
            .collect();
        self.events_of::<Confirmed>().filter(move |(event, data)| {
            data.withdraws.is_empty() && !withdrawn.contains(&event.id)
        })
    }

    fn confirmation(&self) -> Confirmation {
        let mut state = Confirmation::default();
        // The proposal counts as the first finding, so decay has a starting point.
        if let Some((event, _)) = self.proposals().next() {
            state.last = Some(event.at.wall.date());
            state.provenance = Some(Provenance::Independent);
            state.by = Some(event.id);
        }
        for (event, data) in self.confirmations() {
            match data.provenance {
                Provenance::Independent => state.independent += 1,
                Provenance::Manual => state.manual += 1,
                Provenance::Primed => state.primed += 1,
                Provenance::Unwitnessed => state.unwitnessed += 1,
            }
            if data.provenance.confirms() {
                // A confirmation may be backdated: then the day stays, but decay must still take
                // the event into account.
                state.last = state.last.max(Some(data.on));
                state.by = Some(event.id);
            }
            state.provenance = Some(data.provenance);
        }
        state
    }

    /// Returns the archiving, retracting, merging and superseding events that were undone.
    fn restored_events(&self) -> BTreeSet<EventId> {
        self.events_of::<Restored>()
            .flat_map(|(_, data)| data.undoes.iter().copied())
            .collect()
    }

    fn archived(&self) -> Option<Archival> {
        let undone = self.restored_events();
        let standing: Vec<(&Event, &Archived)> = self
            .events_of::<Archived>()
            .filter(|(event, data)| !undone.contains(&event.id) && !self.is_void(event, data))
            .collect();
        let (last, data) = standing.last()?;
        Some(Archival {
            events: standing.iter().map(|(event, _)| event.id).collect(),
            because: data.because,
            since: last.at.wall.date(),
        })
    }

    /// Returns whether a confirmation newer than its basis voids an archiving by decay.
    fn is_void(&self, event: &Event, data: &Archived) -> bool {
        if data.because != ArchiveReason::Decay {
            return false;
        }
        // Two clones may archive and confirm concurrently; after a merge the confirmation must win.
        let rests_on = match data.rests_on {
            Some(id) => {
                let named = self.iter().find(|e| e.id == id && is_decay_basis(e));
                named.map(Event::order)
            }
            None => self.proposals().next().map(|(event, _)| event.order()),
        };
        // If the basis is missing or invalid, only confirmations after the archiving void it.
        let basis = rests_on.unwrap_or_else(|| event.order());
        self.confirmations()
            .any(|(later, data)| data.provenance.confirms() && later.order() > basis)
    }

    fn retracted(&self) -> Option<Retraction> {
        let undone = self.restored_events();
        let standing: Vec<(&Event, &Retracted)> = self
            .events_of::<Retracted>()
            .filter(|(event, _)| !undone.contains(&event.id))
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

    fn links(&self) -> Vec<EntryLink> {
        // `about` names both entries; the link belongs to the first.
        let ours = |(event, _): &(&Event, &Linked)| event.entries().next() == Some(self.id);
        let withdrawn = self
            .events_of::<Linked>()
            .filter(ours)
            .flat_map(|(_, data)| &data.withdraws);
        let withdrawn: BTreeSet<EventId> = withdrawn.copied().collect();
        self.events_of::<Linked>()
            .filter(ours)
            .filter(|(event, data)| data.withdraws.is_empty() && !withdrawn.contains(&event.id))
            .map(|(event, data)| EntryLink {
                event: event.id,
                to: data.to,
                rel: data.rel,
            })
            .collect()
    }

    fn overlays(&self) -> BTreeMap<Overlay, AnnotationState> {
        let mut marks = BTreeMap::new();
        for overlay in [
            Overlay::Pin,
            Overlay::Mute,
            Overlay::Invalidate,
            Overlay::Annotate,
        ] {
            let set = |event: &'a Event| {
                event
                    .get::<OverlaySet>()
                    .filter(|data| data.overlay == overlay)
            };
            let mut causal = CausalGraph::default();
            for event in self.iter() {
                if let Some(data) = set(event) {
                    causal.add(event.order(), &data.replaces);
                }
            }
            let heads = causal.heads();
            let winner = causal.winner_among(&heads);
            // An annotation that is off keeps its heads, which the next change must replace.
            let standing = self.iter().find(|e| Some(e.id) == winner).and_then(set);
            if let Some(data) = standing {
                marks.insert(
                    overlay,
                    AnnotationState {
                        state: data.state,
                        heads,
                        note: data.note.clone(),
                    },
                );
            }
        }
        marks
    }

    fn succession(&self) -> (BTreeSet<EntryId>, Option<EntryId>, Option<EntryId>) {
        let undone = self.restored_events();
        let (mut from, mut into, mut by) = (BTreeSet::new(), None, None);
        for (event, data) in self.events_of::<Merged>() {
            if data.target == self.id {
                let separated = self.separated_from(event.id);
                // A forged merge of an entry into itself is ignored.
                let sources = data.sources.iter().copied();
                from.extend(sources.filter(|id| *id != self.id && !separated.contains(id)));
            } else if data.sources.contains(&self.id) && !undone.contains(&event.id) {
                // The last merge in canonical order wins.
                into = Some(data.target);
            }
        }
        for (event, data) in self
            .events_of::<Superseded>()
            .filter(|(_, data)| data.old == self.id && data.new != self.id)
        {
            if !undone.contains(&event.id) {
                by = Some(data.new);
            }
        }
        (from, into, by)
    }

    /// Returns the entries that a restoration of `merge` is about: one source of a merge can be
    /// restored while the others stay merged.
    fn separated_from(&self, merge: EventId) -> BTreeSet<EntryId> {
        self.events_of::<Restored>()
            .filter(|(_, data)| data.undoes.contains(&merge))
            .flat_map(|(event, _)| event.entries())
            .collect()
    }

    fn tallies(&self) -> EntryTallies {
        let mut tallies = EntryTallies::default();
        for event in self.iter() {
            tallies.add_event(self.id, event);
        }
        // Trimmed once at the end: a partner that is weak early may become strong later.
        cooccurrence::keep_strongest(&mut tallies.together);
        let events: Vec<&Event> = self.iter().collect();
        let confirmations = self.confirmations().map(|(event, _)| event);
        tallies.rediscovery = rediscovery::trace_events(self.id, &events, confirmations);
        tallies
    }
}

/// Returns whether the event contains something that this build does not understand.
fn is_not_understood(event: &Event) -> bool {
    matches!(event.body, EventBody::Unknown { .. }) || event.unknown_fields > 0
}

/// Returns whether `event` is a valid basis of decay. A reference to any other event counts as
/// missing.
fn is_decay_basis(event: &Event) -> bool {
    event.get::<Confirmed>().is_some() || event.get::<Proposed>().is_some()
}

impl EntryTallies {
    /// Adds the effect of `event` on `id`. Returns `false` if the event has other effects as well.
    ///
    /// Additions commute, so such an event needs no refold of the entry if [`Self::can_add_event`]
    /// accepts its date.
    fn add_event(&mut self, id: EntryId, event: &Event) -> bool {
        let day = event.at.wall.date();
        if let Some(data) = event.get::<RunEffects>() {
            for effect in data.effects.iter().filter(|effect| effect.entry == id) {
                self.add_evidence(
                    day,
                    u64::from(effect.alpha_milli),
                    u64::from(effect.beta_milli),
                );
                self.add_effect(effect);
            }
            let others = cooccurrence::used_with(id, data);
            cooccurrence::record_run(&mut self.together, others, day);
        } else if let Some(data) = event.get::<FeedbackGiven>() {
            let weight = u64::from(data.weight_milli);
            match data.verdict {
                Feedback::Helpful => self.add_evidence(day, weight, 0),
                Feedback::Unhelpful => {
                    self.add_evidence(day, 0, weight);
                    self.unhelpful += 1;
                }
            }
        } else if event.get::<ConfidenceReset>().is_some() {
            // `None` is less than any `Some`, so the latest reset wins in any order.
            self.reset = self.reset.max(Some(day));
        } else {
            return false;
        }
        true
    }

    /// Returns whether adding `event` now gives the same result as in its canonical position.
    fn can_add_event(&self, id: EntryId, event: &Event) -> bool {
        // Only co-occurrence depends on the order: its weights decay per day, so runs must be added
        // by date.
        let others = event
            .get::<RunEffects>()
            .map(|data| cooccurrence::used_with(id, data));
        others.is_none_or(|others| {
            cooccurrence::can_record_incrementally(&self.together, &others, event.at.wall.date())
        })
    }

    fn add_effect(&mut self, effect: &EntryEffect) {
        let (shown, blind) = (u64::from(effect.shown), u64::from(effect.blind));
        self.shown += shown;
        self.blind += blind;
        // The maximum, so that the order of events does not matter.
        self.source_outcome = self.source_outcome.max(effect.source_outcome);
        if let Some(since) = effect.since {
            let seen = self.since.entry(since).or_default();
            seen.shown += shown;
            seen.blind += blind;
        }
        for trial in &effect.trials {
            let arms = self.trials.entry(trial.propensity_milli).or_default();
            let score = match trial.arm {
                Arm::Shown => &mut arms.shown,
                Arm::Withheld => &mut arms.withheld,
            };
            score.all += 1;
            score.succeeded += u64::from(trial.succeeded);
        }
    }

    fn add_evidence(&mut self, day: Date, alpha_milli: u64, beta_milli: u64) {
        let tally = self.days.entry(day).or_default();
        tally.alpha_milli += alpha_milli;
        tally.beta_milli += beta_milli;
    }
}

impl Entry {
    /// Adds an event whose effect does not depend on its position among the others.
    ///
    /// Returns `false`, with the entry unchanged, if the event requires a refold.
    pub fn try_add_event(&mut self, event: &Event) -> bool {
        // Unknown and quarantined events change more than the tallies.
        let is_commutative = !is_not_understood(event)
            && !event.is_quarantined()
            && self.tallies.can_add_event(self.id, event);
        // Chances are kept in canonical order, so an earlier one requires a refold. So does the
        // first: an entry that an older build stored has no trace of the chances before.
        let has_trace = self.tallies.rediscovery.chances > 0;
        let is_in_order =
            (has_trace && event.at > self.history.last) || !rediscovery::has_chance(self.id, event);
        if !is_commutative || !is_in_order || !self.tallies.add_event(self.id, event) {
            return false;
        }
        let source = self.created.as_ref().and_then(|it| it.run.as_ref());
        let source = source.map(|run| run.id.as_str());
        self.tallies.rediscovery.add_effects(self.id, source, event);
        self.history.events += 1;
        self.history.first = self.history.first.min(event.at);
        self.history.last = self.history.last.max(event.at);
        true
    }
}
