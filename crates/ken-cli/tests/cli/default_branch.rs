//! `ken verify --base` without a revision finds the default branch of the repository.

use ken_testkit::test_env::TestEnvironment;

/// Returns a repository with the branch `trunk_name`, an anchored entry, and a branch `work` that
/// changes its code.
fn changed_on_a_branch(trunk_name: &str) -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.git(["checkout", "-q", "-b", trunk_name]);
    env.write("src/pay.rs", "pub fn charge() {}\n");
    let _ = env.run(["init"]).success();
    let claim = "Charging twice is safe because of the key";
    let anchor = ["--anchor", "src/pay.rs#charge", "--cite", "pr:1"];
    let _ = env.run(["add", claim].iter().chain(&anchor)).success();
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "feat: charge"]);
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    env.write("src/pay.rs", "pub fn charge(key: u64) { drop(key) }\n");
    let _ = env.git(["commit", "-q", "-am", "feat: keys"]);
    env
}

/// Returns the number of entries that the change invalidates.
fn invalidated(env: &TestEnvironment) -> usize {
    let run = env.run(["verify", "--base", "--format", "json"]).success();
    run.json()["invalid"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_change_is_compared_with_the_branch_there_is() {
    for name in ["main", "master"] {
        let env = changed_on_a_branch(name);
        // A wish for new repositories does not count if the branch does not exist.
        let _ = env.git(["config", "init.defaultBranch", "trunk"]);
        assert_eq!(invalidated(&env), 1, "{name}");
    }
    let env = changed_on_a_branch("stable");
    let _ = env.git(["config", "init.defaultBranch", "stable"]);
    assert_eq!(invalidated(&env), 1);
}

#[test]
fn the_default_branch_of_the_remote_comes_first() {
    let env = changed_on_a_branch("master");
    let head = env.git(["rev-parse", "HEAD"]);
    let _ = env.git(["update-ref", "refs/remotes/origin/release", head.trim()]);
    let to = "refs/remotes/origin/release";
    let _ = env.git(["symbolic-ref", "refs/remotes/origin/HEAD", to]);
    assert_eq!(invalidated(&env), 0, "the change is released already");
}

#[test]
fn without_any_branch_of_these_names_only_uncommitted_work_is_a_change() {
    let env = changed_on_a_branch("stable");
    assert_eq!(invalidated(&env), 0);
}

#[test]
fn texts_for_agents_name_no_branch() {
    let env = changed_on_a_branch("master");
    let _ = env.run(["setup", "claude", "--yes"]).success();
    for file in ["AGENTS.md", ".claude/skills/ken/SKILL.md"] {
        let text = env.read(file);
        assert!(text.contains("`ken verify --base`"), "{text}");
    }
}
