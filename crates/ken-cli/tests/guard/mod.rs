//! The guard as a child process: no secret is stored, and no attack is approved without a person.

mod attacks;
mod canaries;
mod commands;
mod logged;

use ken_testkit::test_env::TestEnvironment;

/// Returns a repository with a ledger, one file and one entry by a person.
fn repository_with_entry() -> (TestEnvironment, String) {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
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

/// Adds an entry as a person and returns its id.
fn add_entry(env: &TestEnvironment, kind: &str, statement: &str) -> String {
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

/// Returns the path of an entry's file, from the repository's root.
fn entry_file(env: &TestEnvironment, id: &str) -> String {
    let mut names = env.names(".ken/entries").into_iter();
    let name = names
        .find(|it| it.starts_with(id))
        .expect("a file an entry");
    format!(".ken/entries/{name}")
}
