//! What is no event yet: held events and runs; and places in the log that moved.

use ken_core::event::{BlankReason, Body, EventBlanked};
use ken_core::store::{Filter, Store as _};
use ken_hub::store::{After, Outcome, StoreError};
use ken_remote::wire::Cursor;
use ken_testkit::build::Scribe;

use crate::world::World;

#[test]
fn a_held_event_is_not_in_the_log_until_it_is_released() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let (first, one) = scribe.propose("One");
    let (second, two) = scribe.propose("Two");
    let held = workspace
        .ask(async |tenant| {
            for copy in [&one, &two, &one] {
                tenant
                    .hold(copy, "looks like an instruction", "agent:x")
                    .await?;
            }
            let first = tenant.held(None, 1).await?;
            let rest = tenant.held(Some(first[0].copy.event.id), 10).await?;
            Ok([first, rest].concat())
        })
        .unwrap();
    assert_eq!(held.len(), 2);
    assert_eq!(held[0].why, "looks like an instruction");
    assert_eq!(workspace.state().unwrap().entries.len(), 0);
    workspace
        .ask(async |tenant| {
            let released = tenant.discard(one.event.id).await?;
            tenant.append(vec![released.unwrap().copy]).await?;
            assert!(tenant.discard(two.event.id).await?.is_some());
            assert!(tenant.discard(two.event.id).await?.is_none());
            assert_eq!(tenant.held(None, 10).await?, []);
            Ok(())
        })
        .unwrap();
    assert!(workspace.entry(first).unwrap().is_some());
    assert!(workspace.entry(second).unwrap().is_none());
}

#[test]
fn notes_of_a_run_are_kept_in_order_until_it_is_closed() {
    let world = World::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| {
            assert!(!tenant.note_run("r", &["early".into()]).await?);
            assert!(tenant.open_run("r", "agent:x").await?);
            assert!(!tenant.open_run("r", "agent:y").await?);
            assert!(tenant.note_run("r", &["a".into(), "b".into()]).await?);
            assert!(tenant.note_run("r", &["c".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, ["a", "b", "c"]);
            assert_eq!(tenant.open_runs(10).await?.len(), 1);
            assert!(tenant.close_run("r").await?);
            assert!(!tenant.close_run("r").await?);
            assert!(!tenant.note_run("r", &["late".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, [] as [String; 0]);
            assert_eq!(tenant.open_runs(10).await?, []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_place_in_the_log_stays_one_when_its_event_moves() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let (_, secret) = scribe.propose("The password is swordfish");
    let order = Body::EventBlanked(EventBlanked {
        event: secret.event.id,
        reason: BlankReason::Secret,
    });
    let order = scribe.write(Vec::new(), order);
    let append = |copy: &ken_core::event::Recorded| {
        workspace
            .ask(async |tenant| tenant.append(vec![copy.clone()]).await)
            .unwrap()
    };
    let place = append(&secret).cursor;
    assert_eq!((place.seq, place.last), (1, Some(secret.event.id)));
    append(&order);
    // Whoever followed up to the secret sees the order and that the event changed.
    let page = workspace
        .ask(async |tenant| tenant.events_after(place, 10).await)
        .unwrap();
    let seen: Vec<_> = page.events.iter().map(|it| (it.seq, it.id)).collect();
    assert_eq!(seen, [(2, order.event.id), (3, secret.event.id)]);
    assert_eq!(page.events[1].line, secret.blanked().line());
    assert!(!page.more);
    // The secret is nowhere: not in the log, not in what a search reads, not in an entry.
    for table in ["events", "entries", "searchable", "moved", "orders"] {
        let rows = world
            .bare
            .sql(&format!("SELECT t::text FROM ken.{table} t"));
        assert!(!rows.contains("swordfish"), "{table}: {rows}");
    }
    // A full copy that comes back is blanked before it is written, and says nothing new.
    let again = append(&secret);
    assert_eq!(again.outcomes, [Outcome::Known]);
    assert_eq!(again.cursor, page.cursor);
    // A place that never was one is told apart.
    let wrong = Cursor {
        seq: 2,
        last: Some(secret.event.id),
    };
    let refused = workspace.ask(async |tenant| tenant.events_after(wrong, 10).await);
    assert!(matches!(refused, Err(StoreError::CursorUnknown(it)) if it == wrong));
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let copies: Vec<_> = (0..25)
        .map(|n| scribe.propose(&format!("Lesson {n}")).1)
        .collect();
    workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    let whole = workspace.list(&Filter::default()).unwrap();
    assert_eq!(whole.len(), 25);
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = workspace
            .ask(async |tenant| {
                tenant
                    .list(&Filter::default(), after.as_ref(), Some(10))
                    .await
            })
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some(After::of(last));
        paged.extend(page);
    }
    assert_eq!(paged, whole);
}
