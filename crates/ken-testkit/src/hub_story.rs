//! One story for every hub: lines in, pages out, whatever is behind it.
//!
//! A hub in memory that tests rely on and the one people run must not differ in what a clone goes by: each event has one
//! place, places are never given twice, a form that changed stands again behind the others, and a place that was named stays one.

use ken_core::event::{BlankReason, Body, EventBlanked, Recorded};
use ken_core::id::EventId;
use ken_remote::wire::{Cursor, PULL_EVENTS_MAX, Verdict};
use ken_remote::{Hub, HubError};

use crate::build::Scribe;

/// Tells the story to an empty workspace of which the caller is a curator; panics where it answers wrongly.
pub fn hub_story(hub: &mut dyn Hub) {
    let mut scribe = Scribe::new(7);
    let copies: Vec<Recorded> = (0..5)
        .map(|n| {
            scribe
                .propose(&format!("Shard {n} of the ledger is read only at night"))
                .1
        })
        .collect();
    let start = Cursor::default();
    assert!(
        hub.knows(start).expect("it answers"),
        "the beginning is a place"
    );
    assert_eq!(pulled(hub, start), ([].into(), start));

    let first = pushed(hub, &copies[..3], Verdict::Admitted);
    assert_eq!(first.seq, 3);
    // Whoever does not know what became of a push repeats it, and is told the same place.
    assert_eq!(pushed(hub, &copies[..3], Verdict::Known), first);
    assert_eq!(pulled(hub, start), (lines(&copies[..3]), first));

    let second = pushed(hub, &copies[3..], Verdict::Admitted);
    assert_eq!(pulled(hub, first), (lines(&copies[3..]), second));
    pages_go_on(hub, &copies, second);

    // An order to blank changes the form of what it names: that stands again behind the others, for whoever read it already.
    let target = &copies[1];
    let order = scribe.write(target.event.about.clone(), order(target.event.id));
    let third = pushed(hub, std::slice::from_ref(&order), Verdict::Admitted);
    let (mut news, end) = pulled(hub, second);
    let mut wanted = [order.line().to_owned(), target.blanked().line().to_owned()];
    news.sort();
    wanted.sort();
    assert_eq!((news, end), (wanted.into(), third));
    assert_eq!(pulled(hub, start).0.len(), 6, "one place an event");
    // It never comes back in full, whoever sends it.
    pushed(hub, std::slice::from_ref(target), Verdict::Known);
    assert_eq!(pulled(hub, third), ([].into(), third));

    // Places that were named stay places, also where the event at one of them moved on; others are none.
    for place in [first, second, third] {
        assert!(hub.knows(place).expect("it answers"), "{place}");
    }
    let never = Cursor {
        seq: first.seq,
        last: Some(order.event.id),
    };
    assert!(!hub.knows(never).expect("it answers"));
    let failed = hub.pull(never, PULL_EVENTS_MAX);
    assert!(matches!(failed, Err(HubError::CursorUnknown { .. })));
}

/// Reads the log two events at a time.
fn pages_go_on(hub: &mut dyn Hub, copies: &[Recorded], end: Cursor) {
    let (mut cursor, mut read) = (Cursor::default(), Vec::new());
    loop {
        let page = hub.pull(cursor, 2).expect("a page");
        assert!(page.events.len() <= 2);
        read.extend(page.events.iter().map(|it| it.get().to_owned()));
        cursor = page.cursor;
        if !page.more {
            break;
        }
    }
    assert_eq!((read, cursor), (lines(copies), end));
}

fn order(target: EventId) -> Body {
    Body::EventBlanked(EventBlanked {
        event: target,
        reason: BlankReason::Personal,
    })
}

/// Pushes events that all get the same verdict; returns the end of the log that was named.
fn pushed(hub: &mut dyn Hub, copies: &[Recorded], verdict: Verdict) -> Cursor {
    let lines: Vec<&str> = copies.iter().map(Recorded::line).collect();
    let pushed = hub.push(&lines).expect("it takes events");
    for (copy, answered) in copies.iter().zip(&pushed.events) {
        assert_eq!(answered.id, Some(copy.event.id));
        assert_eq!(answered.verdict, verdict, "{answered:?}");
    }
    assert_eq!(pushed.events.len(), copies.len());
    pushed.cursor.expect("it names the end of its log")
}

/// Returns everything behind a place, and where that ends.
fn pulled(hub: &mut dyn Hub, after: Cursor) -> (Vec<String>, Cursor) {
    let page = hub.pull(after, PULL_EVENTS_MAX).expect("a page");
    assert!(!page.more);
    let lines = page.events.iter().map(|it| it.get().to_owned());
    (lines.collect(), page.cursor)
}

fn lines(copies: &[Recorded]) -> Vec<String> {
    copies.iter().map(|it| it.line().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_hub::MemoryHub;

    #[test]
    fn a_hub_in_memory_tells_the_story() {
        hub_story(&mut MemoryHub::default());
    }
}
