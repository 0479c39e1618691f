//! The default actor, when a command names none.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, folder_with_ledger, repository_with_ledger};

fn author_of_new_entry(env: &TestEnvironment) -> String {
    let id = add_lesson(env, "Charging twice is safe");
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    shown["created"]["by"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn in_git_it_is_the_person_git_knows() {
    assert_eq!(
        author_of_new_entry(&repository_with_ledger()),
        "human:ada@example.org"
    );
}

#[test]
fn outside_git_it_is_the_user() {
    assert_eq!(author_of_new_entry(&folder_with_ledger()), "human:ada");
}

#[test]
fn an_agent_is_known_by_its_variables() {
    assert_eq!(
        author_of_new_entry(&repository_with_ledger().env("CLAUDECODE", "1")),
        "agent:claude-code"
    );
    assert_eq!(
        author_of_new_entry(&folder_with_ledger().env("CODEX_SANDBOX", "seatbelt")),
        "agent:codex"
    );
    assert_eq!(
        author_of_new_entry(&folder_with_ledger().env("AI_AGENT", "my agent")),
        "agent:my-agent"
    );
    assert_eq!(
        author_of_new_entry(&folder_with_ledger().env("CODEX_HOME", "/x")),
        "human:ada"
    );
}

#[test]
fn ken_actor_beats_what_was_guessed_and_by_beats_both() {
    let env = repository_with_ledger()
        .env("CLAUDECODE", "1")
        .env("KEN_ACTOR", "ci:nightly");
    assert_eq!(author_of_new_entry(&env), "ci:nightly");
    let env = repository_with_ledger().env("KEN_ACTOR", "ci:nightly");
    let args = [
        "add",
        "--kind",
        "bug",
        "--statement",
        "It breaks",
        "--cite",
        "pr:1",
        "--by",
        "human:eve",
    ];
    let run = env
        .run(args.into_iter().chain(["--format", "json"]))
        .success();
    assert_eq!(run.json()["created"]["by"], "human:eve");
}

#[test]
fn an_agent_cannot_act_as_a_person() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let env = env.env("CLAUDECODE", "1");
    let verify = [
        "entry",
        "status",
        &id,
        "verified",
        "--by",
        "human:ada@example.org",
    ];
    insta::assert_snapshot!(env.run(verify), @"
    exit: 1
    ----- stderr -----
    error: agent:claude-code runs this command and cannot act as human:ada@example.org

    hint: leave out --by; a person can run the command in a terminal of their own
    ");
    // Reading keeps working.
    let _ = env
        .run(["show", &id, "--by", "human:ada@example.org"])
        .success();
    // A variable that the person exported for their own shell is not a claim of the agent.
    let env = env.env("KEN_ACTOR", "human:ada@example.org");
    assert_eq!(author_of_new_entry(&env), "agent:claude-code");
}

#[test]
fn without_an_identity_nothing_is_written_and_everything_is_read() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let _ = env.git(["config", "--unset", "user.email"]);
    insta::assert_snapshot!(env.run(["confirm", &id]), @"
    exit: 1
    ----- stderr -----
    error: git has no identity for you, and every change names its author

    hint: run `git config --global user.email YOU@EXAMPLE.ORG`, or add --by human:NAME
    ");
    for reading in [["show", &id], ["search", "charging"], ["verify", "--quiet"]] {
        let _ = env.run(reading).success();
    }
    let env = env.env("GIT_AUTHOR_EMAIL", "eve@example.org");
    assert_eq!(author_of_new_entry(&env), "human:eve@example.org");
}

#[test]
fn a_name_that_is_no_actor_is_refused() {
    insta::assert_snapshot!(folder_with_ledger().env("KEN_ACTOR", "ada").run(["list"]), @"
    exit: 2
    ----- stderr -----
    error: KEN_ACTOR: `ada` is not a valid actor; write human:…, agent:…, ci:…, import:… or peer:…
    ");
    insta::assert_snapshot!(folder_with_ledger().run(["list", "--by", "ada"]), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'ada' for '--by <ACTOR>': `ada` is not a valid actor; write human:…, agent:…, ci:…, import:… or peer:…

    For more information, try '--help'.
    ");
}
