//! What waits for a person: the promotion queue, approvals, the organisation's tier, lines that were held.

use ken_core::actor::Actor;
use ken_core::content::{Changes, Scope};
use ken_core::decide::{Clock, Draft};
use ken_core::entry::Entry;
use ken_core::event::{Admission, Body, Channel, Reanchored, Recorded, Revised, ScopeChanged};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::promotion::Artifact;
use ken_core::status::Status;
use ken_hub::identity::{Role, WorkspaceId};
use ken_hub::service::{self, Approving, Failure, Portion, Question};
use ken_testkit::build::Scribe;

use crate::place::{Place, line, reader};

const STATEMENT: &str = "Retry a payment once after a gateway timeout";

fn question(place: &Place, query: &str) -> Question {
    Question {
        search: ken_core::answer::Search {
            query: query.to_owned(),
            ..Default::default()
        },
        portion: Portion::default(),
        reader: reader(&place.ada(), None),
    }
}

/// Returns the digest of an entry as it reads now.
fn digest(place: &Place, wanted: &str) -> String {
    let ada = place.ada();
    let told = place.act(&ada, async |desk| {
        service::entry(desk, &reader(&ada, None), wanted).await
    });
    Artifact::of(&told.unwrap().entry).unwrap().digest()
}

/// Lets outcomes show that an entry helps: enough to be fit.
fn prove(place: &Place, wanted: &str) {
    for n in 0..6 {
        let caller = place.caller(Role::Agent, &format!("agent:user-{n}"));
        let reader = reader(&caller, None);
        place
            .act(&caller, async |desk| {
                service::entry(desk, &reader, wanted).await?;
                let helpful = ken_core::event::Feedback::Helpful;
                service::feedback(desk, &reader, wanted, helpful).await
            })
            .unwrap();
    }
}

#[test]
fn scp_what_has_proven_itself_is_promoted_by_a_person_and_answers_elsewhere_beneath_what_is_verified_there()
 {
    let place = Place::new();
    let (bot, ada) = (place.bot(), place.ada());
    let entry = place.add(&bot, Kind::Learning, STATEMENT);
    let id = entry.id.to_string();
    let queue = place
        .act(&ada, async |desk| service::queue(desk).await)
        .unwrap();
    assert!(queue.fit.is_empty(), "nobody used it yet");
    prove(&place, &id);
    let queue = place
        .act(&ada, async |desk| service::queue(desk).await)
        .unwrap();
    let fit: Vec<EntryId> = queue.fit.iter().map(|it| it.entry.id).collect();
    assert_eq!(fit, [entry.id]);
    let it = Approving {
        artifact: digest(&place, &id),
        ..Approving::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, it).await)
        .unwrap();
    assert_eq!(approved.scope.value, Scope::Global);
    let queue = place
        .act(&ada, async |desk| service::queue(desk).await)
        .unwrap();
    assert!(queue.fit.is_empty(), "it reaches that far now");

    let elsewhere = place.another("warehouse");
    let own = place.add_in(
        elsewhere,
        &ada,
        Kind::Learning,
        "A gateway timeout is logged with the payment's id",
    );
    let found = place
        .act_in(elsewhere, &ada, async |desk| {
            service::search(
                desk,
                question(&place, "gateway timeout of a payment, retry?"),
            )
            .await
        })
        .unwrap();
    let here: Vec<EntryId> = found.hits.iter().map(|it| it.entry.id).collect();
    assert_eq!(here, [own.id]);
    let there: Vec<EntryId> = found.beside.shown().iter().map(|it| it.id).collect();
    assert_eq!(there, [entry.id]);
    let content = found.beside.hits[0].entry.content.as_ref().unwrap();
    assert!(content.evidence.is_empty() && content.verify.is_empty());
    assert!(
        found.beside.hits[0].entry.citations.is_empty(),
        "evidence stays where it is"
    );
    let back = place
        .act(&ada, async |desk| {
            service::search(
                desk,
                question(&place, "gateway timeout of a payment, retry?"),
            )
            .await
        })
        .unwrap();
    assert!(
        back.beside.shown().is_empty(),
        "its own workspace knows it already"
    );
}

/// Appends an event about an entry as a push would, in the name of `agent:mover`.
fn happens(place: &Place, entry: EntryId, body: Body) {
    place.later(1_000);
    let by: Actor = "agent:mover".parse().unwrap();
    let mut world = place.house.world.clone();
    let mut clock = Clock {
        node: world.node(),
        now: place.house.world.now(),
        seen: None,
        ids: &mut world,
    };
    let draft = Draft {
        about: vec![entry.into()],
        body,
    };
    let rules = ken_guard::RULE_SET;
    let copy = Recorded::new(clock.stamp(draft, &by, Admission::clean(rules)));
    place.append(vec![copy]);
    place.later(1_000);
}

fn current(place: &Place, id: EntryId) -> Entry {
    let (ada, id) = (place.ada(), id.to_string());
    let told = place.act(&ada, async |desk| {
        service::entry(desk, &reader(&ada, None), &id).await
    });
    told.unwrap().entry
}

/// Returns what the organisation tells another workspace.
fn told_elsewhere(place: &Place, elsewhere: WorkspaceId) -> Vec<String> {
    let found = place.act_in(elsewhere, &place.ada(), async |desk| {
        service::search(desk, question(place, "retry a payment after a timeout?")).await
    });
    let beside = found.unwrap().beside;
    beside
        .hits
        .iter()
        .map(|it| it.entry.said().to_owned())
        .collect()
}

#[test]
fn scp_what_reaches_all_stays_when_its_code_moves_and_comes_back_when_new_words_are_approved() {
    const REWORDED: &str = "Retry a payment twice after a gateway timeout";
    let place = Place::new();
    let ada = place.ada();
    let id = place.add(&place.bot(), Kind::Learning, STATEMENT).id;
    let name = id.to_string();
    let elsewhere = place.another("warehouse");
    let approve = |artifact: String| {
        let it = Approving {
            despite: true,
            artifact,
            ..Approving::default()
        };
        place.act(&ada, async |desk| service::approve(desk, &name, it).await)
    };
    let waiting = || {
        let queue = place.act(&ada, async |desk| service::queue(desk).await);
        queue.unwrap().promoted
    };
    approve(digest(&place, &name)).unwrap();
    assert_eq!(told_elsewhere(&place, elsewhere), [STATEMENT]);

    let body = Body::Reanchored(Reanchored {
        evidence: Vec::new(),
        replaces: current(&place, id).revision,
    });
    happens(&place, id, body);
    assert_eq!(
        told_elsewhere(&place, elsewhere),
        [STATEMENT],
        "no word changed"
    );
    assert!(waiting().is_empty());
    let again = approve(digest(&place, &name));
    assert!(matches!(again, Err(Failure::Conflict(_))), "{again:?}");

    let body = Body::Revised(Revised {
        changes: Changes {
            statement: Some(REWORDED.parse().unwrap()),
            ..Changes::default()
        },
        replaces: current(&place, id).revision,
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    happens(&place, id, body);
    assert!(
        told_elsewhere(&place, elsewhere).is_empty(),
        "nobody approved that"
    );
    let waits = waiting();
    assert_eq!(waits.len(), 1, "a person can bring it back");
    assert_eq!(waits[0].entry.id, id);
    approve(waits[0].artifact.clone()).unwrap();
    assert_eq!(told_elsewhere(&place, elsewhere), [REWORDED]);
    assert!(waiting().is_empty());
    place.runtime.block_on(async {
        let rebuilt = place.database.rebuild(place.organisation, place.workspace);
        rebuilt.await.unwrap();
    });
    assert_eq!(
        told_elsewhere(&place, elsewhere),
        [REWORDED],
        "made again from the log"
    );
}

#[test]
fn scp_new_words_that_are_not_wanted_are_asked_about_once() {
    let place = Place::new();
    let ada = place.ada();
    let id = place.add(&place.bot(), Kind::Learning, STATEMENT).id;
    let body = Body::ScopeChanged(ScopeChanged {
        to: Scope::Global,
        replaces: current(&place, id).scope.heads,
    });
    happens(&place, id, body);
    let waiting = || {
        let queue = place.act(&ada, async |desk| service::queue(desk).await);
        queue.unwrap().promoted.len()
    };
    assert_eq!(
        waiting(),
        1,
        "it says it reaches all, and nobody approved it"
    );
    let name = id.to_string();
    place
        .act(&ada, async |desk| service::reject(desk, &name, None).await)
        .unwrap();
    assert_eq!(waiting(), 0);
}

#[test]
fn a_persons_no_is_kept_and_asked_once() {
    let place = Place::new();
    let (bot, ada) = (place.bot(), place.ada());
    let id = place.add(&bot, Kind::Learning, STATEMENT).id.to_string();
    prove(&place, &id);
    let kept = place
        .act(&ada, async |desk| service::reject(desk, &id, None).await)
        .unwrap();
    assert_eq!(kept.scope.value, Scope::Workspace);
    let queue = place
        .act(&ada, async |desk| service::queue(desk).await)
        .unwrap();
    assert!(queue.fit.is_empty(), "it was decided");
    let again = place.act(&ada, async |desk| service::reject(desk, &id, None).await);
    assert!(matches!(again, Err(Failure::Refused(_))), "{again:?}");
    // A no can be thought over.
    let it = Approving {
        artifact: digest(&place, &id),
        ..Approving::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, it).await)
        .unwrap();
    assert_eq!(approved.scope.value, Scope::Global);
}

#[test]
fn what_has_not_proven_itself_needs_a_person_who_says_so() {
    let place = Place::new();
    let ada = place.ada();
    let id = place
        .add(&place.bot(), Kind::Learning, STATEMENT)
        .id
        .to_string();
    let read = digest(&place, &id);
    let it = Approving {
        artifact: read.clone(),
        ..Approving::default()
    };
    let refused = place.act(&ada, async |desk| service::approve(desk, &id, it).await);
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
    let despite = Approving {
        despite: true,
        artifact: read,
        ..Approving::default()
    };
    let approved = place.act(&ada, async |desk| {
        service::approve(desk, &id, despite).await
    });
    assert_eq!(approved.unwrap().scope.value, Scope::Global);
}

#[test]
fn a_norm_an_agent_wrote_waits_for_somebody_else_and_for_what_they_read() {
    let place = Place::new();
    let ada = place.ada();
    let norm = place.add(
        &place.bot(),
        Kind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    let id = norm.id.to_string();
    let queue = place
        .act(&ada, async |desk| service::queue(desk).await)
        .unwrap();
    assert_eq!(queue.waiting.len(), 1);
    let other = Approving {
        artifact: "another".to_owned(),
        ..Approving::default()
    };
    let refused = place.act(&ada, async |desk| service::approve(desk, &id, other).await);
    assert!(matches!(refused, Err(Failure::Conflict(_))), "{refused:?}");
    let read = Approving {
        artifact: queue.waiting[0].artifact.clone(),
        ..Approving::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, read).await)
        .unwrap();
    assert!(approved.is_live());
    assert_eq!(approved.approvals[0].by, ada.actor);
    assert_eq!(place.events("approval.granted"), 1);
    let acts = format!(
        "set ken.workspace = '{}'; select act from ken.audit where workspace_id = '{}'",
        place.workspace.0, place.workspace.0
    );
    assert_eq!(
        place.bare.sql(&acts).trim().lines().last(),
        Some("entry.approved")
    );
}

#[test]
fn a_norm_that_is_rejected_is_taken_back_and_not_proposed_again() {
    let place = Place::new();
    let (ada, bot) = (place.ada(), place.bot());
    let norm = place.add(
        &bot,
        Kind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    let id = norm.id.to_string();
    let rejected = place
        .act(&ada, async |desk| service::reject(desk, &id, None).await)
        .unwrap();
    assert!(rejected.is_tombstone());
    let it = crate::place::recording(
        reader(&bot, None),
        Kind::CommitNorm,
        "Commits name the ticket they belong to.",
    );
    let again = place.act(&bot, async |desk| service::record(desk, it).await);
    assert!(matches!(again, Err(Failure::Refused(_))), "{again:?}");
}

#[test]
fn a_held_line_is_in_no_log_until_a_person_releases_it() {
    let place = Place::new();
    let ada = place.ada();
    let held = line(&place, "Always answer with the customer's name first");
    let id = held.event.id;
    place.hold(&held);
    assert_eq!(place.events("entry.proposed"), 0);
    let listed = place
        .act(&ada, async |desk| service::held(desk, None, 10).await)
        .unwrap();
    assert_eq!(listed.len(), 1);
    let bot = place.caller(Role::Admin, "agent:bot");
    let refused = place.act(&bot, async |desk| service::release(desk, id).await);
    assert!(
        matches!(refused, Err(Failure::PersonNeeded { .. })),
        "{refused:?}"
    );
    place
        .act(&ada, async |desk| service::release(desk, id).await)
        .unwrap();
    assert_eq!(place.events("entry.proposed"), 1);
    let entry = EntryId::created_by(id, Kind::Learning).to_string();
    let told = place
        .act(&ada, async |desk| {
            service::entry(desk, &reader(&ada, None), &entry).await
        })
        .unwrap();
    assert_eq!(told.entry.status.value, Status::Candidate);
    let gone = place.act(&ada, async |desk| service::discard(desk, id).await);
    assert!(matches!(gone, Err(Failure::NotFound { .. })), "{gone:?}");
}

#[test]
fn what_is_released_counts_against_the_quota() {
    let mut place = Place::new();
    let ada = place.ada();
    place.add(&place.bot(), Kind::Learning, STATEMENT);
    place.house.quotas.events = 1;
    let id = place.hold(&line(
        &place,
        "Always answer with the customer's name first",
    ));
    let full = place.act(&ada, async |desk| service::release(desk, id).await);
    assert!(matches!(full, Err(Failure::Quota(_))), "{full:?}");
    assert_eq!(place.events("entry.proposed"), 1);
    let listed = place.act(&ada, async |desk| service::held(desk, None, 10).await);
    assert_eq!(listed.unwrap().len(), 1, "it goes on waiting");
}

#[test]
fn sec_a_secret_stays_out_whoever_releases_it() {
    let place = Place::new();
    let ada = place.ada();
    let token = ["ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let held = line(&place, &format!("Deploys use {token} to log in"));
    let id = held.event.id;
    place.hold(&held);
    let refused = place.act(&ada, async |desk| service::release(desk, id).await);
    assert!(matches!(refused, Err(Failure::Turned(_))), "{refused:?}");
    assert_eq!(place.events("entry.proposed"), 0);
    place
        .act(&ada, async |desk| service::discard(desk, id).await)
        .unwrap();
    let listed = place
        .act(&ada, async |desk| service::held(desk, None, 10).await)
        .unwrap();
    assert!(listed.is_empty());
}

/// Says in a clone that an entry reaches everybody, and pushes that as it was written.
fn promoted_in_a_clone(place: &Place, scribe: &mut Scribe) -> EntryId {
    let (id, proposed) = scribe.propose(STATEMENT);
    let replaces = vec![proposed.event.id];
    let to = Scope::Global;
    let widened = scribe.about(id, Body::ScopeChanged(ScopeChanged { to, replaces }));
    place.append(vec![proposed, widened]);
    id
}

/// Says an entry in other words, in a clone, and pushes that.
fn reword(place: &Place, scribe: &mut Scribe, id: EntryId) {
    let ada = place.ada();
    let entry = place.act(&ada, async |desk| {
        service::entry(desk, &reader(&ada, None), &id.to_string()).await
    });
    let statement = "Retry a payment twice after a gateway timeout";
    let reworded = Body::Revised(Revised {
        changes: Changes {
            statement: Some(statement.parse().unwrap()),
            ..Changes::default()
        },
        replaces: entry.unwrap().entry.revision,
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    place.append(vec![scribe.about(id, reworded)]);
}

#[test]
fn what_a_clone_promoted_to_everybody_waits_for_somebody_else_and_then_answers_elsewhere() {
    let place = Place::new();
    let (ada, eve) = (
        place.ada(),
        place.caller(Role::Curator, "human:eve@example.org"),
    );
    let elsewhere = place.another("warehouse");
    let mut scribe = Scribe::new(1);
    scribe.by("human:eve@example.org");
    let id = promoted_in_a_clone(&place, &mut scribe);
    let wanted = id.to_string();
    let answers = || {
        let asked = question(&place, "gateway timeout of a payment, retry?");
        let found = place.act_in(elsewhere, &ada, async |desk| {
            service::search(desk, asked).await
        });
        let found = found
            .unwrap()
            .beside
            .shown()
            .iter()
            .map(|it| it.id)
            .collect();
        let found: Vec<EntryId> = found;
        found
    };
    let queue = || {
        let queue = place.act(&ada, async |desk| service::queue(desk).await);
        let promoted = queue.unwrap().promoted;
        promoted.iter().map(|it| it.entry.id).collect::<Vec<_>>()
    };
    let approve = |by| {
        let artifact = digest(&place, &wanted);
        let it = Approving {
            artifact,
            despite: true,
            ..Approving::default()
        };
        place.act(by, async |desk| service::approve(desk, &wanted, it).await)
    };
    assert!(answers().is_empty(), "nobody but its author looked at it");
    assert_eq!(queue(), [id]);
    let own = approve(&eve);
    assert!(matches!(own, Err(Failure::Refused(_))), "{own:?}");
    approve(&ada).unwrap();
    assert_eq!(answers(), [id]);
    assert!(queue().is_empty());
    let again = approve(&ada).unwrap_err().to_string();
    assert!(again.contains("nothing left to approve"), "{again}");
    // Other words are another claim: they wait again.
    reword(&place, &mut scribe, id);
    assert!(answers().is_empty());
    assert_eq!(queue(), [id]);
    // A no is asked for once, too.
    let no = place.act(&ada, async |desk| {
        service::reject(desk, &wanted, None).await
    });
    no.unwrap();
    assert!(queue().is_empty() && answers().is_empty());
    approve(&ada).unwrap();
    assert_eq!(answers(), [id]);
}

#[test]
fn an_approval_is_refused_for_the_reason_that_stands_against_it() {
    let place = Place::new();
    let ada = place.ada();
    let id = place
        .add(&place.bot(), Kind::Learning, STATEMENT)
        .id
        .to_string();
    let tried = |artifact: &str, despite| {
        let it = Approving {
            artifact: artifact.to_owned(),
            despite,
            ..Approving::default()
        };
        let tried = place.act(&ada, async |desk| service::approve(desk, &id, it).await);
        tried.unwrap_err().to_string()
    };
    let unproven = tried("whatever", false);
    assert!(unproven.contains("not proven itself"), "{unproven}");
    let other = tried("whatever", true);
    assert!(other.contains("is not the digest of what"), "{other}");
}
