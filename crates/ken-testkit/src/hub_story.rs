//! Conformance tests for hubs: event lines in, pages out.
//!
//! The in-memory hub that tests rely on must behave like the real one in every property clones
//! depend on: each event has one position, positions are never reused, a changed event moves to the
//! end, and a cursor stays valid.

use ken_core::ledger::event::{BlankReason, EventBlanked, EventBody, RecordedEvent};
use ken_core::values::id::EventId;
use ken_remote::wire::{LogCursor, PULL_EVENTS_MAX, PushVerdict};
use ken_remote::{HubClient, HubError};

use crate::build::EventWriter;

/// Checks an empty workspace in which the caller is a curator. Panics at the first wrong result.
pub fn check_hub_conformance(hub: &mut dyn HubClient) {
    let mut scribe = EventWriter::new(7);
    let copies: Vec<RecordedEvent> = (0..5)
        .map(|n| {
            scribe
                .propose(&format!("Shard {n} of the ledger is read only at night"))
                .1
        })
        .collect();
    let start = LogCursor::default();
    assert!(
        hub.knows(start).expect("it answers"),
        "the beginning is a place"
    );
    assert_eq!(pull_all(hub, start), ([].into(), start));

    let first = push_all(hub, &copies[..3], PushVerdict::Admitted);
    assert_eq!(first.seq, 3);
    // A client that lost the response repeats the push and gets the same cursor.
    assert_eq!(push_all(hub, &copies[..3], PushVerdict::Known), first);
    assert_eq!(pull_all(hub, start), (event_lines(&copies[..3]), first));

    let second = push_all(hub, &copies[3..], PushVerdict::Admitted);
    assert_eq!(pull_all(hub, first), (event_lines(&copies[3..]), second));
    check_paging(hub, &copies, second);

    // A redaction changes its target, which moves to the end so that clients that read it before
    // see it again.
    let target = &copies[1];
    let order = scribe.write(target.event.about.clone(), redaction_of(target.event.id));
    let third = push_all(hub, std::slice::from_ref(&order), PushVerdict::Admitted);
    let (mut news, end) = pull_all(hub, second);
    let mut wanted = [order.line().to_owned(), target.redacted().line().to_owned()];
    // One push appended both; their order is unspecified.
    news.sort();
    wanted.sort();
    assert_eq!((news, end), (wanted.into(), third));
    assert_eq!(pull_all(hub, start).0.len(), 6, "one place an event");
    // The full event is never restored by a later push.
    push_all(hub, std::slice::from_ref(target), PushVerdict::Known);
    assert_eq!(pull_all(hub, third), ([].into(), third));

    // Issued cursors stay valid even if the event at that position moved; others are invalid.
    for place in [first, second, third] {
        assert!(hub.knows(place).expect("it answers"), "{place}");
    }
    // A valid position with the wrong event, as after restoring a backup.
    let never = LogCursor {
        seq: first.seq,
        last: Some(order.event.id),
    };
    assert!(!hub.knows(never).expect("it answers"));
    let failed = hub.pull(never, PULL_EVENTS_MAX);
    assert!(matches!(failed, Err(HubError::CursorUnknown { .. })));
}

/// Reads the log in pages of two events.
fn check_paging(hub: &mut dyn HubClient, copies: &[RecordedEvent], end: LogCursor) {
    let (mut cursor, mut read) = (LogCursor::default(), Vec::new());
    loop {
        let page = hub.pull(cursor, 2).expect("a page");
        assert!(page.events.len() <= 2);
        read.extend(page.events.iter().map(|it| it.get().to_owned()));
        cursor = page.cursor;
        if !page.more {
            break;
        }
    }
    assert_eq!((read, cursor), (event_lines(copies), end));
}

fn redaction_of(target: EventId) -> EventBody {
    EventBody::EventBlanked(EventBlanked {
        event: target,
        reason: BlankReason::Personal,
    })
}

/// Pushes events that all get the same verdict; returns the end cursor.
fn push_all(hub: &mut dyn HubClient, copies: &[RecordedEvent], verdict: PushVerdict) -> LogCursor {
    let lines: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
    let pushed = hub.push(&lines).expect("it takes events");
    for (copy, answered) in copies.iter().zip(&pushed.events) {
        assert_eq!(answered.id, Some(copy.event.id));
        assert_eq!(answered.verdict, verdict, "{answered:?}");
    }
    assert_eq!(pushed.events.len(), copies.len());
    pushed.cursor.expect("it names the end of its log")
}

/// Returns all events after a cursor, and the end cursor.
fn pull_all(hub: &mut dyn HubClient, after: LogCursor) -> (Vec<String>, LogCursor) {
    let page = hub.pull(after, PULL_EVENTS_MAX).expect("a page");
    assert!(!page.more);
    let lines = page.events.iter().map(|it| it.get().to_owned());
    (lines.collect(), page.cursor)
}

fn event_lines(copies: &[RecordedEvent]) -> Vec<String> {
    copies.iter().map(|it| it.line().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_hub::MemoryHub;

    #[test]
    fn a_hub_in_memory_tells_the_story() {
        check_hub_conformance(&mut MemoryHub::default());
    }
}
