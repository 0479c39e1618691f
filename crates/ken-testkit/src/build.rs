//! Event writer with chosen actors, times and ids, for scenario tests.

use ken_core::decide::{Draft, EventStamper, SCHEMA_VERSION};
use ken_core::ledger::event::{
    Admission, AdmissionVerdict, Event, EventBody, EventSubject, Origin, Proposed, RecordedEvent,
};
use ken_core::values::actor::Actor;
use ken_core::values::content::{Content, EntryScope};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use serde_json::{Value, json};

use crate::any_event::seal;

/// Deterministic pseudo-random ids from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct SeededIds(u64);

impl SeededIds {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl IdSource for SeededIds {
    fn random(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// Writes events as one node, with a clock that advances one second per event.
#[derive(Debug)]
pub struct EventWriter {
    pub now: Timestamp,
    pub by: Actor,
    pub verdict: AdmissionVerdict,
    node: NodeId,
    seen: Option<Hlc>,
    ids: SeededIds,
}

impl EventWriter {
    /// Starts on 2 January 2026 as `human:ada@example.org`; the seed determines every id.
    pub fn new(seed: u64) -> Self {
        let mut ids = SeededIds::new(seed);
        Self {
            now: "2026-01-02T03:04:05Z".parse().expect("a time"),
            by: "human:ada@example.org".parse().expect("an actor"),
            verdict: AdmissionVerdict::Admitted,
            node: NodeId::new(ids.random()),
            seen: None,
            ids,
        }
    }

    /// Changes the actor of the following events.
    pub fn by(&mut self, actor: &str) -> &mut Self {
        self.by = actor.parse().expect("an actor");
        self
    }

    /// Changes the time of the following events.
    pub fn at(&mut self, time: &str) -> &mut Self {
        self.now = time.parse().expect("a time");
        // Otherwise the hybrid logical clock would not go back in time.
        self.seen = None;
        self
    }

    /// Proposes a learning with `statement`.
    pub fn propose(&mut self, statement: &str) -> (EntryId, RecordedEvent) {
        self.propose_with(EntryKind::Learning, statement, |_| {})
    }

    /// Proposes an entry of `kind`, modified by `change` before it is written.
    pub fn propose_with(
        &mut self,
        kind: EntryKind,
        statement: &str,
        change: impl FnOnce(&mut Proposed),
    ) -> (EntryId, RecordedEvent) {
        let mut data = Proposed {
            kind,
            content: Content::new(statement.parse().expect("a statement")),
            citations: Vec::new(),
            status: EntryStatus::Candidate,
            origin: Origin::Human,
            scope: EntryScope::Workspace,
            schema_version: SCHEMA_VERSION.to_owned(),
            alias: None,
            thread: None,
            run: None,
            overrides: None,
            promoted_from: Vec::new(),
            copied_from: None,
            foraged: None,
        };
        change(&mut data);
        let id = self.next_id();
        let entry = EntryId::created_by(id, kind);
        let copy = self.write_as(id, vec![entry.into()], EventBody::Proposed(data));
        (entry, copy)
    }

    /// Writes an event about one entry.
    pub fn about(&mut self, entry: EntryId, body: EventBody) -> RecordedEvent {
        self.write(vec![entry.into()], body)
    }

    /// Writes an event.
    pub fn write(&mut self, about: Vec<EventSubject>, body: EventBody) -> RecordedEvent {
        let id = self.next_id();
        self.write_as(id, about, body)
    }

    /// Writes an event with a given id.
    pub fn write_as(
        &mut self,
        id: EventId,
        about: Vec<EventSubject>,
        body: EventBody,
    ) -> RecordedEvent {
        let admission = Admission {
            verdict: self.verdict,
            ..Admission::clean("ken-guard/1")
        };
        let mut clock = EventStamper {
            node: self.node,
            now: self.now,
            seen: self.seen,
            ids: &mut self.ids,
        };
        let event: Event = clock.stamp_with_id(id, Draft { about, body }, &self.by, admission);
        self.seen = clock.seen;
        self.now = self.now.plus_millis(1000);
        RecordedEvent::new(event)
    }

    /// Writes an event of a type unknown to this build.
    pub fn foreign(&mut self, type_name: &str, about: &[EntryId]) -> RecordedEvent {
        let id = self.next_id();
        let at = Hlc::next(self.node, self.now, self.seen);
        self.seen = Some(at);
        self.now = self.now.plus_millis(1000);
        let data: Value = json!({ "body": { "news": true }, "salt": "0".repeat(26) });
        let line = seal(json!({
            "about": about, "at": at, "by": self.by, "data": data,
            "id": id, "sum": "", "type": type_name, "v": 1,
        }));
        RecordedEvent::parse(line.as_bytes()).expect("a sealed line")
    }

    /// Returns a new event id.
    pub fn next_id(&mut self) -> EventId {
        EventId::new(self.now, self.ids.random())
    }
}
