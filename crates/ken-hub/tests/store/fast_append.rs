//! Fast append: eligible events, and equality with the regular append.

use ken_core::ledger::event::{
    BlankReason, Channel, EventBlanked, EventBody, RecordedEvent, RetractReason, Retracted,
};
use ken_core::ledger::store::{DerivedStore as _, EventDelta};
use ken_hub::config::DefaultQuotas;
use ken_hub::database::audit::{AuditAction, AuditActor, AuditFilter, NewAuditRecord};
use ken_hub::store::{CopyOutcome, FastAppendOptions};
use ken_testkit::build::EventWriter;
use ken_testkit::laws;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment, pusher};

/// Tries a fast append with these options; returns true if it succeeded.
fn try_fast_append(
    workspace: &BlockingWorkspace,
    copies: &[RecordedEvent],
    terms: FastAppendOptions<'_>,
) -> bool {
    let (database, organization) = (&workspace.world.database, workspace.world.organization);
    let short = database.fast_append(organization, workspace.workspace, copies.to_vec(), terms);
    workspace.wait(short).unwrap().is_some()
}

fn regular_append(workspace: &BlockingWorkspace, copies: &[RecordedEvent]) {
    let appended = workspace.ask(async |tenant| tenant.append(copies.to_vec()).await);
    appended.unwrap();
}

/// Returns the head sequence number, the event count and the byte count of the log.
fn log_size(workspace: &BlockingWorkspace) -> (u64, u64, u64) {
    let (database, organization) = (&workspace.world.database, workspace.world.organization);
    // Reading the log row does not restore an evicted workspace.
    let row = workspace.wait(async {
        let mut log = database
            .begin_log(organization, workspace.workspace)
            .await
            .unwrap();
        let row = log.workspace_row().await.unwrap();
        log.rollback().await.unwrap();
        row
    });
    (row.head, row.events, row.bytes)
}

fn retraction() -> EventBody {
    EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    })
}

#[test]
fn what_is_new_goes_the_short_way_and_is_where_the_long_one_would_have_put_it() {
    let world = StoreTestEnvironment::new();
    let (short, other) = (world.workspace("short"), world.workspace("long"));
    let mut scribe = EventWriter::new(1);
    let proposals: Vec<RecordedEvent> = (0..30)
        .map(|n| scribe.propose(&format!("Lesson {n} is true")).1)
        .collect();
    for portion in [&proposals[..1], &proposals[1..4], &proposals[4..]] {
        let appended = short.wait(short.append_fresh(portion.to_vec())).unwrap();
        assert_eq!(appended.outcomes, vec![CopyOutcome::New; portion.len()]);
        let end = short.ask(async |tenant| tenant.log_end().await).unwrap();
        assert_eq!(appended.cursor, end);
        regular_append(&other, portion);
    }
    assert_eq!(log_size(&short), log_size(&other));
    assert_eq!(log_size(&short).0, 30);
    let folded = laws::fold_copies(&proposals, &[]);
    for workspace in [&short, &other] {
        assert_eq!(workspace.state().unwrap().hash(), folded.hash());
    }
    let rows = |of: &BlockingWorkspace| {
        let key = of.workspace.0;
        let of = |table: &str| {
            let sql = format!(
                "SELECT to_jsonb(t) - 'workspace_id' - 'received_at' FROM ken.{table} t WHERE workspace_id = '{key}' ORDER BY 1"
            );
            world.bare.sql(&sql)
        };
        ["events", "subjects", "entries", "searchable"].map(of)
    };
    assert_eq!(rows(&short), rows(&other));
}

#[test]
fn copies_of_one_event_are_one_event() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, first) = EventWriter::new(1).propose("One");
    let copies = vec![first.clone(), first.redacted(), first.clone()];
    let appended = workspace.wait(workspace.append_fresh(copies)).unwrap();
    assert_eq!(
        appended.outcomes,
        [CopyOutcome::New, CopyOutcome::Known, CopyOutcome::Known]
    );
    assert_eq!(log_size(&workspace), (1, 1, first.line().len() as u64));
}

#[test]
fn the_act_is_noted_with_the_events_and_not_without() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (_, proposal) = EventWriter::new(1).propose("One");
    let note = || {
        Some(NewAuditRecord::new(
            AuditActor::Operator(None),
            AuditAction::EventsPushed,
            &"1 event",
        ))
    };
    let pushes = [true, false].map(|is_new| {
        let terms = FastAppendOptions {
            audit_record: note(),
            ..FastAppendOptions::default()
        };
        let copies = std::slice::from_ref(&proposal);
        assert_eq!(try_fast_append(&workspace, copies, terms), is_new);
        let acts = workspace.ask(async |tenant| {
            Ok(tenant
                .list_audit_records(&AuditFilter::default(), None, 10)
                .await?)
        });
        let acts = acts.unwrap().into_iter();
        acts.filter(|it| it.act == "events.pushed").count()
    });
    assert_eq!(pushes, [1, 1]);
}

/// A condition that excludes `copy` from the fast append.
type FastAppendObstacle = fn(&BlockingWorkspace, &RecordedEvent, &mut EventWriter);

fn append_same_event(workspace: &BlockingWorkspace, copy: &RecordedEvent, _: &mut EventWriter) {
    regular_append(workspace, std::slice::from_ref(copy));
}

fn append_event_of_entry(
    workspace: &BlockingWorkspace,
    copy: &RecordedEvent,
    scribe: &mut EventWriter,
) {
    let entry = copy.event.entries().next().unwrap();
    let early = scribe.about(entry, retraction());
    regular_append(workspace, &[early]);
}

fn append_redaction(workspace: &BlockingWorkspace, copy: &RecordedEvent, scribe: &mut EventWriter) {
    let order = EventBody::EventBlanked(EventBlanked {
        event: copy.event.id,
        reason: BlankReason::Secret,
    });
    regular_append(workspace, &[scribe.write(Vec::new(), order)]);
}

fn remember_redaction(workspace: &BlockingWorkspace, copy: &RecordedEvent, _: &mut EventWriter) {
    let delta = EventDelta {
        blanked: &[copy.event.id],
        ..EventDelta::default()
    };
    workspace.clone().apply(delta).unwrap();
}

fn quarantine_copy(workspace: &BlockingWorkspace, copy: &RecordedEvent, _: &mut EventWriter) {
    workspace
        .ask(async |tenant| {
            tenant
                .quarantine_event(copy, "why", &pusher("agent:x"))
                .await
        })
        .unwrap();
}

fn evict_workspace(workspace: &BlockingWorkspace, _: &RecordedEvent, _: &mut EventWriter) {
    workspace.evict();
}

#[test]
fn what_the_hub_knows_something_of_goes_the_long_way_and_nothing_is_written() {
    let world = StoreTestEnvironment::new();
    let obstacles: [(&str, FastAppendObstacle); 6] = [
        ("there", append_same_event),
        ("begun", append_event_of_entry),
        ("ordered", append_redaction),
        ("remembered", remember_redaction),
        ("held", quarantine_copy),
        ("evicted", evict_workspace),
    ];
    for (name, put) in obstacles {
        let workspace = world.workspace(name);
        let mut scribe = EventWriter::new(1);
        let (_, new) = scribe.propose("Nobody said this");
        let (_, copy) = scribe.propose("Somebody may have said this");
        put(&workspace, &copy, &mut scribe);
        let before = log_size(&workspace);
        assert!(
            !try_fast_append(&workspace, &[new, copy], FastAppendOptions::default()),
            "{name}"
        );
        assert_eq!(log_size(&workspace), before, "{name}");
    }
}

#[test]
fn what_is_more_than_an_entry_that_begins_goes_the_long_way() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (entry, proposal) = scribe.propose("One");
    let retracted = scribe.about(entry, retraction());
    let (other, _) = scribe.propose("Two");
    let elsewhere = scribe.about(other, retraction());
    let order = EventBody::EventBlanked(EventBlanked {
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
        assert!(
            !try_fast_append(&workspace, &copies, FastAppendOptions::default()),
            "{copies:?}"
        );
    }
    assert_eq!(log_size(&workspace), (0, 0, 0));
}

#[test]
fn whoever_must_heed_retractions_goes_the_long_way_once_there_is_one() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let heeds = || FastAppendOptions {
        check_retractions: true,
        ..FastAppendOptions::default()
    };
    let (entry, first) = scribe.propose("One");
    assert!(try_fast_append(&workspace, &[first], heeds()));
    regular_append(&workspace, &[scribe.about(entry, retraction())]);
    let (_, next) = scribe.propose("Two");
    let next = std::slice::from_ref(&next);
    assert!(!try_fast_append(&workspace, next, heeds()));
    // Rebuilding from the log keeps the retraction.
    workspace.rebuild();
    assert!(!try_fast_append(&workspace, next, heeds()));
    assert!(try_fast_append(
        &workspace,
        next,
        FastAppendOptions::default()
    ));
}

#[test]
fn a_workspace_takes_as_much_as_it_may_hold_and_no_event_more() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (_, first) = scribe.propose("One");
    let (_, second) = scribe.propose("Two");
    let bytes = |copies: &[&RecordedEvent]| copies.iter().map(|it| it.line().len() as u64).sum();
    let both: u64 = bytes(&[&first, &second]);
    let two = [first, second];
    for (quotas, fits) in [
        (quotas_of(1, both), false),
        (quotas_of(2, both - 1), false),
        (quotas_of(2, both), true),
    ] {
        assert_eq!(
            try_fast_append(&workspace, &two, options_with_quotas(&quotas)),
            fits,
            "{quotas:?}"
        );
    }
    // The organization's own quota takes precedence.
    world
        .bare
        .sql("UPDATE ken.organizations SET events_max = 2");
    let (_, third) = scribe.propose("Three");
    let third = std::slice::from_ref(&third);
    assert!(!try_fast_append(
        &workspace,
        third,
        options_with_quotas(&quotas_of(9, both * 9))
    ));
    world
        .bare
        .sql("UPDATE ken.organizations SET events_max = 3");
    assert!(try_fast_append(
        &workspace,
        third,
        options_with_quotas(&quotas_of(1, both * 9))
    ));
}

fn options_with_quotas(quotas: &DefaultQuotas) -> FastAppendOptions<'_> {
    FastAppendOptions {
        quotas: Some(quotas),
        ..FastAppendOptions::default()
    }
}

fn quotas_of(events: u64, bytes: u64) -> DefaultQuotas {
    DefaultQuotas {
        events,
        bytes,
        ..DefaultQuotas::default()
    }
}

#[test]
fn no_workspace_is_entered_that_is_not_the_organizations() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let (database, own) = (&world.database, workspace.workspace);
    let (_, proposal) = EventWriter::new(1).propose("One");
    let other = "other".parse().unwrap();
    let short = async {
        let stranger = database.create_organization(&other).await.unwrap();
        let copies = vec![proposal];
        let short =
            database.fast_append(stranger.unwrap(), own, copies, FastAppendOptions::default());
        short.await.unwrap()
    };
    assert_eq!(workspace.wait(short), None);
    assert_eq!(log_size(&workspace), (0, 0, 0));
}
