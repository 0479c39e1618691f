//! Who may do what: every use case that writes, with every role, for people and for agents. Agents never approve.

use ken_core::event::{Feedback, Outcome};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::run::Note;
use ken_core::run::close::Ending;
use ken_hub::identity::{Caller, Role};
use ken_hub::service::{self, Approving, Desk, Failure, NewRun, Observation};

use crate::place::{Place, reader, recording};

/// Every use case that writes, by name.
const WRITES: [&str; 10] = [
    "record", "feedback", "open", "note", "observe", "close", "approve", "reject", "release",
    "discard",
];

/// Whether only people may, in a role that speaks for people.
fn is_peoples(write: &str) -> bool {
    ["approve", "reject", "release", "discard"].contains(&write)
}

async fn attempt(
    desk: &mut Desk,
    write: &str,
    caller: &Caller,
    entry: EntryId,
) -> Result<(), Failure> {
    let reader = reader(caller, None);
    let wanted = entry.to_string();
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
            let despite = Approving {
                despite: true,
                ..Approving::default()
            };
            service::approve(desk, &wanted, despite).await.map(drop)
        }
        "reject" => service::reject(desk, &wanted, None).await.map(drop),
        "release" | "discard" => {
            let id = "01JCPQ3W6M7Y2K8T4D5F6G7H8J".parse().unwrap();
            match write {
                "release" => service::release(desk, id).await,
                _ => service::discard(desk, id).await,
            }
        }
        other => panic!("{other} is no use case"),
    }
}

#[test]
fn agents_never_approve_whatever_their_role_and_readers_write_nothing() {
    let place = Place::new();
    let bot = place.bot();
    let entry = place
        .add(&bot, Kind::Learning, "Retry a payment once after a timeout")
        .id;
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
                    attempt(desk, write, &caller, entry).await?;
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
