//! The guard through the real program: no secret leaves a trace, no attack becomes approved without a person.

mod attacks;
mod canaries;
mod commands;
mod logged;

use ken_testkit::test_env::TestEnv;

/// A repository with a ledger, one file and one entry a person wrote.
fn house() -> (TestEnv, String) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    env.write("src/pay.rs", "pub fn charge() -> bool {\n    true\n}\n");
    let id = env
        .run([
            "add",
            "--kind",
            "learning",
            "--statement",
            "A retried charge needs its key, or the customer pays twice",
            "--anchor",
            "src/pay.rs#charge",
            "--cite",
            "pr:142",
        ])
        .success()
        .line();
    env.git(["add", "-A"]);
    env.git(["commit", "-qm", "What we know"]);
    (env, id)
}

/// Adds an entry a person wrote and returns its id.
fn add(env: &TestEnv, kind: &str, statement: &str) -> String {
    let args = [
        "add",
        "--kind",
        kind,
        "--statement",
        statement,
        "--cite",
        "pr:3",
    ];
    env.run(args).success().line()
}

/// Returns the file of an entry, from the repository's root.
fn file_of(env: &TestEnv, id: &str) -> String {
    let mut names = env.names(".ken/entries").into_iter();
    let name = names
        .find(|it| it.starts_with(id))
        .expect("a file an entry");
    format!(".ken/entries/{name}")
}
