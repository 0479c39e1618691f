//! Permissions: every writing use case with every role, for people and agents. Agents never
//! approve.

use ken_core::ledger::event::{Feedback, Outcome};
use ken_core::trust::promotion::PromotionArtifact;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{RunFinding, RunNote};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_hub::identity::AuthenticatedCaller;
use ken_hub::ids::Role;
use ken_hub::service::{
    self, ApprovalRequest, ObservedFinding, OpenRunRequest, ServiceError, WorkspaceSession,
};

use crate::environment::{INJECTION, ServiceTestEnvironment, pushed_line, reader, recording};

/// Every writing use case, by name.
const WRITING_USE_CASES: [&str; 12] = [
    "record",
    "feedback",
    "open",
    "note",
    "observe",
    "close",
    "approve",
    "reject",
    "release event",
    "discard event",
    "release entry",
    "discard entry",
];

/// Returns true if only people with the curator role may do this.
fn needs_curator(write: &str) -> bool {
    let peoples = [
        "approve",
        "reject",
        "release event",
        "discard event",
        "release entry",
        "discard entry",
    ];
    peoples.contains(&write)
}

/// Objects that the use cases act on.
struct PermissionTargets {
    /// A visible entry.
    entry: EntryId,
    /// A quarantined entry.
    quarantined_entry: EntryId,
    /// A quarantined event outside the log.
    quarantined_event: EventId,
}

async fn attempt_write(
    desk: &mut WorkspaceSession,
    write: &str,
    caller: &AuthenticatedCaller,
    things: &PermissionTargets,
) -> Result<(), ServiceError> {
    let reader = reader(caller, None);
    let wanted = things.entry.to_string();
    let quarantined = things.quarantined_entry.to_string();
    match write {
        "record" => {
            let it = recording(
                reader,
                EntryKind::Learning,
                "Queues are drained before deploying",
            );
            service::add_entry(desk, it).await.map(drop)
        }
        "feedback" => {
            service::show_entry(desk, &reader, &wanted).await?;
            let helpful = Feedback::Helpful;
            service::give_feedback(desk, &reader, &wanted, helpful)
                .await
                .map(drop)
        }
        "open" => service::load_open_run(desk, OpenRunRequest::default())
            .await
            .map(drop),
        "note" => service::record_note(desk, "R-roles", RunNote::Gap)
            .await
            .map(drop),
        "observe" => {
            let it = recording(
                reader.clone(),
                EntryKind::Learning,
                "Caches are warm after a deploy",
            );
            let finding = RunFinding::new(it.statement, Vec::new(), Vec::new());
            let it = ObservedFinding { reader, finding };
            service::record_finding(desk, it).await.map(drop)
        }
        "close" => {
            let ending = RunEnding {
                outcome: Outcome::Failed,
                ..RunEnding::abandoned()
            };
            service::close_run(desk, "R-roles", &ending).await.map(drop)
        }
        "approve" => {
            let told = service::show_entry(desk, &reader, &wanted).await?;
            let despite = ApprovalRequest {
                overrides: true,
                artifact: PromotionArtifact::from_entry(&told.entry).unwrap().digest(),
                ..ApprovalRequest::default()
            };
            service::approve(desk, &wanted, despite).await.map(drop)
        }
        "reject" => service::reject(desk, &wanted, None).await.map(drop),
        "release event" => service::release_event(desk, things.quarantined_event).await,
        "discard event" => service::discard_event(desk, things.quarantined_event).await,
        "release entry" => service::release_entry(desk, &quarantined, None)
            .await
            .map(drop),
        "discard entry" => service::discard_entry(desk, &quarantined, None)
            .await
            .map(drop),
        other => panic!("{other} is no use case"),
    }
}

#[test]
fn agents_never_approve_whatever_their_role_and_readers_write_nothing() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    let said = "Retry a payment once after a timeout";
    let things = PermissionTargets {
        entry: place.add(&bot, EntryKind::Learning, said).id,
        quarantined_entry: place.add(&bot, EntryKind::Learning, INJECTION).id,
        quarantined_event: place.quarantine(&pushed_line(
            &place,
            "Always answer with the customer's name first",
        )),
    };
    let wish = OpenRunRequest {
        id: Some("R-roles".to_owned()),
        ..OpenRunRequest::default()
    };
    place
        .act(&bot, async |desk| service::load_open_run(desk, wish).await)
        .unwrap();
    for write in WRITING_USE_CASES {
        for role in Role::ALL {
            for actor in ["human:eve@example.org", "agent:eve", "ci:build"] {
                let caller = place.caller(role, actor);
                // The attempt is rolled back, so that every case sees the same workspace.
                let tried = place.act(&caller, async |desk| {
                    attempt_write(desk, write, &caller, &things).await?;
                    Err::<(), _>(ServiceError::InvalidRequest("undone".to_owned()))
                });
                let told = tried.unwrap_err();
                let may = if needs_curator(write) {
                    role >= Role::Curator && actor.starts_with("human:")
                } else {
                    role >= Role::Agent
                };
                let is_refused = matches!(
                    told,
                    ServiceError::Forbidden { .. } | ServiceError::PersonNeeded { .. }
                ) || (role == Role::Peer
                    && matches!(told, ServiceError::NotFound { .. }));
                assert_eq!(!may, is_refused, "{write} as {role} {actor}: {told}");
                // A permitted caller meets no other refusal.
                let is_through =
                    matches!(&told, ServiceError::InvalidRequest(said) if said == "undone");
                // Below curator, the owner of the run decides.
                let is_anothers =
                    write == "close" && matches!(told, ServiceError::NotPermittedForAgent { .. });
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
    let place = ServiceTestEnvironment::new();
    let norm = place.add(
        &place.bot(),
        EntryKind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    assert!(!norm.quarantine.is_empty(), "a norm no person wrote waits");
    let id = norm.id.to_string();
    for role in Role::ALL {
        let caller = place.caller(role, "agent:eve");
        let reader = reader(&caller, None);
        let told = place.act(&caller, async |desk| {
            service::show_entry(desk, &reader, &id).await
        });
        let history = place.act(&caller, async |desk| {
            service::history(desk, &reader, &id).await
        });
        let queue = place.act(&caller, async |desk| {
            service::load_approval_queue(desk).await
        });
        let may = role >= Role::Curator;
        assert_eq!(told.is_ok(), may, "{role}");
        assert_eq!(history.is_ok(), may, "{role}");
        assert_eq!(queue.is_ok(), may, "{role}");
    }
}

/// Role, caller, represented agent, run, and expected permission.
const REPRESENTATION_CASES: [(Role, &str, &str, Option<&str>, bool); 10] = [
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
    let place = ServiceTestEnvironment::new();
    let entry = place.add(
        &place.bot(),
        EntryKind::Learning,
        "Retry a payment once after a timeout",
    );
    let id = entry.id.to_string();
    let owner = place.caller(Role::Agent, "agent:owner");
    let wish = OpenRunRequest {
        id: Some("R-own".to_owned()),
        ..OpenRunRequest::default()
    };
    place
        .act(&owner, async |desk| {
            service::load_open_run(desk, wish).await
        })
        .unwrap();
    let read = |caller: &AuthenticatedCaller, agent: &str, run: Option<&str>| {
        let run = run.map(ToOwned::to_owned);
        let agent = agent.parse().unwrap();
        let reader = service::build_reader(&caller.actor, Some(agent), run, None).unwrap();
        place.act(caller, async |desk| {
            service::show_entry(desk, &reader, &id).await
        })
    };
    for (role, actor, agent, run, may) in REPRESENTATION_CASES {
        let caller = place.caller(role, actor);
        let told = read(&caller, agent, run);
        let is_refused = matches!(
            told,
            Err(ServiceError::NotPermittedForAgent { .. } | ServiceError::Forbidden { .. })
        );
        assert_eq!(
            !may, is_refused,
            "{role} {actor} for {agent} in {run:?}: {told:?}"
        );
    }
    check_write_as_another(&place);
}

/// Asserts that a caller cannot write as another agent or into its run.
fn check_write_as_another(place: &ServiceTestEnvironment) {
    let victim: ken_core::values::actor::Actor = "agent:victim".parse().unwrap();
    let eve = place.caller(Role::Agent, "agent:eve");
    let seen = RunNote::SawEverything {
        agent: victim.clone(),
        how: ken_core::trust::run::ExposureChannel::Pull,
    };
    let noted = place.act(&eve, async |desk| {
        service::record_note(desk, "R-own", seen).await
    });
    assert!(
        matches!(noted, Err(ServiceError::NotPermittedForAgent { .. })),
        "{noted:?}"
    );
    let ending = RunEnding::abandoned();
    let closed = place.act(&eve, async |desk| {
        service::close_run(desk, "R-own", &ending).await
    });
    assert!(
        matches!(closed, Err(ServiceError::NotPermittedForAgent { .. })),
        "{closed:?}"
    );
    let as_victim = service::build_reader(&eve.actor, Some(victim), None, None).unwrap();
    let it = recording(
        as_victim,
        EntryKind::Learning,
        "Queues are drained before deploying",
    );
    let written = place.act(&eve, async |desk| service::add_entry(desk, it).await);
    assert!(
        matches!(written, Err(ServiceError::NotPermittedForAgent { .. })),
        "{written:?}"
    );
}

#[test]
fn a_workspace_takes_no_more_events_than_it_may() {
    let mut place = ServiceTestEnvironment::new();
    place.house.quotas.events = 1;
    let bot = place.bot();
    place.add(
        &bot,
        EntryKind::Learning,
        "Retry a payment once after a timeout",
    );
    let it = recording(
        reader(&bot, None),
        EntryKind::Learning,
        "Queues are drained before deploying",
    );
    let full = place.act(&bot, async |desk| service::add_entry(desk, it).await);
    assert!(
        matches!(&full, Err(ServiceError::Quota(it)) if (it.wanted, it.max) == (2, 1)),
        "{full:?}"
    );
    assert_eq!(place.events("entry.proposed"), 1);
    // The byte quota applies like the event quota.
    place.house.quotas.events = 10;
    place.house.quotas.bytes = 1_000;
    let it = recording(
        reader(&bot, None),
        EntryKind::Learning,
        &"Wide ".repeat(200),
    );
    let full = place.act(&bot, async |desk| service::add_entry(desk, it).await);
    assert!(
        matches!(&full, Err(ServiceError::Quota(it)) if it.max == 1_000),
        "{full:?}"
    );
    assert_eq!(place.events("entry.proposed"), 1);
}
