//! A complete session of every agent: context shown, notes written, and confirmations.

use crate::hooks::{EXPORT, HookTestEnvironment, ROUNDING, context_text};

/// Expected results of one agent's session.
struct ExpectedSession {
    agent: &'static str,
    session: &'static str,
    /// True if the agent receives context at a prompt, and after a failure.
    prompt: bool,
    failure: bool,
    witness: &'static str,
    /// Counts for a finding the agent was not shown: independent, primed, unwitnessed.
    unseen: (u64, u64, u64),
}

fn check_session(it: &ExpectedSession) {
    let house = HookTestEnvironment::new();
    let agent = it.agent;
    let start = house.hook(agent, "start", "start");
    let speaks_at_start = agent != "copilot";
    assert_eq!(
        context_text(&start).contains("ken search"),
        speaks_at_start,
        "{start}"
    );
    let prompt = context_text(&house.hook(agent, "prompt", "prompt"));
    assert_eq!(prompt.contains(&house.retry), it.prompt, "{prompt}");
    assert!(!prompt.contains(&house.rounding), "{prompt}");
    let again = house.hook(agent, "prompt", "prompt");
    assert_eq!(again.stdout, "", "never twice in a conversation");
    assert_eq!(house.hook(agent, "tool", "tool").stdout, "");
    assert_eq!(house.hook(agent, "tool", "other_tool").stdout, "");
    let moment = match agent {
        "codex" | "gemini-cli" => "tool",
        _ => "failure",
    };
    let failure = context_text(&house.hook(agent, moment, "failure"));
    assert_eq!(failure.contains(&house.import), it.failure, "{failure}");
    assert_eq!(
        house.hook(agent, moment, "failure").stdout,
        "",
        "once is enough"
    );

    let run = house.open_run();
    assert_eq!(run["witness"], it.witness, "{run}");
    let main = &run["agents"][0];
    let saw = main["saw"].to_string();
    assert!(saw.contains(&house.export), "read from its file: {main}");
    assert_eq!(saw.contains(&house.retry), it.prompt, "{main}");
    assert!(!saw.contains(&house.rounding), "{main}");

    let by = format!("agent:{agent}");
    for claim in [EXPORT, ROUNDING] {
        let mut observe = house.env.ken();
        observe.args(["run", "observe", "--by", &by, "--statement", claim]);
        assert!(
            observe
                .env("KEN_SESSION", it.session)
                .status()
                .expect("as it was set up")
                .success()
        );
    }
    let stop = house.hook(agent, "stop", "stop");
    assert!(
        context_text(&stop).contains("2 findings were noted"),
        "{stop}"
    );
    assert_eq!(house.hook(agent, "stop", "stop").stdout, "", "said once");
    end_session(&house, agent);
    check_ended(&house, it);
}

/// Asserts the state after a session: its confirmations, no friction record, and no open run.
fn check_ended(house: &HookTestEnvironment, it: &ExpectedSession) {
    let agent = it.agent;
    assert_eq!(house.found(&house.rounding), it.unseen, "{agent}");
    assert_eq!(
        house.found(&house.export),
        (0, 1, 0),
        "{agent}: it read the file"
    );
    let friction = house
        .env
        .run(["health", "friction", "report", "--format", "json"]);
    assert_eq!(
        friction.success().json()["total"],
        0,
        "one error is not knowledge"
    );
    assert!(
        house
            .env
            .names(".ken/.local/runs")
            .iter()
            .all(|it| !it.starts_with("C-"))
    );
    assert_eq!(house.env.names(".ken/.local/hooks"), Vec::<String>::new());
    assert!(!house.env.root().join(".ken/.local/hook.log").exists());
    let verify = house.env.run(["verify"]);
    assert_eq!(verify.exit, 0, "{verify}");
}

fn end_session(house: &HookTestEnvironment, agent: &str) {
    if agent == "codex" {
        // Codex has no hook for the end of a session; a person or the sweep closes the run.
        let run = house.open_run()["run"]
            .as_str()
            .expect("as it was set up")
            .to_owned();
        let _ = house
            .env
            .run(["run", "close", &run, "--outcome", "succeeded"])
            .success();
        assert_eq!(
            house
                .run_hook_with(agent, "end", &house.recorded(agent, "stop"))
                .stdout,
            ""
        );
    } else {
        assert_eq!(house.hook(agent, "end", "end").stdout, "");
    }
}

#[test]
fn a_conversation_of_claude_code_confirms_what_it_was_not_shown() {
    check_session(&ExpectedSession {
        agent: "claude-code",
        session: "4f1c9a52-8d0e-4c7b-9d61-2f6f1f0a7e11",
        prompt: true,
        failure: true,
        witness: "hooks",
        unseen: (1, 0, 0),
    });
}

#[test]
fn a_conversation_of_codex_confirms_once_somebody_closes_it() {
    check_session(&ExpectedSession {
        agent: "codex",
        session: "019a2f7e-0f5b-7c61-8f0d-7b9a1c2d3e4f",
        prompt: true,
        failure: true,
        witness: "hooks",
        unseen: (1, 0, 0),
    });
}

#[test]
fn a_conversation_of_gemini_confirms_what_it_was_not_shown() {
    check_session(&ExpectedSession {
        agent: "gemini-cli",
        session: "a0c1f7d2-77aa-4b1e-8c55-0d4b8f5f9e31",
        prompt: true,
        failure: true,
        witness: "hooks",
        unseen: (1, 0, 0),
    });
}

#[test]
fn a_conversation_of_cursor_is_noted_and_confirms_nothing() {
    check_session(&ExpectedSession {
        agent: "cursor",
        session: "668320d2-2fd8-4888-b33c-2a466fec86e7",
        prompt: false,
        failure: false,
        witness: "nobody",
        unseen: (0, 0, 1),
    });
}

#[test]
fn a_conversation_of_copilot_is_noted_and_confirms_nothing() {
    check_session(&ExpectedSession {
        agent: "copilot",
        session: "b2c7d3a0-5a41-4d0e-a9c1-6f3f1b7e2a90",
        prompt: false,
        failure: false,
        witness: "nobody",
        unseen: (0, 0, 1),
    });
}

#[test]
fn a_conversation_of_opencode_is_noted_and_confirms_nothing() {
    check_session(&ExpectedSession {
        agent: "opencode",
        session: "ses_7f3a",
        prompt: true,
        failure: true,
        witness: "nobody",
        unseen: (0, 0, 1),
    });
}

#[test]
fn a_command_of_cursor_that_failed_is_answered_behind_the_tool() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("cursor", "start", "start");
    let said = context_text(&house.hook("cursor", "tool", "failed_command"));
    assert!(said.contains(&house.import), "{said}");
}

#[test]
fn a_conversation_that_was_not_seen_from_its_start_confirms_nothing() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "prompt", "prompt");
    assert_eq!(house.open_run()["witness"], "nobody");
}

#[test]
fn a_failure_that_was_put_right_asks_for_a_record_once() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    assert_eq!(
        house.hook("claude-code", "stop", "stop").stdout,
        "",
        "nothing happened"
    );
    let _ = house.hook("claude-code", "failure", "failure");
    assert_eq!(
        house.hook("claude-code", "stop", "stop").stdout,
        "",
        "not put right"
    );
    let _ = house.hook("claude-code", "tool", "other_tool");
    let input = house
        .recorded("claude-code", "stop")
        .replace("false", "true");
    assert_eq!(
        house.run_hook_with("claude-code", "stop", &input).stdout,
        "",
        "a hook holds it already"
    );
    let said = context_text(&house.hook("claude-code", "stop", "stop"));
    assert!(said.contains("1 failure was fixed"), "{said}");
    assert_eq!(house.hook("claude-code", "stop", "stop").stdout, "");
}

#[test]
fn a_conversation_that_ended_can_still_be_looked_at() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let run = house.open_run()["run"].as_str().expect("open").to_owned();
    let _ = house.hook("claude-code", "end", "end");
    let shown = house.env.run(["run", "show", &run]).success().stdout;
    assert!(
        shown.contains(&run) && shown.contains("ended (outcome unknown)"),
        "{shown}"
    );
    let other = house.env.run(["run", "show", "C-unknown"]);
    assert_eq!(other.exit, 2, "{other}");
}

#[test]
fn what_two_subagents_found_is_an_entry_when_the_session_ends() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let claim = "The clock of the till runs late in winter because its crystal is cold";
    for (id, kind) in [("r1", "code-reviewer"), ("r2", "security-reviewer")] {
        let input = house.recorded("claude-code", "subagent");
        let input = input.replace("a1b2c3", id).replace("code-reviewer", kind);
        let _ = house.run_hook_with("claude-code", "subagent", &input);
        let by = format!("agent:claude-code/{id}");
        let mut observe = house.env.ken();
        observe.args(["run", "observe", "--by", &by, "--statement", claim]);
        observe.env("KEN_SESSION", "4f1c9a52-8d0e-4c7b-9d61-2f6f1f0a7e11");
        let run = house.open_run()["run"].as_str().expect("open").to_owned();
        observe.args(["--run", &run]);
        assert!(observe.status().expect("it runs").success());
    }
    assert_eq!(house.hook("claude-code", "end", "end").stdout, "");
    let listed = house.env.run(["list", "--format", "json"]).success().stdout;
    assert!(listed.contains(claim), "{listed}");
}
