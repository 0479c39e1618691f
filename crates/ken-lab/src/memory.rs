//! A policy's memory: the events of every entry, kept in memory, and the entries they fold to.
//!
//! It is the store of this experiment. Whatever is written goes through [`Clock::stamp`], and whatever is read
//! is what [`fold_entry`] makes of the events. Only entries a run touched are folded again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::actor::Actor;
use ken_core::citation::{Citation, EvidenceType};
use ken_core::content::Content;
use ken_core::decide::{Clock, Draft, Proposal, propose};
use ken_core::entry::Entry;
use ken_core::event::{Admission, Event, Origin, Outcome, SourceRun, Subject};
use ken_core::facts::Validity;
use ken_core::fold::fold_entry;
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::kind::Kind;
use ken_core::time::Timestamp;

use crate::dice::Ids;
use crate::world::{Claim, ClaimId};

/// An entry with its events.
#[derive(Clone, Debug)]
pub struct Held {
    pub claim: ClaimId,
    pub entry: Entry,
    /// The run in which it was last pointed at the code as it was.
    pub anchored: usize,
    events: Vec<Arc<Event>>,
}

impl Held {
    /// Returns what a look at the code says about the entry.
    pub fn validity(&self, claim: &Claim) -> Validity {
        match claim.touched {
            _ if !claim.has_anchor => Validity::Unverifiable,
            Some(run) if self.anchored < run => Validity::Changed,
            Some(_) | None => Validity::Holds,
        }
    }
}

/// Everything one policy knows.
#[derive(Debug)]
pub struct Memory {
    pub now: Timestamp,
    held: BTreeMap<EntryId, Held>,
    /// The entry that says a claim now.
    current: BTreeMap<ClaimId, EntryId>,
    /// Claims that were an entry once.
    known: BTreeSet<ClaimId>,
    changed: BTreeSet<EntryId>,
    latest: Option<Hlc>,
    ids: Ids,
}

/// The circumstances under which a claim becomes an entry.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub by: &'a Actor,
    pub run: &'a str,
    pub number: usize,
    pub outcome: Outcome,
}

impl Memory {
    /// Starts with nothing.
    pub fn new(seed: u64, now: Timestamp) -> Self {
        Self {
            now,
            held: BTreeMap::new(),
            current: BTreeMap::new(),
            known: BTreeSet::new(),
            changed: BTreeSet::new(),
            latest: None,
            ids: Ids::new(seed),
        }
    }

    /// Returns the entry that says a claim, laid aside or not.
    pub fn of_claim(&self, claim: ClaimId) -> Option<&Held> {
        self.held.get(self.current.get(&claim)?)
    }

    /// Returns an entry by its id.
    pub fn get(&self, id: EntryId) -> Option<&Held> {
        self.held.get(&id)
    }

    /// Returns every entry that says a claim now, laid aside or not.
    pub fn all(&self) -> impl Iterator<Item = &Held> {
        self.current.values().filter_map(|id| self.held.get(id))
    }

    /// Returns whether a claim was an entry once.
    pub fn knew(&self, claim: ClaimId) -> bool {
        self.known.contains(&claim)
    }

    /// Makes a claim an entry and returns it.
    pub fn propose(&mut self, id: ClaimId, claim: &Claim, kind: Kind, source: Source<'_>) -> Entry {
        let citation = Citation {
            evidence_type: EvidenceType::Transcript,
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
        let event = self.clock(|clock| clock.stamp_as(event, draft, source.by, admitted()));
        let events = vec![Arc::new(event)];
        let folded = fold(entry, &events);
        self.current.insert(id, entry);
        self.known.insert(id);
        self.held.insert(
            entry,
            Held {
                claim: id,
                entry: folded.clone(),
                anchored: source.number,
                events,
            },
        );
        folded
    }

    /// Writes an event about entries.
    pub fn tell(&mut self, draft: Draft, by: &Actor) {
        let event = Arc::new(self.clock(|clock| clock.stamp(draft, by, admitted())));
        for subject in &event.about {
            let Subject::Entry(id) = subject else {
                continue;
            };
            if let Some(held) = self.held.get_mut(id) {
                held.events.push(Arc::clone(&event));
                self.changed.insert(*id);
            }
        }
    }

    /// Folds what was written about.
    pub fn settle(&mut self) {
        for id in std::mem::take(&mut self.changed) {
            if let Some(held) = self.held.get_mut(&id) {
                held.entry = fold(id, &held.events);
            }
        }
    }

    /// Points an entry at the code as it is.
    pub fn anchor_again(&mut self, id: EntryId, run: usize) {
        if let Some(held) = self.held.get_mut(&id) {
            held.anchored = run;
        }
    }

    /// Forgets that an entry says a claim, as a tool does that deletes.
    pub fn delete(&mut self, claim: ClaimId) {
        self.current.remove(&claim);
    }

    fn clock(&mut self, write: impl FnOnce(&mut Clock<'_>) -> Event) -> Event {
        let mut clock = Clock {
            node: NodeId::new(1),
            now: self.now,
            seen: self.latest,
            ids: &mut self.ids,
        };
        let event = write(&mut clock);
        self.latest = clock.seen;
        event
    }
}

fn fold(id: EntryId, events: &[Arc<Event>]) -> Entry {
    let events = events.iter().map(Arc::as_ref);
    fold_entry(id, events).expect("an entry has its proposal")
}

/// The guard has nothing against the sentences of this experiment.
fn admitted() -> Admission {
    Admission::clean("ken-lab/1")
}
