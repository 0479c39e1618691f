//! The short way into the log: what may go it, and that it leads to the same place as the long one.

use ken_core::event::{
    BlankReason, Body, Channel, EventBlanked, Recorded, RetractReason, Retracted,
};
use ken_core::store::{Delta, Store as _};
use ken_hub::database::Line;
use ken_hub::identity::audit::{Act, Who};
use ken_hub::serve::settings::Quotas;
use ken_hub::store::{Outcome, Terms};
use ken_testkit::build::Scribe;
use ken_testkit::laws;

use crate::world::{Blocking, World};

/// Tries the short way on terms.
fn try_on(workspace: &Blocking, copies: &[Recorded], terms: Terms<'_>) -> bool {
    let (database, organisation) = (&workspace.world.database, workspace.world.organisation);
    let short = database.append_fresh(organisation, workspace.workspace, copies.to_vec(), terms);
    workspace.wait(short).unwrap().is_some()
}

fn long(workspace: &Blocking, copies: &[Recorded]) {
    let appended = workspace.ask(async |tenant| tenant.append(copies.to_vec()).await);
    appended.unwrap();
}

/// Returns the place of the last event, how many there are and their bytes.
fn size(workspace: &Blocking) -> (u64, u64, u64) {
    let (database, organisation) = (&workspace.world.database, workspace.world.organisation);
    // A look at the log does not bring back what was evicted.
    let row = workspace.wait(async {
        let mut log = database
            .log(organisation, workspace.workspace)
            .await
            .unwrap();
        let row = log.row().await.unwrap();
        log.rollback().await.unwrap();
        row
    });
    (row.head, row.events, row.bytes)
}

fn retraction() -> Body {
    Body::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    })
}

#[test]
fn what_is_new_goes_the_short_way_and_is_where_the_long_one_would_have_put_it() {
    let world = World::new();
    let (short, other) = (world.workspace("short"), world.workspace("long"));
    let mut scribe = Scribe::new(1);
    let proposals: Vec<Recorded> = (0..30)
        .map(|n| scribe.propose(&format!("Lesson {n} is true")).1)
        .collect();
    for portion in [&proposals[..1], &proposals[1..4], &proposals[4..]] {
        let appended = short.wait(short.append_fresh(portion.to_vec())).unwrap();
        assert_eq!(appended.outcomes, vec![Outcome::New; portion.len()]);
        let end = short.ask(async |tenant| tenant.cursor().await).unwrap();
        assert_eq!(appended.cursor, end);
        long(&other, portion);
    }
    assert_eq!(size(&short), size(&other));
    assert_eq!(size(&short).0, 30);
    let folded = laws::state_of(&proposals, &[]);
    for workspace in [&short, &other] {
        assert_eq!(workspace.state().unwrap().hash(), folded.hash());
    }
    let rows = |of: &Blocking| {
        let key = of.workspace.0;
        let of = |table: &str| {
            let sql = format!(
                "SELECT to_jsonb(t) - 'workspace_id' FROM ken.{table} t WHERE workspace_id = '{key}' ORDER BY 1"
            );
            world.bare.sql(&sql)
        };
        ["events", "subjects", "entries", "searchable"].map(of)
    };
    assert_eq!(rows(&short), rows(&other));
}

#[test]
fn copies_of_one_event_are_one_event() {
    let world = World::new();
    let workspace = world.workspace("w");
    let (_, first) = Scribe::new(1).propose("One");
    let copies = vec![first.clone(), first.blanked(), first.clone()];
    let appended = workspace.wait(workspace.append_fresh(copies)).unwrap();
    assert_eq!(
        appended.outcomes,
        [Outcome::New, Outcome::Known, Outcome::Known]
    );
    assert_eq!(size(&workspace), (1, 1, first.line().len() as u64));
}

#[test]
fn the_act_is_noted_with_the_events_and_not_without() {
    let world = World::new();
    let workspace = world.workspace("w");
    let (_, proposal) = Scribe::new(1).propose("One");
    let note = || Some(Line::of(Who::Operator, Act::EventsPushed, &"1 event"));
    let pushes = [true, false].map(|is_new| {
        let terms = Terms {
            note: note(),
            ..Terms::default()
        };
        let copies = std::slice::from_ref(&proposal);
        assert_eq!(try_on(&workspace, copies, terms), is_new);
        let acts = workspace.ask(async |tenant| Ok(tenant.audited(None, 10).await?));
        let acts = acts.unwrap().into_iter();
        acts.filter(|it| it.act == "events.pushed").count()
    });
    assert_eq!(pushes, [1, 1]);
}

/// Something that keeps `copy` from going the short way.
type Obstacle = fn(&Blocking, &Recorded, &mut Scribe);

fn is_there(workspace: &Blocking, copy: &Recorded, _: &mut Scribe) {
    long(workspace, std::slice::from_ref(copy));
}

fn another_of_its_entry_is_there(workspace: &Blocking, copy: &Recorded, scribe: &mut Scribe) {
    let entry = copy.event.entries().next().unwrap();
    let early = scribe.about(entry, retraction());
    long(workspace, &[early]);
}

fn is_ordered_to_be_blanked(workspace: &Blocking, copy: &Recorded, scribe: &mut Scribe) {
    let order = Body::EventBlanked(EventBlanked {
        event: copy.event.id,
        reason: BlankReason::Secret,
    });
    long(workspace, &[scribe.write(Vec::new(), order)]);
}

fn is_remembered_as_blanked(workspace: &Blocking, copy: &Recorded, _: &mut Scribe) {
    let delta = Delta {
        blanked: &[copy.event.id],
        ..Delta::default()
    };
    workspace.clone().apply(delta).unwrap();
}

fn waits_for_a_curator(workspace: &Blocking, copy: &Recorded, _: &mut Scribe) {
    workspace
        .ask(async |tenant| tenant.hold(copy, "why", "agent:x").await)
        .unwrap();
}

fn was_evicted(workspace: &Blocking, _: &Recorded, _: &mut Scribe) {
    workspace.evict();
}

#[test]
fn what_the_hub_knows_something_of_goes_the_long_way_and_nothing_is_written() {
    let world = World::new();
    let obstacles: [(&str, Obstacle); 6] = [
        ("there", is_there),
        ("begun", another_of_its_entry_is_there),
        ("ordered", is_ordered_to_be_blanked),
        ("remembered", is_remembered_as_blanked),
        ("held", waits_for_a_curator),
        ("evicted", was_evicted),
    ];
    for (name, put) in obstacles {
        let workspace = world.workspace(name);
        let mut scribe = Scribe::new(1);
        let (_, new) = scribe.propose("Nobody said this");
        let (_, copy) = scribe.propose("Somebody may have said this");
        put(&workspace, &copy, &mut scribe);
        let before = size(&workspace);
        assert!(
            !try_on(&workspace, &[new, copy], Terms::default()),
            "{name}"
        );
        assert_eq!(size(&workspace), before, "{name}");
    }
}

#[test]
fn what_is_more_than_an_entry_that_begins_goes_the_long_way() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let (entry, proposal) = scribe.propose("One");
    let retracted = scribe.about(entry, retraction());
    let (other, _) = scribe.propose("Two");
    let elsewhere = scribe.about(other, retraction());
    let order = Body::EventBlanked(EventBlanked {
        event: proposal.event.id,
        reason: BlankReason::Secret,
    });
    let order = scribe.write(Vec::new(), order);
    for copies in [
        vec![],
        vec![proposal.clone(), retracted],
        vec![proposal.clone(), elsewhere],
        vec![proposal, order],
    ] {
        assert!(!try_on(&workspace, &copies, Terms::default()), "{copies:?}");
    }
    assert_eq!(size(&workspace), (0, 0, 0));
}

#[test]
fn whoever_must_heed_retractions_goes_the_long_way_once_there_is_one() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let heeds = || Terms {
        heeds_retractions: true,
        ..Terms::default()
    };
    let (entry, first) = scribe.propose("One");
    assert!(try_on(&workspace, &[first], heeds()));
    long(&workspace, &[scribe.about(entry, retraction())]);
    let (_, next) = scribe.propose("Two");
    let next = std::slice::from_ref(&next);
    assert!(!try_on(&workspace, next, heeds()));
    // What is rebuilt from the log has forgotten nothing.
    workspace.rebuild();
    assert!(!try_on(&workspace, next, heeds()));
    assert!(try_on(&workspace, next, Terms::default()));
}

#[test]
fn a_workspace_takes_as_much_as_it_may_hold_and_no_event_more() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut scribe = Scribe::new(1);
    let (_, first) = scribe.propose("One");
    let (_, second) = scribe.propose("Two");
    let bytes = |copies: &[&Recorded]| copies.iter().map(|it| it.line().len() as u64).sum();
    let both: u64 = bytes(&[&first, &second]);
    let two = [first, second];
    for (quotas, fits) in [
        (few(1, both), false),
        (few(2, both - 1), false),
        (few(2, both), true),
    ] {
        assert_eq!(try_on(&workspace, &two, terms(&quotas)), fits, "{quotas:?}");
    }
    // What the organisation's own row says comes first.
    world
        .bare
        .sql("UPDATE ken.organisations SET events_max = 2");
    let (_, third) = scribe.propose("Three");
    let third = std::slice::from_ref(&third);
    assert!(!try_on(&workspace, third, terms(&few(9, both * 9))));
    world
        .bare
        .sql("UPDATE ken.organisations SET events_max = 3");
    assert!(try_on(&workspace, third, terms(&few(1, both * 9))));
}

fn terms(quotas: &Quotas) -> Terms<'_> {
    Terms {
        quotas: Some(quotas),
        ..Terms::default()
    }
}

fn few(events: u64, bytes: u64) -> Quotas {
    Quotas {
        events,
        bytes,
        ..Quotas::default()
    }
}

#[test]
fn no_workspace_is_entered_that_is_not_the_organisations() {
    let world = World::new();
    let workspace = world.workspace("w");
    let (database, own) = (&world.database, workspace.workspace);
    let (_, proposal) = Scribe::new(1).propose("One");
    let other = "other".parse().unwrap();
    let short = async {
        let stranger = database.create_organisation(&other).await.unwrap();
        let copies = vec![proposal];
        let short = database.append_fresh(stranger.unwrap(), own, copies, Terms::default());
        short.await.unwrap()
    };
    assert_eq!(workspace.wait(short), None);
    assert_eq!(size(&workspace), (0, 0, 0));
}
