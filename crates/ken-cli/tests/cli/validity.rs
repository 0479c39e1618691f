//! Verification against the code: refused anchors, the effect of changes on entries, and the gate.

use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use crate::mcp::client::McpTestClient;

use crate::cli::support::{
    PAY_SOURCE, add_norm, commit_all, folder_with_ledger, repository_with_ledger, write_pay_source,
};

const STATEMENT: &str = "A retried payment is charged once because its key is kept.";

/// Adds a lesson with further arguments and returns its id.
fn add_lesson_with(env: &TestEnvironment, statement: &str, more: &[&str]) -> String {
    let args = ["add", "--kind", "learning", "--cite", "pr:7", "--statement"];
    let args = args.into_iter().chain([statement]);
    env.run(args.chain(more.iter().copied())).success().line()
}

/// Returns a repository with code and a lesson about `Ledger::charge`, all committed.
fn repository_with_anchored_lesson() -> (TestEnvironment, String) {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let id = add_lesson_with(&env, STATEMENT, &["--anchor", "src/pay.rs#Ledger::charge"]);
    commit_all(&env, "pay");
    (env, id)
}

fn verify_json(env: &TestEnvironment, more: &[&str]) -> Value {
    let args = ["verify", "--format", "json"].into_iter();
    env.run(args.chain(more.iter().copied())).json()
}

fn entry_ids(list: &Value) -> Vec<&str> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(|it| it["id"].as_str()).collect()
}

fn search_ids(env: &TestEnvironment, more: &[&str]) -> Vec<String> {
    let args = ["search", "retried payment", "--format", "json"].into_iter();
    let answer = env.run(args.chain(more.iter().copied())).success().json();
    entry_ids(&answer["results"])
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns the freshness of a hit for `retried payment`.
fn freshness(env: &TestEnvironment, id: &str) -> f64 {
    let args = ["search", "retried payment", "--mean", "--format", "json"];
    let answer = env.run(args).success().json();
    let results = answer["results"].as_array().expect("results");
    let hit = results.iter().find(|it| it["id"] == id).expect("a hit");
    let parts = hit["signals"]["parts"].as_array().expect("parts");
    let part = parts.iter().find(|it| it["name"] == "freshness");
    let value = &part.expect("freshness")["value"];
    value.as_f64().expect("a number")
}

#[test]
fn an_anchor_that_points_at_nothing_is_refused_with_what_may_have_been_meant() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let add = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "pr:7",
        "--statement",
        "So it is",
    ];
    let refused = |more: [&str; 2]| env.run(add.into_iter().chain(more));
    insta::assert_snapshot!(refused(["--anchor", "src/pay.rs#Ledger::chrge"]), @"
    exit: 1
    ----- stderr -----
    error: the anchor `src/pay.rs#Ledger::chrge` was not found: the file has no such symbol

    hint: did you mean `Ledger::charge`?
    ");
    insta::assert_snapshot!(refused(["--anchor", "src/pya.rs"]), @"
    exit: 1
    ----- stderr -----
    error: the anchor `src/pya.rs` was not found: the file `src/pya.rs` does not exist

    hint: anchors and conditions must match the current code; cite removed code instead
    ");
    insta::assert_snapshot!(refused(["--anchor", "src/pay.rs:1-99"]), @"
    exit: 1
    ----- stderr -----
    error: the anchor `src/pay.rs:1-99` was not found: the file has 21 lines

    hint: anchors and conditions must match the current code; cite removed code instead
    ");
    insta::assert_snapshot!(refused(["--depends-on", "file:lib/*.rs"]), @"
    exit: 1
    ----- stderr -----
    error: the condition `file:lib/*.rs` is not met: no tracked file matches `lib/*.rs`

    hint: anchors and conditions must match the current code; cite removed code instead
    ");
    insta::assert_snapshot!(refused(["--depends-on", "pkg:cargo/tokio"]), @"
    exit: 1
    ----- stderr -----
    error: condition `pkg:cargo/tokio`: write pkg:TYPE/NAME@RANGE, such as pkg:cargo/tokio@>=1.40; any version is @*
    ");
}

#[test]
fn comments_and_layout_do_not_touch_an_entry_and_a_changed_condition_does() {
    let (env, id) = repository_with_anchored_lesson();
    let spread = PAY_SOURCE
        .replace(
            "    /// Charges once for each key.",
            "    // Once, whatever happens.",
        )
        .replace(
            "if self.seen(key) {",
            "if self\n            .seen(key)\n        {",
        );
    env.write("src/pay.rs", &spread);
    let found = verify_json(&env, &[]);
    assert_eq!(
        (found["passes"].clone(), found["findings"].clone()),
        (true.into(), Value::Array(Vec::new()))
    );
    assert_eq!(search_ids(&env, &[]), std::slice::from_ref(&id));
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("if self.seen(key)", "if !self.seen(key)"),
    );
    insta::assert_snapshot!(env.run(["verify", "--base", "HEAD"]), @"
    exit: 0
    ----- stdout -----
    warning src/pay.rs:7: `src/pay.rs#Ledger::charge` changed; L-205zr7j2 depends on it: A retried payment is charged once because its key is kept (run `ken entry reanchor L-205zr7j2`) [knowledge.validity]
         pub fn charge(&mut self, amount: u64, key: &str) -> bool {
        -        if self.seen(key) {
        +        if !self.seen(key) {
                     return false;
                 }
    pass  knowledge.schema
    pass  knowledge.guard
    pass  knowledge.provenance
    pass  knowledge.links
    pass  knowledge.contradictions
    pass  episodic.no_backflow
    pass  procedural.norm
    warn  knowledge.validity (1 finding)
    pass  knowledge.decisions
    passes: 1 entry, 0 events, 1 finding
    ----- stderr -----
    hint: `ken entry reanchor` shows each entry whose code changed and asks what to do
    ");
    insta::assert_snapshot!(env.run(["search", "retried payment"]), @"
    exit: 0
    ----- stdout -----
    checked knowledge base, no relevant entries found
    ----- stderr -----
    hint: 1 entry withheld: the code changed; `--include-stale` shows them
    ");
    assert_eq!(search_ids(&env, &["--include-stale"]), [id]);
}

#[test]
fn what_nobody_can_check_is_shown_with_a_caveat_and_what_holds_does_not_age() {
    let (env, id) = repository_with_anchored_lesson();
    let other = add_lesson_with(&env, "Another retried payment is never seen.", &[]);
    env.wait_days(90);
    assert!((freshness(&env, &id) - 1.0).abs() < 1e-9, "its code stands");
    let age = freshness(&env, &other);
    assert!((age - 0.5).abs() < 1e-9, "ninety days old: {age}");
}

#[test]
fn a_condition_that_cannot_be_checked_ages_and_is_marked_for_agents() {
    let env = repository_with_ledger();
    let on = ["--depends-on", "pkg:cargo/tokio@>=1.40"];
    let id = add_lesson_with(&env, "A retried payment waits for the runtime.", &on);
    let free = add_lesson_with(&env, "A retried payment is never seen.", &[]);
    let norm = [
        "add",
        "--kind",
        "commit-norm",
        "--cite",
        "pr:9",
        "--statement",
    ];
    let norm = norm.into_iter().chain(["Payments name the runtime"]);
    let norm = env.run(norm.chain(on)).success().line();
    for (days, wanted) in [(0, 1.0), (90, 0.5), (90, 0.25)] {
        env.wait_days(days);
        for id in [&id, &free] {
            let age = freshness(&env, id);
            assert!((age - wanted).abs() < 1e-9, "{id}: {age}");
        }
    }
    let asked = "why a retried payment waits for the runtime";
    let brief = env.run(["brief", asked]).success().stdout;
    let context = env.run(["search", "--context", asked]).success().stdout;
    let prompt = json!({"session_id": "s1", "cwd": env.root(), "prompt": asked}).to_string();
    let hook = env.run_with(&prompt, ["hook", "claude-code", "prompt"]);
    let hook = hook.success().json()["hookSpecificOutput"]["additionalContext"].clone();
    let hook = hook.as_str().expect("a context").to_owned();
    let mut client = McpTestClient::older(&env, "claude-code");
    let tool = client.said("ken_search", json!({ "query": asked }));
    let line = |text: &str, id: &str| {
        let mut lines = text.lines();
        let line = lines.find(|it| it.starts_with(&format!("[{id}]")));
        line.unwrap_or_else(|| panic!("{id}: {text}")).to_owned()
    };
    for text in [brief, context, tool] {
        assert!(line(&text, &id).contains(", unchecked, "), "{text}");
        let free = line(&text, &free);
        assert!(!free.contains("unchecked"), "no code to check: {text}");
        assert!(!line(&text, &norm).contains("unchecked"), "a rule: {text}");
    }
    // At a prompt, only the entry about the runtime is relevant enough.
    assert!(line(&hook, &id).contains(", unchecked, "), "{hook}");
}

#[test]
fn one_broken_condition_is_seen_wherever_entries_are_read() {
    let env = repository_with_ledger();
    env.write("app.toml", "[till]\nmode = \"strict\"\n");
    commit_all(&env, "settings");
    let on = ["--depends-on", "config:app.toml#till.mode=strict"];
    let lesson = add_lesson_with(&env, "A retried payment is refused at the till.", &on);
    let detail = r#"{"question":"Is it refused?","answer":"yes","confidence":"conclusive"}"#;
    let spike = [
        "add",
        "A retried payment is refused in tests.",
        "--kind",
        "spike",
    ];
    let spike = spike
        .into_iter()
        .chain(["--cite", "pr:7", "--detail", detail]);
    let spike = env.run(spike.chain(on)).success().line();
    env.write("app.toml", "[till]\nmode = \"lax\"\n");
    let mut both = [lesson.as_str(), spike.as_str()];
    both.sort_unstable();
    let sorted = |list: &Value| {
        let mut ids: Vec<String> = entry_ids(list).into_iter().map(str::to_owned).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(sorted(&verify_json(&env, &[])["invalid"]), both);
    let answer = env.run(["search", "retried payment", "--format", "json"]);
    let answer = answer.success().json();
    assert_eq!(entry_ids(&answer["results"]), [""; 0]);
    assert_eq!(sorted(&answer["withheld"]), both);
    let listed = env.run(["list", "--status", "stale", "--format", "json"]);
    let listed = listed.success().stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let brief = env
        .run(["brief", "retried payment is refused"])
        .success()
        .stdout;
    assert!(
        brief.contains("2 entries withheld because the code changed\n"),
        "{brief}"
    );
    // A reader is told that something may be stale, never what to do about it.
    let mut client = McpTestClient::older(&env, "claude-code");
    let query = json!({"query": "retried payment is refused"});
    let found = client.said("ken_search", query);
    let checked = client.said("ken_check", json!({}));
    assert!(
        found.contains("2 entries withheld because the code changed"),
        "{found}"
    );
    for id in both {
        assert!(checked.contains(&format!("[{id}]")), "{checked}");
    }
    for text in [brief, found, checked] {
        for advice in ["reanchor", "retract", "ask a person"] {
            assert!(!text.contains(advice), "{text}");
        }
    }
}

#[test]
fn another_function_of_the_same_file_may_change() {
    let (env, id) = repository_with_anchored_lesson();
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("ledger.total = 0", "ledger.total = 1"),
    );
    assert_eq!(verify_json(&env, &[])["findings"], Value::Array(Vec::new()));
    env.wait_days(300);
    assert!(
        (freshness(&env, &id) - 1.0).abs() < 1e-9,
        "time is no change"
    );
}

#[test]
fn code_that_moved_is_followed_and_the_move_is_written_down() {
    let (env, id) = repository_with_anchored_lesson();
    let moved = PAY_SOURCE.replace("charge", "take_money");
    let _ = env.git(["rm", "-q", "src/pay.rs"]);
    env.write("src/money.rs", &moved);
    let _ = env.git(["add", "-A"]);
    let before = verify_json(&env, &["--base", "HEAD"]);
    assert_eq!(entry_ids(&before["moved"]), [id.as_str()]);
    assert_eq!(env.run(["log", &id]).stdout.matches("entry.").count(), 0);
    let _ = env.run(["verify"]).success();
    assert!(!env.run(["log", &id]).stdout.contains("reanchored"));
    let _ = env.run(["sync"]).success();
    let shown = env.run(["show", &id]).success().stdout;
    assert!(shown.contains("src/money.rs#Ledger::take_money"), "{shown}");
    assert_eq!(entry_ids(&verify_json(&env, &[])["moved"]), [""; 0]);
    assert!(env.run(["log", &id]).stdout.contains("reanchored"));
}

#[test]
fn a_renamed_function_that_calls_itself_is_followed() {
    let env = repository_with_ledger();
    let source = "\
def scrub_list(items):
    for item in items:
        scrub_dict(item)

def scrub_dict(d):
    for key, value in d.items():
        if key in DENYLIST:
            d[key] = None
        elif isinstance(value, dict):
            scrub_dict(value)
";
    env.write("scrub.py", source);
    let id = add_lesson_with(
        &env,
        "Nested values are scrubbed too.",
        &["--anchor", "scrub.py#scrub_dict"],
    );
    commit_all(&env, "scrub");
    env.write("scrub.py", &source.replace("scrub_dict", "scrub_mapping"));
    let found = verify_json(&env, &[]);
    assert_eq!(entry_ids(&found["moved"]), [id.as_str()], "{found}");
    let why = &found["moved"][0]["anchors"][0]["why"];
    assert_eq!(why, "renamed to scrub.py#scrub_mapping");
}

#[test]
fn a_risk_tier_does_not_become_false_when_its_code_changes() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let detail = r#"{"check":{"kind":"risk-tier","tier":"high","paths":["src/**"],"reviewers":2}}"#;
    let args = [
        "add",
        "--kind",
        "risk-tier",
        "--cite",
        "pr:9",
        "--detail",
        detail,
    ];
    let tier = [
        "--statement",
        "Payments are high risk.",
        "--anchor",
        "src/pay.rs#Ledger",
    ];
    let _ = env.run(args.into_iter().chain(tier)).success();
    commit_all(&env, "tier");
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("total: u64", "total: u128"),
    );
    let found = verify_json(&env, &[]);
    assert_eq!(
        (&found["passes"], found["findings"].to_string()),
        (&true.into(), "[]".to_owned())
    );
    env.write("src/pay.rs", "");
    assert_eq!(
        verify_json(&env, &[])["passes"],
        false,
        "gone code still fails"
    );
}

#[test]
fn an_anchor_can_be_replaced() {
    let (env, id) = repository_with_anchored_lesson();
    env.write(
        "src/pay.rs",
        &PAY_SOURCE
            .replace("fn charge(", "fn charge_once(")
            .replace("+=", "-="),
    );
    let found = env.run(["verify", "-q"]);
    let fix = format!("(run `ken entry reanchor {id} --to ANCHOR` or `ken retract {id}`)");
    assert!(found.stdout.contains(&fix), "{found}");
    let to = "src/pay.rs#Ledger::charge_once";
    let _ = env.run(["entry", "reanchor", &id, "--to", to]).success();
    let shown = env.run(["show", &id]).success();
    assert!(
        shown.stdout.contains(to) && !shown.stdout.contains("#Ledger::charge\n"),
        "{shown}"
    );
    assert!(env.run(["verify", "-q"]).success().stdout.is_empty());
}

#[test]
fn a_base_needs_git_and_its_history() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["verify", "--base", "main"]), @"
    exit: 2
    ----- stderr -----
    error: not a git repository: --base needs one
    ");
    let env = repository_with_ledger();
    env.write(".git/shallow", "");
    let run = env.run(["verify", "--base", "gone"]);
    assert!(run.stderr.contains("set `fetch-depth: 0` in CI"), "{run}");
}

#[test]
fn an_annotation_names_only_files_and_the_whole_claim() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let claim = "A retried payment is charged once because its key is kept, and the key is kept for a \
        day because the bank repeats a request for as long as a day. It never repeats it later.";
    let _ = add_lesson_with(&env, claim, &["--anchor", "src/pay.rs#refund"]);
    let norm = add_norm(&env, "Sign every tag.", "src/pay.rs");
    commit_all(&env, "lesson");
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("ledger.total = 0", "ledger.total = 1"),
    );
    env.wait_days(91);
    let github = env.run(["verify", "--format", "github"]).stdout;
    let claim: Vec<&str> = claim.trim_end_matches('.').split_whitespace().collect();
    assert!(github.contains(&claim.join(" ")), "{github}");
    let stale = format!("::warning title=knowledge.staleness::{norm}: this norm");
    assert!(github.contains(&stale), "{github}");
    let sarif = env.run(["verify", "--format", "sarif"]).stdout;
    assert!(
        sarif.contains(&claim.join(" ")) && sarif.contains("\".ken/VERSION\""),
        "{sarif}"
    );
}

#[test]
fn gone_code_breaks_an_entry_and_a_norm_that_breaks_fails_the_gate() {
    let (env, id) = repository_with_anchored_lesson();
    let norm = add_norm(&env, "Refunds are tested.", "src/pay.rs#refund");
    commit_all(&env, "a norm");
    env.write("src/pay.rs", "pub struct Ledger;\n");
    let found = verify_json(&env, &["--base", "HEAD"]);
    assert_eq!(found["passes"], false);
    let mut invalid = entry_ids(&found["invalid"]);
    invalid.sort_unstable();
    let mut wanted = [id.as_str(), norm.as_str()];
    wanted.sort_unstable();
    assert_eq!(invalid, wanted);
    assert_eq!(found["norms"], Value::from([norm.clone()].to_vec()));
    let levels: Vec<&str> = found["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|it| it["level"].as_str())
        .collect();
    assert_eq!(levels.iter().filter(|it| **it == "error").count(), 1);
    // The configuration of the base decides, not the one in the change.
    env.write(
        ".ken/config.toml",
        "schema = \"ken.config.v1\"\n[verify]\nfail_on = \"nothing\"\n",
    );
    assert_eq!(verify_json(&env, &["--base", "HEAD"])["passes"], false);
    commit_all(&env, "gone");
    assert_eq!(verify_json(&env, &["--base", "HEAD~1"])["passes"], false);
    assert_eq!(
        verify_json(&env, &["--base", "HEAD"])["invalid"],
        Value::Array(Vec::new())
    );
}

#[test]
fn a_commit_is_checked_without_a_checkout_and_no_file_is_parsed_twice() {
    let (env, id) = repository_with_anchored_lesson();
    for n in 0..5 {
        env.write(
            &format!("src/other{n}.rs"),
            &format!("pub fn f{n}() -> u8 {{ {n} }}\n"),
        );
    }
    commit_all(&env, "others");
    env.write("src/pay.rs", &PAY_SOURCE.replace("true", "false"));
    commit_all(&env, "changed");
    let _ = env.git(["checkout", "-q", "HEAD~1"]);
    let args = ["--base", "HEAD", "--head", "HEAD@{1}"];
    let found = verify_json(&env, &args);
    assert_eq!(entry_ids(&found["invalid"]), [id.as_str()]);
    assert!(
        found["invalid"][0]["anchors"][0]["diff"]
            .as_str()
            .expect("a diff")
            .contains("+        false")
    );
    assert_eq!(found["parsed"], 1, "only what the change touches");
    assert_eq!(verify_json(&env, &args)["parsed"], 0);
}

#[test]
fn what_was_wrong_before_is_not_blamed_on_a_change() {
    let (env, id) = repository_with_anchored_lesson();
    env.write("src/pay.rs", &PAY_SOURCE.replace("true", "false"));
    commit_all(&env, "changed");
    env.write("src/pay.rs", &PAY_SOURCE.replace("true", "!!false"));
    let found = verify_json(&env, &["--base", "HEAD"]);
    assert_eq!(
        (
            entry_ids(&found["invalid"]),
            entry_ids(&found["invalid_before"])
        ),
        (Vec::new(), vec![id.as_str()])
    );
}

#[test]
fn a_condition_breaks_when_a_change_touches_what_it_is_about() {
    let env = repository_with_ledger();
    env.write(
        "Cargo.toml",
        "[package]\nname = \"shop\"\nedition = \"2024\"\n",
    );
    write_pay_source(&env);
    let on = ["--depends-on", "config:Cargo.toml#package.edition=2024"];
    let id = add_lesson_with(&env, "Let chains are allowed.", &on);
    let not = ["--depends-on", "not text:src/**/*.rs~unsafe"];
    let other = add_lesson_with(&env, "A payment needs no unsafe code.", &not);
    commit_all(&env, "know");
    env.write("README.md", "A shop.\n");
    assert_eq!(verify_json(&env, &["--base", "HEAD"])["checked"], 0);
    env.write(
        "Cargo.toml",
        "[package]\nname = \"shop\"\nedition = \"2021\"\n",
    );
    let found = verify_json(&env, &["--base", "HEAD"]);
    assert_eq!(entry_ids(&found["invalid"]), [id.as_str()]);
    assert_eq!(found["findings"][0]["at"], "Cargo.toml");
    env.write("src/raw.rs", "unsafe fn f() {}\n");
    let found = verify_json(&env, &["--base", "HEAD"]);
    assert_eq!(found["invalid_before"], Value::Array(Vec::new()));
    assert_eq!(entry_ids(&found["invalid"]).len(), 2);
    let found = verify_json(&env, &[]);
    let mut both = entry_ids(&found["invalid"]);
    both.sort_unstable();
    let mut wanted = [id.as_str(), other.as_str()];
    wanted.sort_unstable();
    assert_eq!(both, wanted);
}

#[test]
fn a_fact_is_declared_in_the_configuration() {
    let env = repository_with_ledger();
    env.write(
        ".ken/config.toml",
        "schema = \"ken.config.v1\"\nfacts = [\"monorepo\"]\n",
    );
    let id = add_lesson_with(
        &env,
        "Tags carry a package's name.",
        &["--depends-on", "fact:monorepo"],
    );
    commit_all(&env, "know");
    assert_eq!(entry_ids(&verify_json(&env, &[])["invalid"]), [""; 0]);
    env.write(".ken/config.toml", "schema = \"ken.config.v1\"\n");
    assert_eq!(entry_ids(&verify_json(&env, &[])["invalid"]), [id.as_str()]);
}

#[test]
fn somebody_looks_and_says_that_the_claim_still_stands() {
    let (env, id) = repository_with_anchored_lesson();
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("total += amount", "total += amount.max(1)"),
    );
    insta::assert_snapshot!(env.run(["entry", "reanchor", &id]), @"
    exit: 1
    ----- stdout -----
    L-205zr7j2  A retried payment is charged once because its key is kept.
      src/pay.rs#Ledger::charge (line 7): changed
                     return false;
                 }
        -        self.total += amount;
        +        self.total += amount.max(1);
                 true
             }
    ----- stderr -----
    hint: run `ken entry reanchor ID --keep --cite TYPE:REF` if the claim still holds, `ken entry reanchor ID --to PATH#SYMBOL` if the code moved, otherwise `ken edit ID --statement TEXT` or `ken retract ID`
    ");
    let confirmed =
        env.run(["show", &id, "--format", "json"]).json()["confirmation"]["last"].clone();
    env.wait_days(3);
    let _ = env
        .run([
            "entry",
            "reanchor",
            &id,
            "--keep",
            "--cite",
            "test:pay_once",
        ])
        .success();
    assert_eq!(entry_ids(&verify_json(&env, &[])["invalid"]), [""; 0]);
    let shown = env.run(["show", &id, "--format", "json"]).json();
    assert_eq!(
        shown["confirmation"]["last"], confirmed,
        "verifying confirms nothing"
    );
    assert_eq!(shown["citations"].as_array().expect("citations").len(), 2);
    insta::assert_snapshot!(env.run(["entry", "reanchor"]), @"
    exit: 0
    ----- stdout -----
    Nothing to decide: no anchored code changed.
    ");
}

#[test]
fn anchors_written_by_hand_get_their_fingerprints_as_an_event() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let id = add_lesson_with(&env, STATEMENT, &[]);
    let file = env
        .names(".ken/entries")
        .into_iter()
        .find(|it| it.contains(&id))
        .expect("a file");
    let path = format!(".ken/entries/{file}");
    let text = env.read(&path);
    let text = text.replacen(
        STATEMENT,
        &format!("{STATEMENT}\n\nEvidence:\n\n- `src/pay.rs#refund`"),
        1,
    );
    env.write(&path, &text);
    let found = verify_json(&env, &[]);
    assert_eq!(entry_ids(&found["unverifiable"]), [id.as_str()], "{found}");
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    note: human:ada@example.org edited L-205zr7j2 in its file
    recorded 1 hand edit; entry files are up to date
    fingerprinted the anchors of 1 entry
    ");
    assert_eq!(entry_ids(&verify_json(&env, &[])["unverifiable"]), [""; 0]);
}

#[test]
fn an_entry_whose_file_is_gone_needs_review() {
    let (env, id) = repository_with_anchored_lesson();
    insta::assert_snapshot!(env.run(["health", "drift"]), @"
    exit: 0
    ----- stdout -----
    No drift found.
    ");
    let _ = env.git(["rm", "-q", "src/pay.rs"]);
    let found = env
        .run(["health", "drift", "--format", "json"])
        .success()
        .json();
    let finding = &found["findings"][0];
    assert_eq!(
        (
            finding["signal"].as_str(),
            finding["recommendation"].as_str()
        ),
        (Some("orphaned"), Some("needs_review"))
    );
    assert_eq!(finding["entries"][0], id.as_str());
    insta::assert_snapshot!(env.run(["health", "drift"]), @"
    exit: 0
    ----- stdout -----
    GROUP     DRIFT     ACTION        ENTRIES
    learning  orphaned  needs review  L-205zr7j2
    ----- stderr -----
    hint: `ken archive --older-than DAYS` archives old entries; `ken entry reanchor` reviews entries whose code changed; `ken health contradictions` shows the pairs
    ");
}

#[test]
fn the_gate_answers_in_the_words_of_a_build_and_a_pull_request() {
    let (env, _) = repository_with_anchored_lesson();
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("return false", "return true"),
    );
    let _ = add_lesson_with(
        &env,
        "Refunds *empty* the [ledger](x).",
        &["--anchor", "src/pay.rs#refund"],
    );
    insta::assert_snapshot!(env.run(["verify", "--base", "HEAD", "--format", "github"]), @"
    exit: 0
    ----- stdout -----
    ::warning file=src/pay.rs,line=7,title=knowledge.validity::`src/pay.rs#Ledger::charge` changed; L-205zr7j2 depends on it: A retried payment is charged once because its key is kept (run `ken entry reanchor L-205zr7j2`)
    ");
    insta::assert_snapshot!(env.run(["verify", "--base", "HEAD", "--format", "markdown"]), @r"
    exit: 0
    ----- stdout -----
    ## Knowledge: passes

    ### Findings

    - warning: `src/pay.rs#Ledger::charge` changed; L-205zr7j2 depends on it: A retried payment is charged once because its key is kept (run `ken entry reanchor L-205zr7j2`) (`src/pay.rs:7`)

    `src/pay.rs#Ledger::charge`

    ```diff
     pub fn charge(&mut self, amount: u64, key: &str) -> bool {
             if self.seen(key) {
    -            return false;
    +            return true;
             }
             self.total += amount;
    ```

    ### Changes to the ledger

    - adds L-h9xr3ac9: Refunds \*empty\* the \[ledger\](x).
    ");
    insta::assert_snapshot!(env.run(["list", "--format", "sarif"]), @"
    exit: 2
    ----- stderr -----
    error: this command prints text or JSON; `ken verify` also supports sarif, github and markdown, `ken audit` and `ken ledger export` support markdown
    ");
}

#[test]
fn a_bare_repository_is_checked_from_its_commits_alone() {
    let (env, id) = repository_with_anchored_lesson();
    env.write("src/pay.rs", &PAY_SOURCE.replace("true", "false"));
    commit_all(&env, "changed");
    let root = env.root();
    let bare = root.join("../bare.git");
    let bare = bare.to_str().expect("a path");
    let _ = env.git(["clone", "-q", "--bare", ".", bare]);
    let args = [
        "-C", bare, "verify", "--base", "HEAD~1", "--head", "HEAD", "--format", "json",
    ];
    let found = env.run(args).success().json();
    assert_eq!(entry_ids(&found["invalid"]), [id.as_str()]);
    assert!(found["invalid"][0]["anchors"][0]["diff"].is_string());
}

#[test]
fn anchors_follow_a_renamed_file() {
    let (env, symbol) = repository_with_anchored_lesson();
    let file = add_lesson_with(
        &env,
        "The file has the ledger.",
        &["--anchor", "src/pay.rs"],
    );
    let lines = add_lesson_with(&env, "The head is short.", &["--anchor", "src/pay.rs:1-2"]);
    commit_all(&env, "lessons");
    let _ = env.git(["mv", "src/pay.rs", "src/till.rs"]);
    commit_all(&env, "move");
    let _ = env.git(["mv", "src/till.rs", "src/desk.rs"]);
    let synced = env.run(["sync"]).success();
    assert!(
        synced.stderr.contains("3 entries whose code moved"),
        "{synced}"
    );
    for id in [symbol, file, lines] {
        let shown = env.run(["show", &id]).success();
        assert!(shown.stdout.contains("src/desk.rs"), "{shown}");
    }
    let verified = env.run(["verify"]).success();
    assert!(verified.stdout.contains("0 findings"), "{verified}");
}

#[test]
fn an_anchor_of_a_whole_file_says_that_the_file_exists() {
    let (env, _) = repository_with_anchored_lesson();
    let id = add_lesson_with(&env, "The till has a drawer.", &["--anchor", "src/pay.rs"]);
    env.write("src/pay.rs", "x\n");
    let found = env.run(["search", "till drawer"]).success();
    assert!(found.stdout.contains("✓ file exists"), "{found}");
    let shown = env.run(["show", &id, "--explain"]).success();
    assert!(shown.stdout.contains("the file exists"), "{shown}");
}
