//! Places to start from.

use ken_testkit::test_env::TestEnv;

/// An empty folder outside git.
pub(crate) fn empty() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_ken"))
}

/// A folder outside git that has a ledger.
pub(crate) fn plain() -> TestEnv {
    let env = empty();
    let _ = env.run(["init"]).success();
    env
}

/// A git repository that has a ledger, all of it committed.
pub(crate) fn repository() -> TestEnv {
    let env = empty().in_git();
    let _ = env.run(["init"]).success();
    commit(&env, "ken");
    env
}

/// Commits everything.
pub(crate) fn commit(env: &TestEnv, message: &str) {
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", message]);
}

/// Adds a lesson and returns its id.
pub(crate) fn lesson(env: &TestEnv, statement: &str) -> String {
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        statement,
        "--cite",
        "commit:3fce3b5",
    ];
    env.run(args).success().line()
}
