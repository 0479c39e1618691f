//! Quarantine and approvals of an entry.
//!
//! Invariant: content promoted from another memory is not released without the approval of a person
//! who did not write it. Releasing the quarantine is not enough.

use std::collections::{BTreeMap, BTreeSet};

use super::EntryFold;
use crate::ledger::causal::CausalGraph;
use crate::ledger::entry::EntryApproval;
use crate::ledger::event::{ApprovalGranted, Event, QuarantineLifted, Reanchored};
use crate::values::actor::Actor;
use crate::values::id::EventId;

impl<'a> EntryFold<'a> {
    /// Returns the events that keep the entry quarantined: quarantined events that no person
    /// released, and all content of a promoted entry that no person approved.
    pub(super) fn quarantine(&self) -> Vec<EventId> {
        let lifted: BTreeSet<EventId> = self
            .events_of::<QuarantineLifted>()
            // Only a person's release counts, however the event got into the ledger.
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
        let is_held = |event: &&Event| {
            // An approval is stronger than a release: it covers content that was read.
            if approved.contains(&event.id) {
                return false;
            }
            let is_unreleased = event.is_quarantined() && !lifted.contains(&event.id);
            is_unreleased || (promoted && self.is_authored(event))
        };
        self.iter().filter(is_held).map(|event| event.id).collect()
    }

    /// Returns whether `event` has an author's text. Reanchoring only follows moved code.
    fn is_authored(&self, event: &'a Event) -> bool {
        event.get::<Reanchored>().is_none() && self.content_change(event).is_some()
    }

    /// Returns the valid approvals with the content events each covers: those it names and their
    /// ancestors.
    ///
    /// An approval is valid only by a person who wrote none of the covered content.
    pub(super) fn approvals(&self) -> Vec<(EntryApproval, BTreeSet<EventId>)> {
        let mut granted = self.events_of::<ApprovalGranted>().peekable();
        // Most entries have no approval; the causal graph is then not needed.
        if granted.peek().is_none() {
            return Vec::new();
        }
        let mut causal = CausalGraph::default();
        let mut authors: BTreeMap<EventId, &Actor> = BTreeMap::new();
        for event in self.iter() {
            // Reanchoring is part of the graph but has no author: it links earlier and later edits.
            if let Some((_, replaces)) = self.content_change(event) {
                causal.add(event.order(), replaces);
            }
            if self.is_authored(event) {
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
            // Approving one's own text would make the four-eyes rule meaningless.
            if covered.is_empty() || covered.iter().any(own) {
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
            approvals.push((approval, covered));
        }
        approvals
    }
}
