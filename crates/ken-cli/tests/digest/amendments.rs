//! Captured amendments: accepting one supersedes what it changes, in whichever order, and the older
//! rule is not shown as current.

use std::collections::BTreeSet;

use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use crate::digest::repository_with_documents;

const FIRST: [(&str, &str); 4] = [
    (
        "user",
        "The upstream blocks us when the invoice client retries.",
    ),
    (
        "assistant",
        "Should I retry without a limit, or stop after some attempts?",
    ),
    (
        "user",
        "Never more than five attempts, and the backoff of invoice_client is at most 60 seconds.",
    ),
    (
        "assistant",
        "Settled: invoice_client retries at most five attempts, with a backoff of at most 60 seconds.",
    ),
];

const SECOND: [(&str, &str); 4] = [
    (
        "user",
        "Amendment to the retries of invoice_client: the new gateway closes idle connections after 32 seconds.",
    ),
    (
        "assistant",
        "Then the backoff must stay below that. Should the attempts change, too?",
    ),
    (
        "user",
        "No, five attempts remain. The backoff is at most 30 seconds, never more.",
    ),
    (
        "assistant",
        "Amended rule, superseding the old one: retries stop after at most five attempts, with a backoff of at most 30 seconds.",
    ),
];

const UNRELATED: [(&str, &str); 4] = [
    ("user", "The report of the warehouse is slow."),
    (
        "assistant",
        "Should I cache the totals of each shelf in the database?",
    ),
    (
        "user",
        "No, never cache totals of shelves, always compute them from the movements.",
    ),
    (
        "assistant",
        "Settled: totals of shelves are always computed from the movements and never cached.",
    ),
];

fn transcript(turns: &[(&str, &str)]) -> String {
    let lines = turns.iter().map(|(role, text)| {
        let line = if *role == "user" {
            json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}})
        } else {
            json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": text}]}})
        };
        format!("{line}\n")
    });
    lines.collect()
}

fn repository() -> TestEnvironment {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    env
}

/// Captures a conversation and returns its claims.
fn capture_all(env: &TestEnvironment, turns: &[(&str, &str)]) -> Vec<Value> {
    env.write("chat.jsonl", &transcript(turns));
    let told = env.run(["capture", "chat.jsonl", "--format", "json"]);
    let told = told.success().json();
    told["staged"].as_array().expect("claims").clone()
}

/// Captures a conversation and returns its only claim.
fn capture(env: &TestEnvironment, turns: &[(&str, &str)]) -> Value {
    let staged = capture_all(env, turns);
    assert_eq!(staged.len(), 1, "{staged:?}");
    staged[0].clone()
}

/// Accepts a claim and returns the document that the program printed.
fn accept(env: &TestEnvironment, claim: &Value, more: &[&str]) -> Value {
    let id = claim["id"].as_str().expect("an id");
    let args = ["inbox", "accept", id, "--format", "json"];
    let args = args.into_iter().chain(more.iter().copied());
    env.run(args).success().json()
}

fn show(env: &TestEnvironment, id: &Value) -> Value {
    let id = id.as_str().expect("an id");
    env.run(["show", id, "--format", "json"]).success().json()
}

/// Returns what the prompt hook shows for a question about the retries.
fn hook_text(env: &TestEnvironment) -> String {
    let input = json!({"session_id": "s", "prompt": "The retries of invoice_client hang: fix its backoff and its attempts."});
    let told = env.run_with(&input.to_string(), ["hook", "claude-code", "prompt"]);
    let told: Value = serde_json::from_str(&told.success().stdout).unwrap_or_default();
    let text = &told["hookSpecificOutput"]["additionalContext"];
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_accepted_amendment_supersedes_the_entry_and_hooks_show_the_new_rule_only() {
    let env = repository();
    let _ = accept(&env, &capture(&env, &UNRELATED), &[]);
    let old = accept(&env, &capture(&env, &FIRST), &[])["entries"][0].clone();
    assert!(hook_text(&env).contains("60 seconds"));
    let claim = capture(&env, &SECOND);
    assert_eq!(claim["supersedes"], json!([old]));
    let listed = env.run(["inbox", "list"]).success().stdout;
    let note = format!("supersedes {} when you accept it", old.as_str().unwrap());
    assert!(listed.contains(&note), "{listed}");
    let accepted = accept(&env, &claim, &[]);
    let new = accepted["entries"][0].clone();
    assert_eq!(accepted["superseded"], json!([[old, new]]));
    assert_eq!(show(&env, &old)["superseded_by"], new);
    let text = hook_text(&env);
    assert!(text.contains("30 seconds"), "{text}");
    assert!(!text.contains("60 seconds"), "{text}");
}

#[test]
fn the_order_of_acceptance_does_not_matter() {
    for newer_first in [false, true] {
        let env = repository();
        let (first, second) = (capture(&env, &FIRST), capture(&env, &SECOND));
        assert_eq!(second["supersedes"], json!([first["id"]]));
        let (old, new) = if newer_first {
            let new = accept(&env, &second, &[])["entries"][0].clone();
            (accept(&env, &first, &[])["entries"][0].clone(), new)
        } else {
            let old = accept(&env, &first, &[])["entries"][0].clone();
            (old, accept(&env, &second, &[])["entries"][0].clone())
        };
        assert_eq!(show(&env, &old)["superseded_by"], new, "{newer_first}");
    }
    // Both at once.
    let env = repository();
    let _ = (capture(&env, &FIRST), capture(&env, &SECOND));
    let accepted = env.run(["inbox", "accept", "--format", "json"]).success();
    let superseded = accepted.json()["superseded"].clone();
    assert_eq!(superseded.as_array().map(Vec::len), Some(1), "{superseded}");
    assert!(!hook_text(&env).contains("60 seconds"));
}

#[test]
fn an_amendment_supersedes_every_claim_of_the_conversation_that_decided_before() {
    let twice = [
        FIRST[0],
        FIRST[1],
        FIRST[2],
        FIRST[3],
        ("user", "Should an attempt that times out count, too?"),
        (
            "assistant",
            "I would count every attempt of invoice_client.",
        ),
        (
            "user",
            "No, never count attempts of invoice_client that time out: the backoff starts when the upstream answers.",
        ),
        ("assistant", "Done."),
    ];
    let env = repository();
    let older = capture_all(&env, &twice);
    assert!(older.len() > 1, "{older:?}");
    let accepted = env.run(["inbox", "accept", "--format", "json"]).success();
    let entries = accepted.json()["entries"].clone();
    let newer = capture(&env, &SECOND);
    assert_eq!(newer["supersedes"], entries);
    let _ = accept(&env, &newer, &[]);
    let text = hook_text(&env);
    assert!(text.contains("30 seconds"), "{text}");
    assert!(!text.contains("60 seconds"), "{text}");
}

#[test]
fn an_amendment_that_the_same_conversation_amends_again_still_supersedes_the_older_rule() {
    let thrice = [
        SECOND[0],
        SECOND[1],
        SECOND[2],
        SECOND[3],
        (
            "user",
            "Amendment to the retries of invoice_client: 30 seconds are too long for the new gateway.",
        ),
        (
            "assistant",
            "Should the backoff be shorter, with the same five attempts?",
        ),
        (
            "user",
            "Yes, five attempts. The backoff of invoice_client is at most 20 seconds, never more.",
        ),
        (
            "assistant",
            "Amended rule, superseding the old one: retries stop after at most five attempts, with a backoff of at most 20 seconds.",
        ),
    ];
    let env = repository();
    let _ = capture(&env, &FIRST);
    let newer = capture_all(&env, &thrice);
    let of_claims: BTreeSet<&str> = newer.iter().filter_map(|it| it["id"].as_str()).collect();
    let chained = newer.iter().flat_map(|it| it["supersedes"].as_array());
    let chained = chained.flatten().filter_map(Value::as_str);
    let is_chain = chained.clone().any(|it| of_claims.contains(it));
    assert!(is_chain, "one amendment amends another: {newer:?}");
    let accepted = env.run(["inbox", "accept", "--format", "json"]).success();
    assert_eq!(accepted.json()["kept"], json!([]));
    let text = hook_text(&env);
    assert!(text.contains("20 seconds"), "{text}");
    assert!(!text.contains("60 seconds"), "{text}");
}

#[test]
fn a_claim_recorded_in_fewer_words_supersedes_too() {
    let env = repository();
    let old = accept(&env, &capture(&env, &FIRST), &[])["entries"][0].clone();
    let claim = capture(&env, &SECOND);
    let id = claim["id"].as_str().expect("an id");
    let text = "The backoff of invoice_client is at most 30 seconds, in at most five attempts";
    let added = env.run(["add", text, "--kind", "decision", "--from", id]);
    assert!(added.success().stderr.contains("supersedes"));
    assert!(!show(&env, &old)["superseded_by"].is_null());
}

#[test]
fn a_person_can_keep_the_older_rule_and_an_agent_cannot_replace_a_persons() {
    let env = repository();
    let old = accept(&env, &capture(&env, &FIRST), &[])["entries"][0].clone();
    let kept = accept(&env, &capture(&env, &SECOND), &["--keep-older"]);
    assert_eq!(kept["superseded"], json!([]));
    assert!(show(&env, &old)["superseded_by"].is_null());

    let env = repository();
    let words =
        "invoice_client retries at most five attempts, with a backoff of at most 60 seconds";
    let _ = env
        .run(["add", words, "--kind", "decision", "--cite", "pr:1"])
        .success();
    let claim = capture(&env, &SECOND);
    let old = claim["supersedes"][0].clone();
    let by_agent = env.run([
        "inbox",
        "accept",
        claim["id"].as_str().expect("an id"),
        "--by",
        "agent:codex",
    ]);
    assert!(by_agent.stderr.contains("stays current"), "{by_agent}");
    assert!(show(&env, &old)["superseded_by"].is_null());
}

#[test]
fn what_announces_no_amendment_or_is_about_something_else_supersedes_nothing() {
    let env = repository();
    let _ = accept(&env, &capture(&env, &FIRST), &[]);
    assert!(capture(&env, &UNRELATED)["supersedes"].is_null());
    let again = accept(&env, &capture(&env, &SECOND), &[]);
    assert_eq!(again["superseded"].as_array().map(Vec::len), Some(1));
}
