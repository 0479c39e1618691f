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
        said.contains("the plan may do so on purpose"),
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
