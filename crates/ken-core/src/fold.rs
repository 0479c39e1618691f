//! Events to state. Takes them in any order, as often as they come.
//!
//! [`EntryFold`] gathers what touches one entry and resolves it once. It never asks the clock,
//! a random number, today's policy or a scanner: those decisions are in the events.

mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use crate::causal::Causal;
use crate::citation::Citation;
use crate::content::{Changes, Content, Scope, resolve_fields};
use crate::entry::{
    Archival, Confirmation, Created, Entry, History, Link, Mark, Ranked, Retraction, Tallies,
};
use crate::event::{
    ArchiveReason, Archived, Arm, Body, Cited, ConfidenceReset, Confirmed, Effect, Event,
    EventData, Feedback, FeedbackGiven, Linked, Merged, Order, Origin, Overlay, OverlaySet,
    Proposed, Provenance, Reanchored, Restored, Retracted, Revised, RunEffects, ScopeChanged,
    StatusChanged, Superseded,
};
use crate::id::{EntryId, EventId};
use crate::status::Status;
use crate::text::{Statement, slug};
use crate::time::Date;
use crate::together;

/// Resolves the events of one entry.
#[derive(Debug)]
pub struct EntryFold<'a> {
    id: EntryId,
    events: BTreeMap<Order, &'a Event>,
}

/// Folds the events of one entry; events about others are left out.
pub fn fold_entry<'a>(id: EntryId, events: impl IntoIterator<Item = &'a Event>) -> Option<Entry> {
    let mut fold = EntryFold::new(id);
    for event in events {
        fold.add(event);
    }
    fold.finish()
}

/// Folds the entry as whoever saw the content events `revision`, and what those rest on, saw it.
pub fn entry_at(id: EntryId, revision: &[EventId], events: &[Event]) -> Option<Entry> {
    let mut whole = EntryFold::new(id);
    for event in events {
        whole.add(event);
    }
    let mut causal = Causal::default();
    for event in whole.iter() {
        if let Some((_, replaces)) = whole.wording(event) {
            causal.add(event.order(), replaces);
        }
    }
    let mut past = causal.ancestors(revision);
    past.extend(revision.iter().copied());
    past.extend(whole.proposals().map(|(event, _)| event.id));
    let mut fold = EntryFold::new(id);
    for event in whole.iter().filter(|event| past.contains(&event.id)) {
        fold.add(event);
    }
    fold.finish()
}

impl<'a> EntryFold<'a> {
    /// Starts with no events.
    pub fn new(id: EntryId) -> Self {
        Self {
            id,
            events: BTreeMap::new(),
        }
    }

    /// Adds an event; one that does not touch the entry, or was added before, changes nothing.
    pub fn add(&mut self, event: &'a Event) {
        if event.entries().any(|id| id == self.id) {
            self.events.insert(event.order(), event);
        }
    }

    /// Returns the entry, or `None` if no event touched it.
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

    fn history(&self) -> Option<History> {
        let first = self.iter().next()?.at;
        let last = self.iter().last()?.at;
        let count = |test: &dyn Fn(&Event) -> bool| self.iter().filter(|e| test(e)).count() as u32;
        Some(History {
            events: self.events.len() as u32,
            first,
            last,
            blanked: count(&|e| matches!(e.body, Body::Blanked { .. })),
            unknown: count(&is_beyond_us),
            collisions: self
                .proposals()
                .skip(1)
                .map(|(event, _)| event.id)
                .collect(),
        })
    }

    fn proposals(&self) -> impl Iterator<Item = (&'a Event, &'a Proposed)> + '_ {
        self.all::<Proposed>()
    }

    /// Events of one type with their data, in canonical order.
    fn all<T: EventData + 'a>(&self) -> impl Iterator<Item = (&'a Event, &'a T)> + '_ {
        self.iter()
            .filter_map(|event| Some((event, event.get::<T>()?)))
    }

    /// The earliest proposal made the entry; a later one with the same id is a collision.
    fn created(&self) -> Option<Created> {
        let (event, data) = self.proposals().next()?;
        Some(Created {
            event: event.id,
            at: event.at,
            by: event.by.clone(),
            kind: data.kind,
            origin: self.origin(data.origin),
            schema_version: data.schema_version.clone(),
            slug: slug(data.content.statement.as_str()),
            alias: data.alias.clone(),
            thread: data.thread.clone(),
            run: data.run.clone(),
            promoted_from: data.promoted_from.clone(),
            copied_from: data.copied_from.clone(),
        })
    }

    /// What several entries became, or somebody reworded, is trusted no more than the least of them.
    fn origin(&self, own: Origin) -> Origin {
        let merged = self.all::<Merged>().filter(|(_, it)| it.target == self.id);
        let reworded = self.all::<Revised>().filter_map(|(_, it)| it.origin);
        merged
            .filter_map(|(_, it)| it.origin)
            .chain(reworded)
            .fold(own, Origin::least)
    }

    fn content(&self) -> (Option<Content>, Vec<EventId>, Vec<EventId>) {
        let mut causal = Causal::default();
        let mut writes: Vec<(EventId, Changes)> = Vec::new();
        for event in self.iter() {
            let Some((changes, replaces)) = self.wording(event) else {
                continue;
            };
            causal.add(event.order(), replaces);
            writes.push((event.id, changes));
        }
        let mut concurrent = BTreeSet::new();
        let by_ref: Vec<(EventId, &Changes)> = writes.iter().map(|(id, c)| (*id, c)).collect();
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

    /// Returns what `event` words anew, and on which events that was based.
    fn wording(&self, event: &'a Event) -> Option<(Changes, &'a [EventId])> {
        if let Some(data) = event.get::<Proposed>() {
            return Some((data.content.clone().into_changes(), &[]));
        }
        if let Some(data) = event.get::<Revised>() {
            return Some((data.changes.clone(), &data.replaces));
        }
        if let Some(data) = event.get::<Reanchored>() {
            let evidence = Some(data.evidence.clone());
            return Some((
                Changes {
                    evidence,
                    ..Changes::default()
                },
                &data.replaces,
            ));
        }
        let data = event
            .get::<Merged>()
            .filter(|data| data.target == self.id)?;
        Some((data.changes.clone(), &data.replaces))
    }

    fn status(&self) -> Ranked<Status> {
        self.ranked(|event| {
            let first = event.get::<Proposed>().map(|data| (data.status, &[][..]));
            first.or_else(|| {
                event
                    .get::<StatusChanged>()
                    .map(|data| (data.to, &data.replaces[..]))
            })
        })
    }

    fn scope(&self) -> Ranked<Scope> {
        self.ranked(|event| {
            let first = event.get::<Proposed>().map(|data| (data.scope, &[][..]));
            first.or_else(|| {
                event
                    .get::<ScopeChanged>()
                    .map(|data| (data.to, &data.replaces[..]))
            })
        })
    }

    /// Resolves a single value that `read` finds in some events.
    fn ranked<T: Copy + Default>(
        &self,
        read: impl Fn(&'a Event) -> Option<(T, &'a [EventId])>,
    ) -> Ranked<T> {
        let mut causal = Causal::default();
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
        Ranked {
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

    /// Confirmations that were not taken back.
    fn confirmations(&self) -> impl Iterator<Item = (&'a Event, &'a Confirmed)> + '_ {
        let withdrawn = self
            .all::<Confirmed>()
            .flat_map(|(_, data)| data.withdraws.iter());
        let withdrawn: BTreeSet<EventId> = withdrawn.copied().collect();
        self.all::<Confirmed>().filter(move |(event, data)| {
            data.withdraws.is_empty() && !withdrawn.contains(&event.id)
        })
    }

    fn confirmation(&self) -> Confirmation {
        let mut state = Confirmation::default();
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
                // A finding may be dated back: the day then stays, but decay knew of the finding.
                state.last = state.last.max(Some(data.on));
                state.by = Some(event.id);
            }
            state.provenance = Some(data.provenance);
        }
        state
    }

    /// Events that undo earlier archiving or retraction.
    fn undone(&self) -> BTreeSet<EventId> {
        self.all::<Restored>()
            .flat_map(|(_, data)| data.undoes.iter().copied())
            .collect()
    }

    fn archived(&self) -> Option<Archival> {
        let undone = self.undone();
        let standing: Vec<(&Event, &Archived)> = self
            .all::<Archived>()
            .filter(|(event, data)| !undone.contains(&event.id) && !self.is_void(event, data))
            .collect();
        let (last, data) = standing.last()?;
        Some(Archival {
            events: standing.iter().map(|(event, _)| event.id).collect(),
            because: data.because,
            since: last.at.wall.date(),
        })
    }

    /// Archiving by decay is void if a confirmation newer than the one it rests on turns up.
    fn is_void(&self, event: &Event, data: &Archived) -> bool {
        if data.because != ArchiveReason::Decay {
            return false;
        }
        let rests_on = match data.rests_on {
            Some(id) => {
                let named = self.iter().find(|e| e.id == id && can_be_rested_on(e));
                named.map(Event::order)
            }
            None => self.proposals().next().map(|(event, _)| event.order()),
        };
        let basis = rests_on.unwrap_or_else(|| event.order());
        self.confirmations()
            .any(|(e, d)| d.provenance.confirms() && basis < e.order())
    }

    fn retracted(&self) -> Option<Retraction> {
        let undone = self.undone();
        let standing: Vec<(&Event, &Retracted)> = self
            .all::<Retracted>()
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

    fn links(&self) -> Vec<Link> {
        // `about` holds both ends; the link belongs to the end it leaves from.
        let ours = |(event, _): &(&Event, &Linked)| event.entries().next() == Some(self.id);
        let withdrawn = self
            .all::<Linked>()
            .filter(ours)
            .flat_map(|(_, data)| &data.withdraws);
        let withdrawn: BTreeSet<EventId> = withdrawn.copied().collect();
        self.all::<Linked>()
            .filter(ours)
            .filter(|(event, data)| data.withdraws.is_empty() && !withdrawn.contains(&event.id))
            .map(|(event, data)| Link {
                event: event.id,
                to: data.to,
                rel: data.rel,
            })
            .collect()
    }

    fn overlays(&self) -> BTreeMap<Overlay, Mark> {
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
            let mut causal = Causal::default();
            for event in self.iter() {
                if let Some(data) = set(event) {
                    causal.add(event.order(), &data.replaces);
                }
            }
            let heads = causal.heads();
            let winner = causal.winner_among(&heads);
            let standing = self.iter().find(|e| Some(e.id) == winner).and_then(set);
            if let Some(data) = standing {
                marks.insert(
                    overlay,
                    Mark {
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
        let (mut from, mut into, mut by) = (BTreeSet::new(), None, None);
        for (_, data) in self.all::<Merged>() {
            if data.target == self.id {
                from.extend(data.sources.iter().copied().filter(|id| *id != self.id));
            } else if data.sources.contains(&self.id) {
                into = Some(data.target);
            }
        }
        for (_, data) in self
            .all::<Superseded>()
            .filter(|(_, data)| data.old == self.id && data.new != self.id)
        {
            by = Some(data.new);
        }
        (from, into, by)
    }

    fn tallies(&self) -> Tallies {
        let mut tallies = Tallies::default();
        for event in self.iter() {
            tallies.absorb(self.id, event);
        }
        together::keep_strongest(&mut tallies.together);
        tallies
    }
}

/// Returns whether this build cannot weigh everything the event says.
fn is_beyond_us(event: &Event) -> bool {
    matches!(event.body, Body::Unknown { .. }) || event.unknown_fields > 0
}

/// Returns whether decay can rest on `event`; naming any other is naming nothing.
fn can_be_rested_on(event: &Event) -> bool {
    event.get::<Confirmed>().is_some() || event.get::<Proposed>().is_some()
}

impl Tallies {
    /// Adds what `event` says about `id`; returns whether that is all the event says.
    ///
    /// Additions commute, so such an event needs no refold of the entry where
    /// [`Self::may_absorb`] says that its day is not too late.
    fn absorb(&mut self, id: EntryId, event: &Event) -> bool {
        let day = event.at.wall.date();
        if let Some(data) = event.get::<RunEffects>() {
            for effect in data.effects.iter().filter(|effect| effect.entry == id) {
                self.add(
                    day,
                    u64::from(effect.alpha_milli),
                    u64::from(effect.beta_milli),
                );
                self.add_effect(effect);
            }
            let others = together::used_with(id, data);
            together::add(&mut self.together, others, day);
        } else if let Some(data) = event.get::<FeedbackGiven>() {
            let weight = u64::from(data.weight_milli);
            match data.verdict {
                Feedback::Helpful => self.add(day, weight, 0),
                Feedback::Unhelpful => {
                    self.add(day, 0, weight);
                    self.unhelpful += 1;
                }
            }
        } else if event.get::<ConfidenceReset>().is_some() {
            self.reset = self.reset.max(Some(day));
        } else {
            return false;
        }
        true
    }

    /// Returns whether absorbing `event` now gives what it would have given in its place.
    fn may_absorb(&self, id: EntryId, event: &Event) -> bool {
        let others = event
            .get::<RunEffects>()
            .map(|data| together::used_with(id, data));
        others.is_none_or(|others| together::may_add(&self.together, &others, event.at.wall.date()))
    }

    fn add_effect(&mut self, effect: &Effect) {
        let (shown, blind) = (u64::from(effect.shown), u64::from(effect.blind));
        self.shown += shown;
        self.blind += blind;
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

    fn add(&mut self, day: Date, alpha_milli: u64, beta_milli: u64) {
        let tally = self.days.entry(day).or_default();
        tally.alpha_milli += alpha_milli;
        tally.beta_milli += beta_milli;
    }
}

impl Entry {
    /// Adds an event whose effect does not depend on its place among the others.
    ///
    /// Returns `false`, with the entry unchanged, if the event needs a refold.
    pub fn absorb(&mut self, event: &Event) -> bool {
        let plain = !is_beyond_us(event)
            && !event.is_quarantined()
            && self.tallies.may_absorb(self.id, event);
        if !plain || !self.tallies.absorb(self.id, event) {
            return false;
        }
        self.history.events += 1;
        self.history.first = self.history.first.min(event.at);
        self.history.last = self.history.last.max(event.at);
        true
    }
}
