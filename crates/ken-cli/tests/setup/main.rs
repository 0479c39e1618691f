//! `ken setup` through the real program: plan, writing, checking, upgrading and taking out, for every agent, in a repository of
//! its own with a home of its own.

mod doctor;
mod hostile;
mod installing;
mod plan;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_testkit::test_env::TestEnv;

const AGENTS: [&str; 7] = [
    "claude", "codex", "cursor", "copilot", "gemini", "opencode", "zed",
];

/// A git repository with a ledger, and a PATH without agents.
fn repository() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_ken"))
        .in_git()
        .env("PATH", "/usr/bin:/bin");
    let _ = env.run(["init", "--no-agents"]).success();
    env
}

/// Every file and folder but git's and Ken's own, with its bytes.
fn tree(env: &TestEnv) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    walk(&env.root(), &env.root(), &mut found);
    found
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
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
            walk(root, &path, found);
        } else {
            found.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}
