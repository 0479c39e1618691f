//! Actors, exposures and their consequences over MCP, as ledger and run record them.

use ken_guard::sample::samples_of_every_rule;
use serde_json::{Value, json};

use crate::mcp::client::{McpTestClient, open_run};
use crate::mcp::{McpTestEnvironment, STATEMENT_REPHRASED, test_environment};

fn shown_ids(run: &Value) -> Vec<&str> {
    let saw = run["agents"][0]["saw"].as_array().unwrap();
    saw.iter().map(|it| it.as_str().unwrap()).collect()
}

#[test]
fn what_is_shown_is_noted_and_what_is_recorded_names_agent_and_run() {
    let McpTestEnvironment { env, lesson, norm } = test_environment();
    let mut client = McpTestClient::newer(&env, "claude-code");
    let _ = client.said("ken_search", json!({"query": "split a refused charge"}));
    let run = open_run(&env, "agent:claude-code");
    assert!(
        run["run"].as_str().unwrap().starts_with("C-"),
        "a conversation is a run: {run}"
    );
    assert_eq!(
        (&run["witness"], &run["implicit"]),
        (&json!("nobody"), &json!(false))
    );
    assert_eq!(shown_ids(&run), [&lesson]);
    assert_eq!(
        run["agents"][0]["witnessed"], false,
        "a server sees only what it is asked"
    );
    let _ = client.said("ken_check", json!({"paths": ["src/pay.rs"]}));
    let run = open_run(&env, "agent:claude-code");
    assert_eq!(shown_ids(&run).len(), 2, "the norm, too: {norm}");

    let ask = json!({"statement": "A refund empties the ledger before anybody locks it.", "cites": ["test:t"], "format": "json"});
    let recorded = client.call("ken_add", ask)["structuredContent"].clone();
    assert_eq!(recorded["outcome"], "recorded");
    let id = recorded["id"].as_str().unwrap();
    let entry = env.run(["show", id, "--format", "json"]).success().json();
    assert_eq!(entry["created"]["by"], "agent:claude-code");
    assert_eq!(entry["created"]["run"]["id"], run["run"]);
    assert_eq!(entry["created"]["origin"], "agent");
    assert_eq!(entry["status"]["value"], "candidate");
    assert_eq!(entry["provenance"][0]["cited_by"], "agent:claude-code");
    let log = env.run(["log", id]).success();
    assert!(log.stdout.contains("agent:claude-code"), "{log}");
    let _ = client.end();

    let name = run["run"].as_str().unwrap();
    let closed = env
        .run(["run", "close", name, "--outcome", "succeeded"])
        .success();
    assert!(!closed.stdout.contains("independent"), "{closed}");
}

#[test]
fn a_finding_that_is_known_is_an_observation_that_names_no_entry() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    let mut client = McpTestClient::older(&env, "codex-mcp-client");
    let ask = json!({"statement": STATEMENT_REPHRASED, "cites": ["pr:7"]});
    let noted = client.said("ken_add", ask.clone());
    assert!(noted.starts_with("noted;"), "{noted}");
    assert!(
        !noted.contains(&lesson),
        "an answer that names it would prime: {noted}"
    );
    assert_eq!(client.said("ken_add", ask.clone()), noted, "and again");
    let run = open_run(&env, "agent:codex");
    assert_eq!(run["agents"][0]["findings"], 1, "{run}");
    assert_eq!(shown_ids(&run), Vec::<&str>::new());
    let entries = env.run(["list", "--format", "json"]).success();
    assert_eq!(
        entries.stdout.lines().count(),
        2,
        "nothing was written: {entries}"
    );

    let _ = client.said("ken_show", json!({"id": lesson}));
    let noted = client.said("ken_add", ask);
    assert!(
        noted.contains(&lesson),
        "seen before, it may be named: {noted}"
    );
    let _ = client.end();
}

#[test]
fn what_ken_add_tells_in_a_watched_run_confirms() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    env.wait_days(2);
    let open = ["run", "open", "review-1", "--agent", "claude-code"];
    let open = open.into_iter().chain(["--witness", "orchestrator"]);
    let _ = env.run(open).success();
    let mut client = McpTestClient::start(env.ken().arg("mcp").env("KEN_RUN", "review-1"));
    client.shake_hands("claude-code");
    let ask = json!({"statement": STATEMENT_REPHRASED, "cites": ["pr:7"]});
    let _ = client.said("ken_add", ask);
    let _ = client.end();
    let close = ["run", "close", "review-1", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let entry = env.run(["show", &lesson, "--format", "json"]).success();
    let found = entry.json()["confirmation"].clone();
    assert_eq!(found["independent"], 1, "{found}");
    assert_eq!(found["last"], "2026-01-04", "{found}");
}

#[test]
fn only_who_was_shown_an_entry_says_whether_it_helped() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    let mut client = McpTestClient::older(&env, "gemini-cli-mcp-client");
    let ask = json!({"id": lesson, "helpful": false});
    let told = client.refused("ken_feedback", ask.clone());
    assert!(
        told.starts_with(&format!("you were not shown {lesson}")),
        "{told}"
    );
    let _ = client.said("ken_show", json!({"id": lesson}));
    let first = client.said("ken_feedback", ask.clone());
    assert_eq!(
        client.said("ken_feedback", ask),
        first,
        "asked again, it answers the same"
    );
    let given = |env: &ken_testkit::test_env::TestEnvironment| {
        let log = env.run(["log", &lesson, "--format", "json"]).success();
        let lines = log
            .stdout
            .lines()
            .map(|it| serde_json::from_str::<Value>(it).unwrap());
        let given = lines.filter(|it| it["type"] == "feedback.given");
        given.map(|it| it["by"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(given(&env), ["agent:gemini-cli"], "once");
    let _ = client.said("ken_feedback", json!({"id": lesson, "helpful": true}));
    assert_eq!(given(&env).len(), 2, "a change of mind counts");
    let _ = client.end();
}

#[test]
fn nobody_becomes_a_person_over_the_protocol() {
    let McpTestEnvironment { env, .. } = test_environment();
    let refused = env.run(["mcp", "--by", "human:ada@example.org"]);
    assert_eq!(refused.exit, 2, "{refused}");
    assert!(refused.stderr.contains("is a person"), "{refused}");
    let ask = json!({"statement": "Tests of payments need the clock to stand still.", "cites": ["pr:1"], "format": "json"});
    let by = |env: &ken_testkit::test_env::TestEnvironment, client: &mut McpTestClient| {
        let recorded = client.call("ken_add", ask.clone())["structuredContent"].clone();
        let id = recorded["id"].as_str().unwrap().to_owned();
        let entry = env.run(["show", &id, "--format", "json"]).success().json();
        let _ = env.run(["retract", &id, "--reason", "withdrawn"]).success();
        entry["created"]["by"].clone()
    };
    let mut client = McpTestClient::older(&env, "human:ada@example.org");
    assert_eq!(by(&env, &mut client), "agent:human-ada-example.org");
    let _ = client.end();
    let mut client = McpTestClient::start(
        env.ken()
            .arg("mcp")
            .env("KEN_ACTOR", "human:ada@example.org"),
    );
    client.shake_hands("Some Editor");
    assert_eq!(by(&env, &mut client), "agent:some-editor");
    let _ = client.end();
    let mut client = McpTestClient::start(env.ken().args(["mcp", "--by", "agent:nightly"]));
    client.shake_hands("claude-code");
    assert_eq!(by(&env, &mut client), "agent:nightly");
    let _ = client.end();
}

#[test]
fn a_conversation_is_the_named_run_the_session_or_the_only_one() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    let show = json!({"id": lesson});
    let open = [
        "run",
        "open",
        "review-1",
        "--agent",
        "claude-code",
        "--witness",
        "orchestrator",
    ];
    let _ = env.run(open).success();
    let mut client = McpTestClient::start(env.ken().arg("mcp").env("KEN_RUN", "review-1"));
    client.shake_hands("claude-code");
    let _ = client.said("ken_show", show.clone());
    assert_eq!(open_run(&env, "agent:claude-code")["run"], "review-1");
    let _ = client.end();

    let mut session = McpTestClient::start(env.ken().arg("mcp").env("CODEX_THREAD_ID", "thread-7"));
    session.shake_hands("codex-mcp-client");
    let _ = session.said("ken_show", show.clone());
    let first = open_run(&env, "agent:codex");
    let _ = session.end();
    let mut again = McpTestClient::start(env.ken().arg("mcp").env("CODEX_THREAD_ID", "thread-7"));
    again.shake_hands("codex-mcp-client");
    let thanks = again.said("ken_feedback", json!({"id": lesson, "helpful": true}));
    assert!(
        thanks.starts_with("noted"),
        "it was shown to this thread before: {thanks}"
    );
    let _ = again.end();
    let mut alone = McpTestClient::older(&env, "codex-mcp-client");
    let _ = alone.said("ken_show", show);
    assert_eq!(
        open_run(&env, "agent:codex")["run"],
        first["run"],
        "the only one there is"
    );
    let _ = alone.end();
}

#[test]
fn secrets_are_refused_or_replaced_and_hidden_text_is_set_apart() {
    let McpTestEnvironment { env, .. } = test_environment();
    let samples = samples_of_every_rule(7);
    let sample = samples.iter().find(|it| it.rule == "github-token").unwrap();
    let statement = format!(
        "Deployments take the token {} from the environment.",
        sample.text
    );
    let ask = json!({"statement": statement, "cites": ["pr:1"]});
    let mut client = McpTestClient::older(&env, "claude-code");
    let told = client.refused("ken_add", ask.clone());
    assert!(told.contains("seems to contain a secret"), "{told}");
    assert!(told.contains("next: remove the secret"), "{told}");
    assert!(!told.contains(sample.secret()), "{told}");
    let hidden =
        json!({"statement": "Queues are drained\u{200b}\u{202e} at midnight.", "cites": ["pr:1"]});
    let told = client.said("ken_add", hidden);
    assert!(
        told.contains("quarantined until a person reviews it"),
        "{told}"
    );
    let id = told.split(['[', ']']).nth(1).unwrap().to_owned();
    let told = client.refused("ken_show", json!({"id": id}));
    assert!(told.contains("is quarantined"), "{told}");
    let _ = client.end();

    let mut client = McpTestClient::start(env.ken().args(["mcp", "--redact"]));
    client.shake_hands("claude-code");
    let told = client.said("ken_add", ask);
    assert!(told.contains("a secret in it was redacted"), "{told}");
    let id = told.split(['[', ']']).nth(1).unwrap().to_owned();
    let shown = client.said("ken_show", json!({"id": id}));
    assert!(shown.contains("[REDACTED:"), "{shown}");
    let ended = client.end();
    assert!(!ended.stderr.contains(sample.secret()));
}
