//! Events an agent's token may push, and events the hub refuses, each with a complete line and a
//! valid checksum.

use ken_core::ledger::event::{
    AdmissionVerdict, BlankReason, Channel, Confirmed, Event, EventBlanked, EventBody,
    EventSubject, Feedback, FeedbackGiven, Origin, Proposed, Provenance, RecordedEvent,
    RetractReason, Retracted, Revised, StatusChanged,
};
use ken_core::values::content::{ContentChanges, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::hub::{ApiHubEnvironment, ApiResponse};

const STATEMENT: &str =
    "Reading the session after logout returns stale data because the cache keeps it for a minute";

fn first_verdict(answer: &ApiResponse) -> String {
    let told = answer.json();
    let one = &told["events"][0]["verdict"];
    one.as_str().unwrap_or_default().to_owned()
}

fn agent_scribe(seed: u64) -> EventWriter {
    let mut scribe = EventWriter::new(seed);
    scribe.by("agent:tester");
    scribe
}

/// Writes a proposal as an agent does.
fn propose_as_agent(scribe: &mut EventWriter, said: &str) -> (EntryId, RecordedEvent) {
    scribe.propose_with(EntryKind::Learning, said, |it| it.origin = Origin::Agent)
}

#[test]
fn an_agent_cannot_replace_what_somebody_else_wrote() {
    let hub = ApiHubEnvironment::start();
    let (entry, person) = EventWriter::new(1).propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&person));
    // Same id, but the agent as author; it sorts lower, so it would win over the original.
    let mut forged: Event = person.event.clone();
    forged.by = "agent:tester".parse().expect("an actor");
    let forged = RecordedEvent::new(forged);
    assert_eq!(
        forged.clone().preferred_copy(person.clone()).line(),
        forged.line()
    );
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[forged]);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let pulled = hub
        .get("/v1/workspaces/shop/events", &hub.acme.reader)
        .text();
    assert!(pulled.contains(person.line()), "{entry}: {pulled}");
    // An identical line is known, regardless of the sender.
    let again = hub.push(&hub.acme, &hub.acme.agent, &[person]);
    assert_eq!(first_verdict(&again), "known", "{}", again.text());
}

#[test]
fn a_program_with_a_curators_token_replaces_nothing_that_a_person_wrote() {
    let hub = ApiHubEnvironment::start();
    let (_, person) = EventWriter::new(1).propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&person));
    let body = json!({"name": "pipeline", "role": "curator", "actor": "ci:build"});
    let made = hub.post("/v1/tokens", &hub.acme.admin, &body.to_string());
    let made = made.json();
    let pipeline = made["secret"].as_str().expect("a secret");
    // Same id, other words. Of two forms the bytes decide, so one of these would win.
    for seed in 0..8 {
        let mut forged: Event = person.event.clone();
        forged.by = "ci:build".parse().expect("an actor");
        if let EventBody::Proposed(data) = &mut forged.body {
            let words = format!("Other words, attempt {seed}");
            data.content.statement = words.parse().expect("a statement");
        }
        let answer = hub.push(&hub.acme, pipeline, &[RecordedEvent::new(forged)]);
        assert_eq!(answer.status, 422, "{}", answer.text());
    }
    let pulled = hub.get("/v1/workspaces/shop/events", &hub.acme.reader);
    let pulled = pulled.text();
    assert!(pulled.contains(person.line()), "{pulled}");
}

#[test]
fn an_agent_proposes_candidates_of_its_own_workspace_and_nothing_more() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = agent_scribe(2);
    let (entry, fine) = propose_as_agent(&mut scribe, STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[fine]);
    assert_eq!(first_verdict(&answer), "admitted", "{}", answer.text());
    let said = |n: u8| format!("{STATEMENT}, variant {n} of what was seen");
    let (_, verified) = scribe.propose_with(EntryKind::Learning, &said(1), |it| {
        it.status = EntryStatus::Verified;
    });
    let (_, global) = scribe.propose_with(EntryKind::Learning, &said(2), |it| {
        it.scope = EntryScope::Global;
    });
    let (_, overrides) = scribe.propose_with(EntryKind::Learning, &said(3), |it| {
        it.overrides = Some(entry);
    });
    let confirmed = scribe.about(
        entry,
        EventBody::Confirmed(Confirmed {
            provenance: Provenance::Manual,
            on: "2026-01-02".parse().expect("a date"),
            run: None,
            withdraws: Vec::new(),
        }),
    );
    let status = scribe.about(
        entry,
        EventBody::StatusChanged(StatusChanged {
            to: EntryStatus::Verified,
            replaces: Vec::new(),
            reason: None,
        }),
    );
    let helpful = |weight_milli: u32| {
        let verdict = Feedback::Helpful;
        EventBody::FeedbackGiven(FeedbackGiven {
            verdict,
            weight_milli,
        })
    };
    let heavy = scribe.about(entry, helpful(4_000_000));
    let newer = scribe.foreign("entry.invented", &[entry]);
    scribe.verdict = AdmissionVerdict::Quarantined;
    let hides = scribe.about(entry, helpful(500));
    scribe.verdict = AdmissionVerdict::Admitted;
    let (_, others) = scribe.by("agent:other").propose(&said(4));
    let (_, pipeline) = scribe.by("ci:main").propose(&said(5));
    for (name, copy) in [
        ("verified", verified),
        ("global", global),
        ("overrides", overrides),
        ("confirmed by hand", confirmed),
        ("status", status),
        ("heavy feedback", heavy),
        ("unknown type", newer),
        ("claims quarantine", hides),
        ("another agent's name", others),
        ("a pipeline's name", pipeline),
    ] {
        let answer = hub.push(&hub.acme, &hub.acme.agent, &[copy]);
        assert_eq!(answer.status, 422, "{name}: {}", answer.text());
        answer.problem("refused");
    }
    scribe.now = hub.app.clock.now();
    let light = scribe.by("agent:tester/7f3a").about(entry, helpful(500));
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[light]);
    assert_eq!(first_verdict(&answer), "admitted", "{}", answer.text());
}

/// Pushes one event with the agent's token and returns the reason for its refusal.
#[track_caller]
fn push_refused(hub: &ApiHubEnvironment, copy: &RecordedEvent) -> String {
    let answer = hub.push(&hub.acme, &hub.acme.agent, std::slice::from_ref(copy));
    assert_eq!(answer.status, 422, "{}", answer.text());
    let told = answer.problem("refused");
    told["events"][0]["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn an_agent_says_of_its_words_that_they_are_an_agents() {
    let hub = ApiHubEnvironment::start();
    let (persons, written) = EventWriter::new(11).propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&written));
    let mut scribe = agent_scribe(12);
    for origin in [Origin::Human, Origin::Ci] {
        let said = format!("{STATEMENT}, says {origin:?}");
        let (_, claims) = scribe.propose_with(EntryKind::Learning, &said, |it| it.origin = origin);
        let why = push_refused(&hub, &claims);
        assert!(why.contains("trusted more"), "{why}");
    }
    let (own, fine) = propose_as_agent(&mut scribe, &format!("{STATEMENT}, an agent's"));
    let reworded = |scribe: &mut EventWriter, entry, replaces: &RecordedEvent, origin| {
        let statement = Some(
            format!("{STATEMENT}, reworded")
                .parse()
                .expect("a statement"),
        );
        scribe.about(
            entry,
            EventBody::Revised(Revised {
                changes: ContentChanges {
                    statement,
                    ..ContentChanges::default()
                },
                replaces: vec![replaces.event.id],
                channel: Channel::Command,
                reason: None,
                origin,
            }),
        )
    };
    // An edit of a person's text must declare the agent as its origin.
    let silent = reworded(&mut scribe, persons, &written, None);
    let why = push_refused(&hub, &silent);
    assert!(why.contains("origin of the content"), "{why}");
    let lying = reworded(&mut scribe, persons, &written, Some(Origin::Ci));
    push_refused(&hub, &lying);
    let honest = reworded(&mut scribe, persons, &written, Some(Origin::Agent));
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[honest]);
    assert_eq!(first_verdict(&answer), "quarantined", "{}", answer.text());
    // The agent's own entry already has that origin, even in the same push.
    let again = reworded(&mut scribe, own, &fine, None);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[fine, again]);
    assert_eq!(
        answer.json()["events"][1]["verdict"],
        "admitted",
        "{}",
        answer.text()
    );
    // An unknown entry might be a person's.
    let (unknown, never) = EventWriter::new(13).propose(&format!("{STATEMENT}, elsewhere"));
    let blind = reworded(&mut scribe, unknown, &never, None);
    push_refused(&hub, &blind);
}

#[test]
fn an_agents_feedback_counts_once_a_day_for_one_entry_and_not_for_last_year() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = agent_scribe(14);
    let (entry, first) = propose_as_agent(&mut scribe, STATEMENT);
    let (other, second) = propose_as_agent(&mut scribe, &format!("{STATEMENT}, and another"));
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[first, second]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let given = || {
        EventBody::FeedbackGiven(FeedbackGiven {
            verdict: Feedback::Unhelpful,
            weight_milli: 500,
        })
    };
    let old = scribe.about(entry, given());
    let why = push_refused(&hub, &old);
    assert!(why.contains("week"), "{why}");
    scribe.now = hub.app.clock.now();
    let both = scribe.write(
        vec![EventSubject::Entry(entry), EventSubject::Entry(other)],
        given(),
    );
    let why = push_refused(&hub, &both);
    assert!(why.contains("one entry"), "{why}");
    let first = scribe.about(entry, given());
    let second = scribe.by("agent:tester/7f3a").about(entry, given());
    let copies = [first.clone(), second, scribe.about(other, given())];
    let answer = hub.push(&hub.acme, &hub.acme.agent, &copies);
    let told = answer.json();
    let verdicts = |n: usize| told["events"][n]["verdict"].as_str();
    assert_eq!(
        [verdicts(0), verdicts(1), verdicts(2)],
        [Some("admitted"), Some("refused"), Some("admitted")],
        "{told}"
    );
    let third = scribe.by("agent:tester/other").about(entry, given());
    let why = push_refused(&hub, &third);
    assert!(why.contains("once per day"), "{why}");
    let again = hub.push(&hub.acme, &hub.acme.agent, &[first]);
    assert_eq!(first_verdict(&again), "known", "{}", again.text());
}

#[test]
fn who_fills_the_list_of_what_waits_keeps_only_itself_out() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = agent_scribe(15);
    let mut foreign = |n: usize| {
        let said = format!("{STATEMENT}, read elsewhere under number {n}");
        scribe
            .propose_with(EntryKind::Learning, &said, |it| it.origin = Origin::Web)
            .1
    };
    let copies: Vec<RecordedEvent> = (0..202).map(&mut foreign).collect();
    let answer = hub.push(&hub.acme, &hub.acme.agent, &copies);
    let told = answer.json();
    let events = told["events"].as_array().expect("answers");
    let of = |verdict: &str| events.iter().filter(|it| it["verdict"] == verdict).count();
    assert_eq!(
        (of("quarantined"), of("refused")),
        (200, 2),
        "{}",
        answer.status
    );
    // Events that need no approval are still admitted, and so are a curator's events that do.
    let (_, fine) = propose_as_agent(&mut agent_scribe(16), STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[copies[201].clone(), fine]);
    let told = answer.json();
    assert_eq!(told["events"][0]["verdict"], "refused", "{told}");
    assert_eq!(told["events"][1]["verdict"], "admitted", "{told}");
    let answer = hub.push(&hub.acme, &hub.acme.curator, &copies[201..]);
    assert_eq!(first_verdict(&answer), "quarantined", "{}", answer.text());
}

#[test]
fn what_was_ordered_to_be_blanked_neither_waits_nor_comes_back_to_wait() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(17);
    let web = |it: &mut Proposed| it.origin = Origin::Web;
    let (_, waits) = scribe.propose_with(EntryKind::Learning, STATEMENT, web);
    let order = |scribe: &mut EventWriter, event| {
        let reason = BlankReason::Secret;
        scribe.write(
            Vec::new(),
            EventBody::EventBlanked(EventBlanked { event, reason }),
        )
    };
    let quarantined = || {
        hub.database
            .sql("select count(*) from ken.held")
            .trim()
            .to_owned()
    };
    let push = |copies: &[RecordedEvent]| hub.push(&hub.acme, &hub.acme.curator, copies);
    assert_eq!(
        first_verdict(&push(std::slice::from_ref(&waits))),
        "quarantined"
    );
    assert_eq!(quarantined(), "1");
    let blanks = order(&mut scribe, waits.event.id);
    assert_eq!(
        first_verdict(&push(std::slice::from_ref(&blanks))),
        "admitted"
    );
    assert_eq!(quarantined(), "0", "its words are gone");
    // A clone without the redaction pushes the event again.
    let again = push(std::slice::from_ref(&waits));
    assert_ne!(first_verdict(&again), "quarantined", "{}", again.text());
    // The event and its redaction in one push.
    let (_, both) = scribe.propose_with(EntryKind::Learning, &format!("{STATEMENT}, too"), web);
    let blanks = order(&mut scribe, both.event.id);
    let answer = push(&[both, blanks]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(quarantined(), "0");
    let pulled = hub
        .get("/v1/workspaces/shop/events", &hub.acme.reader)
        .text();
    assert!(!pulled.contains("stale data"), "{pulled}");
}

#[test]
fn what_stands_for_blanked_data_is_a_digest() {
    let hub = ApiHubEnvironment::start();
    let (_, copy) = EventWriter::new(18).propose(STATEMENT);
    let blank = copy.redacted();
    let data: Value = serde_json::from_str(blank.line()).expect("JSON");
    let digest = data["data"]["blanked"].as_str().expect("a digest");
    let forged = blank
        .line()
        .replace(digest, "the password of the shop is swordfish");
    let body = format!(r#"{{"events":[{forged}]}}"#);
    let answer = hub.post("/v1/workspaces/shop/events", &hub.acme.curator, &body);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[blank]);
    assert_eq!(first_verdict(&answer), "admitted", "{}", answer.text());
}

#[test]
fn what_a_person_took_back_as_false_is_not_proposed_again_by_an_agent() {
    let hub = ApiHubEnvironment::start();
    let mut person = EventWriter::new(3);
    let (entry, first) = person.propose(STATEMENT);
    let retracted = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let retracted = person.about(entry, retracted);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[first, retracted]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut agent = agent_scribe(4);
    let (_, again) = propose_as_agent(&mut agent, STATEMENT);
    let reason = push_refused(&hub, &again);
    assert!(reason.contains(&entry.to_string()), "{reason}");
    // An edit does not bring it back either, pushed or over REST.
    let (own, other) = propose_as_agent(&mut agent, "Queues are drained before a deployment.");
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[other]);
    assert_eq!(first_verdict(&answer), "admitted", "{}", answer.text());
    let edit = json!({"statement": STATEMENT});
    let revised = EventBody::Revised(Revised {
        origin: None,
        changes: serde_json::from_value(edit.clone()).expect("changes"),
        replaces: Vec::new(),
        channel: Channel::Command,
        reason: None,
    });
    let reason = push_refused(&hub, &agent.about(own, revised));
    assert!(reason.contains(&entry.to_string()), "{reason}");
    let path = format!("/v1/workspaces/shop/entries/{own}/edit");
    let answer = hub.post(&path, &hub.acme.agent, &edit.to_string());
    assert_eq!(answer.status, 422, "{}", answer.text());
}

#[test]
fn a_quarantined_forgery_does_not_keep_the_genuine_event_out() {
    let hub = ApiHubEnvironment::start();
    let foreign = |it: &mut Proposed| it.origin = Origin::Web;
    let (_, genuine) = EventWriter::new(5).propose_with(EntryKind::Learning, STATEMENT, foreign);
    let mut forged = genuine.event.clone();
    forged.by = "agent:tester".parse().expect("an actor");
    let forged = RecordedEvent::new(forged);
    let answer = hub.push(&hub.acme, &hub.acme.agent, std::slice::from_ref(&forged));
    assert_eq!(first_verdict(&answer), "quarantined", "{}", answer.text());
    let answer = hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&genuine));
    assert_eq!(first_verdict(&answer), "quarantined", "{}", answer.text());
    let quarantined = hub.database.sql("select line from ken.held");
    assert_eq!(
        quarantined.trim(),
        genuine.line(),
        "the curator's version is quarantined"
    );
    // The agent's own copy is refused from now on, and its sender is notified.
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[forged]);
    assert_eq!(answer.status, 422, "{}", answer.text());
}
