//! Events with chosen authors, times and ids, for tests that tell a small story.

use ken_core::actor::Actor;
use ken_core::content::{Content, Scope};
use ken_core::decide::{Clock, Draft, SCHEMA_VERSION};
use ken_core::event::{
    Admission, AdmissionVerdict, Body, Event, Origin, Proposed, Recorded, Subject,
};
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId, IdSource, NodeId};
use ken_core::kind::Kind;
use ken_core::status::Status;
use ken_core::time::Timestamp;
use serde_json::{Value, json};

use crate::any_event::seal;

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Ids(u64);

impl Ids {
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

impl IdSource for Ids {
    fn random(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// Writes events as one node would, with a clock that moves a second with each.
#[derive(Debug)]
pub struct Scribe {
    pub now: Timestamp,
    pub by: Actor,
    pub verdict: AdmissionVerdict,
    node: NodeId,
    seen: Option<Hlc>,
    ids: Ids,
}

impl Scribe {
    /// Starts on 2 January 2026 as `human:ada@example.org`; the seed decides every id.
    pub fn new(seed: u64) -> Self {
        let mut ids = Ids::new(seed);
        Self {
            now: "2026-01-02T03:04:05Z".parse().expect("a time"),
            by: "human:ada@example.org".parse().expect("an actor"),
            verdict: AdmissionVerdict::Admitted,
            node: NodeId::new(ids.random()),
            seen: None,
            ids,
        }
    }

    /// Writes as somebody else from now on.
    pub fn by(&mut self, actor: &str) -> &mut Self {
        self.by = actor.parse().expect("an actor");
        self
    }

    /// Writes at another time from now on.
    pub fn at(&mut self, time: &str) -> &mut Self {
        self.now = time.parse().expect("a time");
        self.seen = None;
        self
    }

    /// Proposes a learning that says `statement`.
    pub fn propose(&mut self, statement: &str) -> (EntryId, Recorded) {
        self.propose_with(Kind::Learning, statement, |_| {})
    }

    /// Proposes an entry of `kind`, changed by `change` before it is written.
    pub fn propose_with(
        &mut self,
        kind: Kind,
        statement: &str,
        change: impl FnOnce(&mut Proposed),
    ) -> (EntryId, Recorded) {
        let mut data = Proposed {
            kind,
            content: Content::new(statement.parse().expect("a statement")),
            citations: Vec::new(),
            status: Status::Candidate,
            origin: Origin::Human,
            scope: Scope::Workspace,
            schema_version: SCHEMA_VERSION.to_owned(),
            alias: None,
            thread: None,
            run: None,
            overrides: None,
            promoted_from: Vec::new(),
            copied_from: None,
        };
        change(&mut data);
        let id = self.next_id();
        let entry = EntryId::created_by(id, kind);
        let copy = self.write_as(id, vec![entry.into()], Body::Proposed(data));
        (entry, copy)
    }

    /// Writes an event about one entry.
    pub fn about(&mut self, entry: EntryId, body: Body) -> Recorded {
        self.write(vec![entry.into()], body)
    }

    /// Writes an event.
    pub fn write(&mut self, about: Vec<Subject>, body: Body) -> Recorded {
        let id = self.next_id();
        self.write_as(id, about, body)
    }

    /// Writes an event under an id chosen before.
    pub fn write_as(&mut self, id: EventId, about: Vec<Subject>, body: Body) -> Recorded {
        let admission = Admission {
            verdict: self.verdict,
            ..Admission::clean("ken-guard/1")
        };
        let mut clock = Clock {
            node: self.node,
            now: self.now,
            seen: self.seen,
            ids: &mut self.ids,
        };
        let event: Event = clock.stamp_as(id, Draft { about, body }, &self.by, admission);
        self.seen = clock.seen;
        self.now = self.now.plus_millis(1000);
        Recorded::new(event)
    }

    /// Writes an event of a type this build does not know.
    pub fn foreign(&mut self, type_name: &str, about: &[EntryId]) -> Recorded {
        let id = self.next_id();
        let at = Hlc::next(self.node, self.now, self.seen);
        self.seen = Some(at);
        self.now = self.now.plus_millis(1000);
        let data: Value = json!({ "body": { "news": true }, "salt": "0".repeat(26) });
        let line = seal(json!({
            "about": about, "at": at, "by": self.by, "data": data,
            "id": id, "sum": "", "type": type_name, "v": 1,
        }));
        Recorded::parse(line.as_bytes()).expect("a sealed line")
    }

    /// Returns a fresh event id.
    pub fn next_id(&mut self) -> EventId {
        EventId::new(self.now, self.ids.random())
    }
}
