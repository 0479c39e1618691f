//! Sessions that teach nothing leave no trace in git, and failures are counted, not recorded.

use std::fs;

use ken_testkit::test_env::CommandRun;
use serde_json::{Value, json};

use crate::hooks::{HookTestEnvironment, RETRY, add_lesson, context_text};

impl HookTestEnvironment {
    /// Runs a hook of Claude Code in a session.
    pub(super) fn event(&self, session: &str, event: &str, mut members: Value) -> CommandRun {
        members["session_id"] = json!(session);
        members["cwd"] = json!(self.env.root());
        self.run_hook_with("claude-code", event, &members.to_string())
    }

    pub(super) fn start(&self, session: &str) -> CommandRun {
        self.event(session, "start", json!({"source": "startup"}))
    }

    fn end(&self, session: &str) {
        let _ = self.event(session, "end", json!({"reason": "exit"}));
    }

    /// Reports a failed command.
    fn fail(&self, session: &str, command: &str, error: &str) -> CommandRun {
        let members = json!({
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "error": error,
        });
        self.event(session, "failure", members)
    }

    /// Runs a session in which the only event is a failed command.
    fn session_that_fails(&self, session: &str, command: &str, error: &str) {
        let _ = self.start(session);
        let _ = self.fail(session, command, error);
        self.end(session);
    }

    fn frictions(&self) -> Value {
        let report = ["health", "friction", "report", "--format", "json"];
        self.env.run(report).success().json()["total"].clone()
    }

    fn git_status(&self) -> String {
        self.env
            .git(["status", "--porcelain", "--untracked-files=all"])
    }

    /// Runs a command of the agent in its session.
    pub(super) fn as_agent(&self, session: &str, args: &[&str]) {
        let mut ken = self.env.ken();
        ken.args(args).args(["--by", "agent:claude-code"]);
        let done = ken.env("KEN_SESSION", session).output().expect("it runs");
        assert!(done.status.success(), "{done:?}");
    }

    fn prompt(&self, session: &str) -> String {
        let asked = json!({"prompt": "Why is a retried payment charged once?"});
        context_text(&self.event(session, "prompt", asked))
    }
}

#[test]
fn a_session_in_which_nothing_was_learned_changes_nothing_that_git_sees() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    assert!(house.prompt("s1").contains(&house.retry));
    let _ = house.fail("s1", "make till", "error: no rule to make target till");
    let _ = house.event("s1", "stop", json!({}));
    house.end("s1");
    assert_eq!(house.git_status(), "");
    let list = house.env.run(["run", "list"]).success().stdout;
    assert!(list.contains("ended  1 agent  0 corrections"), "{list}");
    assert!(!list.contains("abandoned"), "{list}");
    let next = context_text(&house.start("s2"));
    assert!(!next.contains("outcomes of the last runs"), "{next}");
    let stats = house.env.run(["health", "stats"]).success().stdout;
    assert!(stats.contains("1 with unknown outcome"), "{stats}");
}

#[test]
fn exposures_of_a_quiet_session_are_recorded_with_the_next_result() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    let _ = house.prompt("s1");
    house.end("s1");
    let all = ["log", &house.retry, "--all"];
    let log = house.env.run(all).success().stdout;
    assert!(!log.contains("run.effects"), "{log}");
    let _ = house.start("s2");
    let _ = house.prompt("s2");
    house.as_agent("s2", &["feedback", &house.retry, "--helpful"]);
    house.end("s2");
    let events = ["log", &house.retry, "--format", "json"];
    let events = house.env.run(events).success().stdout;
    assert_eq!(events.matches("\"run.effects\"").count(), 2, "{events}");
    assert_eq!(
        house.env.names(".ken/.local/deferred"),
        Vec::<String>::new()
    );
    let runs = house.env.run(["run", "list", "--format", "json"]).success();
    assert_eq!(runs.stdout.lines().count(), 2, "{runs}");
}

#[test]
fn what_a_quiet_session_was_shown_is_not_swept_as_unused() {
    let house = HookTestEnvironment::new();
    house.env.wait_days(85);
    let _ = house.start("s1");
    assert!(house.prompt("s1").contains(&house.retry));
    house.end("s1");
    let implicit = ["show", &house.export, "--by", "agent:codex"];
    let _ = house.env.run(implicit).success();
    house.env.wait_days(6);
    let sweep = ["health", "maintain", "stale_sweep", "--format", "json"];
    let changed = house.env.run(sweep).success().json()["changed"].to_string();
    assert!(changed.contains(&house.rounding), "91 days: {changed}");
    assert!(
        !changed.contains(&house.retry),
        "an ended session: {changed}"
    );
    assert!(!changed.contains(&house.export), "an open run: {changed}");
}

#[test]
fn an_ended_session_shows_what_its_agent_saw_and_said() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    let _ = house.prompt("s1");
    house.as_agent("s1", &["feedback", &house.retry, "--helpful"]);
    let run = house.open_run()["run"].as_str().expect("open").to_owned();
    house.end("s1");
    let shown = house.env.run(["run", "show", &run]).success().stdout;
    let retry = &house.retry;
    for line in [
        format!("  saw        {retry}"),
        format!("  feedback   {retry} helpful"),
        "result: ended, 0 entries added".to_owned(),
        "observed: 0 corrections".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let object = house.env.run(["run", "show", &run, "--format", "json"]);
    let object = object.success().json();
    assert_eq!(
        object["activity"][0]["feedback"][retry.as_str()],
        "helpful",
        "{object}"
    );
    // Another machine knows the sums of the ledger.
    fs::remove_dir_all(house.env.root().join(".ken/.local/ended")).expect("notes of ended runs");
    let shown = house.env.run(["run", "show", &run]).success().stdout;
    assert!(shown.contains(&format!("  saw        {retry}")), "{shown}");
    let impact = house.env.run(["health", "impact"]).success().stdout;
    assert!(
        impact.contains("feedback: 1 helpful, 0 unhelpful"),
        "{impact}"
    );
    assert!(
        impact.contains("observed: cannot be told yet whether memory helps or harms (n = 0;"),
        "{impact}"
    );
}

#[test]
fn the_log_of_an_entry_counts_its_use_and_shows_it_on_request() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    let _ = house.prompt("s1");
    house.as_agent("s1", &["feedback", &house.retry, "--helpful"]);
    house.end("s1");
    let brief = house.env.run(["log", &house.retry]).success();
    assert_eq!(brief.stdout.matches(":").count(), 3, "one event: {brief}");
    let hint = format!(
        "2 events about its use not shown; run `ken log {} --all`",
        house.retry
    );
    assert!(brief.stderr.contains(&hint), "{brief}");
    let all = house.env.run(["log", &house.retry, "--all"]).success();
    assert!(all.stdout.len() > brief.stdout.len(), "{all}");
    assert!(!all.stderr.contains("not shown"), "{all}");
}

#[test]
fn a_failure_becomes_an_entry_when_it_recurs_in_three_runs() {
    let house = HookTestEnvironment::new();
    let errors = [
        "error: /home/ada/till/build.rs:12: cannot connect to port 5432 after 30s",
        "error: /tmp/ci-9/till/build.rs:31: cannot connect to port 15432 after 9s",
        "error: /opt/till/build.rs:7: cannot connect to port 5433 after 1s",
    ];
    for (number, error) in errors[..2].iter().enumerate() {
        let session = format!("s{number}");
        house.session_that_fails(&session, "psql --token=tooth", error);
        // The same failure again in the same session counts once.
        let _ = house.start(&format!("again-{number}"));
        assert_eq!(house.frictions(), 0, "{number}");
    }
    assert_eq!(house.git_status(), "", "counted on this machine only");
    let counts = house.env.read(".ken/.local/failures");
    assert!(
        !counts.contains("psql") && !counts.contains("connect"),
        "{counts}"
    );
    let report = house.env.run(["health", "friction", "report"]).success();
    assert!(report.stderr.contains("1 tool failure counted"), "{report}");
    house.session_that_fails("s2", "psql", errors[2]);
    assert_eq!(house.frictions(), 1);
    house.session_that_fails("s3", "psql", errors[0]);
    assert_eq!(house.frictions(), 1, "one entry for all of them");
    let entry = house.env.run(["list", "--kind", "friction"]).success();
    assert!(entry.stdout.contains("A tool failed"), "{entry}");
}

#[test]
fn the_number_of_runs_is_configured_and_the_guard_screens_the_entry() {
    let house = HookTestEnvironment::new();
    let config = house.env.read(".ken/config.toml") + "\n[friction]\nruns = 1\n";
    house.env.write(".ken/config.toml", &config);
    let secret = ["ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let command = format!("curl -H 'Authorization: {secret}' https://api.example.org");
    house.session_that_fails("s1", &command, "error: 401 was not expected");
    house.session_that_fails("s2", "make till", "error: no rule to make target till");
    assert!(house.frictions() != 0);
    let grep = house
        .env
        .git(["grep", "--no-index", "-c", "-e", "ken", "--", ".ken"]);
    assert!(!grep.is_empty());
    for folder in [
        ".ken/entries",
        ".ken/episodic/v1",
        ".ken/.local",
        ".ken/.local/hooks",
    ] {
        for name in house.env.names(folder) {
            let path = house.env.root().join(folder).join(&name);
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(&secret), "{}", path.display());
        }
    }
}

#[test]
fn a_traceback_of_another_checkout_finds_the_entry_of_its_function() {
    let house = HookTestEnvironment::new();
    house.env.write(
        "app/pay/rates.py",
        "def _parse_rate_limits(text):\n    return [int(part) for part in text]\n\n\ndef settle():\n    pass\n",
    );
    let add = |statement: &str, anchor: &str| {
        let args = ["add", statement, "--anchor", anchor, "--cite", "pr:4"];
        house.env.run(args).success().line()
    };
    let other = add(
        "Settling happens at night because the bank is closed",
        "app/pay/rates.py#settle",
    );
    let wanted = add(
        "A header without a number means no limit, so skip it",
        "app/pay/rates.py#_parse_rate_limits",
    );
    let trace = "Traceback (most recent call last):\n  \
        File \"/srv/ci/77/till/app/pay/rates.py\", line 2, in _parse_rate_limits\n    \
        return [int(part) for part in text]\n\
        ValueError: invalid literal for int() with base 10: 'soon'\n";
    let search = house.env.run_with(trace, ["search", "--error"]).success();
    let place = |id: &str| search.stdout.find(id);
    assert!(place(&wanted).is_some(), "{search}");
    assert!(
        place(&other).is_none_or(|it| place(&wanted) < Some(it)),
        "the frame's function comes first: {search}"
    );
    let _ = house.start("s1");
    let said = context_text(&house.fail("s1", "pytest", trace));
    assert!(said.contains(&wanted), "{said}");
}

#[test]
fn a_prompt_shows_the_best_entry_whole_and_others_as_one_line() {
    let house = HookTestEnvironment::new();
    let long = |number: u32| {
        format!(
            "Refunds of vouchers number {number} fail at the terminal when the drawer is open, because the \
             drawer reports its state late and the refund is sent before the state arrives. \
             Close the drawer, wait for the state and repeat the refund with the same key {number}."
        )
    };
    for number in 1..=4 {
        add_lesson(&house.env, &long(number));
    }
    let _ = house.start("s1");
    let asked =
        json!({"prompt": "Refunds of vouchers fail at the terminal when the drawer is open"});
    let said = context_text(&house.event("s1", "prompt", asked));
    let shown: Vec<&str> = said.lines().filter(|it| it.starts_with('[')).collect();
    assert_eq!(shown.len(), 3, "{said}");
    assert!(shown[0].contains("with the same key"), "cut: {said}");
    assert!(!shown[1].contains("with the same key"), "{said}");
    assert!(
        said.contains("3 of 4 entries that match; `ken_search`"),
        "{said}"
    );
}

#[test]
fn a_session_without_results_runs_the_maintenance_that_a_person_allowed() {
    let house = HookTestEnvironment::new();
    let twin = add_lesson(&house.env, &format!("{RETRY}."));
    let merged = || {
        let shown = house.env.run(["show", &twin, "--format", "json"]).success();
        shown.json()["merged_into"].clone()
    };
    let _ = house.start("s1");
    house.end("s1");
    assert!(merged().is_null(), "nobody allowed it");
    let policy = ["health", "maintain", "policy", "--mode", "auto_notify"];
    let _ = house
        .env
        .run(policy.into_iter().chain(["--auto", "dedup"]))
        .success();
    let _ = house.start("s2");
    house.end("s2");
    assert_eq!(merged(), house.retry.as_str());
}
