//! Steps of work in the calls of an agent's tools: test runs and commits.
//!
//! Only commands that run a test suite and nothing else of note count: a missed test run loses a
//! little evidence, a wrong one would add noise.

use super::{COMMIT_DIGITS, short_commit};

/// Maximum bytes of a command that is looked at; longer ones are scripts.
const COMMAND_BYTES_MAX: usize = 2_000;

/// Maximum words of a part of a command before its program and subcommand.
const WORDS_MAX: usize = 12;

/// Fewest digits of an abbreviated commit id.
pub const COMMIT_DIGITS_MIN: usize = 7;

/// Programs that only run tests.
const TEST_PROGRAMS: &[&str] = &[
    "pytest",
    "py.test",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "rspec",
    "phpunit",
    "ctest",
    "nextest",
    "gotestsum",
    "bats",
    "busted",
    "behave",
];

/// Programs with the subcommands that run tests.
const TEST_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("cargo", &["test", "nextest", "t"]),
    ("go", &["test"]),
    ("npm", &["test", "t"]),
    ("pnpm", &["test", "t"]),
    ("yarn", &["test"]),
    ("bun", &["test"]),
    ("deno", &["test"]),
    ("make", &["test", "check", "tests"]),
    ("just", &["test", "check", "tests"]),
    ("mvn", &["test", "verify"]),
    ("mvnw", &["test", "verify"]),
    ("gradle", &["test", "check"]),
    ("gradlew", &["test", "check"]),
    ("dotnet", &["test"]),
    ("swift", &["test"]),
    ("mix", &["test"]),
    ("rake", &["test", "spec"]),
    ("rails", &["test"]),
    ("bazel", &["test"]),
    ("zig", &["test"]),
    ("sbt", &["test"]),
    ("lein", &["test"]),
    ("composer", &["test"]),
    ("meson", &["test"]),
    ("stack", &["test"]),
    ("cabal", &["test"]),
];

/// Programs whose subcommand `run` runs a script by its name.
const SCRIPT_RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// Words before a program that run it.
const RUNNERS: &[&str] = &[
    "sudo", "time", "nice", "env", "uv", "poetry", "pipenv", "npx", "bundle", "exec", "run",
    "python", "python3", "-m", "-n", "timeout",
];

/// Returns whether a shell command runs tests.
pub fn runs_tests(command: &str) -> bool {
    if command.len() > COMMAND_BYTES_MAX {
        return false;
    }
    let parts = command.split(['\n', ';', '&', '|']);
    parts.into_iter().any(is_test_call)
}

/// Returns whether one simple command runs tests.
fn is_test_call(part: &str) -> bool {
    let mut words = part.split_whitespace().take(WORDS_MAX).skip_while(|word| {
        let is_assignment = word.contains('=') && !word.starts_with('-');
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        is_assignment || is_number || RUNNERS.contains(word)
    });
    let Some(program) = words.next() else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    if TEST_PROGRAMS.contains(&program) {
        return true;
    }
    let known = TEST_SUBCOMMANDS.iter().find(|(name, _)| *name == program);
    // Options and a toolchain may stand before the subcommand (`cargo +nightly test`), and some
    // programs run named scripts (`npm run test`).
    let runs_scripts = SCRIPT_RUNNERS.contains(&program);
    let is_option = |word: &&str| word.starts_with(['-', '+']) || (runs_scripts && *word == "run");
    let subcommand = words.find(|it| !is_option(it));
    let is_test = |word: &str| {
        let plain = word.split(':').next().unwrap_or(word);
        known.is_some_and(|(_, names)| names.contains(&plain))
    };
    subcommand.is_some_and(is_test)
}

/// Returns the id of the commit that a command made, as git prints it: `[main 1a2b3c4] subject`.
pub fn made_commit(command: &str, output: &str) -> Option<String> {
    if command.len() > COMMAND_BYTES_MAX || !command.contains("git") || !command.contains("commit")
    {
        return None;
    }
    output.lines().rev().find_map(|line| {
        let (inside, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
        let id = inside.split_whitespace().next_back()?;
        let is_id = (COMMIT_DIGITS_MIN..=64).contains(&id.len())
            && id.bytes().all(|it| it.is_ascii_hexdigit());
        // `[main 1a2b3c4]` and `[main (root-commit) 1a2b3c4]` name a branch before the id.
        (is_id && inside.contains(' ')).then(|| short_commit(id))
    })
}

/// Returns whether two ids may name the same commit: one begins with the other.
pub fn is_same_commit(one: &str, other: &str) -> bool {
    let digits = one.len().min(other.len()).min(COMMIT_DIGITS);
    digits >= COMMIT_DIGITS_MIN && one.as_bytes()[..digits] == other.as_bytes()[..digits]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_run_tests_are_recognized() {
        for command in [
            "cargo test",
            "cargo +nightly test -p till",
            "cargo nextest run -p till",
            "cd /home/ada/till && cargo test pay 2>&1 | tail -20",
            "RUST_LOG=debug cargo test",
            "uv run pytest -x tests/test_pay.py",
            "python -m pytest",
            "npm test",
            "npm run test:unit",
            "pnpm -r test",
            "./gradlew test",
            "make check",
            "go test ./...",
            "timeout 60 npx jest",
            "node_modules/.bin/vitest",
        ] {
            assert!(runs_tests(command), "{command}");
        }
    }

    #[test]
    fn other_commands_run_no_tests() {
        for command in [
            "",
            "cargo build",
            "cat tests/test_pay.py",
            "git commit -m 'add test'",
            "grep -rn 'cargo test' docs",
            "ls tests",
            "npm install jest",
            "echo pytest",
            "make",
            "cargo run -- test",
        ] {
            assert!(!runs_tests(command), "{command}");
        }
    }

    #[test]
    fn a_commit_is_read_from_what_git_prints() {
        let made = |output: &str| made_commit("git add -A && git commit -m 'Round'", output);
        assert_eq!(
            made("[main 1a2b3c4] Round\n 1 file changed"),
            Some("1a2b3c4".into())
        );
        assert_eq!(
            made("[main (root-commit) 1a2b3c4d5e6f7] Round"),
            Some("1a2b3c4d5e6f".into())
        );
        assert_eq!(
            made("[detached HEAD 1a2b3c4] Round"),
            Some("1a2b3c4".into())
        );
        assert_eq!(made("nothing to commit, working tree clean"), None);
        assert_eq!(made("[warning] deadbeef"), None);
        assert_eq!(made_commit("ls", "[main 1a2b3c4] Round"), None);
    }

    #[test]
    fn short_and_long_ids_name_the_same_commit() {
        assert!(is_same_commit("1a2b3c4", "1a2b3c4d5e6f"));
        assert!(!is_same_commit("1a2b3c4", "1a2b3c5d5e6f"));
        assert!(!is_same_commit("1a2b", "1a2b3c4"));
    }
}
