//! `ken health drift` on stale, bloated, contradictory and orphaned entries.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

/// Returns signal, recommendation and entries of every finding.
fn findings(env: &TestEnvironment) -> Vec<(String, String, Vec<String>)> {
    let args = ["health", "drift", "--format", "json"];
    let found = env.run(args).success().json();
    let findings = found["findings"].as_array().expect("findings").iter();
    let word = |of: &serde_json::Value| of.as_str().expect("a word").to_owned();
    findings
        .map(|it| {
            let entries = it["entries"].as_array().expect("entries");
            let entries = entries.iter().map(word).collect();
            (word(&it["signal"]), word(&it["recommendation"]), entries)
        })
        .collect()
}

/// Returns a name without digits, which would make two statements contradict each other.
fn part_name(number: u8) -> String {
    let letter = |n: u8| char::from(b'a' + n);
    [letter(number / 10), letter(number % 10), 'x']
        .iter()
        .collect()
}

#[test]
fn a_contradiction_that_nobody_flagged_needs_review() {
    let env = folder_with_ledger();
    let mut pair = [add_lesson(&env, "Use tabs"), add_lesson(&env, "Use spaces")];
    pair.sort();
    let review = ("contradictory".into(), "needs_review".into(), pair.to_vec());
    assert_eq!(findings(&env), [review]);
    let dismiss = ["health", "contradictions", "--dismiss", &pair[0], &pair[1]];
    let _ = env.run(dismiss).success();
    assert_eq!(findings(&env), []);
}

#[test]
fn an_entry_is_stale_after_ninety_days_until_it_is_archived() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "A retried payment is charged once.");
    env.wait_days(90);
    assert_eq!(findings(&env), []);
    env.wait_days(1);
    let pruning = ("stale".into(), "needs_pruning".into(), vec![id]);
    assert_eq!(findings(&env), [pruning]);
    let _ = env.run(["archive", "--older-than", "90"]).success();
    assert_eq!(findings(&env), []);
}

#[test]
fn a_kind_with_more_than_fifty_entries_is_bloated() {
    let env = folder_with_ledger();
    let lines: String = (0..50)
        .map(|n| {
            let statement = format!("The part {} keeps a key", part_name(n));
            format!("{{\"kind\":\"learning\",\"cite\":[\"pr:7\"],\"statement\":\"{statement}\"}}\n")
        })
        .collect();
    let added = env.run_with(&lines, ["add", "--from-jsonl", "-"]).success();
    assert_eq!(added.stdout.lines().count(), 50, "{added}");
    assert_eq!(findings(&env), []);
    let _ = add_lesson(&env, "One lesson more");
    let found = findings(&env);
    let [(signal, recommendation, entries)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (signal.as_str(), recommendation.as_str(), entries.len()),
        ("bloated", "needs_pruning", 51)
    );
}

#[test]
fn a_lens_with_more_than_fifty_entries_of_several_kinds_is_bloated() {
    let env = folder_with_ledger();
    let lines: String = (0..51)
        .map(|n| {
            let statement = format!("The part {} keeps a key", part_name(n));
            let kind = ["learning", "pattern"][usize::from(n % 2 == 0)];
            format!(
                "{{\"kind\":\"{kind}\",\"lens\":\"security\",\"cite\":[\"pr:7\"],\
                 \"statement\":\"{statement}\"}}\n"
            )
        })
        .collect();
    let fifty: String = lines.split_inclusive('\n').take(50).collect();
    let _ = env.run_with(&fifty, ["add", "--from-jsonl", "-"]).success();
    assert_eq!(findings(&env), []);
    let last = lines.lines().last().expect("the last line");
    let _ = env.run_with(last, ["add", "--from-jsonl", "-"]).success();
    let found = findings(&env);
    let [(signal, recommendation, entries)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (signal.as_str(), recommendation.as_str(), entries.len()),
        ("bloated", "needs_pruning", 51)
    );
}

#[test]
fn a_document_or_file_that_an_entry_refers_to_and_that_is_gone_needs_review() {
    let env = repository_with_ledger();
    env.write("docs/a.md", "Why\n");
    env.write("src/a.rs", "fn a() {}\n");
    env.write("src/b.rs", "fn b() {}\n");
    commit_all(&env, "code");
    let add = |statement: &str, more: &[&str]| {
        let args = ["add", "--kind", "learning", "--statement", statement];
        env.run(args.iter().chain(more)).success().line()
    };
    let cites = add("Payments are idempotent", &["--cite", "doc:docs/a.md"]);
    let depends = add(
        "Retries are bounded",
        &["--cite", "pr:7", "--depends-on", "file:src/a.rs"],
    );
    let names = add(
        "Refunds keep the receipt",
        &["--cite", "pr:7", "--depends-on", "symbol:src/b.rs#b"],
    );
    commit_all(&env, "know");
    assert_eq!(findings(&env), []);
    let _ = env.git(["rm", "-q", "docs/a.md", "src/a.rs", "src/b.rs"]);
    let _ = env.git(["commit", "-q", "-m", "gone"]);
    let mut gone = vec![cites, depends, names];
    gone.sort();
    assert_eq!(
        findings(&env),
        [("orphaned".into(), "needs_review".into(), gone)]
    );
}
