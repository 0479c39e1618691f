//! Memory of a policy: the events of every entry and the entries they fold to.
//!
//! This is the store of the experiment. All writes go through [`EventStamper::stamp`] and all reads
//! through [`fold_entry`]. Only entries that a run touched are folded again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::decide::{Draft, EventStamper, Proposal, propose};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Admission, Event, EventSubject, Origin, Outcome, SourceRun};
use ken_core::ledger::fold::fold_entry;
use ken_core::trust::facts::Validity;
use ken_core::values::actor::Actor;
use ken_core::values::citation::{Citation, CitationType};
use ken_core::values::content::Content;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;

use crate::dice::SimulationIds;
use crate::world::{ClaimId, SimulatedClaim};

/// An entry with its events.
#[derive(Clone, Debug)]
pub struct PolicyEntry {
    pub claim: ClaimId,
    pub entry: Entry,
    /// The run in which it was last anchored.
    pub anchored: usize,
    events: Vec<Arc<Event>>,
}

impl PolicyEntry {
    /// Returns the validity of the entry's anchor.
    pub fn validity(&self, claim: &SimulatedClaim) -> Validity {
        match claim.touched {
            // Without an anchor there is nothing to check.
            _ if !claim.has_anchor => Validity::Unverifiable,
            // Reanchoring after the change makes the entry valid again.
            Some(run) if self.anchored < run => Validity::Changed,
            Some(_) | None => Validity::Holds,
        }
    }
}

/// The knowledge of one policy.
#[derive(Debug)]
pub struct PolicyMemory {
    pub now: Timestamp,
    held: BTreeMap<EntryId, PolicyEntry>,
    /// The current entry of each claim.
    current: BTreeMap<ClaimId, EntryId>,
    /// Claims that were ever an entry.
    known: BTreeSet<ClaimId>,
    changed: BTreeSet<EntryId>,
    latest: Option<Hlc>,
    ids: SimulationIds,
}

/// Author and run of a new entry.
#[derive(Clone, Copy, Debug)]
pub struct EntrySource<'a> {
    pub by: &'a Actor,
    pub run: &'a str,
    pub number: usize,
    pub outcome: Outcome,
}

impl PolicyMemory {
    /// Creates an empty memory.
    pub fn new(seed: u64, now: Timestamp) -> Self {
        Self {
            now,
            held: BTreeMap::new(),
            current: BTreeMap::new(),
            known: BTreeSet::new(),
            changed: BTreeSet::new(),
            latest: None,
            ids: SimulationIds::new(seed),
        }
    }

    /// Returns the current entry of a claim, archived or not.
    pub fn entry_of_claim(&self, claim: ClaimId) -> Option<&PolicyEntry> {
        self.held.get(self.current.get(&claim)?)
    }

    /// Returns an entry by id.
    pub fn get(&self, id: EntryId) -> Option<&PolicyEntry> {
        self.held.get(&id)
    }

    /// Returns the current entries of all claims, archived or not.
    pub fn all(&self) -> impl Iterator<Item = &PolicyEntry> {
        self.current.values().filter_map(|id| self.held.get(id))
    }

    /// Returns whether a claim was ever an entry.
    pub fn was_known(&self, claim: ClaimId) -> bool {
        self.known.contains(&claim)
    }

    /// Creates an entry from a claim and returns it.
    pub fn propose(
        &mut self,
        id: ClaimId,
        claim: &SimulatedClaim,
        kind: EntryKind,
        source: EntrySource<'_>,
    ) -> Entry {
        let citation = Citation {
            evidence_type: CitationType::Transcript,
            evidence_ref: source
                .run
                .parse()
                .expect("the name of a run is a reference"),
            cited_by: source.by.clone(),
            cited_at: self.now.seconds(),
        };
        let content = Content::new(claim.statement.clone());
        let mut proposal = Proposal::new(kind, content, vec![citation], Origin::Agent);
        proposal.run = Some(SourceRun {
            id: source.run.to_owned(),
            outcome: Some(source.outcome),
        });
        let event = EventId::new(self.now, self.ids.random());
        let draft = propose(event, proposal).expect("a cited sentence is admitted");
        let entry = EntryId::created_by(event, kind);
        let event =
            self.clock(|clock| clock.stamp_with_id(event, draft, source.by, clean_admission()));
        let events = vec![Arc::new(event)];
        let folded = fold(entry, &events);
        self.current.insert(id, entry);
        // Never removed, so that retention counts claims that were lost.
        self.known.insert(id);
        self.held.insert(
            entry,
            PolicyEntry {
                claim: id,
                entry: folded.clone(),
                anchored: source.number,
                events,
            },
        );
        folded
    }

    /// Appends an event about entries.
    pub fn tell(&mut self, draft: Draft, by: &Actor) {
        // One event may concern several entries, so they share it.
        let event = Arc::new(self.clock(|clock| clock.stamp(draft, by, clean_admission())));
        for subject in &event.about {
            let EventSubject::Entry(id) = subject else {
                continue;
            };
            if let Some(stored) = self.held.get_mut(id) {
                stored.events.push(Arc::clone(&event));
                // Only the tallies differ after such an event, and a refold gives the same.
                if !stored.entry.try_add_event(&event) {
                    self.changed.insert(*id);
                }
            }
        }
    }

    /// Folds the entries that changed.
    pub fn settle(&mut self) {
        for id in std::mem::take(&mut self.changed) {
            if let Some(stored) = self.held.get_mut(&id) {
                stored.entry = fold(id, &stored.events);
            }
        }
    }

    /// Records that an entry is anchored to the current code.
    pub fn anchor_again(&mut self, id: EntryId, run: usize) {
        if let Some(stored) = self.held.get_mut(&id) {
            stored.anchored = run;
        }
    }

    /// Removes the entry of a claim, like a tool that deletes.
    pub fn delete(&mut self, claim: ClaimId) {
        // The events stay, but the claim may become a new entry.
        self.current.remove(&claim);
    }

    fn clock(&mut self, write: impl FnOnce(&mut EventStamper<'_>) -> Event) -> Event {
        let mut clock = EventStamper {
            node: NodeId::new(1),
            now: self.now,
            seen: self.latest,
            ids: &mut self.ids,
        };
        let event = write(&mut clock);
        // Keeps clock readings increasing across events.
        self.latest = clock.seen;
        event
    }
}

fn fold(id: EntryId, events: &[Arc<Event>]) -> Entry {
    let events = events.iter().map(Arc::as_ref);
    fold_entry(id, events).expect("an entry has its proposal")
}

/// Returns a clean admission; the generated statements need no guard.
fn clean_admission() -> Admission {
    Admission::clean("ken-lab/1")
}
