//! Events for tests.

use ken_core::ledger::event::{Event, EventBody, EventSubject, FrictionRecorded, RecordedEvent};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId, NodeId, Salt};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;

/// Returns the time tests begin at.
pub(crate) fn start() -> Timestamp {
    "2026-11-14T22:51:03.120Z".parse().expect("a time")
}

/// Returns the `n`-th semantic event.
pub(crate) fn event(n: u64) -> RecordedEvent {
    event_of(n, EntryKind::Learning)
}

/// Returns the `n`-th event, about an entry of `kind`.
pub(crate) fn event_of(n: u64, kind: EntryKind) -> RecordedEvent {
    let at = start().plus_millis(n);
    let id = EventId::new(at, (u128::from(n) << 64) | (u128::from(n) * 7919));
    RecordedEvent::new(Event {
        id,
        at: Hlc {
            wall: at,
            counter: 0,
            node: NodeId::new(1),
        },
        by: "agent:test/1".parse().expect("an actor"),
        about: vec![EventSubject::Entry(EntryId::created_by(id, kind))],
        salt: Some(Salt::new(u128::from(n))),
        admission: None,
        body: EventBody::FrictionRecorded(FrictionRecorded {
            friction: serde_json::from_value(serde_json::json!("tool_error")).expect("a type"),
            context: serde_json::json!({ "text": format!("secret {n} ünïcode") }),
        }),
        signature: None,
        unknown_fields: 0,
    })
}
