//! `ken setup` as a child process: plan, install, check, upgrade and remove, for every agent, in a
//! separate repository and home.

mod doctor;
mod hostile;
mod installing;
mod plan;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_testkit::test_env::TestEnvironment;

const AGENTS: [&str; 7] = [
    "claude", "codex", "cursor", "copilot", "gemini", "opencode", "zed",
];

/// Returns a git repository with a ledger, and a PATH without agents.
fn repository_with_ledger() -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken"))
        .in_git()
        .env("PATH", "/usr/bin:/bin");
    let _ = env.run(["init", "--no-agents"]).success();
    env
}

/// Returns every file and folder with its bytes, except those of git and of Ken's local state.
fn read_tree(env: &TestEnvironment) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    read_tree_below(&env.root(), &env.root(), &mut found);
    found
}

fn read_tree_below(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .strip_prefix(root)
            .expect("below")
            .display()
            .to_string();
        if [".git", ".ken/.local", ".ken/.index"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            found.insert(format!("{name}/"), Vec::new());
            read_tree_below(root, &path, found);
        } else {
            found.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}
