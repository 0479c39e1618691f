//! The gate as a child process: the six named gates, contradictions, and norms that a change must
//! follow.

mod contradictions;
mod norms;
mod six;
mod verdicts;

use ken_testkit::test_env::{CommandRun, TestEnvironment};

/// Returns a git repository with a ledger, all committed.
fn repository_with_ledger() -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    commit_all(&env, "feat: ken");
    env
}

fn commit_all(env: &TestEnvironment, message: &str) {
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", message]);
}

/// Adds an entry as a person and returns its id.
fn add_entry(env: &TestEnvironment, kind: &str, statement: &str) -> String {
    let args = ["add", "--kind", kind, "--cite", "pr:3"];
    let args = args.into_iter().chain(["--statement", statement]);
    env.run(args).success().line()
}

/// Returns the findings of one gate, as printed.
fn gate_findings(run: &CommandRun, gate: &str) -> Vec<String> {
    let mark = format!(" [{gate}]");
    let lines = run.stdout.lines().filter(|it| it.ends_with(&mark));
    lines.map(str::to_owned).collect()
}
