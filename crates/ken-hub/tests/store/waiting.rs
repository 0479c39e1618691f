//! Quarantined events, run notes, and cursors of events that moved in the log.

use ken_core::ledger::event::{BlankReason, Body, EventBlanked};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_hub::store::{CopyOutcome, EntryPosition, StoreError};
use ken_remote::wire::LogCursor;
use ken_testkit::build::EventWriter;

use crate::world::StoreTestEnvironment;

#[test]
fn a_held_event_is_not_in_the_log_until_it_is_released() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (first, one) = scribe.propose("One");
    let (second, two) = scribe.propose("Two");
    let held = workspace
        .ask(async |tenant| {
            for copy in [&one, &two, &one] {
                tenant
                    .quarantine_event(copy, "looks like an instruction", "agent:x")
                    .await?;
            }
            let first = tenant.quarantined_events(None, 1).await?;
            let rest = tenant
                .quarantined_events(Some(first[0].copy.event.id), 10)
                .await?;
            Ok([first, rest].concat())
        })
        .unwrap();
    assert_eq!(held.len(), 2);
    assert_eq!(held[0].finding, "looks like an instruction");
    assert_eq!(workspace.state().unwrap().entries.len(), 0);
    workspace
        .ask(async |tenant| {
            let released = tenant.take_quarantined_event(one.event.id).await?;
            tenant.append(vec![released.unwrap().copy]).await?;
            assert!(tenant.take_quarantined_event(two.event.id).await?.is_some());
            assert!(tenant.take_quarantined_event(two.event.id).await?.is_none());
            assert_eq!(tenant.quarantined_events(None, 10).await?, []);
            Ok(())
        })
        .unwrap();
    assert!(workspace.entry(first).unwrap().is_some());
    assert!(workspace.entry(second).unwrap().is_none());
}

#[test]
fn notes_of_a_run_are_kept_in_order_until_it_is_closed() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| {
            assert!(!tenant.append_run_notes("r", &["early".into()]).await?);
            assert!(tenant.insert_run("r", "agent:x").await?);
            assert!(!tenant.insert_run("r", "agent:y").await?);
            assert!(
                tenant
                    .append_run_notes("r", &["a".into(), "b".into()])
                    .await?
            );
            assert!(tenant.append_run_notes("r", &["c".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, ["a", "b", "c"]);
            assert_eq!(tenant.open_runs("I-", 10).await?.len(), 1);
            assert!(tenant.delete_open_run("r").await?);
            assert!(!tenant.delete_open_run("r").await?);
            assert!(!tenant.append_run_notes("r", &["late".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, [] as [String; 0]);
            assert_eq!(tenant.open_runs("I-", 10).await?, []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_place_in_the_log_stays_one_when_its_event_moves() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (_, secret) = scribe.propose("The password is swordfish");
    let order = Body::EventBlanked(EventBlanked {
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
