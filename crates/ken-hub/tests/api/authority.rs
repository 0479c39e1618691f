//! What an agent's token may push, and what it may not, each with a whole line and a right sum.

use ken_core::content::Scope;
use ken_core::event::{
    AdmissionVerdict, Body, Channel, Confirmed, Event, Feedback, FeedbackGiven, Provenance,
    Recorded, RetractReason, Retracted, StatusChanged,
};
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
    let (entry, fine) = scribe.propose(STATEMENT);
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
    let light = scribe.by("agent:tester/7f3a").about(entry, light);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[light]);
    assert_eq!(verdict(&answer), "admitted", "{}", answer.text());
}

#[test]
fn what_a_person_took_back_as_false_is_not_proposed_again_by_an_agent() {
    let hub = Hub::start();
    let mut person = Scribe::new(3);
    let (entry, proposed) = person.propose(STATEMENT);
    let retracted = Body::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    let retracted = person.about(entry, retracted);
    let answer = hub.push(&hub.acme, &hub.acme.curator, &[proposed, retracted]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (_, again) = agent(4).propose(STATEMENT);
    let answer = hub.push(&hub.acme, &hub.acme.agent, &[again]);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let told: Value = answer.problem("refused");
    let reason = told["events"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&entry.to_string()), "{reason}");
}

#[test]
fn what_is_held_first_does_not_keep_the_genuine_out() {
    use ken_core::event::Origin;
    let hub = Hub::start();
    let foreign = |it: &mut ken_core::event::Proposed| it.origin = Origin::Web;
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
