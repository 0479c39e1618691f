//! CI integrations of the gate: the GitHub Action, the pre-commit hook, and SARIF output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{
    PAY_SOURCE, add_norm, commit_all, repository_with_ledger, write_pay_source,
};

fn repository_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// Returns a repository whose last change contradicts a norm.
fn repository_with_contradiction() -> TestEnvironment {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let _ = add_norm(&env, "Refunds are tested.", "src/pay.rs#refund");
    commit_all(&env, "a norm");
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("ledger.total = 0", "ledger.total = 1"),
    );
    env
}

/// Runs a script as a CI build does, with this `ken` first on the path.
fn run_script(env: &TestEnvironment, script: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let ken = env.ken();
    let folder = Path::new(env!("CARGO_BIN_EXE_ken"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["-e", "-c", script]).current_dir(env.root());
    command.env_clear();
    command.envs(
        ken.get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    command.env("PATH", format!("{}:{path}", folder.display()));
    command.envs(variables.iter().copied());
    let out = command.output().expect("bash runs");
    (
        out.status.success(),
        String::from_utf8_lossy(&out.stdout).into_owned(),
    )
}

/// Returns the last script of a composite action.
fn last_script(text: &str) -> String {
    let (_, script) = text.rsplit_once("run: |\n").expect("a script");
    let lines = script
        .lines()
        .map(|line| line.strip_prefix("        ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_action_fails_where_a_change_contradicts_a_norm_and_writes_its_summary() {
    let env = repository_with_contradiction();
    commit_all(&env, "a change");
    let script =
        last_script(&fs::read_to_string(repository_path("action.yml")).expect("action.yml"));
    let (summary, sarif) = (env.root().join("../summary"), env.root().join("../sarif"));
    let variables = [
        ("BASE", "HEAD~1"),
        ("FORK", "false"),
        ("KEN_ACTOR", "ci:github"),
        ("GITHUB_STEP_SUMMARY", summary.to_str().expect("a path")),
        ("SARIF", sarif.to_str().expect("a path")),
    ];
    let (passes, said) = run_script(&env, &script, &variables);
    assert!(!passes);
    assert!(said.starts_with("::error file=src/pay.rs,line="), "{said}");
    assert!(
        fs::read_to_string(&summary)
            .expect("a summary")
            .contains("## Knowledge: fails")
    );
    assert!(
        fs::read_to_string(&sarif)
            .expect("findings")
            .contains("knowledge.decisions")
    );
    let _ = env.git(["checkout", "-q", "HEAD~1", "--", "src/pay.rs"]);
    commit_all(&env, "taken back");
    let since = [("BASE", "HEAD~2")];
    let variables = variables.into_iter().filter(|(name, _)| *name != "BASE");
    let variables: Vec<_> = variables.chain(since).collect();
    assert!(run_script(&env, &script, &variables).0);
}

#[test]
fn the_action_checks_a_release_from_the_tag_before_it() {
    let env = repository_with_contradiction();
    let _ = env.git(["tag", "v1"]);
    commit_all(&env, "a change");
    env.write("other.txt", "text");
    commit_all(&env, "another change");
    let script =
        last_script(&fs::read_to_string(repository_path("action.yml")).expect("action.yml"));
    let summary = env.root().join("../summary");
    let variables = |ref_type: &'static str| {
        [
            ("BASE", ""),
            ("FORK", "false"),
            ("KEN_ACTOR", "ci:github"),
            ("GITHUB_REF_TYPE", ref_type),
            ("GITHUB_STEP_SUMMARY", summary.to_str().expect("a path")),
            ("SARIF", ""),
        ]
    };
    assert!(run_script(&env, &script, &variables("branch")).0);
    assert!(!run_script(&env, &script, &variables("tag")).0);
}

#[test]
fn the_hook_stops_a_commit_that_contradicts_a_norm() {
    let env = repository_with_contradiction();
    let text = fs::read_to_string(repository_path(".pre-commit-hooks.yaml")).expect("hooks");
    let entry = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("entry: "));
    assert!(!run_script(&env, entry.expect("an entry"), &[]).0);
}

#[test]
fn sarif_is_what_the_standard_says_and_a_finding_keeps_its_fingerprint() {
    let env = repository_with_contradiction();
    let run = |env: &TestEnvironment| {
        env.run(["verify", "--base", "HEAD", "--format", "sarif"])
            .stdout
    };
    let text = run(&env);
    let read: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect("SARIF");
    let results = read.runs[0].results.as_ref().expect("results");
    assert_eq!(results.len(), 1);
    // A surplus bracket makes one pattern of the published schema an invalid regular expression.
    let schema = official_schema().replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let log = serde_json::from_str(&text).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let wrong: Vec<String> = validator
        .iter_errors(&log)
        .map(|it| it.to_string())
        .collect();
    assert_eq!(wrong, [""; 0]);
    // Two lines inserted above move the finding, but its fingerprint stays.
    let text = env.read("src/pay.rs");
    env.write("src/pay.rs", &format!("// One.\n// Two.\n{text}"));
    let moved: serde_sarif::sarif::Sarif = serde_json::from_str(&run(&env)).expect("SARIF");
    let moved = &moved.runs[0].results.as_ref().expect("results")[0];
    assert_eq!(moved.partial_fingerprints, results[0].partial_fingerprints);
    assert_ne!(moved.locations, results[0].locations);
}

/// Returns the official SARIF schema, as shipped in the `serde_sarif` package.
fn official_schema() -> String {
    let rustc = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let about = String::from_utf8(rustc.stdout).expect("text");
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    // Packages needed only on other platforms are not downloaded.
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(repository_path(""))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|it| it["name"] == "serde-sarif");
    let manifest = package.expect("serde-sarif")["manifest_path"].as_str();
    let folder = Path::new(manifest.expect("a path"))
        .parent()
        .expect("a folder");
    fs::read_to_string(folder.join("src/schema.json")).expect("the schema")
}
