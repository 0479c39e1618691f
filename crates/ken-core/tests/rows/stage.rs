//! A ledger in memory for tests that tell a small story through `decide`.

use ken_core::actor::Actor;
use ken_core::citation::{Citation, Evidence};
use ken_core::content::Content;
use ken_core::decide::{self, Clock, Draft, Proposal};
use ken_core::entry::Entry;
use ken_core::event::{
    Admission, AdmissionVerdict, Body, Confirmed, Event, Origin, Provenance, Recorded,
};
use ken_core::fold::fold_entry;
use ken_core::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::kind::Kind;
use ken_core::time::Timestamp;

/// Events so far, who writes next and when.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) events: Vec<Event>,
    by: Actor,
    now: Timestamp,
    ids: Ids,
}

#[derive(Debug)]
struct Ids(u128);

impl IdSource for Ids {
    fn random(&mut self) -> u128 {
        self.0 = self
            .0
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .wrapping_add(1);
        self.0
    }
}

/// Returns a citation as agents make them.
pub(crate) fn citation(text: &str) -> Citation {
    let evidence: Evidence = text.parse().unwrap();
    let by = "agent:test".parse().unwrap();
    evidence.cite(&by, Timestamp::from_seconds(1_700_000_000))
}

/// Returns a proposal with nothing but a statement and one citation.
pub(crate) fn proposal(kind: Kind, statement: &str) -> Proposal {
    Proposal::new(
        kind,
        Content::new(statement.parse().unwrap()),
        vec![citation("commit:3fce3b5")],
        Origin::Agent,
    )
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            events: Vec::new(),
            by: "human:ada".parse().unwrap(),
            now: "2026-11-14T10:00:00Z".parse().unwrap(),
            ids: Ids(7),
        }
    }

    /// Lets somebody else write from now on.
    pub(crate) fn by(&mut self, actor: &str) {
        self.by = actor.parse().unwrap();
    }

    /// Moves the clock.
    pub(crate) fn later(&mut self, now: &str) {
        self.now = now.parse().unwrap();
    }

    pub(crate) fn write(&mut self, draft: Draft) -> EventId {
        let id = EventId::new(self.now, self.ids.random());
        self.write_as(id, draft, AdmissionVerdict::Admitted)
    }

    pub(crate) fn write_as(
        &mut self,
        id: EventId,
        draft: Draft,
        verdict: AdmissionVerdict,
    ) -> EventId {
        let admission = Admission {
            verdict,
            ..Admission::clean("ken-guard/1")
        };
        let seen = self.events.iter().map(|event| event.at).max();
        let mut clock = Clock {
            node: NodeId::new(1),
            now: self.now,
            seen,
            ids: &mut self.ids,
        };
        let event = clock.stamp_as(id, draft, &self.by, admission);
        self.events.push(event);
        id
    }

    /// Returns an id nobody has.
    pub(crate) fn fresh(&mut self) -> EventId {
        EventId::new(self.now, self.ids.random())
    }

    pub(crate) fn propose(&mut self, it: Proposal) -> EntryId {
        let id = EventId::new(self.now, self.ids.random());
        let entry = EntryId::created_by(id, it.kind);
        let draft = decide::propose(id, it).unwrap();
        self.write_as(id, draft, AdmissionVerdict::Admitted);
        entry
    }

    pub(crate) fn add(&mut self, kind: Kind, statement: &str) -> EntryId {
        self.propose(proposal(kind, statement))
    }

    /// Records a finding of a run.
    pub(crate) fn found(&mut self, entry: EntryId, provenance: Provenance, on: &str) -> EventId {
        let body = Body::Confirmed(Confirmed {
            provenance,
            on: on.parse().unwrap(),
            run: Some("run-1".to_owned()),
            withdraws: Vec::new(),
        });
        self.about(entry, body)
    }

    pub(crate) fn about(&mut self, entry: EntryId, body: Body) -> EventId {
        let about = vec![entry.into()];
        self.write(Draft { about, body })
    }

    pub(crate) fn entry(&self, id: EntryId) -> Entry {
        fold_entry(id, &self.events).unwrap()
    }

    pub(crate) fn event(&self, id: EventId) -> Event {
        let mut events = self.events.iter();
        events.find(|event| event.id == id).unwrap().clone()
    }

    /// Returns the latest event as a line.
    pub(crate) fn last_line(&self) -> String {
        let event = self.events.last().unwrap().clone();
        Recorded::new(event).line().to_owned()
    }
}
