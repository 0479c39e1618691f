//! Abandoned runs, runs that cannot be closed, and findings of one token under several names: none
//! may block other runs or raise confidence.

use ken_core::decide::closing_events::closing_id;
use ken_core::ledger::event::{EventBody, FrictionRecorded, Outcome, Provenance};
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{AGENTS_MAX, Run, RunFinding, RunMember, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_hub::identity::AuthenticatedCaller;
use ken_hub::ids::Role;
use ken_hub::service::{self, EntryReader, ObservedFinding, OpenRunRequest, ServiceError};
use ken_testkit::build::EventWriter;

use crate::environment::{ServiceTestEnvironment, agent_reader, reader};

const STATEMENT: &str = "The payment gateway answers twice after a timeout";
const MORE_THAN_A_DAY_MILLIS: u64 = 25 * 60 * 60 * 1000;

fn successful_ending() -> RunEnding {
    RunEnding {
        outcome: Outcome::Succeeded,
        ..RunEnding::abandoned()
    }
}

fn open_run_as(
    place: &ServiceTestEnvironment,
    by: &AuthenticatedCaller,
    id: &str,
    names: &[&str],
) -> Run {
    let agents = names
        .iter()
        .map(|it| (it.parse().unwrap(), RunMember::default()));
    let wish = OpenRunRequest {
        id: Some(id.to_owned()),
        agents: agents.collect(),
        witness: RunWitness::Orchestrator,
        ..OpenRunRequest::default()
    };
    place
        .act(by, async |desk| service::load_open_run(desk, wish).await)
        .unwrap()
}

fn observe_finding(
    place: &ServiceTestEnvironment,
    by: &AuthenticatedCaller,
    name: &str,
    run: &str,
    statement: &str,
) {
    let statement = statement.parse().unwrap();
    let it = ObservedFinding {
        reader: agent_reader(name, run),
        finding: RunFinding::new(statement, Vec::new(), Vec::new()),
    };
    place
        .act(by, async |desk| service::record_finding(desk, it).await)
        .unwrap();
}

/// Runs SQL on the workspace's rows, beyond any use case; returns the last line of the output.
fn run_sql(place: &ServiceTestEnvironment, statement: &str) -> String {
    let set = format!("set ken.workspace = '{}'", place.workspace.0);
    let told = place.bare.sql(&format!("{set}; {statement}"));
    told.trim().lines().last().unwrap_or_default().to_owned()
}

fn open_run_count(place: &ServiceTestEnvironment) -> usize {
    let count = "select count(*) from ken.runs where closed_at is null";
    run_sql(place, count).parse().unwrap()
}

/// Inserts notes directly, bypassing every limit.
fn insert_notes(place: &ServiceTestEnvironment, run: &str, count: u32, name: &str) {
    let note = format!(
        r#"{{"at":"2027-01-15T08:00:00Z","by":"{name}","note":"used","agent":"{name}","entries":[]}}"#
    );
    let (workspace, last) = (place.workspace.0, 100 + count);
    let insert = format!(
        "insert into ken.run_notes select '{workspace}', '{run}', n, '{note}' from generate_series(101, {last}) n"
    );
    run_sql(place, &insert);
}

fn open_run_ids(place: &ServiceTestEnvironment) -> Vec<String> {
    let runs = place.act(&place.ada(), async |desk| {
        service::list_open_runs(desk).await
    });
    runs.unwrap().into_iter().map(|it| it.id).collect()
}

#[test]
fn a_run_with_as_many_notes_as_one_may_have_is_in_nobodys_way() {
    let place = ServiceTestEnvironment::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    open_run_as(&place, &by, "R-full", &["agent:a"]);
    insert_notes(&place, "R-full", 5_001, "agent:a");
    place.later(MORE_THAN_A_DAY_MILLIS);
    open_run_as(&place, &by, "R-new", &["agent:a"]);
    assert_eq!(open_run_ids(&place), ["R-new"]);
    assert_eq!(place.events("run.closed"), 1, "it was abandoned");
}

#[test]
fn a_run_that_cannot_be_closed_is_forgotten_and_in_nobodys_way() {
    let place = ServiceTestEnvironment::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    open_run_as(&place, &by, "R-bad", &["agent:a"]);
    let secret = ["agent:ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    insert_notes(&place, "R-bad", 1, &secret);
    let closed = place.act(&by, async |desk| {
        service::close_run(desk, "R-bad", &successful_ending()).await
    });
    assert!(
        matches!(closed, Err(ServiceError::GuardRejected(_))),
        "{closed:?}"
    );
    place.later(MORE_THAN_A_DAY_MILLIS);
    open_run_as(&place, &by, "R-new", &["agent:a"]);
    assert_eq!(open_run_ids(&place), ["R-new"]);
    assert_eq!(place.events("run.closed"), 0, "nothing of it was kept");
    assert_eq!(
        run_sql(
            &place,
            "select count(*) from ken.run_notes where run = 'R-bad'"
        ),
        "0"
    );
}

#[test]
fn the_id_of_a_runs_end_cannot_be_taken_before() {
    let place = ServiceTestEnvironment::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let run = open_run_as(&place, &by, "R-taken", &["agent:a"]);
    let mut scribe = EventWriter::new(5);
    let body = EventBody::FrictionRecorded(FrictionRecorded {
        friction: ken_core::values::content::FrictionType::ToolError,
        context: serde_json::json!({}),
    });
    let taken = scribe.write_as(closing_id(&run), Vec::new(), body);
    place.runtime.block_on(async {
        let tenant = place
            .database
            .begin_workspace(place.organization, place.workspace);
        let mut tenant = tenant.await.unwrap();
        tenant.append(vec![taken]).await.unwrap();
        tenant.commit().await.unwrap();
    });
    let closed = place.act(&by, async |desk| {
        service::close_run(desk, "R-taken", &successful_ending()).await
    });
    assert!(closed.is_ok(), "{closed:?}");
    assert_eq!(place.events("run.closed"), 1);
}

#[test]
fn a_run_has_as_many_agents_as_one_may_and_can_be_closed() {
    let place = ServiceTestEnvironment::new();
    let (bot, ada) = (place.bot(), place.ada());
    let known = place
        .add(&ada, EntryKind::Learning, STATEMENT)
        .id
        .to_string();
    open_run_as(&place, &bot, "R-many", &["agent:bot/0"]);
    let long = |n: usize| -> Actor { format!("agent:bot/{n:0>110}").parse().unwrap() };
    let said = RunNote::Said {
        agent: "agent:bot/0".parse().unwrap(),
        words: None,
        cites: Vec::new(),
        to: (0..AGENTS_MAX).map(long).collect(),
    };
    let refused = place.act(&bot, async |desk| {
        service::record_note(desk, "R-many", said).await
    });
    assert!(
        matches!(refused, Err(ServiceError::Conflict(_))),
        "{refused:?}"
    );
    for n in 0..AGENTS_MAX + 8 {
        let reader = agent_reader(&long(n).to_string(), "R-many");
        place
            .act(&bot, async |desk| {
                service::show_entry(desk, &reader, &known).await
            })
            .unwrap();
    }
    let closed = place
        .act(&bot, async |desk| {
            service::close_run(desk, "R-many", &successful_ending()).await
        })
        .unwrap();
    assert_eq!(closed.closing.closed.agents.len(), AGENTS_MAX);
    assert!(!closed.run.is_complete, "what the others did is lost");
}

#[test]
fn one_token_confirms_no_claim_of_its_own_whatever_names_it_takes() {
    for (run, name) in [("R-below", "agent:bot/a"), ("R-other", "agent:somebody")] {
        let place = ServiceTestEnvironment::new();
        let bot = place.bot();
        let claim = place.add(&bot, EntryKind::Learning, STATEMENT);
        open_run_as(&place, &bot, run, &[name]);
        observe_finding(&place, &bot, name, run, STATEMENT);
        let closed = place
            .act(&bot, async |desk| {
                service::close_run(desk, run, &successful_ending()).await
            })
            .unwrap();
        assert_eq!(
            closed.closing.found.get(&claim.id),
            Some(&Provenance::Unwitnessed),
            "{name}"
        );
        assert_eq!(closed.closing.promoted.get(&claim.id), None, "{name}");
        let told = place
            .act(&place.ada(), async |desk| {
                let reader = reader(&bot, None);
                service::show_entry(desk, &reader, &claim.id.to_string()).await
            })
            .unwrap();
        assert_ne!(told.entry.status.value, EntryStatus::Verified, "{name}");
        assert_eq!(told.entry.confirmation.independent, 0, "{name}");
    }
}

#[test]
fn what_one_token_tells_in_several_names_does_not_converge() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    for (run, names) in [
        ("R-below", ["agent:bot/a", "agent:bot/b"]),
        ("R-others", ["agent:one", "agent:other"]),
    ] {
        open_run_as(&place, &bot, run, &names);
        for name in names {
            observe_finding(&place, &bot, name, run, STATEMENT);
        }
        let closed = place
            .act(&bot, async |desk| {
                service::close_run(desk, run, &successful_ending()).await
            })
            .unwrap();
        assert_eq!(closed.gained, [], "{run}");
    }
}

/// Reads an entry in a session, outside any run.
fn read_entry(place: &ServiceTestEnvironment, by: &AuthenticatedCaller, session: &str, id: &str) {
    let reader = EntryReader {
        session: Some(session.to_owned()),
        ..reader(by, None)
    };
    place
        .act(by, async |desk| {
            service::show_entry(desk, &reader, id).await
        })
        .unwrap();
}

#[test]
fn reading_alone_closes_the_runs_that_reading_made() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    let known = place.add(&place.ada(), EntryKind::Learning, STATEMENT).id;
    let known = known.to_string();
    for n in 0..3 {
        read_entry(&place, &bot, &format!("old-{n}"), &known);
    }
    assert_eq!(open_run_count(&place), 3);
    place.later(MORE_THAN_A_DAY_MILLIS);
    for n in 0..4 {
        read_entry(&place, &bot, &format!("new-{n}"), &known);
    }
    assert_eq!(
        open_run_count(&place),
        4,
        "one is closed for each that is made"
    );
    assert_eq!(place.events("run.closed"), 3);
    assert_eq!(run_sql(&place, "select count(*) from ken.runs"), "4");
}

#[test]
fn conversations_of_one_agent_are_capped_and_hide_no_run() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    let known = place.add(&place.ada(), EntryKind::Learning, STATEMENT).id;
    let known = known.to_string();
    for n in 0..70 {
        read_entry(&place, &bot, &format!("s-{n}"), &known);
        place.later(1);
    }
    assert_eq!(open_run_count(&place), 64);
    open_run_as(&place, &bot, "R-new", &["agent:a"]);
    assert_eq!(open_run_ids(&place), ["R-new"]);
}
