//! `ken run observe`: which findings become entries.

use crate::cli::runs::open_review;
use crate::cli::support::{add_lesson, folder_with_ledger};

#[test]
fn a_finding_that_differs_in_case_and_punctuation_is_skipped() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let open = ["run", "open", "work", "--agent", "a", "--agent", "b"];
    let _ = env
        .run(open.into_iter().chain(["--witness", "orchestrator"]))
        .success();
    for agent in ["agent:a", "agent:b"] {
        let observe = ["run", "observe", "--statement", "charging  TWICE, is safe!"];
        let more = ["--by", agent, "--run", "work"];
        let _ = env.run(observe.into_iter().chain(more)).success();
    }
    let close = ["run", "close", "work", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let listed = env.run(["list", "--format", "json"]).success();
    assert_eq!(listed.stdout.lines().count(), 1, "{listed}");
    // A person who adds it by command is told.
    let add = ["add", "--kind", "learning", "--cite", "pr:1", "--statement"];
    let added = env.run(add.into_iter().chain(["charging  TWICE, is safe!"]));
    let told = format!("similar to {id}");
    assert!(added.success().stderr.contains(&told));
}

#[test]
fn severity_confidence_and_dismissal_choose_the_section_of_a_finding() {
    let (env, _) = open_review();
    env.write("src/token.rs", "fn compare() {}\n");
    let cookie = "The proxy writes the session cookie to its log";
    let tokens = "Tokens are compared byte by byte";
    let imports = "Unused imports of generated code are harmless";
    for (statement, options) in [
        (cookie, "--severity 9.0"),
        (
            tokens,
            "--severity 7.0 --confidence 8.0 --anchor src/token.rs --verify ./check-tokens",
        ),
        (imports, "--severity 9.5 --confidence 9.0 --dismissed"),
        (
            "Pollers should sleep longer between two polls",
            "--severity 8.9",
        ),
        (
            "The window flickers when it is resized",
            "--severity 7.0 --confidence 7.9",
        ),
        (
            "An old header is sent by the mailer",
            "--severity 6.9 --confidence 8.0",
        ),
    ] {
        let observe = ["run", "observe", "--by", "agent:a", "--run", "review-1"];
        let observe = observe.into_iter().chain(["--statement", statement]);
        let _ = env.run(observe.chain(options.split(' '))).success();
    }
    let close = ["run", "close", "review-1", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let text = env.read(".ken/reviewers/security/KNOWLEDGE.md");
    let (_, text) = text.split_once("## Patterns Found").expect("patterns");
    let (patterns, text) = text
        .split_once("## False Positives to Avoid")
        .expect("false positives");
    let (dismissed, incidents) = text
        .split_once("## Incidents Prevented")
        .expect("incidents");
    for (section, statement) in [
        (patterns, tokens),
        (dismissed, imports),
        (incidents, cookie),
    ] {
        assert!(section.contains(statement), "{statement}: {section}");
        assert_eq!(section.matches("- [L-").count(), 1, "{section}");
    }
    let names = env.names(".ken/entries");
    let name = names.iter().find(|it| it.contains("-tokens-are-"));
    let file = env.read(&format!(".ken/entries/{}", name.expect("a file")));
    for told in [
        "\nlastConfirmed: 2026-01-02\n",
        "\n  - resource: \"transcript:review-1\"\n",
        "\nTokens are compared byte by byte\n",
        "\nEvidence:\n- `src/token.rs`\n",
        "\nVerify:\n1. ./check-tokens\n",
    ] {
        assert!(file.contains(told), "{told} in {file}");
    }
}

#[test]
fn a_finding_in_other_words_confirms_the_entry_and_makes_none() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Retry the payment call twice after a network timeout");
    let open = ["run", "open", "work", "--agent", "a", "--agent", "b"];
    let _ = env
        .run(open.into_iter().chain(["--witness", "orchestrator"]))
        .success();
    let words = "After a network timeout, retry the payment call twice";
    for agent in ["agent:a", "agent:b"] {
        let observe = ["run", "observe", "--statement", words];
        let more = ["--by", agent, "--run", "work"];
        let _ = env.run(observe.into_iter().chain(more)).success();
    }
    let close = ["run", "close", "work", "--outcome", "succeeded"];
    let closed = env.run(close).success();
    let again = format!("{id} found again, independent\n{id} is now verified\n");
    assert!(closed.stderr.contains(&again), "{closed}");
    let listed = env.run(["list", "--format", "json"]).success();
    assert_eq!(listed.stdout.lines().count(), 1, "{listed}");
    let shown = env.run(["show", "--explain", &id]).success();
    let found = "found again   1 independent, 0 by a person";
    assert!(shown.stdout.contains(found), "{shown}");
}
