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

/// Adds a norm about what is anchored and returns its id.
pub(crate) fn norm(env: &TestEnv, statement: &str, anchor: &str) -> String {
    let args = ["add", "--kind", "commit-norm", "--cite", "pr:9"];
    let args = args
        .into_iter()
        .chain(["--anchor", anchor, "--statement", statement]);
    env.run(args).success().line()
}

/// Source code for entries to rest on: `src/pay.rs` with `Ledger::charge`, `refund` and twenty lines.
pub(crate) fn pay(env: &TestEnv) {
    env.write("src/pay.rs", PAY);
}

pub(crate) const PAY: &str = "\
pub struct Ledger {
    total: u64,
}

impl Ledger {
    /// Charges once for each key.
    pub fn charge(&mut self, amount: u64, key: &str) -> bool {
        if self.seen(key) {
            return false;
        }
        self.total += amount;
        true
    }
}

/// Gives everything back.
pub fn refund(ledger: &mut Ledger) -> u64 {
    let total = ledger.total;
    ledger.total = 0;
    total
}
";
