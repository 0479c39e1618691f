//! Test environments and helpers shared by the command tests.

use ken_testkit::test_env::TestEnvironment;

/// Returns an empty folder outside git.
pub(crate) fn empty_folder() -> TestEnvironment {
    TestEnvironment::new(env!("CARGO_BIN_EXE_ken"))
}

/// Returns a folder outside git with a ledger.
pub(crate) fn folder_with_ledger() -> TestEnvironment {
    let env = empty_folder();
    let _ = env.run(["init"]).success();
    env
}

/// Returns a git repository with a ledger, all committed.
pub(crate) fn repository_with_ledger() -> TestEnvironment {
    let env = empty_folder().in_git();
    let _ = env.run(["init"]).success();
    commit_all(&env, "ken");
    env
}

/// Commits everything.
pub(crate) fn commit_all(env: &TestEnvironment, message: &str) {
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", message]);
}

/// Adds a lesson and returns its id.
pub(crate) fn add_lesson(env: &TestEnvironment, statement: &str) -> String {
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

/// Adds a norm about `anchor` and returns its id.
pub(crate) fn add_norm(env: &TestEnvironment, statement: &str, anchor: &str) -> String {
    let args = ["add", "--kind", "commit-norm", "--cite", "pr:9"];
    let args = args
        .into_iter()
        .chain(["--anchor", anchor, "--statement", statement]);
    env.run(args).success().line()
}

/// Writes source code to anchor entries to: `src/pay.rs` with `Ledger::charge`, `refund` and twenty
/// lines.
pub(crate) fn write_pay_source(env: &TestEnvironment) {
    env.write("src/pay.rs", PAY_SOURCE);
}

pub(crate) const PAY_SOURCE: &str = "\
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
