//! `ken undo` and `ken redo`: the steps of an author, undone as a stack.

use ken_testkit::test_env::TestEnvironment;

use super::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};
use crate::digest::repository_with_documents;

fn statement(env: &TestEnvironment, id: &str) -> String {
    let shown = env.run(["show", id, "--format", "json"]).success().json();
    shown["statement"].as_str().unwrap_or_default().to_owned()
}

fn live(env: &TestEnvironment) -> usize {
    let listed = env.run(["list", "--format", "json"]).success().stdout;
    listed.lines().count()
}

fn edit(env: &TestEnvironment, id: &str, text: &str) {
    let _ = env.run(["edit", id, "--statement", text]).success();
}

#[test]
fn undo_is_a_stack_and_redo_goes_forward_again() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "First wording");
    edit(&env, &id, "Second wording");
    edit(&env, &id, "Third wording");
    for expected in ["Second wording", "First wording"] {
        let _ = env.run(["undo"]).success();
        assert_eq!(statement(&env, &id), expected);
    }
    for expected in ["Second wording", "Third wording"] {
        let _ = env.run(["redo"]).success();
        assert_eq!(statement(&env, &id), expected);
    }
    assert_eq!(env.run(["redo"]).exit, 2);
    let _ = env.run(["undo", "--quiet"]).success();
    // A new change ends the possibility to redo.
    edit(&env, &id, "Fourth wording");
    insta::assert_snapshot!(env.run(["redo"]), @"
    exit: 2
    ----- stderr -----
    error: human:ada has no step to redo
    ");
    for _ in 0..3 {
        let _ = env.run(["undo"]).success();
    }
    assert_eq!(live(&env), 0);
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 2
    ----- stderr -----
    error: human:ada has no step to undo
    ");
}

#[test]
fn undo_list_names_every_step_and_any_of_them_can_be_undone() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    edit(&env, &id, "Charging twice is safe, always");
    let _ = env.run(["entry", "cite", &id, "pr:7"]).success();
    insta::assert_snapshot!(env.run(["undo", "--list"]), @"
    exit: 0
    ----- stdout -----
    01KDYARJX8FB5A8X66D95SHC1G  2026-01-02 03:07
        cited pr:7
    01KDYAPRA8FZPV6HKFH9XR3AC9  2026-01-02 03:06
        edited statement: Charging twice is safe, always
    01KDYAMXQ8EV7BZJ26205ZR7J2  2026-01-02 03:05
        proposed: Charging twice is safe
    ----- stderr -----
    3 steps, newest first
    ");
    // The last step cannot be undone, but the one before it can.
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 1
    ----- stderr -----
    error: a citation (provenance is append-only) cannot be undone

    hint: `ken undo --list` lists your steps; `ken undo STEP` undoes one of them
    ");
    let steps = env.run(["undo", "--list", "--format", "json"]).success();
    let steps: Vec<serde_json::Value> = steps
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object per line"))
        .collect();
    let step = steps[1]["step"].as_str().expect("an id");
    insta::assert_snapshot!(env.run(["undo", step]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    undid: edited statement: Charging twice is safe, always
    ");
    assert_eq!(statement(&env, &id), "Charging twice is safe");
}

#[test]
fn a_merge_is_undone_and_redone_as_a_whole() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, "Charging twice is safe because the key is idempotent");
    let two = add_lesson(&env, "Charging twice is safe");
    let _ = env.run(["entry", "merge", &one, "--into", &two]).success();
    // The entry that a person names keeps its statement.
    assert_eq!(statement(&env, &two), "Charging twice is safe");
    assert_eq!(live(&env), 1);
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9
    L-205zr7j2
    ----- stderr -----
    undid: merged L-205zr7j2 into L-h9xr3ac9
    ");
    assert_eq!(live(&env), 2);
    insta::assert_snapshot!(env.run(["redo"]), @"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9
    L-205zr7j2
    ----- stderr -----
    redid: merged L-205zr7j2 into L-h9xr3ac9
    ");
    assert_eq!(live(&env), 1);
    let _ = env.run(["restore", &one]).success();
    assert_eq!(live(&env), 2);
}

#[test]
fn supersede_and_resolve_are_one_step_each() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, "Always retry a failed charge");
    let two = add_lesson(&env, "Never retry a failed charge");
    let _ = env.run(["entry", "supersede", &one, &two]).success();
    assert_eq!(live(&env), 1);
    let _ = env.run(["undo"]).success();
    assert_eq!(live(&env), 2);
    let shown = env.run(["show", &two, "--format", "json"]).success().json();
    assert_eq!(shown["links"], serde_json::json!([]));
    let contradictions = || {
        let run = env.run(["health", "contradictions", "--format", "json"]);
        run.stdout.lines().count()
    };
    let before = contradictions();
    let keep = ["inbox", "resolve", &one, &two, "--keep", &one];
    let _ = env.run(keep).success();
    assert_eq!(live(&env), 1);
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9
    L-205zr7j2
    ----- stderr -----
    undid: resolved the contradiction between L-205zr7j2 and L-h9xr3ac9: kept L-205zr7j2 (and 2 more events)
    ");
    assert_eq!(live(&env), 2);
    assert_eq!(contradictions(), before);
    // The same contradiction can be decided again, the other way.
    let keep = ["inbox", "resolve", &one, &two, "--keep", &two];
    let _ = env.run(keep).success();
    let _ = env.run(["restore", &one]).success();
    assert_eq!(live(&env), 2);
}

#[test]
fn an_import_is_one_step_and_can_be_repeated_after_an_undo() {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    let _ = env.run(["import", "--review"]).success();
    let _ = env.run(["inbox", "accept"]);
    let accepted = live(&env);
    assert!(accepted > 1, "{accepted} entries");
    let undone = env.run(["undo", "--format", "json"]).success().json();
    assert_eq!(undone["entries"].as_array().map(Vec::len), Some(accepted));
    assert_eq!(live(&env), 0);
    let _ = env.run(["redo"]).success();
    assert_eq!(live(&env), accepted);
    let _ = env.run(["undo"]).success();
    // An undone import leaves no claim behind that would count as known.
    let _ = env.run(["import", "--review"]).success();
    let _ = env.run(["inbox", "accept"]);
    assert_eq!(live(&env), accepted);
}

#[test]
fn many_lines_are_one_step() {
    let env = folder_with_ledger();
    let line = |n: usize| {
        format!(
            r#"{{"kind":"learning","statement":"Queue {n} is drained first","cite":["pr:{n}"]}}"#
        )
    };
    let lines: Vec<String> = (1..=150).map(line).collect();
    env.write("lessons.jsonl", &lines.join("\n"));
    let _ = env.run(["add", "--from-jsonl", "lessons.jsonl"]).success();
    assert_eq!(live(&env), 150);
    let undone = env.run(["undo"]).success();
    assert!(
        undone.stderr.contains("undid: added 150 entries"),
        "{}",
        undone.stderr
    );
    assert_eq!(live(&env), 0);
    let redone = env.run(["redo"]).success();
    assert!(
        redone.stderr.contains("redid: added 150 entries"),
        "{}",
        redone.stderr
    );
    assert_eq!(live(&env), 150);
}

#[test]
fn an_edit_without_effect_is_refused_and_does_not_block_undo() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "First wording");
    let _ = env.run(["edit", &id, "--tag", "two"]).success();
    for args in [
        &["edit", &id, "--tag", "two"][..],
        &["edit", &id, "--untag", "other"],
        &["edit", &id, "--statement", "First wording"],
    ] {
        let run = env.run(args);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("nothing would change"), "{run}");
    }
    let _ = env.run(["undo"]).success();
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(shown["tags"], serde_json::Value::Null, "{shown}");
}

#[test]
fn a_merge_keeps_anchors_and_steps_and_shows_the_citations_of_both() {
    let env = folder_with_ledger();
    env.write("a.md", "hello\n");
    let text = "The alpha file holds greeting text for the demo.";
    let first = env.run(["add", text, "--cite", "pr:1", "--verify", "cat a.md"]);
    let first = first.success().line();
    let text = "The alpha file holds the greeting text for the demo.";
    let second = env.run(["add", text, "--cite", "pr:2", "--anchor", "a.md"]);
    let second = second.success().line();
    let _ = env
        .run(["entry", "merge", &second, "--into", &first])
        .success();
    let shown = env.run(["show", &first]).success().stdout;
    for part in [
        "a.md",
        "1. cat a.md",
        "pr:1",
        &format!("{second} (cites pr:2)"),
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let _ = env.run(["undo"]).success();
    let shown = env.run(["show", &first]).success().stdout;
    assert!(shown.contains("anchors    none"), "{shown}");
}

#[test]
fn a_merge_of_a_merge_names_all_it_absorbed() {
    let env = folder_with_ledger();
    let [first, second, third] = [
        "Retries are bounded",
        "Timeouts are logged",
        "Queues are drained",
    ]
    .map(|it| add_lesson(&env, it));
    for (from, into) in [(&first, &second), (&second, &third)] {
        let _ = env.run(["entry", "merge", from, "--into", into]).success();
    }
    let show = |id: &str| env.run(["show", id, "--format", "json"]).success().json();
    let merged = show(&third)["merged_from"].to_string();
    assert!(
        merged.contains(&first) && merged.contains(&second),
        "{merged}"
    );
    let absorbed = show(&first);
    assert_eq!(absorbed["merged_into"], third.as_str());
    assert_eq!(absorbed["status"]["value"], "candidate", "not rejected");
    assert_eq!(absorbed["statement"], "Retries are bounded");
    assert_eq!(absorbed["citations"][0]["evidence_ref"], "3fce3b5");
    let log = env.run(["log", &third, "--format", "json"]).success();
    assert!(log.stdout.contains(r#""strategy":"keep_target""#), "{log}");
}

#[test]
fn entries_do_not_vanish_in_merges_of_both_directions() {
    for (merge, name) in [("merge", "--into"), ("supersede", "")] {
        let env = folder_with_ledger();
        let one = add_lesson(&env, "Run the tests with make test.");
        let other = add_lesson(&env, "Use make test to run the tests.");
        let run = |a: &str, b: &str| {
            let words = ["entry", merge, a, name, b].into_iter();
            env.run(words.filter(|it| !it.is_empty()))
        };
        let _ = run(&one, &other).success();
        let refused = run(&other, &one);
        assert_eq!(refused.exit, 1, "{refused}");
        assert!(refused.stderr.contains("restore it first"), "{refused}");
        assert_eq!(live(&env), 1);
    }
}

#[test]
fn sync_tells_about_entries_that_two_branches_merged_into_each_other() {
    let env = repository_with_ledger();
    let one = add_lesson(&env, "Run the tests with make test.");
    let other = add_lesson(&env, "Use make test to run the tests.");
    commit_all(&env, "two lessons");
    let _ = env.git(["checkout", "-q", "-b", "side"]);
    let _ = env
        .run(["entry", "merge", &one, "--into", &other])
        .success();
    commit_all(&env, "one into the other");
    let _ = env.git(["checkout", "-q", "-"]);
    let _ = env
        .run(["entry", "merge", &other, "--into", &one])
        .success();
    commit_all(&env, "the other into one");
    // The entry files may conflict, the ledger does not.
    let _ = env.git_succeeds(["merge", "-q", "--no-edit", "side"]);
    let _ = env.run(["sync"]);
    let _ = env.git_succeeds(["commit", "-qam", "merge"]);
    let synced = env.run(["sync"]).success();
    assert!(synced.stderr.contains("replace each other"), "{synced}");
    let _ = env.run(["restore", &one]).success();
    assert_eq!(live(&env), 1);
    let synced = env.run(["sync"]).success();
    assert!(!synced.stderr.contains("replace each other"), "{synced}");
}
