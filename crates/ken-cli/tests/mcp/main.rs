//! `ken mcp` as agents meet it: a child process, lines in and out, in both revisions of the protocol.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod client;
mod exposure;
mod hostile;
mod http;
mod parallel;
mod revisions;

use ken_testkit::test_env::TestEnv;

/// What the shop knows.
const SPLIT: &str = "A charge of ten euros or more is refused, so callers split it.";
/// The same in other words.
const SPLIT_AGAIN: &str = "Callers split it, so a charge of ten euros or more is refused.";

/// A repository with some code, a lesson about it and a norm, all of it committed.
struct Shop {
    env: TestEnv,
    lesson: String,
    norm: String,
}

fn shop() -> Shop {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("src/pay.rs", include_str!("../fixtures/pay.rs"));
    let _ = env.run(["init"]).success();
    let add = |args: &[&str]| env.run(["add"].iter().chain(args)).success().line();
    let lesson = add(&[
        "--kind",
        "learning",
        "--statement",
        SPLIT,
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
    Shop { env, lesson, norm }
}
