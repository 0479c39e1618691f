//! Outcomes without anyone's word: hooks alone make the measurement grow, join commits, and mute an
//! entry that hurts.

use serde_json::{Value, json};

use crate::hooks::{HookTestEnvironment, context_text};

/// A claim of an agent that nobody vouches for, so that chance may withhold it.
const DRAWER: &str = "The cash drawer opens only after the receipt printer has answered twice";
const PROMPT: &str = "Why does the cash drawer open only after the receipt printer answered?";
const CORRECTION: &str = "No, never open the drawer twice. Every retry must go through the queue";

impl HookTestEnvironment {
    fn add_drawer(&self) -> String {
        let add = ["add", "--by", "agent:author", "--kind", "learning"];
        let add = add.into_iter().chain(["--cite", "pr:9", "--statement"]);
        let id = self.env.run(add.chain([DRAWER])).success().line();
        let _ = self.env.git(["add", "-A"]);
        let _ = self.env.git(["commit", "-q", "-m", "drawer"]);
        id
    }

    fn say(&self, session: &str, prompt: &str) -> String {
        context_text(&self.event(session, "prompt", json!({ "prompt": prompt })))
    }

    /// Reports a command of the agent that succeeded.
    fn did(&self, session: &str, command: &str, output: &str) {
        let members = json!({
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_response": {"stdout": output, "stderr": ""},
        });
        let _ = self.event(session, "tool", members);
    }

    /// Reports a command of the agent that failed.
    fn failed(&self, session: &str, command: &str) {
        let members = json!({
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "error": "test drawer::opens ... FAILED",
        });
        let _ = self.event(session, "failure", members);
    }

    fn finish(&self, session: &str) {
        let _ = self.event(session, "end", json!({"reason": "exit"}));
    }

    /// Returns the objects of `ken health impact`, by entry; all together are under `""`.
    fn impact(&self, id: &str) -> Value {
        let shown = self.env.run(["health", "impact", "--format", "json"]);
        let lines = shown.success().stdout;
        let objects = lines
            .lines()
            .map(|line| -> Value { serde_json::from_str(line).expect("a line is an object") });
        let mut own = objects.filter(|it| it["id"].as_str().unwrap_or_default() == id);
        own.next().unwrap_or_default()
    }

    fn last_run(&self) -> Value {
        let runs = self.env.run(["run", "list", "--format", "json"]).success();
        // The latest comes last.
        serde_json::from_str(runs.stdout.lines().last().expect("a run")).expect("JSON")
    }
}

#[test]
fn hooks_alone_make_n_grow() {
    let house = HookTestEnvironment::new();
    let id = house.add_drawer();
    let mut before = 0;
    for number in 0..6 {
        let session = format!("s{number}");
        let _ = house.start(&session);
        let _ = house.say(&session, PROMPT);
        house.failed(&session, "cargo test drawer");
        house.did(&session, "cargo test drawer", "test result: ok");
        if number % 2 == 0 {
            let _ = house.say(&session, CORRECTION);
        }
        house.finish(&session);
        let n = house.impact(&id)["observed"]["runs"].as_u64().unwrap_or(0);
        assert_eq!(n, before + 1, "no command was typed in session {number}");
        before = n;
    }
    let all = house.impact("");
    assert_eq!(all["observed"]["runs"], 6, "{all}");
    let text = house.env.run(["health", "impact"]).success().stdout;
    assert!(
        text.contains("cannot be told yet whether memory helps or harms (n = 6;"),
        "{text}"
    );
    let run = house.last_run();
    assert_eq!(run["observed"]["corrections"], 0, "{run}");
    assert_eq!(run["observed"]["test_runs"], 2, "{run}");
    assert_eq!(run["observed"]["tests_passed_at"], 2, "{run}");
    let list = house.env.run(["run", "list"]).success().stdout;
    assert!(
        list.contains("ended  1 agent  1 correction, tests passed at attempt 2"),
        "{list}"
    );
    assert!(!list.contains("abandoned"), "{list}");
}

#[test]
fn a_commit_belongs_to_the_session_whose_hook_saw_it_and_is_followed() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    let _ = house.say("s1", PROMPT);
    house.env.write("src/drawer.rs", "pub fn open() {}\n");
    let _ = house.env.git(["add", "-A", "src"]);
    let printed = house.env.git(["commit", "-m", "Open the drawer"]);
    house.did("s1", "git commit -m 'Open the drawer'", &printed);
    house.finish("s1");
    let head = house.env.git(["rev-parse", "HEAD"]).trim().to_owned();
    let run = house.last_run();
    assert_eq!(run["observed"]["commits"], json!([&head[..12]]), "{run}");
    assert_eq!(
        run["observed"]["reverted"],
        Value::Null,
        "not known yet: {run}"
    );
    // The next session that did something finds the revert.
    let _ = house.env.git(["revert", "--no-edit", "HEAD"]);
    let _ = house.start("s2");
    let _ = house.say("s2", PROMPT);
    house.did("s2", "cargo test", "ok");
    house.finish("s2");
    let runs = house.env.run(["run", "list"]).success().stdout;
    assert!(runs.contains("1 commit, merged, reverted"), "{runs}");
}

#[test]
fn a_ci_job_records_its_result_for_the_runs_of_its_commits() {
    let house = HookTestEnvironment::new();
    let base = house.env.git(["rev-parse", "HEAD"]).trim().to_owned();
    let _ = house.start("s1");
    let _ = house.say("s1", PROMPT);
    house.env.write("src/drawer.rs", "pub fn open() {}\n");
    let _ = house.env.git(["add", "-A", "src"]);
    let printed = house.env.git(["commit", "-m", "Open the drawer"]);
    house.did("s1", "git commit -m 'Open the drawer'", &printed);
    house.finish("s1");
    let verify = ["verify", "--base", &base, "--record", "failure"];
    let refused = house
        .env
        .run(verify.into_iter().chain(["--by", "agent:claude-code"]));
    assert_eq!(refused.exit, 2, "an agent records no result: {refused}");
    let recorded = house
        .env
        .run(verify.into_iter().chain(["--by", "ci:build"]));
    let _ = recorded.success();
    let run = house.last_run();
    assert_eq!(run["observed"]["ci"], "failed", "{run}");
}

#[test]
fn an_entry_that_demonstrably_hurts_is_muted_until_a_person_decides() {
    let house = HookTestEnvironment::new();
    let id = house.add_drawer();
    let is_muted = || {
        let shown = house.env.run(["show", &id]).success().stdout;
        shown.contains("muted")
    };
    let mut muted_after = None;
    for number in 0..60 {
        let session = format!("h{number}");
        let shown = house.say(&session, PROMPT).contains(&id);
        // Where it is shown, the agent goes wrong and its user says so.
        for again in 0..if shown { 3 } else { 0 } {
            let _ = house.say(&session, &format!("{CORRECTION}, number {again}"));
        }
        house.did(&session, "cargo test", "ok");
        house.finish(&session);
        if is_muted() {
            muted_after = Some(number + 1);
            break;
        }
    }
    assert!(muted_after.is_some_and(|it| it <= 60), "{muted_after:?}");
    let inbox = house.env.run(["inbox"]).success().stdout;
    assert!(
        inbox.contains("1 muted entry (ken entry mute ID --off)"),
        "{inbox}"
    );
    assert!(
        inbox.contains(&id) && inbox.contains("observed: it harms (n = "),
        "{inbox}"
    );
    let silent = house.say("after", PROMPT);
    assert!(
        !silent.contains(&id),
        "a muted entry is not shown: {silent}"
    );
    // A person takes it back, and Ken does not mute it again.
    let _ = house.env.run(["entry", "mute", &id, "--off"]).success();
    assert!(!is_muted());
    for number in 0..4 {
        let session = format!("again{number}");
        let _ = house.say(&session, PROMPT);
        let _ = house.say(&session, CORRECTION);
        house.did(&session, "cargo test", "ok");
        house.finish(&session);
    }
    assert!(!is_muted(), "the person decided");
}

#[test]
fn what_agents_say_mutes_nothing() {
    let house = HookTestEnvironment::new();
    let id = house.add_drawer();
    for number in 0..25 {
        let session = format!("s{number}");
        if house.say(&session, PROMPT).contains(&id) {
            house.as_agent(&session, &["feedback", &id, "--unhelpful"]);
        }
        house.finish(&session);
    }
    let inbox = house
        .env
        .run(["inbox", "--format", "json"])
        .success()
        .json();
    assert_eq!(inbox["harmful"], json!([]), "{inbox}");
    let observed = house.impact(&id)["observed"]["harm_evidence"].clone();
    assert!(observed.as_f64().is_none_or(|it| it < 2.0), "{observed}");
}
