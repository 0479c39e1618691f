//! Subagents: each role receives knowledge in its own way, and the parent agent counts as exposed
//! to the entries that a subagent read.

use crate::hooks::{HookTestEnvironment, context_text};

fn start_subagent(house: &HookTestEnvironment, id: &str, kind: &str) -> String {
    let input = house.recorded("claude-code", "subagent");
    let input = input.replace("a1b2c3", id).replace("code-reviewer", kind);
    context_text(&house.run_hook_with("claude-code", "subagent", &input))
}

#[test]
fn only_reviewers_are_handed_entries() {
    let house = HookTestEnvironment::new();
    let _ = house
        .env
        .git(["checkout", "-q", "-b", "fix/retried-payment-charged"]);
    let _ = house.hook("claude-code", "start", "start");
    for (kind, words) in [
        (
            "phase-researcher",
            "Before any other step, search the knowledge base",
        ),
        ("planner", "You may search it"),
        ("debugger", "You may search it"),
        ("executor", "(rules 1 to 3)"),
        ("general-purpose", "You may search it"),
    ] {
        let said = start_subagent(&house, kind, kind);
        assert!(said.contains(words), "{kind}: {said}");
        assert!(!said.contains("[L-"), "{kind} is told how to ask: {said}");
    }
    assert!(
        start_subagent(&house, "r", "researcher")
            .contains("checked knowledge base, no relevant entries found")
    );
    let executor = start_subagent(&house, "e", "executor");
    assert!(
        executor.contains("Ask a person before you change the architecture (rule 4)"),
        "{executor}"
    );
}

#[test]
fn a_reviewer_is_handed_what_fits_when_it_is_started() {
    let house = HookTestEnvironment::new();
    let mut cursor = house.recorded("cursor", "subagent");
    cursor = cursor.replace("Look at payments", "retried payment charged");
    let _ = house.hook("cursor", "start", "start");
    assert_eq!(
        house.run_hook_with("cursor", "subagent", &cursor).stdout,
        "",
        "Cursor would not listen"
    );
    let _ = house.env.git([
        "checkout",
        "-q",
        "-b",
        "retried-payment-charged-request-key",
    ]);
    let said = start_subagent(&house, "a1", "code-reviewer");
    assert!(said.contains("## Knowledge Context"), "{said}");
    assert!(
        said.contains(&house.retry) && !said.contains(&house.rounding),
        "{said}"
    );
}

#[test]
fn a_subagent_joins_the_run_and_what_it_reads_its_starter_knows() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let _ = start_subagent(&house, "a1b2c3", "code-reviewer");
    let tool = house.recorded("claude-code", "tool");
    let tool = tool.replacen(
        '{',
        "{\"agent_id\":\"a1b2c3\",\"agent_type\":\"code-reviewer\",",
        1,
    );
    let _ = house.run_hook_with("claude-code", "tool", &tool);
    let run = house.open_run();
    let agents = run["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2, "{run}");
    assert!(
        agents
            .iter()
            .all(|it| it["saw"].to_string().contains(&house.export)),
        "{run}"
    );
    let sub = agents
        .iter()
        .find(|it| it["agent"] == "agent:claude-code/a1b2c3")
        .unwrap();
    assert_eq!(sub["witnessed"], true, "{sub}");
    let notes = house.env.read(&format!(
        ".ken/.local/runs/{}.jsonl",
        run["run"].as_str().unwrap()
    ));
    let joined = notes
        .lines()
        .find(|it| it.contains("code-reviewer") || it.contains("\"role\":\"reviewer\""));
    let joined: serde_json::Value = serde_json::from_str(joined.unwrap()).unwrap();
    assert_eq!(
        joined["member"]["told_by"][0], "agent:claude-code",
        "{joined}"
    );
}

#[test]
fn a_repository_may_say_how_a_role_comes_by_knowledge() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    house.env.write(
        ".ken/config.toml",
        "[surfacing]\nplanner = \"mandatory_pull\"\n",
    );
    assert!(start_subagent(&house, "p", "planner").contains("check first"));
}
