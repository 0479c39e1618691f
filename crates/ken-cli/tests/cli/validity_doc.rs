//! Every example of `docs/validity.md`: each condition and anchor of its tables is accepted, holds,
//! and breaks.

use std::fs;
use std::path::Path;

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use crate::cli::support::{commit_all, repository_with_ledger};

/// Source code that the document describes; `documents.rs` uses it too.
const CODE: &str = include_str!("../fixtures/pay.rs");
const MANIFEST: &str = "[package]\nname = \"shop\"\nedition = \"2024\"\n";
const LOCKFILE: &str = "version = 4\n\n[[package]]\nname = \"tokio\"\nversion = \"1.43.0\"\n";
const CONFIG: &str = "schema = \"ken.config.v1\"\nfacts = [\"monorepo\"]\n";

/// Returns a repository in which every example holds.
fn repository_with_examples() -> TestEnvironment {
    let env = repository_with_ledger();
    env.write("src/pay.rs", CODE);
    env.write("Cargo.toml", MANIFEST);
    env.write("Cargo.lock", LOCKFILE);
    env.write(".ken/config.toml", CONFIG);
    commit_all(&env, "shop");
    env
}

/// Returns the first cells of the table whose header starts with `head`, without backticks.
fn table_cells(head: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity.md");
    let text = fs::read_to_string(path).expect("docs/validity.md");
    let lines = text.lines().skip_while(|line| !line.starts_with(head));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let cell = |row: &str| {
        let unescaped = row.replace("\\|", "\u{1}");
        let cell = unescaped.split('|').nth(1).expect("a cell");
        cell.trim().trim_matches('`').replace('\u{1}', "|")
    };
    rows.map(cell).collect()
}

fn add_with_flag(
    env: &TestEnvironment,
    flag: &str,
    value: &str,
) -> ken_testkit::test_env::CommandRun {
    let args = ["add", "--kind", "learning", "--cite", "pr:7"];
    let args = args
        .into_iter()
        .chain(["--statement", "So it is.", flag, value]);
    env.run(args)
}

/// Verifies, as CI does.
fn verify_json(env: &TestEnvironment) -> Value {
    env.run(["verify", "--by", "ci:build", "--format", "json"])
        .json()
}

/// Returns the list of `ken verify_json` that contains an entry.
fn verdict_list(env: &TestEnvironment, id: &str) -> Option<&'static str> {
    let found = verify_json(env);
    let is_in = |list: &str| {
        let all = found[list].as_array().into_iter().flatten();
        all.into_iter().any(|it| it["id"] == id)
    };
    let lists = ["invalid", "moved", "unverifiable"];
    lists.into_iter().find(|list| is_in(list))
}

/// Returns the verdict on an entry's only anchor.
fn anchor_verdict(env: &TestEnvironment, id: &str, list: &str) -> Value {
    let found = verify_json(env);
    let all = found[list].as_array().into_iter().flatten();
    let entry = all.into_iter().find(|it| it["id"] == id);
    entry.expect("in the list")["anchors"][0]["verdict"].clone()
}

/// Returns the change that breaks a condition: a file and its new content.
fn breaking_change(condition: &str) -> (&'static str, Option<String>) {
    let replaced = |text: &str, old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        Some(text.replace(old, new))
    };
    match condition {
        "file:src/*.rs" => ("src/pay.rs", None),
        "symbol:src/pay.rs#Ledger::open" => ("src/pay.rs", replaced(CODE, "open", "is_open")),
        r"text:src/**/*.rs~self\.open" => ("src/pay.rs", replaced(CODE, "self.open", "self.shut")),
        "code:rust~self.open()" => ("src/pay.rs", replaced(CODE, "self.open()", "true")),
        "config:Cargo.toml#package.edition=2024" => {
            ("Cargo.toml", replaced(MANIFEST, "2024", "2021"))
        }
        "pkg:cargo/tokio@>=1.40|<2" => ("Cargo.lock", replaced(LOCKFILE, "1.43.0", "1.39.9")),
        "fact:monorepo" => (".ken/config.toml", replaced(CONFIG, "mono", "poly")),
        "not file:build.rs" => ("build.rs", Some("fn main() {}\n".to_owned())),
        other => panic!("docs/validity.md shows `{other}`, and no test breaks it"),
    }
}

#[test]
fn each_condition_of_the_table_is_kept_while_it_holds_and_told_when_it_breaks() {
    let conditions = table_cells("| condition |");
    assert_eq!(conditions.len(), 8);
    for condition in conditions {
        let env = repository_with_examples();
        let id = add_with_flag(&env, "--depends-on", &condition)
            .success()
            .line();
        assert_eq!(verdict_list(&env, &id), None, "{condition} holds");
        match breaking_change(&condition) {
            (path, Some(text)) => env.write(path, &text),
            (path, None) => fs::remove_file(env.root().join(path)).expect("a file"),
        }
        assert_eq!(
            verdict_list(&env, &id),
            Some("invalid"),
            "{condition} breaks"
        );
        assert_ne!(
            add_with_flag(&env, "--depends-on", &condition).exit,
            0,
            "{condition}"
        );
    }
}

#[test]
fn not_goes_before_any_condition_of_the_table() {
    let env = repository_with_examples();
    for condition in table_cells("| condition |") {
        let opposite = match condition.strip_prefix("not ") {
            Some(plain) => plain.to_owned(),
            None => format!("not {condition}"),
        };
        let refused = add_with_flag(&env, "--depends-on", &opposite);
        assert_eq!(refused.exit, 1, "{opposite}: {refused}");
        assert!(refused.stderr.contains("is not met"), "{refused}");
    }
}

#[test]
fn a_symbol_with_a_fingerprint_must_stay_as_it_is() {
    let env = repository_with_examples();
    let id = add_with_flag(&env, "--anchor", "src/pay.rs#Ledger::open")
        .success()
        .line();
    let shown = env.run(["show", &id, "--format", "json"]).json();
    let taken = shown["content"]["evidence"][0]["fingerprint"].as_str();
    let taken = taken.expect("a fingerprint");
    let condition = format!("symbol:src/pay.rs#Ledger::open@{taken}");
    let other = add_with_flag(&env, "--depends-on", &condition)
        .success()
        .line();
    env.write("src/pay.rs", &CODE.replace("!self.closed", "self.closed"));
    assert_eq!(verdict_list(&env, &other), Some("invalid"));
}

#[test]
fn what_cannot_be_read_is_neither_held_nor_broken_and_so_is_its_opposite() {
    let env = repository_with_examples();
    let plain = "pkg:cargo/tokio@>=1.40|<2";
    let id = add_with_flag(&env, "--depends-on", plain).success().line();
    let not = add_with_flag(&env, "--depends-on", "not pkg:cargo/serde@*");
    let not = not.success().line();
    env.write("Cargo.lock", "[[package\n");
    for id in [&id, &not] {
        assert_eq!(verdict_list(&env, id), Some("unverifiable"));
    }
}

#[test]
fn each_anchor_of_the_table_stands_as_long_as_it_says() {
    let anchors = table_cells("| anchor |");
    let [symbol, lines, file] = &anchors[..] else {
        panic!("docs/validity.md shows {anchors:?}");
    };
    let env = repository_with_examples();
    let ids = [symbol, lines, file].map(|at| add_with_flag(&env, "--anchor", at).success().line());
    let folder = add_with_flag(&env, "--anchor", "src").success().line();
    let [on_symbol, on_lines, on_file] = &ids;
    // Changed layout, comments and trailing whitespace; lines move within the file.
    let laid_out = CODE.replace("!self.open() || ", "!self.open()\n            || ");
    let laid_out = laid_out.replace("sends them.\n", "sends  them. \n");
    env.write("src/pay.rs", &format!("use std::fmt;\n\n{laid_out}"));
    let verdicts = ids.each_ref().map(|id| verdict_list(&env, id));
    assert_eq!(verdicts, [None, Some("moved"), None]);
    // Another condition in the symbol, other text in the lines.
    let changed = CODE
        .replace("1_000", "2_000")
        .replace("in cents", "in euros");
    env.write("src/pay.rs", &changed);
    assert_eq!(anchor_verdict(&env, on_symbol, "invalid"), "changed");
    assert_eq!(verdict_list(&env, on_lines), Some("invalid"));
    assert_eq!(
        [on_file, &folder].map(|id| verdict_list(&env, id)),
        [None, None]
    );
    fs::remove_file(env.root().join("src/pay.rs")).expect("a file");
    for id in ids.iter().chain([&folder]) {
        assert_eq!(anchor_verdict(&env, id, "invalid"), "gone");
    }
}

#[test]
fn the_end_of_a_name_is_enough_and_a_number_picks_one_of_several() {
    let env = repository_with_examples();
    let id = add_with_flag(&env, "--anchor", "src/pay.rs#charge")
        .success()
        .line();
    assert_eq!(verdict_list(&env, &id), None);
    let [unix, other] = ["unix", "windows"]
        .map(|it| format!("#[cfg({it})]\nfn charge(a: u64) -> u64 {{ a + 1 }}\n"));
    env.write("src/two.rs", &format!("{unix}{other}"));
    let both = add_with_flag(&env, "--anchor", "src/two.rs#charge")
        .success()
        .line();
    let second = add_with_flag(&env, "--anchor", "src/two.rs#charge[2]")
        .success()
        .line();
    let changed = unix.replace("a + 1", "a + 2");
    env.write("src/two.rs", &format!("{changed}{other}"));
    assert_eq!(verdict_list(&env, &both), Some("invalid"), "it means all");
    assert_eq!(verdict_list(&env, &second), None, "it means the second");
}

#[test]
fn the_four_verdicts_are_those_of_the_table() {
    assert_eq!(
        table_cells("| verdict |"),
        ["intact", "moved", "changed", "gone"]
    );
    let env = repository_with_examples();
    let id = add_with_flag(&env, "--anchor", "src/pay.rs#Ledger::charge");
    let id = id.success().line();
    let _ = env.git(["mv", "src/pay.rs", "src/ledger.rs"]);
    let found = env.run(["verify"]).success();
    assert!(found.stdout.contains("moved"), "{found}");
    let _ = env.run(["sync"]).success();
    let log = env.run(["log", &id]).success().stdout;
    assert!(log.contains("reanchored"), "the move is recorded: {log}");
}

#[test]
fn what_the_document_says_is_not_checked_is_not() {
    let env = repository_with_examples();
    let caller = add_with_flag(&env, "--anchor", "src/pay.rs#Ledger::charge");
    let caller = caller.success().line();
    env.write("src/small.rs", "pub fn tiny() -> u8 { 1 }\n");
    let small = add_with_flag(&env, "--anchor", "src/small.rs#tiny")
        .success()
        .line();
    let callee = CODE.replace("!self.closed", "self.total > 0 && !self.closed");
    env.write("src/pay.rs", &callee);
    assert_eq!(verdict_list(&env, &caller), None, "what it calls changed");
    env.write("src/small.rs", "pub fn other() -> u8 { 1 }\n");
    assert_eq!(
        anchor_verdict(&env, &small, "invalid"),
        "gone",
        "too small to follow"
    );
    let charge = CODE.split("    pub fn charge").nth(1).expect("charge");
    let free = format!("struct Till;\nimpl Till {{\n    pub fn charge{charge}");
    env.write("src/one.rs", &free);
    env.write("src/two.rs", &free);
    env.write("src/pay.rs", "pub struct Ledger;\n");
    assert_eq!(
        anchor_verdict(&env, &caller, "invalid"),
        "gone",
        "found twice"
    );
}
