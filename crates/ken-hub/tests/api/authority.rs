//! What an agent's token may push, and what it may not, each with a whole line and a right sum.

use ken_core::content::{Changes, Scope};
use ken_core::event::{
    AdmissionVerdict, BlankReason, Body, Channel, Confirmed, Event, EventBlanked, Feedback,
    FeedbackGiven, Origin, Proposed, Provenance, Recorded, RetractReason, Retracted, Revised,
    StatusChanged, Subject,
};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::status::Status;
use ken_testkit::build::Scribe;
use serde_json::Value;

use crate::hub::{Answer, Hub};

const STATEMENT: &str =
    "Reading the session after logout returns stale data because the cache keeps it for a minute";

fn verdict(answer: &Answer) -> String {
    let told = answer.json();
    let one = &told["events"][0]["verdict"];
    one.as_str().unwrap_or_default().to_owned()
}

fn agent(seed: u64) -> Scribe {
    let mut scribe = Scribe::new(seed);
    scribe.by("agent:tester");
    scribe
}

/// Writes a proposal as an agent does.
fn proposed(scribe: &mut Scribe, said: &str) -> (EntryId, Recorded) {
    scribe.propose_with(Kind::Learning, said, |it| it.origin = Origin::Agent)
}

#[test]
fn an_agent_cannot_replace_what_somebody_else_wrote() {
    let hub = Hub::start();
    let (entry, person) = Scribe::new(1).propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&person));
    // The same id, the agent's name, its own words: smaller as bytes, so it would win.
    let mut forged: Event = person.event.clone();
    forged.by = "agent:tester".parse().expect("an actor");
    let forged = Recorded::new(forged);
    assert_eq!(
        forged.clone().better_copy(person.clone()).line(),
        forged.line()
    );
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[forged]);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let pulled = hub
        .get("/v1/workspaces/shop/events", &hub.acme.reader)
        .text();
    assert!(pulled.contains(person.line()), "{entry}: {pulled}");
    // The very same line is known, whoever sends it.
    let again = hub.push(&hub.acme, &hub.acme.agent, &[person]);
    assert_eq!(verdict(&again), "known", "{}", again.text());
}

#[test]
fn an_agent_proposes_candidates_of_its_own_workspace_and_nothing_more() {
    let hub = Hub::start();
    let mut scribe = agent(2);
    let (entry, fine) = proposed(&mut scribe, STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[fine]);
    assert_eq!(verdict(&answer), "admitted", "{}", answer.text());
    let said = |n: u8| format!("{STATEMENT}, variant {n} of what was seen");
    let (_, verified) =
        scribe.propose_with(Kind::Learning, &said(1), |it| it.status = Status::Verified);
    let (_, global) = scribe.propose_with(Kind::Learning, &said(2), |it| it.scope = Scope::Global);
    let (_, overrides) =
        scribe.propose_with(Kind::Learning, &said(3), |it| it.overrides = Some(entry));
    let confirmed = scribe.about(
        entry,
        Body::Confirmed(Confirmed {
            provenance: Provenance::Manual,
            on: "2026-01-02".parse().expect("a date"),
            run: None,
            withdraws: Vec::new(),
        }),
    );
    let status = scribe.about(
        entry,
        Body::StatusChanged(StatusChanged {
            to: Status::Verified,
            replaces: Vec::new(),
            reason: None,
        }),
    );
    let heavy = Body::FeedbackGiven(FeedbackGiven {
        verdict: Feedback::Helpful,
        weight_milli: 4_000_000,
    });
    let heavy = scribe.about(entry, heavy);
    let newer = scribe.foreign("entry.invented", &[entry]);
    scribe.verdict = AdmissionVerdict::Quarantined;
    let hides = Body::FeedbackGiven(FeedbackGiven {
        verdict: Feedback::Helpful,
        weight_milli: 500,
    });
    let hides = scribe.about(entry, hides);
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
    let light = Body::FeedbackGiven(FeedbackGiven {
        verdict: Feedback::Helpful,
        weight_milli: 500,
    });
    scribe.now = hub.app.world.now();
    let light = scribe.by("agent:tester/7f3a").about(entry, light);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[light]);
    assert_eq!(verdict(&answer), "admitted", "{}", answer.text());
}

/// Pushes one event with the agent's token and returns the reason of its refusal.
#[track_caller]
fn refused(hub: &Hub, copy: &Recorded) -> String {
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
    let hub = Hub::start();
    let (persons, written) = Scribe::new(11).propose(STATEMENT);
    hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&written));
    let mut scribe = agent(12);
    for origin in [Origin::Human, Origin::Ci] {
        let said = format!("{STATEMENT}, says {origin:?}");
        let (_, claims) = scribe.propose_with(Kind::Learning, &said, |it| it.origin = origin);
        let why = refused(&hub, &claims);
        assert!(why.contains("trusted more"), "{why}");
    }
    let (own, fine) = proposed(&mut scribe, &format!("{STATEMENT}, an agent's"));
    let reworded = |scribe: &mut Scribe, entry, replaces: &Recorded, origin| {
        let statement = Some(
            format!("{STATEMENT}, reworded")
                .parse()
                .expect("a statement"),
        );
        scribe.about(
            entry,
            Body::Revised(Revised {
                changes: Changes {
                    statement,
                    ..Changes::default()
                },
                replaces: vec![replaces.event.id],
                channel: Channel::Command,
                reason: None,
                origin,
            }),
        )
    };
    // A person's words stay a person's unless the event says whose they are now.
    let silent = reworded(&mut scribe, persons, &written, None);
    let why = refused(&hub, &silent);
    assert!(why.contains("rewords"), "{why}");
    let lying = reworded(&mut scribe, persons, &written, Some(Origin::Ci));
    refused(&hub, &lying);
    let honest = reworded(&mut scribe, persons, &written, Some(Origin::Agent));
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[honest]);
    assert_eq!(verdict(&answer), "admitted", "{}", answer.text());
    // Its own are an agent's already, be they in the same push.
    let again = reworded(&mut scribe, own, &fine, None);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[fine, again]);
    assert_eq!(
        answer.json()["events"][1]["verdict"],
        "admitted",
        "{}",
        answer.text()
    );
    // Of an entry nobody knows here it may be a person's words.
    let (unknown, never) = Scribe::new(13).propose(&format!("{STATEMENT}, elsewhere"));
    let blind = reworded(&mut scribe, unknown, &never, None);
    refused(&hub, &blind);
}

#[test]
fn an_agents_feedback_counts_once_a_day_for_one_entry_and_not_for_last_year() {
    let hub = Hub::start();
    let mut scribe = agent(14);
    let (entry, first) = proposed(&mut scribe, STATEMENT);
    let (other, second) = proposed(&mut scribe, &format!("{STATEMENT}, and another"));
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[first, second]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let given = || {
        Body::FeedbackGiven(FeedbackGiven {
            verdict: Feedback::Unhelpful,
            weight_milli: 500,
        })
    };
    let old = scribe.about(entry, given());
    let why = refused(&hub, &old);
    assert!(why.contains("week"), "{why}");
    scribe.now = hub.app.world.now();
    let both = scribe.write(vec![Subject::Entry(entry), Subject::Entry(other)], given());
    let why = refused(&hub, &both);
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
    let why = refused(&hub, &third);
    assert!(why.contains("once a day"), "{why}");
    let again = hub.push(&hub.acme, &hub.acme.agent, &[first]);
    assert_eq!(verdict(&again), "known", "{}", again.text());
}

#[test]
fn who_fills_the_list_of_what_waits_keeps_only_itself_out() {
    let hub = Hub::start();
    let mut scribe = agent(15);
    let mut foreign = |n: usize| {
        let said = format!("{STATEMENT}, read elsewhere under number {n}");
        scribe
            .propose_with(Kind::Learning, &said, |it| it.origin = Origin::Web)
            .1
    };
    let copies: Vec<Recorded> = (0..202).map(&mut foreign).collect();
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
    // What does not wait is let in all the same, and so is what a curator's clone lets wait.
    let (_, fine) = proposed(&mut agent(16), STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[copies[201].clone(), fine]);
    let told = answer.json();
    assert_eq!(told["events"][0]["verdict"], "refused", "{told}");
    assert_eq!(told["events"][1]["verdict"], "admitted", "{told}");
    let answer = hub.push(&hub.acme, &hub.acme.curator, &copies[201..]);
    assert_eq!(verdict(&answer), "quarantined", "{}", answer.text());
}

#[test]
fn what_was_ordered_to_be_blanked_neither_waits_nor_comes_back_to_wait() {
    let hub = Hub::start();
    let mut scribe = Scribe::new(17);
    let web = |it: &mut Proposed| it.origin = Origin::Web;
    let (_, waits) = scribe.propose_with(Kind::Learning, STATEMENT, web);
    let order = |scribe: &mut Scribe, event| {
        let reason = BlankReason::Secret;
        scribe.write(
            Vec::new(),
            Body::EventBlanked(EventBlanked { event, reason }),
        )
    };
    let held = || {
        hub.database
            .sql("select count(*) from ken.held")
            .trim()
            .to_owned()
    };
    let push = |copies: &[Recorded]| hub.push(&hub.acme, &hub.acme.curator, copies);
    assert_eq!(verdict(&push(std::slice::from_ref(&waits))), "quarantined");
    assert_eq!(held(), "1");
    let blanks = order(&mut scribe, waits.event.id);
    assert_eq!(verdict(&push(std::slice::from_ref(&blanks))), "admitted");
    assert_eq!(held(), "0", "its words are gone");
    // A clone that has not heard of the order brings it again.
    let again = push(std::slice::from_ref(&waits));
    assert_ne!(verdict(&again), "quarantined", "{}", again.text());
    // And in one push with the order.
    let (_, both) = scribe.propose_with(Kind::Learning, &format!("{STATEMENT}, too"), web);
    let blanks = order(&mut scribe, both.event.id);
    let answer = push(&[both, blanks]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(held(), "0");
    let pulled = hub
        .get("/v1/workspaces/shop/events", &hub.acme.reader)
        .text();
    assert!(!pulled.contains("stale data"), "{pulled}");
}

#[test]
fn what_stands_for_blanked_data_is_a_digest() {
    let hub = Hub::start();
    let (_, copy) = Scribe::new(18).propose(STATEMENT);
    let blank = copy.blanked();
    let data: Value = serde_json::from_str(blank.line()).expect("JSON");
    let digest = data["data"]["blanked"].as_str().expect("a digest");
    let forged = blank
        .line()
        .replace(digest, "the password of the shop is swordfish");
    let body = format!(r#"{{"events":[{forged}]}}"#);
    let answer = hub.post("/v1/workspaces/shop/events", &hub.acme.curator, &body);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[blank]);
    assert_eq!(verdict(&answer), "admitted", "{}", answer.text());
}

#[test]
fn what_a_person_took_back_as_false_is_not_proposed_again_by_an_agent() {
    let hub = Hub::start();
    let mut person = Scribe::new(3);
    let (entry, first) = person.propose(STATEMENT);
    let retracted = Body::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let retracted = person.about(entry, retracted);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[first, retracted]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (_, again) = proposed(&mut agent(4), STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[again]);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let told: Value = answer.problem("refused");
    let reason = told["events"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&entry.to_string()), "{reason}");
}

#[test]
fn what_is_held_first_does_not_keep_the_genuine_out() {
    let hub = Hub::start();
    let foreign = |it: &mut Proposed| it.origin = Origin::Web;
    let (_, genuine) = Scribe::new(5).propose_with(Kind::Learning, STATEMENT, foreign);
    let mut forged = genuine.event.clone();
    forged.by = "agent:tester".parse().expect("an actor");
    let forged = Recorded::new(forged);
    let answer = hub.push(&hub.acme, &hub.acme.agent, std::slice::from_ref(&forged));
    assert_eq!(verdict(&answer), "quarantined", "{}", answer.text());
    let answer = hub.push(&hub.acme, &hub.acme.curator, std::slice::from_ref(&genuine));
    assert_eq!(verdict(&answer), "quarantined", "{}", answer.text());
    let held = hub.database.sql("select line from ken.held");
    assert_eq!(held.trim(), genuine.line(), "the curator's form waits");
    // And the agent's own is refused from now on, where its sender sees it.
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[forged]);
    assert_eq!(answer.status, 422, "{}", answer.text());
}
