//! The gate through the real program: the six gates by name, contradictions, and norms that a change must keep.

mod contradictions;
mod norms;
mod six;

use ken_testkit::test_env::{Run, TestEnv};

/// A git repository with a ledger, all of it committed.
fn house() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    commit(&env, "feat: ken");
    env
}

fn commit(env: &TestEnv, message: &str) {
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", message]);
}

/// Adds an entry a person wrote and returns its id.
fn add(env: &TestEnv, kind: &str, statement: &str) -> String {
    let args = ["add", "--kind", kind, "--cite", "pr:3"];
    let args = args.into_iter().chain(["--statement", statement]);
    env.run(args).success().line()
}

/// Returns the findings of one gate, as the lines a person reads.
fn told(run: &Run, gate: &str) -> Vec<String> {
    let mark = format!(" [{gate}]");
    let lines = run.stdout.lines().filter(|it| it.ends_with(&mark));
    lines.map(str::to_owned).collect()
}
