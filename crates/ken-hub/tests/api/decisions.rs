//! Decisions of people, pushed or signed by that person, and changes of programs to verified
//! content.

use ken_core::ledger::event::{
    ApprovalGranted, Channel, Cited, Confirmed, EventBody, Origin, Proposed, Provenance,
    RecordedEvent, RetractReason, Retracted, Revised, ScopeChanged, StatusChanged,
};
use ken_core::values::citation::Citation;
use ken_core::values::content::{ContentChanges, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_hub::ids::Role;
use ken_testkit::build::EventWriter;
use serde_json::Value;

use crate::hub::{ApiHubEnvironment, bearer};

const DRILL: &str = "Restore drills read the newest backup before the weekly rotation removes it";

fn verdicts(told: &Value) -> Vec<String> {
    let events = told["events"].as_array().expect("answers").iter();
    let verdict = |it: &Value| it["verdict"].as_str().expect("a verdict").to_owned();
    events.map(verdict).collect()
}

fn push(hub: &ApiHubEnvironment, token: &str, copies: &[RecordedEvent]) -> Value {
    hub.push(&hub.acme, token, copies).json()
}

fn entry_json(hub: &ApiHubEnvironment, entry: EntryId) -> Value {
    let path = format!("/v1/workspaces/shop/entries/{entry}");
    hub.get(&path, &hub.acme.curator).json()
}

fn manual_confirmation() -> EventBody {
    EventBody::Confirmed(Confirmed {
        provenance: Provenance::Manual,
        on: "2026-01-02".parse().expect("a date"),
        run: None,
        withdraws: Vec::new(),
    })
}

fn status(to: EntryStatus) -> EventBody {
    EventBody::StatusChanged(StatusChanged {
        to,
        replaces: Vec::new(),
        reason: None,
    })
}

/// Returns an entry of Ada's, which she verified.
fn verified_entry(hub: &ApiHubEnvironment, scribe: &mut EventWriter) -> (EntryId, RecordedEvent) {
    let steps =
        |it: &mut Proposed| it.content.verify = vec!["make restore-drill".parse().expect("a step")];
    let (entry, proposed) = scribe.propose_with(EntryKind::Learning, DRILL, steps);
    let verified = scribe.about(entry, status(EntryStatus::Verified));
    let confirmed = scribe.about(entry, manual_confirmation());
    let told = push(
        hub,
        &hub.acme.curator,
        &[proposed.clone(), verified, confirmed],
    );
    assert_eq!(verdicts(&told), ["admitted"; 3], "{told}");
    (entry, proposed)
}

#[test]
fn no_token_decides_in_another_persons_name() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(1);
    scribe.by("agent:other");
    let (entry, proposed) =
        scribe.propose_with(EntryKind::Learning, DRILL, |it| it.origin = Origin::Agent);
    let told = push(&hub, &hub.acme.curator, std::slice::from_ref(&proposed));
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    let artifact = entry_json(&hub, entry)["artifact"]
        .as_str()
        .expect("a digest")
        .to_owned();
    scribe.by("human:zoe@example.org");
    let approval = ApprovalGranted {
        entry,
        artifact: artifact.parse().expect("a note"),
        signature: None,
        covers: vec![proposed.event.id],
    };
    let to_all = ScopeChanged {
        to: EntryScope::Global,
        replaces: Vec::new(),
    };
    let retracted = Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    };
    let forged = [
        EventBody::ApprovalGranted(approval),
        EventBody::ScopeChanged(to_all),
        EventBody::Retracted(retracted),
        manual_confirmation(),
        status(EntryStatus::Verified),
    ]
    .map(|body| scribe.about(entry, body));
    let pipeline = hub.token_of(Role::Curator, "ci:pipeline");
    for token in [
        &hub.acme.member,
        &hub.acme.curator,
        &hub.acme.admin,
        &pipeline,
    ] {
        let told = push(&hub, token, &forged);
        assert_eq!(verdicts(&told), ["refused"; 5], "{told}");
        for answer in told["events"].as_array().expect("answers") {
            assert_eq!(answer["awaits"], "human:zoe@example.org", "{answer}");
            let reason = answer["reason"].as_str().expect("a reason");
            assert!(
                reason.contains("only a token of human:zoe@example.org"),
                "{reason}"
            );
        }
    }
    let shown = entry_json(&hub, entry);
    assert_eq!(shown["status"]["value"], "candidate", "{shown}");
    // The same events from Zoe's own clone. An approval needs a curator, everything else a member.
    let zoe = hub.token_of(Role::Member, "human:Zoe@example.org");
    let told = push(&hub, &zoe, &forged);
    let own = ["refused", "admitted", "admitted", "admitted", "admitted"];
    assert_eq!(verdicts(&told), own, "{told}");
    let curator = hub.token_of(Role::Curator, "human:zoe@example.org");
    let told = push(&hub, &curator, &forged);
    assert_eq!(
        verdicts(&told),
        ["admitted", "known", "known", "known", "known"],
        "{told}"
    );
}

#[test]
fn every_event_row_names_pusher_token_and_time() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(2);
    scribe.by("human:zoe@example.org");
    let (entry, pushed) = scribe.propose(DRILL);
    let told = push(&hub, &hub.acme.member, std::slice::from_ref(&pushed));
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    let cited = Cited {
        citation: Citation {
            evidence_type: ken_core::values::citation::CitationType::Pr,
            evidence_ref: "7".parse().expect("a reference"),
            cited_by: "human:zoe@example.org".parse().expect("an actor"),
            cited_at: 1,
        },
    };
    let later = scribe.about(entry, EventBody::Cited(cited));
    let told = push(&hub, &hub.acme.member, &[later]);
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    let body = r#"{"statement":"Queues are drained before a deployment","cites":["pr:7"]}"#;
    let added = hub.post("/v1/workspaces/shop/entries", &hub.acme.agent, body);
    assert_eq!(added.status, 201, "{}", added.text());
    let rows = hub.database.sql(
        "select pusher, token_id = (select id from ken.tokens t where t.actor = pusher and t.organization_id =
             (select organization_id from ken.workspaces w where w.id = workspace_id) and role in ('member', 'agent')),
             received_at > 0 from ken.events order by seq",
    );
    let expected = [
        "human:mel@example.org|t|t",
        "human:mel@example.org|t|t",
        "agent:tester|t|t",
    ];
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected);
    let path = format!("/v1/workspaces/shop/entries/{entry}/history");
    let history = hub.get(&path, &hub.acme.reader).json();
    assert_eq!(
        history["items"][0]["by"], "human:zoe@example.org",
        "{history}"
    );
    assert_eq!(
        history["items"][0]["pushed_by"], "human:mel@example.org",
        "{history}"
    );
    // A redaction changes the form of the event, not who brought it.
    scribe.by("human:ada@example.org");
    let redaction = ken_core::ledger::event::EventBlanked {
        event: pushed.event.id,
        reason: ken_core::ledger::event::BlankReason::Secret,
    };
    let redaction = scribe.about(entry, EventBody::EventBlanked(redaction));
    let told = push(&hub, &hub.acme.curator, &[redaction]);
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    let row = hub
        .database
        .sql("select pusher from ken.events where blanked");
    assert_eq!(row.trim(), "human:mel@example.org");
}

#[test]
fn a_programs_change_of_what_a_person_verified_waits_and_ends_the_verification() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(3);
    let (entry, proposed) = verified_entry(&hub, &mut scribe);
    scribe.by("agent:tester");
    let mut revise = |changes: ContentChanges, origin| {
        let revised = Revised {
            changes,
            replaces: vec![proposed.event.id],
            channel: Channel::Command,
            reason: None,
            origin,
        };
        scribe.about(entry, EventBody::Revised(revised))
    };
    let steps = || ContentChanges {
        verify: Some(vec!["make another-drill".parse().expect("a step")]),
        ..ContentChanges::default()
    };
    let tags = ContentChanges {
        tags: Some(["x".parse().expect("a tag")].into()),
        ..ContentChanges::default()
    };
    let anchors = ContentChanges {
        anchors: Some(Vec::new()),
        ..ContentChanges::default()
    };
    let silent = revise(steps(), None);
    let told = push(&hub, &hub.acme.agent, &[silent]);
    assert_eq!(verdicts(&told), ["refused"], "{told}");
    let honest = revise(steps(), Some(Origin::Agent));
    let others = [tags, anchors].map(|changes| revise(changes, Some(Origin::Agent)));
    let told = push(
        &hub,
        &hub.acme.agent,
        &[std::slice::from_ref(&honest), &others[..]].concat(),
    );
    assert_eq!(verdicts(&told), ["quarantined"; 3], "{told}");
    let shown = entry_json(&hub, entry);
    assert_eq!(shown["status"]["value"], "verified", "{shown}");
    assert_eq!(
        shown["content"]["verify"][0], "make restore-drill",
        "{shown}"
    );
    // A person consents: the new steps are served, but no longer as verified by a person.
    let id = honest.event.id;
    let path = format!("/v1/workspaces/shop/quarantined-events/{id}/release");
    let released = hub.post(&path, &hub.acme.curator, "{}");
    assert!(released.status < 300, "{}", released.text());
    let shown = entry_json(&hub, entry);
    assert_eq!(
        shown["content"]["verify"][0], "make another-drill",
        "{shown}"
    );
    assert_eq!(shown["status"]["value"], "active", "{shown}");
    assert_eq!(shown["created"]["origin"], "agent", "{shown}");
    let row = hub.database.sql(&format!(
        "select pusher from ken.events where line like '%{id}%' and type = 'entry.revised'"
    ));
    assert_eq!(row.trim(), "agent:tester", "the releaser did not bring it");
}

#[test]
fn an_agent_cites_in_its_own_name_only() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(4);
    scribe.by("agent:tester");
    let citation = |by: &str| Citation {
        evidence_type: ken_core::values::citation::CitationType::Pr,
        evidence_ref: "7".parse().expect("a reference"),
        cited_by: by.parse().expect("an actor"),
        cited_at: 1,
    };
    let mut propose = |by: &str, said: &str| {
        let change = |it: &mut Proposed| {
            it.origin = Origin::Agent;
            it.citations = vec![citation(by)];
        };
        scribe.propose_with(EntryKind::Learning, said, change)
    };
    let (_, forged) = propose("human:ceo@example.org", DRILL);
    let told = push(&hub, &hub.acme.agent, &[forged]);
    assert_eq!(verdicts(&told), ["refused"], "{told}");
    let (entry, fine) = propose("agent:tester", DRILL);
    let told = push(&hub, &hub.acme.agent, &[fine]);
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    let citation = citation("human:ceo@example.org");
    let cited = scribe.about(entry, EventBody::Cited(Cited { citation }));
    let told = push(&hub, &hub.acme.agent, &[cited]);
    assert_eq!(verdicts(&told), ["refused"], "{told}");
}

#[test]
fn no_token_acts_as_a_persons_client() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(5);
    scribe.by("agent:human:ada@example.org/claude-code");
    let (_, claims) =
        scribe.propose_with(EntryKind::Learning, DRILL, |it| it.origin = Origin::Agent);
    for actor in ["agent:claude-code", "agent:ada@example.org", "agent:human"] {
        let token = hub.token_of(Role::Agent, actor);
        let told = push(&hub, &token, std::slice::from_ref(&claims));
        assert_eq!(verdicts(&told), ["refused"], "{actor}: {told}");
    }
    // A row with such an actor authenticates nobody, and none can be created.
    let token = hub.token_of(Role::Agent, "agent:human:ada@example.org");
    assert_eq!(hub.push(&hub.acme, &token, &[claims]).status, 401);
    let body = r#"{"name":"x","role":"agent","actor":"agent:human:ada@example.org"}"#;
    hub.post("/v1/tokens", &hub.acme.admin, body)
        .problem("invalid");
}

#[test]
fn a_member_redacts_own_events_and_no_others() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(6);
    let (_, of_ada) = scribe.propose(DRILL);
    push(&hub, &hub.acme.curator, std::slice::from_ref(&of_ada));
    scribe.by("agent:claude-code/7f");
    let brought = |it: &mut Proposed| it.origin = Origin::Agent;
    let (_, brought) = scribe.propose_with(EntryKind::Learning, "Refunds need a receipt", brought);
    let told = push(&hub, &hub.acme.member, std::slice::from_ref(&brought));
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    scribe.by("human:mel@example.org");
    let mut redact = |event| {
        let reason = ken_core::ledger::event::BlankReason::Secret;
        let data = ken_core::ledger::event::EventBlanked { event, reason };
        scribe.write(Vec::new(), EventBody::EventBlanked(data))
    };
    let copies = [redact(of_ada.event.id), redact(brought.event.id)];
    let told = push(&hub, &hub.acme.member, &copies);
    assert_eq!(verdicts(&told), ["refused", "admitted"], "{told}");
}

#[test]
fn the_audit_log_says_who_did_it_and_what_was_refused() {
    let hub = ApiHubEnvironment::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().expect("a proxy")];
    });
    let mut scribe = EventWriter::new(7);
    scribe.by("human:zoe@example.org");
    let (entry, proposed) = scribe.propose(DRILL);
    let confirmed = scribe.about(entry, manual_confirmation());
    let copies = [proposed.clone(), confirmed.clone()];
    let lines: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
    let body = format!(r#"{{"events":[{}]}}"#, lines.join(","));
    let authorization = bearer(&hub.acme.member);
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("x-forwarded-for", "203.0.113.9"),
    ];
    let path = "/v1/workspaces/shop/events";
    let answer = hub.send("POST", path, &headers, Some(body.as_bytes()));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let list = |query: &str| {
        let path = format!("/v1/workspaces/shop/audit?{query}");
        let answer = hub.get(&path, &hub.acme.admin);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["items"].as_array().expect("lines").clone()
    };
    let by_event = list(&format!("event={}", proposed.event.id));
    assert_eq!(by_event.len(), 1, "{by_event:?}");
    let line = &by_event[0];
    assert_eq!(line["by"], "human:mel@example.org");
    assert_eq!(line["authors"][0], "human:zoe@example.org");
    assert_eq!(line["events"][0], proposed.event.id.to_string());
    assert_eq!(line["entries"][0], entry.to_string());
    assert_eq!(line["address"], "203.0.113.9");
    assert_eq!(line["outcome"], "done");
    let token = line["token"].as_str().expect("a token").to_owned();
    let refused = list(&format!("outcome=refused&token={token}"));
    assert_eq!(
        refused[0]["events"][0],
        confirmed.event.id.to_string(),
        "{refused:?}"
    );
    // A refused request of another operation.
    hub.get("/v1/workspaces/shop/promotions", &hub.acme.member)
        .problem("forbidden");
    let forbidden = list("outcome=forbidden");
    assert_eq!(forbidden.len(), 1, "{forbidden:?}");
    assert_eq!(
        forbidden[0]["subject"],
        "GET /v1/workspaces/{workspace}/promotions"
    );
    assert_eq!(forbidden[0]["by"], "human:mel@example.org");
    for (query, count) in [
        (format!("entry={entry}"), 2),
        ("by=human:mel@example.org&act=events.pushed".to_owned(), 2),
        ("by=human:nobody".to_owned(), 0),
        ("until=2020-01-01T00:00:00Z".to_owned(), 0),
        ("since=2020-01-01T00:00:00Z".to_owned(), 3),
    ] {
        assert_eq!(list(&query).len(), count, "{query}");
    }
    hub.get("/v1/workspaces/shop/audit?event=nonsense", &hub.acme.admin)
        .problem("malformed");
}

/// Signs an event with the key at `key`, as `ken` does.
fn signed(copy: &RecordedEvent, key: &std::path::Path) -> RecordedEvent {
    let mut event = copy.event.clone();
    let file = key.with_extension("decision");
    std::fs::write(&file, event.decision_bytes().expect("a typed event")).expect("written");
    let signature = file.with_extension("decision.sig");
    let _ = std::fs::remove_file(&signature);
    run_keygen(&[
        "-q",
        "-Y",
        "sign",
        "-n",
        "ken",
        "-f",
        path(key),
        path(&file),
    ]);
    event.signature = Some(std::fs::read_to_string(signature).expect("a signature"));
    RecordedEvent::new_verified(event).expect("an event")
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn run_keygen(args: &[&str]) {
    let output = std::process::Command::new("ssh-keygen").args(args).output();
    let output = output.expect("ssh-keygen is installed");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

#[test]
fn a_signature_of_its_author_carries_a_decision_through_any_clone() {
    let hub = ApiHubEnvironment::start();
    let folder = tempfile::tempdir().expect("a folder");
    let keys = ["zoe", "eve"].map(|name| {
        let key = folder.path().join(name);
        run_keygen(&["-q", "-t", "ed25519", "-N", "", "-f", path(&key)]);
        key
    });
    let public = std::fs::read_to_string(keys[0].with_extension("pub")).expect("a key");
    let signers = format!("zoe@example.org {public}");
    hub.runtime.block_on(async {
        let tx = hub.app.database.begin_organization(hub.acme.organization);
        let mut tx = tx.await.expect("a transaction");
        tx.set_signers(Some(&signers)).await.expect("set");
        tx.commit().await.expect("committed");
    });
    let mut scribe = EventWriter::new(8);
    let (entry, proposed) = scribe.propose(DRILL);
    push(&hub, &hub.acme.curator, &[proposed]);
    scribe.by("human:zoe@example.org");
    let confirmed = scribe.about(entry, manual_confirmation());
    let fine = signed(&confirmed, &keys[0]);
    // Another key, another event's signature, and a changed event carry nothing.
    let mut moved = scribe.about(entry, status(EntryStatus::Verified)).event;
    moved.signature.clone_from(&fine.event.signature);
    let mut later = fine.event.clone();
    later.body = status(EntryStatus::Rejected);
    for forged in [
        signed(&confirmed, &keys[1]),
        RecordedEvent::new(moved),
        RecordedEvent::new(later),
    ] {
        let told = push(&hub, &hub.acme.curator, std::slice::from_ref(&forged));
        assert_eq!(verdicts(&told), ["refused"], "{told}");
    }
    let told = push(&hub, &hub.acme.agent, std::slice::from_ref(&fine));
    assert_eq!(
        verdicts(&told),
        ["refused"],
        "an agent pushes its own events only: {told}"
    );
    let pipeline = hub.token_of(Role::Curator, "ci:pipeline");
    let told = push(&hub, &pipeline, std::slice::from_ref(&fine));
    assert_eq!(verdicts(&told), ["admitted"], "{told}");
    assert_eq!(entry_json(&hub, entry)["confirmation"]["manual"], 1);
    // The signature travels byte for byte.
    let pulled = hub
        .get("/v1/workspaces/shop/events", &hub.acme.reader)
        .text();
    assert!(pulled.contains(fine.line()));
}
