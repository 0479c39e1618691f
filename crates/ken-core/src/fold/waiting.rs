//! What of an entry waits for a person, and what people approved.
//!
//! Invariant: nothing that was promoted from another memory is let out without the approval of a person who did not
//! word it; lifting a quarantine is not enough.

use std::collections::{BTreeMap, BTreeSet};

use super::EntryFold;
use crate::actor::Actor;
use crate::causal::Causal;
use crate::entry::Approval;
use crate::event::{ApprovalGranted, Event, QuarantineLifted, Reanchored};
use crate::id::EventId;

impl<'a> EntryFold<'a> {
    /// What nobody let out: events admitted only as quarantined, and every wording of an entry promoted from another
    /// memory until somebody approves that wording.
    pub(super) fn quarantine(&self) -> Vec<EventId> {
        let lifted: BTreeSet<EventId> = self
            .all::<QuarantineLifted>()
            .filter(|(event, _)| event.by.is_human())
            .flat_map(|(_, data)| data.lifts.iter().copied())
            .collect();
        let approved: BTreeSet<EventId> = self
            .approvals()
            .into_iter()
            .flat_map(|(_, covered)| covered)
            .collect();
        let first = self.proposals().next();
        let promoted = first.is_some_and(|(_, data)| !data.promoted_from.is_empty());
        let held = |event: &&Event| {
            if approved.contains(&event.id) {
                return false;
            }
            let set_apart = event.is_quarantined() && !lifted.contains(&event.id);
            set_apart || (promoted && self.words(event))
        };
        self.iter().filter(held).map(|event| event.id).collect()
    }

    /// Returns whether `event` says something in somebody's words; following code that moved does not.
    fn words(&self, event: &'a Event) -> bool {
        event.get::<Reanchored>().is_none() && self.wording(event).is_some()
    }

    /// Approvals that count, with every wording each covers: what it names and what that rests on.
    ///
    /// Only a person's counts, and only of words that are not their own.
    pub(super) fn approvals(&self) -> Vec<(Approval, BTreeSet<EventId>)> {
        let mut granted = self.all::<ApprovalGranted>().peekable();
        if granted.peek().is_none() {
            return Vec::new();
        }
        let mut causal = Causal::default();
        let mut authors: BTreeMap<EventId, &Actor> = BTreeMap::new();
        for event in self.iter() {
            if let Some((_, replaces)) = self.wording(event) {
                causal.add(event.order(), replaces);
            }
            if self.words(event) {
                authors.insert(event.id, &event.by);
            }
        }
        let mut approvals = Vec::new();
        for (event, data) in granted.filter(|(event, data)| {
            data.entry == self.id && event.by.is_human() && !event.is_quarantined()
        }) {
            let mut covered = causal.ancestors(&data.covers);
            covered.extend(data.covers.iter().copied());
            covered.retain(|id| authors.contains_key(id));
            let own = |id: &EventId| authors.get(id) == Some(&&event.by);
            if covered.is_empty() || covered.iter().any(own) {
                continue;
            }
            let approval = Approval {
                event: event.id,
                by: event.by.clone(),
                on: event.at.wall.date(),
                artifact: data.artifact.clone(),
                signature: data.signature.clone(),
                covers: data.covers.clone(),
            };
            approvals.push((approval, covered));
        }
        approvals
    }
}
