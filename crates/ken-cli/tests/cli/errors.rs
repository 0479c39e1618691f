//! Error messages: one sentence, the reason and a hint; exit codes 1, 2 and 3.

use crate::cli::support::{
    add_lesson, commit_all, empty_folder, folder_with_ledger, repository_with_ledger,
};

#[test]
fn without_a_ledger_every_command_says_how_to_make_one() {
    let env = empty_folder();
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 2
    ----- stderr -----
    error: this repository has no ledger

    hint: run `ken init` at the top of the repository
    ");
    insta::assert_snapshot!(env.run(["list", "--format", "json"]), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"not_initialized","message":"this repository has no ledger","hint":"run `ken init` at the top of the repository"}
    "#);
}

#[test]
fn an_unknown_id_is_a_usage_error() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["show", "L-00000000"]), @"
    exit: 2
    ----- stderr -----
    error: no entry matches `L-00000000`

    hint: run `ken list --all` to list every entry
    ");
    insta::assert_snapshot!(env.run(["show", "L-00000000", "--format", "json"]), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"not_found","message":"no entry matches `L-00000000`","hint":"run `ken list --all` to list every entry"}
    "#);
}

#[test]
fn an_ambiguous_id_lists_the_candidates() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    let _ = add_lesson(&env, "Refunds are asynchronous");
    insta::assert_snapshot!(env.run(["show", "L"]), @"
    exit: 2
    ----- stderr -----
    error: `L` is ambiguous: L-205zr7j2, L-h9xr3ac9

    hint: type more characters of the id
    ");
    insta::assert_snapshot!(env.run(["show", "L", "--format", "json"]), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"ambiguous","message":"`L` is ambiguous: L-205zr7j2, L-h9xr3ac9","hint":"type more characters of the id","candidates":["L-205zr7j2","L-h9xr3ac9"]}
    "#);
}

#[test]
fn an_entry_without_provenance_is_refused() {
    let env = folder_with_ledger();
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "Charging twice is safe",
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 1
    ----- stderr -----
    error: provenance required: cite at least one of commit, pr, doc, test, transcript

    hint: add --cite with one of commit:HASH, pr:NUMBER, doc:PATH, test:NAME, transcript:HASH
    ");
    insta::assert_snapshot!(env.run(args.into_iter().chain(["--format=json"])), @r#"
    exit: 1
    ----- stderr -----
    {"schema":"ken.error.v1","code":"provenance_required","message":"provenance required: cite at least one of commit, pr, doc, test, transcript","hint":"add --cite with one of commit:HASH, pr:NUMBER, doc:PATH, test:NAME, transcript:HASH"}
    "#);
}

#[test]
fn the_guard_refuses_a_secret_and_does_not_repeat_it() {
    let env = folder_with_ledger();
    let secret = format!("{}{}", "ghp_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2");
    let statement = format!("The deploy token is {secret}");
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        &statement,
        "--cite",
        "pr:1",
    ];
    let run = env.run(args);
    assert!(!run.to_string().contains(&secret[4..]), "{run}");
    insta::assert_snapshot!(run, @"
    exit: 1
    ----- stderr -----
    error: the guard refused `statement`: it seems to contain a secret (github token)

    hint: remove the secret (or use --redact), and rotate it if it was ever stored elsewhere
    ");
    assert_eq!(env.names(".ken/semantic/v1"), Vec::<String>::new());
}

#[test]
fn limits_say_what_to_do() {
    let env = folder_with_ledger();
    let add = ["add", "--kind", "learning", "--cite", "pr:1", "--statement"];
    let long = "x".repeat(5000);
    insta::assert_snapshot!(env.run(add.into_iter().chain([long.as_str()])), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    added as candidate: .ken/entries/L-205zr7j2-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.md
    ");
    let talkative = "One thing. And two. And three. And four.";
    insta::assert_snapshot!(env.run(add.into_iter().chain([talkative])), @"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9
    ----- stderr -----
    added as candidate: .ken/entries/L-h9xr3ac9-one-thing-and-two-and-three.md
    ");
    let steps = [
        "Fine", "--verify", "a", "--verify", "b", "--verify", "c", "--verify", "d",
    ];
    insta::assert_snapshot!(env.run(add.into_iter().chain(steps)), @"
    exit: 1
    ----- stderr -----
    error: verification steps: 4 given, at most 3 allowed

    hint: split it into several entries and `ken entry link` them
    ");
    insta::assert_snapshot!(env.run(add.into_iter().chain(["Fine", "--anchor", "/etc/passwd"])), @"
    exit: 2
    ----- stderr -----
    error: invalid value '/etc/passwd' for '--anchor <ANCHOR>': anchor `/etc/passwd`: write a path relative to the repository, with `/` and without `..`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(add.into_iter().chain(["Fine", "--tag", "Big Tag"])), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'Big Tag' for '--tag <TAG>': tag `Big Tag`: write lowercase words joined by `/`, such as auth/jwt

    For more information, try '--help'.
    ");
}

#[test]
fn a_mistyped_command_or_value_is_answered_with_the_nearest() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["lst"]), @"
    exit: 2
    ----- stderr -----
    error: unrecognized subcommand 'lst'

      tip: some similar subcommands exist: 'ls', 'list'

    Usage: ken [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(["add", "--kind", "lerning", "--statement", "x"]), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'lerning' for '--kind <KIND>'
      [possible values: technique, pattern, anti-pattern, decision, convention, learning, bug, incident, false-positive, spike, entity, relationship, commit-norm, pr-expectation, user-expectation, risk-tier, friction, calibration]

      tip: a similar value exists: 'learning'

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(["add", "--kind", "lerning", "--format", "json"]), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"usage","message":"invalid value 'lerning' for '--kind <KIND>'\n  [possible values: technique, pattern, anti-pattern, decision, convention, learning, bug, incident, false-positive, spike, entity, relationship, commit-norm, pr-expectation, user-expectation, risk-tier, friction, calibration]","hint":"a similar value exists: 'learning'"}
    "#);
}

#[test]
fn a_damaged_ledger_stops_the_program_with_file_and_line() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    let _ = add_lesson(&env, "Refunds are asynchronous");
    commit_all(&env, "lessons");
    let name = env.names(".ken/semantic/v1").remove(0);
    let path = format!(".ken/semantic/v1/{name}");
    let text = env.read(&path).replacen("Charging", "Sharging", 1);
    env.write(&path, &text);
    let _ = std::fs::remove_dir_all(env.root().join(".ken/.index"));
    let run = env.run(["list"]);
    insta::assert_snapshot!(run, @"
    exit: 3
    ----- stderr -----
    error: segment `.ken/semantic/v1/2026-01-02t03-05-v07sc3.jsonl` is damaged at line 1
      because: the checksum does not match

    hint: run `ken ledger check` to list every damaged line; `git checkout` restores a committed segment
    ");
}

#[test]
fn test_variables_go_together_and_must_make_sense() {
    let env = folder_with_ledger().env("KEN_NOW", "yesterday");
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 2
    ----- stderr -----
    error: KEN_NOW: `yesterday` is not a UTC time such as 2026-11-14T22:51:03.120Z
    ");
    let env = folder_with_ledger().env("KEN_SEED", "");
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 2
    ----- stderr -----
    error: KEN_NOW and KEN_SEED are for tests and must be set together
    ");
}

/// The ledger writes `1.0` as `1`; the number must still parse to an equal value.
#[test]
fn numbers_that_can_be_spelled_two_ways_are_recorded() {
    let env = folder_with_ledger();
    let context = r#"{"seconds": 1.0, "share": 1e-3, "large": 1e300, "none": -0.0}"#;
    let args = [
        "health",
        "friction",
        "record",
        "--type",
        "redo",
        "--context",
        context,
    ];
    let _ = env.run(args).success();
    let _ = env.run(["verify"]).success();
    let _ = env.run(["ledger", "check"]).success();
}

#[test]
fn a_command_with_another_name_is_pointed_to() {
    let env = empty_folder();
    for (typed, wanted) in [
        ("lesson", "hint: `ken add"),
        ("status", "hint: `ken health`"),
        ("rm", "hint: `ken retract ID`"),
    ] {
        let run = env.run([typed]);
        assert!(run.stderr.contains(wanted), "{run}");
    }
    let json = env.run(["--json", "rm"]);
    assert!(json.stderr.contains("ken retract ID"), "{json}");
    assert_eq!(
        env.run(["--json", "list"]).stderr,
        env.run(["--format", "json", "list"]).stderr
    );
}
