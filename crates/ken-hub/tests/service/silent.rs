//! Runs nobody ends, runs that cannot be closed, and findings that are one token's word under several names: none of them
//! may be in anybody's way or make a claim truer.

use ken_core::actor::Actor;
use ken_core::event::{Body, FrictionRecorded, Outcome, Provenance};
use ken_core::kind::Kind;
use ken_core::run::close::Ending;
use ken_core::run::written::ending_id;
use ken_core::run::{AGENTS_MAX, Finding, Member, Note, Run, Witness};
use ken_core::status::Status;
use ken_hub::identity::{Caller, Role};
use ken_hub::service::{self, Failure, NewRun, Observation, Reader};
use ken_testkit::build::Scribe;

use crate::place::{Place, agent, reader};

const STATEMENT: &str = "The payment gateway answers twice after a timeout";
const A_DAY_AND_MORE: u64 = 25 * 60 * 60 * 1000;

fn succeeded() -> Ending {
    Ending {
        outcome: Outcome::Succeeded,
        ..Ending::abandoned()
    }
}

fn open(place: &Place, by: &Caller, id: &str, names: &[&str]) -> Run {
    let agents = names
        .iter()
        .map(|it| (it.parse().unwrap(), Member::default()));
    let wish = NewRun {
        id: Some(id.to_owned()),
        agents: agents.collect(),
        witness: Witness::Orchestrator,
        ..NewRun::default()
    };
    place
        .act(by, async |desk| service::open(desk, wish).await)
        .unwrap()
}

fn observe(place: &Place, by: &Caller, name: &str, run: &str, statement: &str) {
    let statement = statement.parse().unwrap();
    let it = Observation {
        reader: agent(name, run),
        finding: Finding::new(statement, Vec::new(), Vec::new()),
    };
    place
        .act(by, async |desk| service::observe(desk, it).await)
        .unwrap();
}

/// Does something to the rows of the workspace that no use case does; returns the last line of what is told.
fn sql(place: &Place, statement: &str) -> String {
    let set = format!("set ken.workspace = '{}'", place.workspace.0);
    let told = place.bare.sql(&format!("{set}; {statement}"));
    told.trim().lines().last().unwrap_or_default().to_owned()
}

fn open_rows(place: &Place) -> usize {
    let count = "select count(*) from ken.runs where closed_at is null";
    sql(place, count).parse().unwrap()
}

/// Adds notes behind the back of every limit.
fn add_rows(place: &Place, run: &str, count: u32, name: &str) {
    let note = format!(
        r#"{{"at":"2027-01-15T08:00:00Z","by":"{name}","note":"used","agent":"{name}","entries":[]}}"#
    );
    let (workspace, last) = (place.workspace.0, 100 + count);
    let insert = format!(
        "insert into ken.run_notes select '{workspace}', '{run}', n, '{note}' from generate_series(101, {last}) n"
    );
    sql(place, &insert);
}

fn open_ids(place: &Place) -> Vec<String> {
    let runs = place.act(&place.ada(), async |desk| service::open_runs(desk).await);
    runs.unwrap().into_iter().map(|it| it.id).collect()
}

#[test]
fn a_run_with_as_many_notes_as_one_may_have_is_in_nobodys_way() {
    let place = Place::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    open(&place, &by, "R-full", &["agent:a"]);
    add_rows(&place, "R-full", 5_001, "agent:a");
    place.later(A_DAY_AND_MORE);
    open(&place, &by, "R-new", &["agent:a"]);
    assert_eq!(open_ids(&place), ["R-new"]);
    assert_eq!(place.events("run.closed"), 1, "it was abandoned");
}

#[test]
fn a_run_that_cannot_be_closed_is_forgotten_and_in_nobodys_way() {
    let place = Place::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    open(&place, &by, "R-bad", &["agent:a"]);
    let secret = ["agent:ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    add_rows(&place, "R-bad", 1, &secret);
    let closed = place.act(&by, async |desk| {
        service::close(desk, "R-bad", &succeeded()).await
    });
    assert!(matches!(closed, Err(Failure::Turned(_))), "{closed:?}");
    place.later(A_DAY_AND_MORE);
    open(&place, &by, "R-new", &["agent:a"]);
    assert_eq!(open_ids(&place), ["R-new"]);
    assert_eq!(place.events("run.closed"), 0, "nothing of it was kept");
    assert_eq!(
        sql(
            &place,
            "select count(*) from ken.run_notes where run = 'R-bad'"
        ),
        "0"
    );
}

#[test]
fn the_id_of_a_runs_end_cannot_be_taken_before() {
    let place = Place::new();
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let run = open(&place, &by, "R-taken", &["agent:a"]);
    let mut scribe = Scribe::new(5);
    let body = Body::FrictionRecorded(FrictionRecorded {
        friction: ken_core::content::FrictionType::ToolError,
        context: serde_json::json!({}),
    });
    let taken = scribe.write_as(ending_id(&run), Vec::new(), body);
    place.runtime.block_on(async {
        let tenant = place.database.tenant(place.organisation, place.workspace);
        let mut tenant = tenant.await.unwrap();
        tenant.append(vec![taken]).await.unwrap();
        tenant.commit().await.unwrap();
    });
    let closed = place.act(&by, async |desk| {
        service::close(desk, "R-taken", &succeeded()).await
    });
    assert!(closed.is_ok(), "{closed:?}");
    assert_eq!(place.events("run.closed"), 1);
}

#[test]
fn a_run_has_as_many_agents_as_one_may_and_can_be_closed() {
    let place = Place::new();
    let (bot, ada) = (place.bot(), place.ada());
    let known = place.add(&ada, Kind::Learning, STATEMENT).id.to_string();
    open(&place, &bot, "R-many", &["agent:bot/0"]);
    let long = |n: usize| -> Actor { format!("agent:bot/{n:0>110}").parse().unwrap() };
    let said = Note::Said {
        agent: "agent:bot/0".parse().unwrap(),
        words: None,
        cites: Vec::new(),
        to: (0..AGENTS_MAX).map(long).collect(),
    };
    let refused = place.act(&bot, async |desk| service::note(desk, "R-many", said).await);
    assert!(matches!(refused, Err(Failure::Conflict(_))), "{refused:?}");
    for n in 0..AGENTS_MAX + 8 {
        let reader = agent(&long(n).to_string(), "R-many");
        place
            .act(&bot, async |desk| {
                service::entry(desk, &reader, &known).await
            })
            .unwrap();
    }
    let closed = place
        .act(&bot, async |desk| {
            service::close(desk, "R-many", &succeeded()).await
        })
        .unwrap();
    assert_eq!(closed.closing.closed.agents.len(), AGENTS_MAX);
    assert!(!closed.run.is_complete, "what the others did is lost");
}

#[test]
fn one_token_confirms_no_claim_of_its_own_whatever_names_it_takes() {
    for (run, name) in [("R-below", "agent:bot/a"), ("R-other", "agent:somebody")] {
        let place = Place::new();
        let bot = place.bot();
        let claim = place.add(&bot, Kind::Learning, STATEMENT);
        open(&place, &bot, run, &[name]);
        observe(&place, &bot, name, run, STATEMENT);
        let closed = place
            .act(&bot, async |desk| {
                service::close(desk, run, &succeeded()).await
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
                service::entry(desk, &reader, &claim.id.to_string()).await
            })
            .unwrap();
        assert_ne!(told.entry.status.value, Status::Verified, "{name}");
        assert_eq!(told.entry.confirmation.independent, 0, "{name}");
    }
}

#[test]
fn what_one_token_tells_in_several_names_does_not_converge() {
    let place = Place::new();
    let bot = place.bot();
    for (run, names) in [
        ("R-below", ["agent:bot/a", "agent:bot/b"]),
        ("R-others", ["agent:one", "agent:other"]),
    ] {
        open(&place, &bot, run, &names);
        for name in names {
            observe(&place, &bot, name, run, STATEMENT);
        }
        let closed = place
            .act(&bot, async |desk| {
                service::close(desk, run, &succeeded()).await
            })
            .unwrap();
        assert_eq!(closed.gained, [], "{run}");
    }
}

/// Reads an entry in a conversation, outside any run.
fn read(place: &Place, by: &Caller, session: &str, id: &str) {
    let reader = Reader {
        session: Some(session.to_owned()),
        ..reader(by, None)
    };
    place
        .act(by, async |desk| service::entry(desk, &reader, id).await)
        .unwrap();
}

#[test]
fn reading_alone_closes_the_runs_that_reading_made() {
    let place = Place::new();
    let bot = place.bot();
    let known = place.add(&place.ada(), Kind::Learning, STATEMENT).id;
    let known = known.to_string();
    for n in 0..3 {
        read(&place, &bot, &format!("old-{n}"), &known);
    }
    assert_eq!(open_rows(&place), 3);
    place.later(A_DAY_AND_MORE);
    for n in 0..4 {
        read(&place, &bot, &format!("new-{n}"), &known);
    }
    assert_eq!(open_rows(&place), 4, "one is closed for each that is made");
    assert_eq!(place.events("run.closed"), 3);
    assert_eq!(sql(&place, "select count(*) from ken.runs"), "4");
}

#[test]
fn conversations_of_one_agent_are_capped_and_hide_no_run() {
    let place = Place::new();
    let bot = place.bot();
    let known = place.add(&place.ada(), Kind::Learning, STATEMENT).id;
    let known = known.to_string();
    for n in 0..70 {
        read(&place, &bot, &format!("s-{n}"), &known);
        place.later(1);
    }
    assert_eq!(open_rows(&place), 64);
    open(&place, &bot, "R-new", &["agent:a"]);
    assert_eq!(open_ids(&place), ["R-new"]);
}
