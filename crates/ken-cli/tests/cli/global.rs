//! The global ledger: entries shared by a user's projects, searched after the repository's own.

use std::path::{Path, PathBuf};

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use crate::cli::support::{add_lesson, empty_folder};

const STATEMENT: &str = "Amounts of money are integers in cents";

/// Returns a project whose user keeps the global ledger in `folder`.
fn project(folder: &Path, seed: u64) -> TestEnvironment {
    let global = folder.display().to_string();
    let env = empty_folder()
        .seed(seed)
        .env("KEN_GLOBAL", &global)
        .in_git();
    let _ = env.run(["init"]).success();
    env
}

/// Returns two projects of one user and the folder of their global ledger.
fn two_projects() -> (TestEnvironment, TestEnvironment, PathBuf) {
    let first = empty_folder();
    let folder = first.root().join("../global");
    let folder = std::path::absolute(folder).expect("a path");
    let one = first
        .seed(100)
        .env("KEN_GLOBAL", &folder.display().to_string())
        .in_git();
    let _ = one.run(["init"]).success();
    let other = project(&folder, 200);
    (one, other, folder)
}

fn promote_to_global(env: &TestEnvironment, id: &str, more: &[&str]) -> CommandRun {
    let args = ["entry", "promote", id, "--to", "global"];
    env.run(args.iter().chain(more).copied())
}

fn search(env: &TestEnvironment, query: &str) -> serde_json::Value {
    env.run(["search", query, "--format", "json"])
        .success()
        .json()
}

/// Adds an anchored lesson that a person confirmed, and returns its id.
fn add_confirmed_lesson(env: &TestEnvironment, statement: &str) -> String {
    env.write("src/pay.rs", "pub fn charge() {}\n");
    let args = ["add", "--kind", "learning", "--cite", "commit:3fce3b5"];
    let args = args.into_iter().chain(["--anchor", "src/pay.rs#charge"]);
    let args = args.chain(["--depends-on", "file:src/pay.rs", "--verify"]);
    let args = args.chain(["Read src/pay.rs.", "--tag", "money", "--statement"]);
    let id = env.run(args.chain([statement])).success().line();
    let _ = env.run(["confirm", &id]).success();
    id
}

#[test]
fn a_person_sends_what_others_need_and_nothing_of_the_repository_goes_along() {
    let (one, other, folder) = two_projects();
    let id = add_confirmed_lesson(&one, STATEMENT);
    insta::assert_snapshot!(promote_to_global(&one, &id, &[]), @"
    exit: 1
    ----- stderr -----
    error: L-t2ampxn3 cannot be promoted: only this project has it; global scope requires at least 2 projects

    hint: a person can promote it with `--anyway`
    ");
    assert!(!folder.exists(), "nothing was written");
    let by_agent = promote_to_global(&one, &id, &["--anyway", "--by", "agent:codex"]);
    assert_eq!(by_agent.exit, 1, "{by_agent}");
    insta::assert_snapshot!(promote_to_global(&one, &id, &["--anyway"]), @"
    exit: 0
    ----- stdout -----
    L-p8g2ek23
    ----- stderr -----
    copied to the global ledger as a candidate, without citations; other repositories list it after their own entries
    ");
    let found = search(&other, "money in cents");
    let copy = &found["global"][0]["entry"];
    assert_eq!(copy["statement"], STATEMENT);
    assert_eq!(copy["status"]["value"], "candidate", "trust does not rise");
    assert_eq!(copy["created"]["origin"], "import");
    assert_eq!(copy["created"]["copied_from"]["entry"], id.as_str());
    assert_eq!(
        copy["created"]["copied_from"]["by"],
        "human:ada@example.org"
    );
    let text = copy.to_string();
    for left in ["src/pay.rs", "3fce3b5", "Read "] {
        assert!(!text.contains(left), "{left}: {text}");
    }
    let again = promote_to_global(&one, &id, &["--anyway"]);
    assert_eq!(again.exit, 1, "it reaches that far already: {again}");
}

#[test]
fn a_second_project_that_knows_it_needs_no_persons_word() {
    let (one, other, _) = two_projects();
    let id = add_confirmed_lesson(&one, STATEMENT);
    let copy = promote_to_global(&one, &id, &["--anyway"]).success().line();
    let theirs = add_confirmed_lesson(&other, "Amounts of money are integers, in cents.");
    let run = promote_to_global(
        &other,
        &theirs,
        &["--by", "agent:codex", "--format", "json"],
    );
    let told = run.success().json();
    assert_eq!(told["copied"], false);
    assert_eq!(told["projects"], 2);
    assert_eq!(told["global"]["id"], copy.as_str());
}

#[test]
fn showings_in_another_project_count_for_no_global_entry() {
    let (one, other, _) = two_projects();
    let id = add_confirmed_lesson(&one, STATEMENT);
    let copy = promote_to_global(&one, &id, &["--anyway"]).success().line();
    for _ in 0..10 {
        let _ = other.run(["run", "open", "work", "--agent", "a"]).success();
        let search = [
            "search",
            "money in cents",
            "--by",
            "agent:a",
            "--run",
            "work",
        ];
        let found = other.run(search).success().stdout;
        assert!(found.contains(&copy), "{found}");
        let close = ["run", "close", "work", "--outcome", "succeeded"];
        let _ = other.run(close).success();
    }
    let entry = other
        .run(["show", &copy, "--format", "json"])
        .success()
        .json();
    assert_eq!(entry["tallies"]["shown"], 0, "{entry}");
    assert_eq!(entry["archived"], serde_json::Value::Null);
}

#[test]
fn what_other_projects_know_stands_below_labeled_and_discounted() {
    let (one, other, _) = two_projects();
    let id = add_confirmed_lesson(&one, STATEMENT);
    let copy = promote_to_global(&one, &id, &["--anyway"]).success().line();
    let own = add_lesson(
        &other,
        "The money service answers in cents only after warming up",
    );
    insta::assert_snapshot!(other.run(["search", "money in cents", "--mean"]), @"
    exit: 0
    ----- stdout -----
    L-d1txc8wm  learning  candidate  ▮▮▮▯▯ 0.50  ? unchecked, added today
      The money service answers in cents only after warming up
      matches every word, similarity 0.70
    From the global ledger (other projects; not checked here):
    L-v063ejrv  global  learning  candidate  ▮▮▮▯▯ 0.50  ? unchecked, added today
      Amounts of money are integers in cents
      matches every word, similarity 0.83
    ----- stderr -----
    hint: `ken show L-d1txc8wm` shows the whole entry
    ");
    let found = search(&other, "money in cents");
    assert_eq!(found["results"][0]["id"], own.as_str());
    let parts = found["global"][0]["signals"]["parts"]
        .as_array()
        .expect("parts");
    let lost = parts
        .iter()
        .find(|it| it["name"] == "global")
        .expect("a part");
    assert!(lost["adds"].as_f64().expect("a number") < 0.0);
    let context = other.run(["search", "money in cents", "--context"]).stdout;
    let line = context.lines().find(|it| it.contains(&copy)).expect("it");
    assert!(
        line.contains("global: from another project (p-"),
        "{context}"
    );
    let brief = other
        .run(["brief", "store amounts of money in cents"])
        .stdout;
    assert!(brief.contains(&copy), "{brief}");
    let capped = other.run([
        "search",
        "money in cents",
        "--limit",
        "1",
        "--format",
        "json",
    ]);
    assert!(capped.json().get("global").is_none(), "the cap is for both");
    let shown = other.run(["show", &copy]).success().stdout;
    assert!(shown.contains("copy of"), "{shown}");
}

#[test]
fn what_other_projects_know_never_scores_above_what_was_verified_here() {
    let (one, other, _) = two_projects();
    for statement in [STATEMENT, "Test databases are dropped every night"] {
        let id = add_confirmed_lesson(&one, statement);
        let _ = promote_to_global(&one, &id, &["--anyway"]).success();
    }
    let verified = add_lesson(
        &other,
        "Rounding in the money service loses a few cents a day at most",
    );
    let _ = add_lesson(
        &other,
        "What the money page shows as integers in cents are amounts before tax",
    );
    let _ = other
        .run(["entry", "status", &verified, "verified"])
        .success();
    let query = "amounts of money are integers in cents";
    let found = other.run(["search", query, "--mean", "--format", "json"]);
    let found = found.success().json();
    let score = |it: &serde_json::Value| it["score"].as_f64().expect("a score");
    let results = found["results"].as_array().expect("results");
    let own = results.iter().find(|it| it["id"] == verified.as_str());
    let global = &found["global"][0];
    assert!(score(global) < score(own.expect("it")), "{found}");
    let parts = global["signals"]["parts"].as_array().expect("parts");
    let mut parts = parts.iter();
    assert!(
        parts.any(|it| it["name"] == "below local"),
        "its words answer better: {found}"
    );
}

#[test]
fn a_project_is_not_told_its_own_lesson_twice() {
    let (one, _, _) = two_projects();
    let id = add_confirmed_lesson(&one, STATEMENT);
    let _ = promote_to_global(&one, &id, &["--anyway"]).success();
    let found = search(&one, "money in cents");
    assert_eq!(found["results"][0]["id"], id.as_str());
    assert!(found.get("global").is_none(), "{found}");
}

#[test]
fn nobody_without_a_global_ledger_pays_for_one() {
    let (one, other, folder) = two_projects();
    let _ = add_lesson(&one, STATEMENT);
    let found = search(&one, "money in cents");
    assert!(found.get("global").is_none());
    let elsewhere = search(&other, "money in cents");
    assert_eq!(elsewhere["results"], serde_json::json!([]));
    assert!(elsewhere.get("global").is_none());
    assert!(!folder.exists(), "reading makes none");
}

#[test]
fn a_global_ledger_that_cannot_be_read_takes_nothing_from_an_answer() {
    let (one, _, folder) = two_projects();
    let id = add_lesson(&one, STATEMENT);
    std::fs::create_dir_all(folder.join(".ken")).expect("a folder");
    std::fs::write(folder.join(".ken/VERSION"), "99.0.0\n").expect("a file");
    let run = one.run(["search", "money in cents"]).success();
    assert!(run.stdout.contains(&id), "{run}");
    assert!(
        run.stderr.contains("cannot query the global ledger"),
        "{run}"
    );
}

#[test]
fn norms_unproven_and_threads_entries_do_not_go_global() {
    let (one, _, _) = two_projects();
    let unproven = add_lesson(&one, STATEMENT);
    let run = promote_to_global(&one, &unproven, &[]);
    assert!(
        run.stderr
            .contains("it is unproven: it has no independent confirmation"),
        "{run}"
    );
    let args = [
        "add",
        "--kind",
        "commit-norm",
        "--cite",
        "pr:1",
        "--statement",
    ];
    let norm = one.run(args.into_iter().chain(["Squash commits."])).line();
    let run = promote_to_global(&one, &norm, &["--anyway"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stderr
            .contains("a commit-norm applies to one repository only"),
        "{run}"
    );
}

#[test]
fn the_folder_is_the_users_data_folder_unless_a_variable_says_otherwise() {
    let env = empty_folder().in_git();
    let _ = env.run(["init"]).success();
    let id = add_confirmed_lesson(&env, STATEMENT);
    let _ = promote_to_global(&env, &id, &["--anyway"]).success();
    let home = env.root().join("../home/.local/share/ken/global/.ken");
    assert!(home.join("VERSION").exists());
    assert!(!home.join("../.gitattributes").exists(), "outside git");
}
