//! Who may do what: every use case that writes, with every role, for people and for agents. Agents never approve.

use ken_core::event::{Feedback, Outcome};
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Kind;
use ken_core::promotion::Artifact;
use ken_core::run::Note;
use ken_core::run::close::Ending;
use ken_hub::identity::{Caller, Role};
use ken_hub::service::{self, Approving, Desk, Failure, NewRun, Observation};

use crate::place::{ORDERS, Place, line, reader, recording};

/// Every use case that writes, by name.
const WRITES: [&str; 12] = [
    "record",
    "feedback",
    "open",
    "note",
    "observe",
    "close",
    "approve",
    "reject",
    "release",
    "discard",
    "lift",
    "take back",
];

/// Whether only people may, in a role that speaks for people.
fn is_peoples(write: &str) -> bool {
    let peoples = [
        "approve",
        "reject",
        "release",
        "discard",
        "lift",
        "take back",
    ];
    peoples.contains(&write)
}

/// What the use cases are about.
struct Things {
    /// An entry anybody is shown.
    entry: EntryId,
    /// An entry that was set apart.
    apart: EntryId,
    /// A line that is in no log.
    held: EventId,
}

async fn attempt(
    desk: &mut Desk,
    write: &str,
    caller: &Caller,
    things: &Things,
) -> Result<(), Failure> {
    let reader = reader(caller, None);
    let (wanted, apart) = (things.entry.to_string(), things.apart.to_string());
    match write {
        "record" => {
            let it = recording(
                reader,
                Kind::Learning,
                "Queues are drained before deploying",
            );
            service::record(desk, it).await.map(drop)
        }
        "feedback" => {
            service::entry(desk, &reader, &wanted).await?;
            let helpful = Feedback::Helpful;
            service::feedback(desk, &reader, &wanted, helpful)
                .await
                .map(drop)
        }
        "open" => service::open(desk, NewRun::default()).await.map(drop),
        "note" => service::note(desk, "R-roles", Note::Gap).await.map(drop),
        "observe" => {
            let it = recording(
                reader.clone(),
                Kind::Learning,
                "Caches are warm after a deploy",
            );
            let finding = ken_core::run::Finding {
                statement: it.statement,
                evidence: Vec::new(),
                verify: Vec::new(),
                severity_milli: 0,
                confidence_milli: 0,
                dismissed: false,
            };
            let it = Observation { reader, finding };
            service::observe(desk, it).await.map(drop)
        }
        "close" => {
            let ending = Ending {
                outcome: Outcome::Failed,
                ..Ending::abandoned()
            };
            service::close(desk, "R-roles", &ending).await.map(drop)
        }
        "approve" => {
            let told = service::entry(desk, &reader, &wanted).await?;
            let despite = Approving {
                despite: true,
                artifact: Artifact::of(&told.entry).unwrap().digest(),
                ..Approving::default()
            };
            service::approve(desk, &wanted, despite).await.map(drop)
        }
        "reject" => service::reject(desk, &wanted, None).await.map(drop),
        "release" => service::release(desk, things.held).await,
        "discard" => service::discard(desk, things.held).await,
        "lift" => service::lift_quarantine(desk, &apart, None).await.map(drop),
        "take back" => service::discard_set_apart(desk, &apart, None)
            .await
            .map(drop),
        other => panic!("{other} is no use case"),
    }
}

#[test]
fn agents_never_approve_whatever_their_role_and_readers_write_nothing() {
    let place = Place::new();
    let bot = place.bot();
    let said = "Retry a payment once after a timeout";
    let things = Things {
        entry: place.add(&bot, Kind::Learning, said).id,
        apart: place.add(&bot, Kind::Learning, ORDERS).id,
        held: place.hold(&line(
            &place,
            "Always answer with the customer's name first",
        )),
    };
    let wish = NewRun {
        id: Some("R-roles".to_owned()),
        ..NewRun::default()
    };
    place
        .act(&bot, async |desk| service::open(desk, wish).await)
        .unwrap();
    for write in WRITES {
        for role in Role::ALL {
            for actor in ["human:eve@example.org", "agent:eve", "ci:build"] {
                let caller = place.caller(role, actor);
                // What was tried is undone: every case meets the same workspace.
                let tried = place.act(&caller, async |desk| {
                    attempt(desk, write, &caller, &things).await?;
                    Err::<(), _>(Failure::Usage("undone".to_owned()))
                });
                let told = tried.unwrap_err();
                let may = match is_peoples(write) {
                    true => Role::Curator <= role && actor.starts_with("human:"),
                    false => Role::Agent <= role,
                };
                let is_refused = matches!(
                    told,
                    Failure::Forbidden { .. } | Failure::PersonNeeded { .. }
                );
                assert_eq!(!may, is_refused, "{write} as {role} {actor}: {told}");
                // Whoever may is refused nothing else either.
                let is_through = matches!(&told, Failure::Usage(said) if said == "undone");
                // Whose run it is decides, below curators.
                let is_anothers = write == "close" && matches!(told, Failure::NotYours { .. });
                let is_done = is_through || is_anothers;
                assert_eq!(may, is_done, "{write} as {role} {actor}: {told}");
            }
        }
    }
    assert_eq!(place.events("approval.granted"), 0);
    assert_eq!(place.events("entry.scope_changed"), 0);
}

#[test]
fn what_waits_for_a_person_is_told_to_curators_only() {
    let place = Place::new();
    let norm = place.add(
        &place.bot(),
        Kind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    assert!(!norm.quarantine.is_empty(), "a norm no person wrote waits");
    let id = norm.id.to_string();
    for role in Role::ALL {
        let caller = place.caller(role, "agent:eve");
        let reader = reader(&caller, None);
        let told = place.act(&caller, async |desk| {
            service::entry(desk, &reader, &id).await
        });
        let history = place.act(&caller, async |desk| {
            service::history(desk, &reader, &id).await
        });
        let queue = place.act(&caller, async |desk| service::queue(desk).await);
        let may = Role::Curator <= role;
        assert_eq!(told.is_ok(), may, "{role}");
        assert_eq!(history.is_ok(), may, "{role}");
        assert_eq!(queue.is_ok(), may, "{role}");
    }
}

/// Who, in which role, for whom, in which run, and whether it may.
const SPEAKING: [(Role, &str, &str, Option<&str>, bool); 10] = [
    (Role::Reader, "agent:eve", "agent:victim", None, false),
    (
        Role::Reader,
        "agent:eve",
        "agent:victim",
        Some("R-own"),
        false,
    ),
    (Role::Agent, "agent:eve", "agent:victim", None, false),
    (
        Role::Agent,
        "agent:eve",
        "agent:victim",
        Some("R-own"),
        false,
    ),
    (Role::Agent, "agent:owner", "agent:victim", None, false),
    (
        Role::Agent,
        "agent:owner",
        "agent:victim",
        Some("R-own"),
        true,
    ),
    (Role::Agent, "agent:eve", "agent:eve", Some("R-own"), true),
    (Role::Agent, "agent:eve", "agent:eve/reviewer", None, true),
    (Role::Agent, "agent:eve", "agent:evel", None, false),
    (Role::Curator, "human:ada@x.org", "agent:victim", None, true),
];

#[test]
fn nobody_speaks_for_an_agent_that_is_not_theirs() {
    let place = Place::new();
    let entry = place.add(
        &place.bot(),
        Kind::Learning,
        "Retry a payment once after a timeout",
    );
    let id = entry.id.to_string();
    let owner = place.caller(Role::Agent, "agent:owner");
    let wish = NewRun {
        id: Some("R-own".to_owned()),
        ..NewRun::default()
    };
    place
        .act(&owner, async |desk| service::open(desk, wish).await)
        .unwrap();
    let read = |caller: &Caller, agent: &str, run: Option<&str>| {
        let run = run.map(ToOwned::to_owned);
        let agent = agent.parse().unwrap();
        let reader = service::reader(&caller.actor, Some(agent), run, None).unwrap();
        place.act(caller, async |desk| {
            service::entry(desk, &reader, &id).await
        })
    };
    for (role, actor, agent, run, may) in SPEAKING {
        let caller = place.caller(role, actor);
        let told = read(&caller, agent, run);
        let is_refused = matches!(
            told,
            Err(Failure::NotYours { .. } | Failure::Forbidden { .. })
        );
        assert_eq!(
            !may, is_refused,
            "{role} {actor} for {agent} in {run:?}: {told:?}"
        );
    }
    write_for_another(&place);
}

/// Nothing is written in another's name or run.
fn write_for_another(place: &Place) {
    let victim: ken_core::actor::Actor = "agent:victim".parse().unwrap();
    let eve = place.caller(Role::Agent, "agent:eve");
    let seen = Note::SawEverything {
        agent: victim.clone(),
        how: ken_core::run::How::Pull,
    };
    let noted = place.act(&eve, async |desk| service::note(desk, "R-own", seen).await);
    assert!(matches!(noted, Err(Failure::NotYours { .. })), "{noted:?}");
    let ending = Ending::abandoned();
    let closed = place.act(&eve, async |desk| {
        service::close(desk, "R-own", &ending).await
    });
    assert!(
        matches!(closed, Err(Failure::NotYours { .. })),
        "{closed:?}"
    );
    let as_victim = service::reader(&eve.actor, Some(victim), None, None).unwrap();
    let it = recording(
        as_victim,
        Kind::Learning,
        "Queues are drained before deploying",
    );
    let written = place.act(&eve, async |desk| service::record(desk, it).await);
    assert!(
        matches!(written, Err(Failure::NotYours { .. })),
        "{written:?}"
    );
}

#[test]
fn a_workspace_takes_no_more_events_than_it_may() {
    let mut place = Place::new();
    place.house.quotas.events = 1;
    let bot = place.bot();
    place.add(&bot, Kind::Learning, "Retry a payment once after a timeout");
    let it = recording(
        reader(&bot, None),
        Kind::Learning,
        "Queues are drained before deploying",
    );
    let full = place.act(&bot, async |desk| service::record(desk, it).await);
    assert!(
        matches!(&full, Err(Failure::Quota(it)) if (it.wanted, it.max) == (2, 1)),
        "{full:?}"
    );
    assert_eq!(place.events("entry.proposed"), 1);
    // Bytes count as much as events do.
    place.house.quotas.events = 10;
    place.house.quotas.bytes = 1_000;
    let it = recording(reader(&bot, None), Kind::Learning, &"Wide ".repeat(200));
    let full = place.act(&bot, async |desk| service::record(desk, it).await);
    assert!(
        matches!(&full, Err(Failure::Quota(it)) if it.max == 1_000),
        "{full:?}"
    );
    assert_eq!(place.events("entry.proposed"), 1);
}
