//! `ken mcp` as agents use it: a child process with JSON lines on stdin and stdout, in both
//! protocol revisions.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

pub(crate) mod client;
mod exposure;
mod hostile;
mod http;
mod parallel;
mod revisions;

use ken_testkit::test_env::TestEnvironment;

/// Statement of the lesson.
const STATEMENT: &str = "A charge of ten euros or more is refused, so callers split it.";
/// The same statement in other words.
const STATEMENT_REPHRASED: &str = "Callers split it, so a charge of ten euros or more is refused.";

/// A repository with code, a lesson about it and a norm, all committed.
struct McpTestEnvironment {
    env: TestEnvironment,
    lesson: String,
    norm: String,
}

fn test_environment() -> McpTestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("src/pay.rs", include_str!("../fixtures/pay.rs"));
    let _ = env.run(["init"]).success();
    let add = |args: &[&str]| env.run(["add"].iter().chain(args)).success().line();
    let lesson = add(&[
        "--kind",
        "learning",
        "--statement",
        STATEMENT,
        "--anchor",
        "src/pay.rs#Ledger::charge",
        "--cite",
        "pr:142",
        "--tag",
        "pay/limits",
    ]);
    let norm = add(&[
        "--kind",
        "commit-norm",
        "--statement",
        "Changes of payments name a ticket.",
        "--anchor",
        "src/pay.rs",
        "--cite",
        "pr:9",
    ]);
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "shop"]);
    McpTestEnvironment { env, lesson, norm }
}
