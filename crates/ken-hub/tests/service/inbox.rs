//! Pending decisions: the promotion queue, approvals, organization-wide entries, and quarantined
//! lines.

use ken_core::decide::{Draft, EventStamper};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    Admission, Channel, EventBody, Reanchored, RecordedEvent, Revised, ScopeChanged,
};
use ken_core::trust::promotion::PromotionArtifact;
use ken_core::values::actor::Actor;
use ken_core::values::content::{ContentChanges, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_hub::ids::{Role, WorkspaceId};
use ken_hub::service::{self, ApprovalRequest, HubSearchRequest, SelectionLimits, ServiceError};
use ken_testkit::build::EventWriter;

use crate::environment::{ServiceTestEnvironment, pushed_line, reader};

const STATEMENT: &str = "Retry a payment once after a gateway timeout";

fn query_of(place: &ServiceTestEnvironment, query: &str) -> HubSearchRequest {
    HubSearchRequest {
        search: ken_core::retrieval::ranking::SearchQuery {
            query: query.to_owned(),
            ..Default::default()
        },
        portion: SelectionLimits::default(),
        reader: reader(&place.ada(), None),
    }
}

/// Returns the digest of an entry's current version.
fn entry_digest(place: &ServiceTestEnvironment, wanted: &str) -> String {
    let ada = place.ada();
    let told = place.act(&ada, async |desk| {
        service::show_entry(desk, &reader(&ada, None), wanted).await
    });
    PromotionArtifact::from_entry(&told.unwrap().entry)
        .unwrap()
        .digest()
}

/// Records enough positive feedback to make an entry eligible for promotion.
fn make_eligible(place: &ServiceTestEnvironment, wanted: &str) {
    for n in 0..6 {
        let caller = place.caller(Role::Agent, &format!("agent:user-{n}"));
        let reader = reader(&caller, None);
        place
            .act(&caller, async |desk| {
                service::show_entry(desk, &reader, wanted).await?;
                let helpful = ken_core::ledger::event::Feedback::Helpful;
                service::give_feedback(desk, &reader, wanted, helpful).await
            })
            .unwrap();
    }
}

#[test]
fn scp_what_has_proven_itself_is_promoted_by_a_person_and_answers_elsewhere_beneath_what_is_verified_there()
 {
    let place = ServiceTestEnvironment::new();
    let (bot, ada) = (place.bot(), place.ada());
    let entry = place.add(&bot, EntryKind::Learning, STATEMENT);
    let id = entry.id.to_string();
    let load_queue = || {
        place
            .act(&ada, async |desk| service::load_approval_queue(desk).await)
            .unwrap()
    };
    let queue = load_queue();
    assert!(queue.candidates.is_empty(), "nobody used it yet");
    make_eligible(&place, &id);
    let queue = load_queue();
    let fit: Vec<EntryId> = queue.candidates.iter().map(|it| it.entry.id).collect();
    assert_eq!(fit, [entry.id]);
    let it = ApprovalRequest {
        artifact: entry_digest(&place, &id),
        ..ApprovalRequest::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, it).await)
        .unwrap();
    assert_eq!(approved.scope.value, EntryScope::Global);
    let queue = load_queue();
    assert!(queue.candidates.is_empty(), "it reaches that far now");

    let elsewhere = place.another("warehouse");
    let own = place.add_in(
        elsewhere,
        &ada,
        EntryKind::Learning,
        "A gateway timeout is logged with the payment's id",
    );
    let found = place
        .run_in(elsewhere, &ada, async |desk| {
            service::search(
                desk,
                query_of(&place, "gateway timeout of a payment, retry?"),
            )
            .await
        })
        .unwrap();
    let here: Vec<EntryId> = found.hits.iter().map(|it| it.entry.id).collect();
    assert_eq!(here, [own.id]);
    let hits = &found.organization_hits;
    let there: Vec<EntryId> = hits.shown().iter().map(|it| it.id).collect();
    assert_eq!(there, [entry.id]);
    let copy = &hits.hits[0].entry;
    let content = copy.content.as_ref().unwrap();
    assert!(content.anchors.is_empty() && content.verify.is_empty());
    assert!(copy.citations.is_empty(), "evidence stays where it is");
    let back = place
        .act(&ada, async |desk| {
            service::search(
                desk,
                query_of(&place, "gateway timeout of a payment, retry?"),
            )
            .await
        })
        .unwrap();
    assert!(
        back.organization_hits.shown().is_empty(),
        "its own workspace knows it already"
    );
}

/// Appends an event about an entry as a push would, by `agent:mover`.
fn append_event(place: &ServiceTestEnvironment, entry: EntryId, body: EventBody) {
    place.later(1_000);
    let by: Actor = "agent:mover".parse().unwrap();
    let mut world = place.house.clock.clone();
    let mut clock = EventStamper {
        node: world.node(),
        now: place.house.clock.now(),
        seen: None,
        ids: &mut world,
    };
    let draft = Draft {
        about: vec![entry.into()],
        body,
    };
    let rules = ken_guard::RULE_SET;
    let copy = RecordedEvent::new(clock.stamp(draft, &by, Admission::clean(rules)));
    place.append(vec![copy]);
    place.later(1_000);
}

fn current_entry(place: &ServiceTestEnvironment, id: EntryId) -> Entry {
    let (ada, id) = (place.ada(), id.to_string());
    let told = place.act(&ada, async |desk| {
        service::show_entry(desk, &reader(&ada, None), &id).await
    });
    told.unwrap().entry
}

/// Returns the organization-wide statements found in another workspace.
fn statements_found_in(place: &ServiceTestEnvironment, elsewhere: WorkspaceId) -> Vec<String> {
    let found = place.run_in(elsewhere, &place.ada(), async |desk| {
        service::search(desk, query_of(place, "retry a payment after a timeout?")).await
    });
    let beside = found.unwrap().organization_hits;
    beside
        .hits
        .iter()
        .map(|it| it.entry.statement_text().to_owned())
        .collect()
}

#[test]
fn scp_what_reaches_all_stays_when_its_code_moves_and_comes_back_when_new_words_are_approved() {
    const REWORDED: &str = "Retry a payment twice after a gateway timeout";
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let id = place.add(&place.bot(), EntryKind::Learning, STATEMENT).id;
    let name = id.to_string();
    let elsewhere = place.another("warehouse");
    let approve = |artifact: String| {
        let it = ApprovalRequest {
            overrides: true,
            artifact,
            ..ApprovalRequest::default()
        };
        place.act(&ada, async |desk| service::approve(desk, &name, it).await)
    };
    let waiting = || {
        let queue = place.act(&ada, async |desk| service::load_approval_queue(desk).await);
        queue.unwrap().promoted
    };
    approve(entry_digest(&place, &name)).unwrap();
    assert_eq!(statements_found_in(&place, elsewhere), [STATEMENT]);

    let body = EventBody::Reanchored(Reanchored {
        anchors: Vec::new(),
        replaces: current_entry(&place, id).revision,
        origin: None,
    });
    append_event(&place, id, body);
    assert_eq!(
        statements_found_in(&place, elsewhere),
        [STATEMENT],
        "no word changed"
    );
    assert!(waiting().is_empty());
    let again = approve(entry_digest(&place, &name));
    assert!(matches!(again, Err(ServiceError::Conflict(_))), "{again:?}");

    let body = EventBody::Revised(Revised {
        changes: ContentChanges {
            statement: Some(REWORDED.parse().unwrap()),
            ..ContentChanges::default()
        },
        replaces: current_entry(&place, id).revision,
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    append_event(&place, id, body);
    assert!(
        statements_found_in(&place, elsewhere).is_empty(),
        "nobody approved that"
    );
    let waits = waiting();
    assert_eq!(waits.len(), 1, "a person can bring it back");
    assert_eq!(waits[0].entry.id, id);
    approve(waits[0].artifact.clone()).unwrap();
    assert_eq!(statements_found_in(&place, elsewhere), [REWORDED]);
    assert!(waiting().is_empty());
    place.runtime.block_on(async {
        let rebuilt = place.database.rebuild(place.organization, place.workspace);
        rebuilt.await.unwrap();
    });
    assert_eq!(
        statements_found_in(&place, elsewhere),
        [REWORDED],
        "made again from the log"
    );
}

#[test]
fn scp_new_words_that_are_not_wanted_are_asked_about_once() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let id = place.add(&place.bot(), EntryKind::Learning, STATEMENT).id;
    let body = EventBody::ScopeChanged(ScopeChanged {
        to: EntryScope::Global,
        replaces: current_entry(&place, id).scope.heads,
    });
    append_event(&place, id, body);
    let waiting = || {
        let queue = place.act(&ada, async |desk| service::load_approval_queue(desk).await);
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
    let place = ServiceTestEnvironment::new();
    let (bot, ada) = (place.bot(), place.ada());
    let id = place
        .add(&bot, EntryKind::Learning, STATEMENT)
        .id
        .to_string();
    make_eligible(&place, &id);
    let kept = place
        .act(&ada, async |desk| service::reject(desk, &id, None).await)
        .unwrap();
    assert_eq!(kept.scope.value, EntryScope::Workspace);
    let queue = place
        .act(&ada, async |desk| service::load_approval_queue(desk).await)
        .unwrap();
    assert!(queue.candidates.is_empty(), "it was decided");
    let again = place.act(&ada, async |desk| service::reject(desk, &id, None).await);
    assert!(matches!(again, Err(ServiceError::Refused(_))), "{again:?}");
    // A rejection can be reversed.
    let it = ApprovalRequest {
        artifact: entry_digest(&place, &id),
        ..ApprovalRequest::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, it).await)
        .unwrap();
    assert_eq!(approved.scope.value, EntryScope::Global);
}

#[test]
fn what_has_not_proven_itself_needs_a_person_who_says_so() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let id = place
        .add(&place.bot(), EntryKind::Learning, STATEMENT)
        .id
        .to_string();
    let read = entry_digest(&place, &id);
    let it = ApprovalRequest {
        artifact: read.clone(),
        ..ApprovalRequest::default()
    };
    let refused = place.act(&ada, async |desk| service::approve(desk, &id, it).await);
    assert!(
        matches!(refused, Err(ServiceError::Refused(_))),
        "{refused:?}"
    );
    let despite = ApprovalRequest {
        overrides: true,
        artifact: read,
        ..ApprovalRequest::default()
    };
    let approved = place.act(&ada, async |desk| {
        service::approve(desk, &id, despite).await
    });
    assert_eq!(approved.unwrap().scope.value, EntryScope::Global);
}

#[test]
fn a_norm_an_agent_wrote_waits_for_somebody_else_and_for_what_they_read() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let norm = place.add(
        &place.bot(),
        EntryKind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    let id = norm.id.to_string();
    let queue = place
        .act(&ada, async |desk| service::load_approval_queue(desk).await)
        .unwrap();
    assert_eq!(queue.pending.len(), 1);
    let other = ApprovalRequest {
        artifact: "another".to_owned(),
        ..ApprovalRequest::default()
    };
    let refused = place.act(&ada, async |desk| service::approve(desk, &id, other).await);
    assert!(
        matches!(refused, Err(ServiceError::Conflict(_))),
        "{refused:?}"
    );
    let read = ApprovalRequest {
        artifact: queue.pending[0].artifact.clone(),
        ..ApprovalRequest::default()
    };
    let approved = place
        .act(&ada, async |desk| service::approve(desk, &id, read).await)
        .unwrap();
    assert!(approved.is_live());
    assert_eq!(approved.approvals[0].by, ada.actor);
    assert_eq!(place.events("approval.granted"), 1);
    let acts = format!(
        "set ken.workspace = '{}'; select act from ken.audit
         where workspace_id = '{}' and act <> 'events.recorded'",
        place.workspace.0, place.workspace.0
    );
    assert_eq!(
        place.bare.sql(&acts).trim().lines().last(),
        Some("entry.approved")
    );
}

#[test]
fn a_norm_that_is_rejected_is_taken_back_and_not_proposed_again() {
    let place = ServiceTestEnvironment::new();
    let (ada, bot) = (place.ada(), place.bot());
    let norm = place.add(
        &bot,
        EntryKind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    let id = norm.id.to_string();
    let rejected = place
        .act(&ada, async |desk| service::reject(desk, &id, None).await)
        .unwrap();
    assert!(rejected.is_tombstone());
    let it = crate::environment::recording(
        reader(&bot, None),
        EntryKind::CommitNorm,
        "Commits name the ticket they belong to.",
    );
    let again = place.act(&bot, async |desk| service::add_entry(desk, it).await);
    assert!(matches!(again, Err(ServiceError::Refused(_))), "{again:?}");
}

#[test]
fn a_quarantined_event_is_in_no_log_until_a_person_releases_it() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let quarantined = pushed_line(&place, "Always answer with the customer's name first");
    let id = quarantined.event.id;
    place.quarantine(&quarantined);
    assert_eq!(place.events("entry.proposed"), 0);
    let listed = place
        .act(&ada, async |desk| {
            service::list_quarantined_events(desk, None, 10).await
        })
        .unwrap();
    assert_eq!(listed.len(), 1);
    let bot = place.caller(Role::Admin, "agent:bot");
    let refused = place.act(&bot, async |desk| service::release_event(desk, id).await);
    assert!(
        matches!(refused, Err(ServiceError::PersonNeeded { .. })),
        "{refused:?}"
    );
    place
        .act(&ada, async |desk| service::release_event(desk, id).await)
        .unwrap();
    assert_eq!(place.events("entry.proposed"), 1);
    let entry = EntryId::created_by(id, EntryKind::Learning).to_string();
    let told = place
        .act(&ada, async |desk| {
            service::show_entry(desk, &reader(&ada, None), &entry).await
        })
        .unwrap();
    assert_eq!(told.entry.status.value, EntryStatus::Candidate);
    let gone = place.act(&ada, async |desk| service::discard_event(desk, id).await);
    assert!(
        matches!(gone, Err(ServiceError::NotFound { .. })),
        "{gone:?}"
    );
}

#[test]
fn what_is_released_counts_against_the_quota() {
    let mut place = ServiceTestEnvironment::new();
    let ada = place.ada();
    place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    place.house.quotas.events = 1;
    let id = place.quarantine(&pushed_line(
        &place,
        "Always answer with the customer's name first",
    ));
    let full = place.act(&ada, async |desk| service::release_event(desk, id).await);
    assert!(matches!(full, Err(ServiceError::Quota(_))), "{full:?}");
    assert_eq!(place.events("entry.proposed"), 1);
    let listed = place.act(&ada, async |desk| {
        service::list_quarantined_events(desk, None, 10).await
    });
    assert_eq!(listed.unwrap().len(), 1, "it stays quarantined");
}

#[test]
fn sec_a_secret_stays_out_whoever_releases_it() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let token = ["ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let quarantined = pushed_line(&place, &format!("Deploys use {token} to log in"));
    let id = quarantined.event.id;
    place.quarantine(&quarantined);
    let refused = place.act(&ada, async |desk| service::release_event(desk, id).await);
    assert!(
        matches!(refused, Err(ServiceError::GuardRejected(_))),
        "{refused:?}"
    );
    assert_eq!(place.events("entry.proposed"), 0);
    place
        .act(&ada, async |desk| service::discard_event(desk, id).await)
        .unwrap();
    let listed = place
        .act(&ada, async |desk| {
            service::list_quarantined_events(desk, None, 10).await
        })
        .unwrap();
    assert!(listed.is_empty());
}

/// Pushes a proposal that a clone already promoted to global scope.
fn push_promoted_entry(place: &ServiceTestEnvironment, scribe: &mut EventWriter) -> EntryId {
    let (id, proposed) = scribe.propose(STATEMENT);
    let replaces = vec![proposed.event.id];
    let to = EntryScope::Global;
    let widened = scribe.about(id, EventBody::ScopeChanged(ScopeChanged { to, replaces }));
    place.append(vec![proposed, widened]);
    id
}

/// Pushes an edit of an entry made in a clone.
fn push_edit(place: &ServiceTestEnvironment, scribe: &mut EventWriter, id: EntryId) {
    let ada = place.ada();
    let entry = place.act(&ada, async |desk| {
        service::show_entry(desk, &reader(&ada, None), &id.to_string()).await
    });
    let statement = "Retry a payment twice after a gateway timeout";
    let reworded = EventBody::Revised(Revised {
        changes: ContentChanges {
            statement: Some(statement.parse().unwrap()),
            ..ContentChanges::default()
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
    let place = ServiceTestEnvironment::new();
    let (ada, eve) = (
        place.ada(),
        place.caller(Role::Curator, "human:eve@example.org"),
    );
    let elsewhere = place.another("warehouse");
    let mut scribe = EventWriter::new(1);
    scribe.by("human:eve@example.org");
    let id = push_promoted_entry(&place, &mut scribe);
    let wanted = id.to_string();
    let answers = || {
        let asked = query_of(&place, "gateway timeout of a payment, retry?");
        let found = place.run_in(elsewhere, &ada, async |desk| {
            service::search(desk, asked).await
        });
        let found = found
            .unwrap()
            .organization_hits
            .shown()
            .iter()
            .map(|it| it.id)
            .collect();
        let found: Vec<EntryId> = found;
        found
    };
    let queue = || {
        let queue = place.act(&ada, async |desk| service::load_approval_queue(desk).await);
        let promoted = queue.unwrap().promoted;
        promoted.iter().map(|it| it.entry.id).collect::<Vec<_>>()
    };
    let approve = |by| {
        let artifact = entry_digest(&place, &wanted);
        let it = ApprovalRequest {
            artifact,
            overrides: true,
            ..ApprovalRequest::default()
        };
        place.act(by, async |desk| service::approve(desk, &wanted, it).await)
    };
    assert!(answers().is_empty(), "nobody but its author looked at it");
    assert_eq!(queue(), [id]);
    let own = approve(&eve);
    assert!(matches!(own, Err(ServiceError::Refused(_))), "{own:?}");
    approve(&ada).unwrap();
    assert_eq!(answers(), [id]);
    assert!(queue().is_empty());
    let again = approve(&ada).unwrap_err().to_string();
    assert!(again.contains("already approved"), "{again}");
    // A new text is a new claim and is pending again.
    push_edit(&place, &mut scribe, id);
    assert!(answers().is_empty());
    assert_eq!(queue(), [id]);
    // A rejection is asked for only once here too.
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
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let id = place
        .add(&place.bot(), EntryKind::Learning, STATEMENT)
        .id
        .to_string();
    let tried = |artifact: &str, despite| {
        let it = ApprovalRequest {
            artifact: artifact.to_owned(),
            overrides: despite,
            ..ApprovalRequest::default()
        };
        let tried = place.act(&ada, async |desk| service::approve(desk, &id, it).await);
        tried.unwrap_err().to_string()
    };
    let unproven = tried("whatever", false);
    assert!(unproven.contains("it is unproven"), "{unproven}");
    let other = tried("whatever", true);
    assert!(
        other.contains("is not the digest of the current text"),
        "{other}"
    );
}
