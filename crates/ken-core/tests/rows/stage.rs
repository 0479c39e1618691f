//! In-memory ledger for tests that write events through `decide`.

use ken_core::decide::{self, Draft, EntryHistory, EventStamper, Proposal, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    Admission, AdmissionVerdict, Confirmed, Event, EventBody, Origin, Provenance, RecordedEvent,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::values::actor::Actor;
use ken_core::values::citation::{Citation, CitationSource};
use ken_core::values::content::Content;
use ken_core::values::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;

/// Events so far, the current actor and the clock.
#[derive(Debug)]
pub(crate) struct TestLedger {
    pub(crate) events: Vec<Event>,
    by: Actor,
    now: Timestamp,
    ids: TestIdSource,
}

#[derive(Debug)]
struct TestIdSource(u128);

impl IdSource for TestIdSource {
    fn random(&mut self) -> u128 {
        self.0 = self
            .0
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .wrapping_add(1);
        self.0
    }
}

/// Returns a citation by an agent.
pub(crate) fn citation(text: &str) -> Citation {
    let evidence: CitationSource = text.parse().unwrap();
    let by = "agent:test".parse().unwrap();
    evidence.cite(&by, Timestamp::from_seconds(1_700_000_000))
}

/// Returns a proposal with only a statement and one citation.
pub(crate) fn proposal(kind: EntryKind, statement: &str) -> Proposal {
    Proposal::new(
        kind,
        Content::new(statement.parse().unwrap()),
        vec![citation("commit:3fce3b5")],
        Origin::Agent,
    )
}

impl TestLedger {
    pub(crate) fn new() -> Self {
        Self {
            events: Vec::new(),
            by: "human:ada".parse().unwrap(),
            now: "2026-11-14T10:00:00Z".parse().unwrap(),
            ids: TestIdSource(7),
        }
    }

    /// Sets the actor of the following events.
    pub(crate) fn by(&mut self, actor: &str) {
        self.by = actor.parse().unwrap();
    }

    /// Sets the clock.
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
        let mut clock = EventStamper {
            node: NodeId::new(1),
            now: self.now,
            seen,
            ids: &mut self.ids,
        };
        let event = clock.stamp_with_id(id, draft, &self.by, admission);
        self.events.push(event);
        id
    }

    /// Undoes events as one step; returns the events that undid it.
    pub(crate) fn undo(&mut self, step: &[EventId]) -> Result<Vec<EventId>, Refusal> {
        let step: Vec<Event> = step.iter().map(|id| self.event(*id)).collect();
        let ids = step.iter().flat_map(Event::entries);
        let known = ids.map(|id| {
            let (entry, events) = (self.entry(id), self.events.clone());
            (id, EntryHistory { entry, events })
        });
        let undo = decide::undo(&step, &known.collect())?;
        Ok(undo.drafts.into_iter().map(|it| self.write(it)).collect())
    }

    /// Returns an unused event id.
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

    pub(crate) fn add(&mut self, kind: EntryKind, statement: &str) -> EntryId {
        self.propose(proposal(kind, statement))
    }

    /// Records a finding of a run.
    pub(crate) fn found(&mut self, entry: EntryId, provenance: Provenance, on: &str) -> EventId {
        let body = EventBody::Confirmed(Confirmed {
            provenance,
            on: on.parse().unwrap(),
            run: Some("run-1".to_owned()),
            withdraws: Vec::new(),
        });
        self.about(entry, body)
    }

    pub(crate) fn about(&mut self, entry: EntryId, body: EventBody) -> EventId {
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
        RecordedEvent::new(event).line().to_owned()
    }
}
