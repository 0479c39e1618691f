//! Cursors: positions in the log after an event moved, and positions in a list of entries.

use ken_core::ledger::event::{BlankReason, EventBlanked, EventBody};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_hub::store::{CopyOutcome, EntryPosition, StoreError};
use ken_remote::wire::LogCursor;
use ken_testkit::build::EventWriter;

use crate::environment::StoreTestEnvironment;

#[test]
fn a_place_in_the_log_stays_one_when_its_event_moves() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (_, secret) = scribe.propose("The password is swordfish");
    let order = EventBody::EventBlanked(EventBlanked {
        event: secret.event.id,
        reason: BlankReason::Secret,
    });
    let order = scribe.write(Vec::new(), order);
    let append = |copy: &ken_core::ledger::event::RecordedEvent| {
        workspace
            .ask(async |tenant| tenant.append(vec![copy.clone()]).await)
            .unwrap()
    };
    let place = append(&secret).cursor;
    assert_eq!((place.seq, place.last), (1, Some(secret.event.id)));
    append(&order);
    // A reader positioned at the secret gets the redaction and the changed event.
    let page = workspace
        .ask(async |tenant| tenant.events_after(place, 10).await)
        .unwrap();
    let seen: Vec<_> = page.events.iter().map(|it| (it.seq, it.id)).collect();
    assert_eq!(seen, [(2, order.event.id), (3, secret.event.id)]);
    assert_eq!(page.events[1].line, secret.redacted().line());
    assert!(!page.more);
    // The secret is neither in the log nor in the search tables nor in an entry.
    for table in ["events", "entries", "searchable", "moved", "orders"] {
        let rows = world
            .bare
            .sql(&format!("SELECT t::text FROM ken.{table} t"));
        assert!(!rows.contains("swordfish"), "{table}: {rows}");
    }
    // A full copy pushed again is redacted before it is stored, and counts as known.
    let again = append(&secret);
    assert_eq!(again.outcomes, [CopyOutcome::Known]);
    assert_eq!(again.cursor, page.cursor);
    // A cursor that never existed is refused.
    let wrong = LogCursor {
        seq: 2,
        last: Some(secret.event.id),
    };
    let refused = workspace.ask(async |tenant| tenant.events_after(wrong, 10).await);
    assert!(matches!(refused, Err(StoreError::CursorUnknown(it)) if it == wrong));
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let copies: Vec<_> = (0..25)
        .map(|n| scribe.propose(&format!("Lesson {n}")).1)
        .collect();
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    let whole = workspace.list(&EntryFilter::default()).unwrap();
    assert_eq!(whole.len(), 25);
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = workspace
            .ask(async |tenant| {
                tenant
                    .list(&EntryFilter::default(), after.as_ref(), Some(10))
                    .await
            })
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some(EntryPosition::after(last));
        paged.extend(page);
    }
    assert_eq!(paged, whole);
}
