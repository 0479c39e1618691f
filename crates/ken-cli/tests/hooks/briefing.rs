//! Content and size of the briefing at the start of a session.

use ken_engine::hooks::{BRIEFING_TOKENS_MAX, INJECTED_ENTRIES_MAX, count_tokens};

use crate::hooks::{HookTestEnvironment, add_lesson, add_norm, context_text};

/// Maximum characters that an agent accepts.
const CHARS_MAX: usize = 10_000;

#[test]
fn the_start_is_told_norms_and_how_to_ask() {
    let house = HookTestEnvironment::new();
    let norm = add_norm(&house.env, "Every change of the ledger names its ticket");
    let said = context_text(&house.hook("claude-code", "start", "start"));
    assert!(
        said.contains("norms in force:") && said.contains(&norm),
        "{said}"
    );
    assert!(
        said.contains("`ken_search`") && said.contains("[ID]"),
        "{said}"
    );
    assert!(
        said.contains(r#"`ken search "goal, technology, problem"`"#),
        "{said}"
    );
    assert!(
        said.contains("Search before a decision, after an error and when you change direction"),
        "{said}"
    );
    assert!(said.contains("`## Knowledge Applied`"), "{said}");
    assert!(said.contains("best first (none)"), "no search ran: {said}");
    assert!(
        said.contains("the plan may do so on purpose")
            && said.contains("name the entry and your reason in one line"),
        "INJ-27: {said}"
    );
    assert!(
        !said.contains(&house.rounding),
        "nothing is in hand: {said}"
    );
}

#[test]
fn what_is_known_about_files_in_hand_and_the_branch_is_told() {
    let house = HookTestEnvironment::new();
    let args = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "pr:4",
        "--anchor",
        "src/pay.rs#charge",
        "--statement",
    ];
    let anchored = house
        .env
        .run(args.into_iter().chain(["A charge below a cent is dropped"]));
    let anchored = anchored.success().line();
    let _ = house.env.git(["add", "-A"]);
    let _ = house.env.git(["commit", "-q", "-m", "more"]);
    let _ = house
        .env
        .git(["checkout", "-q", "-b", "fix/nightly-export-currency"]);
    house
        .env
        .write("src/pay.rs", "pub fn charge() {}\n// more\n");
    let said = context_text(&house.hook("claude-code", "start", "start"));
    assert!(said.contains("entries about the current work:"), "{said}");
    assert!(
        said.contains(&house.export),
        "by the branch's words: {said}"
    );
    assert!(said.contains(&anchored), "by the file in hand: {said}");
    assert_eq!(house.open_run()["thread"], "fix/nightly-export-currency");
}

#[test]
fn after_a_compaction_norms_are_told_again_and_what_was_written_down() {
    let house = HookTestEnvironment::new();
    let norm = add_norm(&house.env, "Every change of the ledger names its ticket");
    let first = context_text(&house.hook("claude-code", "start", "start"));
    assert!(first.contains(&norm));
    let mut observe = house.env.ken();
    observe.args([
        "run",
        "observe",
        "--by",
        "agent:claude-code",
        "--statement",
        "The clock of the till runs late",
    ]);
    observe.env("KEN_SESSION", "4f1c9a52-8d0e-4c7b-9d61-2f6f1f0a7e11");
    assert!(observe.status().unwrap().success());
    let again = context_text(&house.hook("claude-code", "start", "compact"));
    assert!(again.contains(&norm), "{again}");
    assert!(
        again.contains("found: The clock of the till runs late"),
        "{again}"
    );
    let resumed = house
        .recorded("claude-code", "start")
        .replace("startup", "resume");
    assert_eq!(
        house.run_hook_with("claude-code", "start", &resumed).stdout,
        "",
        "nothing new"
    );
}

#[test]
fn a_briefing_stays_within_its_room_whatever_is_known() {
    let house = HookTestEnvironment::new();
    for n in 0..12 {
        let _ = add_norm(
            &house.env,
            &format!(
                "Norm number {n}: {}",
                "every word of a long norm counts ".repeat(9)
            ),
        );
        let _ = add_lesson(
            &house.env,
            &format!(
                "Export {n} of the currency table: {}",
                "rows wait for the nightly job ".repeat(9)
            ),
        );
    }
    let _ = house.env.git(["add", "-A"]);
    let _ = house.env.git(["commit", "-q", "-m", "more"]);
    let _ = house
        .env
        .git(["checkout", "-q", "-b", "nightly-export-currency-rows"]);
    assert_eq!(
        (BRIEFING_TOKENS_MAX, INJECTED_ENTRIES_MAX),
        (1_500, 3),
        "as promised"
    );
    let said = context_text(&house.hook("claude-code", "start", "start"));
    assert!(
        count_tokens(&said) <= BRIEFING_TOKENS_MAX,
        "{}",
        count_tokens(&said)
    );
    assert!(said.chars().count() <= CHARS_MAX);
    let prompt = house.recorded("claude-code", "prompt");
    let prompt = prompt.replace(
        "Why is a retried payment charged once?",
        "nightly export of currency rows",
    );
    let said = context_text(&house.run_hook_with("claude-code", "prompt", &prompt));
    let shown = said.lines().filter(|it| it.starts_with("[L-")).count();
    assert!((1..=INJECTED_ENTRIES_MAX).contains(&shown), "{said}");
}

/// Closes a run on `thread` in which two agents found `claim`, and returns the new entry.
fn gain(house: &HookTestEnvironment, run: &str, thread: &str, claim: &str) -> String {
    let open = [
        "run",
        "open",
        run,
        "--thread",
        thread,
        "--witness",
        "orchestrator",
    ];
    let open = open.into_iter().chain(["--agent", "a", "--agent", "b"]);
    let _ = house.env.run(open).success();
    for agent in ["agent:a", "agent:b"] {
        let observe = [
            "run",
            "observe",
            "--by",
            agent,
            "--run",
            run,
            "--statement",
            claim,
        ];
        let _ = house.env.run(observe).success();
    }
    let close = [
        "run",
        "close",
        run,
        "--outcome",
        "succeeded",
        "--quality",
        "0.8",
    ];
    let closed = house.env.run(close.into_iter().chain(["--format", "json"]));
    let gained = closed.success().json()["gained"][0].clone();
    gained.as_str().expect("an entry").to_owned()
}

#[test]
fn a_start_tells_recent_findings_and_outcomes_of_its_thread() {
    let house = HookTestEnvironment::new();
    let found = gain(
        &house,
        "r1",
        "wip/42",
        "The till prints receipts before it is paid",
    );
    let _ = gain(
        &house,
        "r2",
        "other",
        "The bank answers within a second at night",
    );
    let _ = house.env.git(["checkout", "-q", "-b", "wip/42"]);
    let said = context_text(&house.hook("claude-code", "start", "start"));
    let (_, recent) = said.split_once("recent findings:\n").expect("a part");
    let (recent, outcomes) = recent
        .split_once("outcomes of the last runs:\n")
        .expect("a part");
    assert!(recent.contains(&found), "{said}");
    let line = "- 2026-01-02 succeeded, quality 0.80, agents: 2, entries added: 1\n";
    assert_eq!(outcomes.matches(line).count(), 1, "of this thread: {said}");
}

#[test]
fn a_start_shows_at_most_five_entries_in_all() {
    let house = HookTestEnvironment::new();
    for n in 0..6 {
        let _ = add_lesson(
            &house.env,
            &format!("Export {n} of the currency table leaves out rows nobody knows"),
        );
    }
    for n in 0..3 {
        let claim = format!("Printer {n} of the till loses its paper on Mondays");
        let _ = gain(&house, &format!("r{n}"), "till", &claim);
    }
    let _ = house.env.git(["add", "-A"]);
    let _ = house.env.git(["commit", "-q", "-m", "more"]);
    let _ = house
        .env
        .git(["checkout", "-q", "-b", "nightly-export-currency-rows"]);
    let said = context_text(&house.hook("claude-code", "start", "start"));
    let shown = said.lines().filter(|it| it.starts_with('[')).count();
    assert_eq!(shown, 5, "{said}");
}

#[test]
fn a_start_updates_the_health_report_and_names_what_needs_a_person() {
    let house = HookTestEnvironment::new();
    let report = ".ken/.local/health/latest.json";
    let _ = house.hook("claude-code", "start", "start");
    let stored: serde_json::Value =
        serde_json::from_str(&house.env.read(report)).expect("a report");
    assert_eq!(stored["schema"], "ken.health_report.v1");
    // The end of a session writes it for the next one.
    std::fs::remove_file(house.env.root().join(report)).expect("the report");
    let _ = house.hook("claude-code", "end", "end");
    assert!(house.env.root().join(report).exists());
    for (polarity, statement) in [
        ("positive", "Retry the payment call after a timeout"),
        ("negative", "Waiting for the bank helps nobody"),
    ] {
        let add = ["add", statement, "--cite", "pr:5", "--tag", "pay"];
        let add = add.into_iter().chain(["--polarity", polarity]);
        let id = house.env.run(add).success().line();
        let status = ["entry", "status", &id, "verified"];
        let _ = house.env.run(status).success();
    }
    let next = house.recorded("claude-code", "start");
    let next = next.replace("4f1c9a52", "5f1c9a52");
    let said = context_text(&house.run_hook_with("claude-code", "start", &next));
    assert!(
        said.contains("The knowledge base has 1 problem that needs a person"),
        "{said}"
    );
}

#[test]
fn an_empty_ledger_and_an_unrelated_prompt_are_silence() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    for prompt in ["hello", "Paint the shed green", "continue", ""] {
        let input = house.recorded("claude-code", "prompt");
        let input = input.replace("Why is a retried payment charged once?", prompt);
        assert_eq!(
            house.run_hook_with("claude-code", "prompt", &input).stdout,
            "",
            "{prompt}"
        );
    }
    let env = ken_testkit::test_env::TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    let input = house.recorded("claude-code", "start");
    let input = input.replace(
        &house.env.root().display().to_string(),
        &env.root().display().to_string(),
    );
    let run = env.run_with(&input, ["hook", "claude-code", "start"]);
    assert_eq!((run.exit, run.stdout.as_str()), (0, ""));
}
