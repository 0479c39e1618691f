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
        (
            "executor",
            "Before you fix a bug, add missing critical functionality or remove a blocker (rules 1 to 3)",
        ),
        ("general-purpose", "You may search it"),
    ] {
        let said = start_subagent(&house, kind, kind);
        assert!(said.contains(words), "{kind}: {said}");
        assert!(!said.contains("[L-"), "{kind} is told how to ask: {said}");
        let (_, command) = said.split_once("`ken search ").expect("a command");
        let option = command.split('"').next().expect("before the query");
        let option = option.split_whitespace().filter(|it| *it != "--error`");
        let option = option.take_while(|it| !it.contains('`'));
        let args = ["search", "retried payment"].into_iter().chain(option);
        let _ = house.env.run(args).success();
    }
    let researcher = start_subagent(&house, "r", "researcher");
    for words in [
        "checked knowledge base, no relevant entries found",
        "after an error and when you change direction",
        "`## Knowledge Applied`",
    ] {
        assert!(researcher.contains(words), "{words}: {researcher}");
    }
    let executor = start_subagent(&house, "e", "executor");
    for words in [
        "While you follow the plan, do not search",
        "Ask a person before you change the architecture (rule 4)",
    ] {
        assert!(executor.contains(words), "{words}: {executor}");
    }
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
    let started = house.hook("claude-code", "start", "start");
    assert!(!context_text(&started).contains(&house.retry), "{started}");
    let _ = house.env.git([
        "checkout",
        "-q",
        "-b",
        "retried-payment-charged-request-key",
    ]);
    let other = start_subagent(&house, "a0", "planner");
    assert!(!other.contains(&house.retry), "{other}");
    let said = start_subagent(&house, "a1", "code-reviewer");
    assert!(said.contains("## Knowledge Context"), "{said}");
    assert!(said.contains("`## Knowledge Applied`"), "{said}");
    assert!(
        said.contains(&house.retry) && !said.contains(&house.rounding),
        "{said}"
    );
}

#[test]
fn a_review_goes_on_without_a_semantic_model() {
    let house = HookTestEnvironment::new();
    let _ = house.env.run(["config", "model", "use", "none"]).success();
    let _ = house.hook("claude-code", "start", "start");
    let without = start_subagent(&house, "a1", "code-reviewer");
    house
        .env
        .write(".git/ken/model.toml", "rung = \"transformer\"\n");
    let missing = start_subagent(&house, "a2", "code-reviewer");
    for said in [without, missing] {
        assert!(
            said.contains("checked knowledge base, no relevant entries found"),
            "{said}"
        );
        assert!(said.contains("`ken_search`"), "{said}");
    }
    let _ = house
        .env
        .run(["brief", "Look at a retried payment"])
        .success();
}

#[test]
fn a_reviewers_kind_and_its_task_are_the_query() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let by_kind = start_subagent(&house, "r1", "retried-payment-reviewer");
    assert!(by_kind.contains(&house.retry), "{by_kind}");
    let task = |task: &str| {
        let input = house.recorded("copilot", "subagent");
        let input = input.replace("Looks at changes", task);
        context_text(&house.run_hook_with("copilot", "subagent", &input))
    };
    let unrelated = task("Looks at changes");
    assert!(!unrelated.contains("[L-"), "{unrelated}");
    let by_task = task("Why is a retried payment charged once");
    assert!(by_task.contains(&house.retry), "{by_task}");
}

#[test]
fn after_a_failure_only_reviewers_are_handed_entries() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let failure = house.recorded("claude-code", "failure");
    let fail_as = |kind: &str| {
        let agent = format!("{{\"agent_id\":\"{kind}\",\"agent_type\":\"{kind}\",");
        let input = failure.replacen('{', &agent, 1);
        // Another error each time: one is told about once per session.
        let input = input.replace("ledger::charge", &format!("ledger::charge {kind}"));
        context_text(&house.run_hook_with("claude-code", "failure", &input))
    };
    for (kind, role) in [("debugger", "debugger"), ("executor", "executor")] {
        let said = fail_as(kind);
        assert!(!said.contains("[L-"), "{kind}: {said}");
        let hint = format!("`ken search --for {role} --error`");
        assert!(said.contains(&hint), "{kind}: {said}");
    }
    assert!(fail_as("code-reviewer").contains(&house.import));
}

#[test]
fn a_reviewer_is_handed_entries_of_its_lens_and_of_none() {
    let house = HookTestEnvironment::new();
    let add = |lens: &str| {
        let statement = format!("A retried payment charged under {lens} needs its request key");
        let args = ["add", &statement, "--cite", "pr:4", "--lens", lens];
        house.env.run(args).success().line()
    };
    let (security, performance) = (add("security"), add("performance"));
    let branch = "retried-payment-charged-request-key";
    let _ = house.env.git(["checkout", "-q", "-b", branch]);
    for (session, kind, own, other) in [
        ("s1", "security-reviewer", &security, &performance),
        ("s2", "performance-reviewer", &performance, &security),
    ] {
        // A session of its own: the main agent counts as exposed to what a reviewer was shown.
        let input = house.recorded("claude-code", "subagent");
        let input = input
            .replace("4f1c9a52-8d0e-4c7b-9d61-2f6f1f0a7e11", session)
            .replace("code-reviewer", kind);
        let said = context_text(&house.run_hook_with("claude-code", "subagent", &input));
        assert!(said.contains(own.as_str()), "{kind}: {said}");
        assert!(said.contains(&house.retry), "{kind}: {said}");
        assert!(!said.contains(other.as_str()), "{kind}: {said}");
    }
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
