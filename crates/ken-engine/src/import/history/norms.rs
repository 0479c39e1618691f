//! Norms that the commit history follows, with their frequency.

use ken_core::values::kind::EntryKind;
use ken_digest::commit::HistoryRule;

use super::{ID_SOURCE, cite_commit};
use crate::git::LoggedCommit;
use crate::import::inbox::InboxClaim;

/// Number of commits examined, newest first.
const COMMITS_MAX: usize = 500;

/// Minimum number of commits; with fewer, a habit may be chance.
const COMMITS_MIN: usize = 20;

/// Minimum percentage of commits that follow a habit to make it a norm.
const PERCENT_MIN: usize = 80;

/// Habit that a commit follows or breaks; the check returns `None` if it does not apply.
struct CommitHabit {
    statement: &'static str,
    kind: EntryKind,
    check: fn(&LoggedCommit) -> Option<bool>,
}

/// Habits to look for: choices of the project, not defaults of git or of a host.
const HABITS: [CommitHabit; 3] = [
    CommitHabit {
        statement: "Commit subjects follow Conventional Commits: `type(scope): what changed`",
        kind: EntryKind::CommitNorm,
        check: |it| Some(is_conventional(&it.subject)),
    },
    CommitHabit {
        statement: "Commits carry a `Signed-off-by` line",
        kind: EntryKind::CommitNorm,
        check: |commit| {
            Some(
                commit
                    .body
                    .lines()
                    .any(|line| line.starts_with("Signed-off-by: ")),
            )
        },
    },
    CommitHabit {
        statement: "A change of code comes with a change of its tests",
        kind: EntryKind::UserExpectation,
        check: |commit| {
            // Whole parts of a path only, so that `latest` does not count as a test.
            let is_test = |path: &String| {
                path.to_lowercase()
                    .split(['/', '.', '_', '-'])
                    .any(|part| matches!(part, "test" | "tests" | "spec" | "specs"))
            };
            let is_code =
                |path: &String| ken_anchor::Language::of(path).is_some() && !path.ends_with(".md");
            let changes_code = commit
                .files
                .iter()
                .any(|path| is_code(path) && !is_test(path));
            changes_code.then(|| commit.files.iter().any(is_test))
        },
    },
];

/// Types of Conventional Commits.
const COMMIT_TYPES: [&str; 12] = [
    "feat", "fix", "docs", "style", "refactor", "perf", "test", "tests", "build", "ci", "chore",
    "revert",
];

/// Returns the norms that the newest commits follow.
pub(super) fn observed_norms(commits: &[LoggedCommit]) -> Vec<InboxClaim> {
    let newest = &commits[..commits.len().min(COMMITS_MAX)];
    if newest.len() < COMMITS_MIN {
        return Vec::new();
    }
    let kept = HABITS
        .iter()
        .filter_map(|habit| norm_from_habit(habit, newest));
    kept.collect()
}

/// Returns a norm if enough of the commits follow a habit.
fn norm_from_habit(habit: &CommitHabit, commits: &[LoggedCommit]) -> Option<InboxClaim> {
    let answers: Vec<bool> = commits.iter().filter_map(habit.check).collect();
    let kept = answers.iter().filter(|it| **it).count();
    let is_kept = answers.len() >= COMMITS_MIN && kept * 100 >= answers.len() * PERCENT_MIN;
    is_kept.then(|| {
        let statement = format!(
            "{} ({kept} of the last {} commits do).",
            habit.statement,
            answers.len()
        );
        // The id is derived from the statement without the count: the next commit changes the
        // count, and the norm would enter the inbox again.
        let mut staged = InboxClaim::new(
            habit.kind,
            habit.statement.to_owned(),
            ID_SOURCE,
            cite_commit(&commits[0]),
        );
        staged.statement = statement;
        staged.rule = Some(HistoryRule::Norm);
        staged.tags = vec!["git".to_owned()];
        staged
    })
}

/// Returns true if a subject follows Conventional Commits.
fn is_conventional(subject: &str) -> bool {
    let Some((head, rest)) = subject.split_once(": ") else {
        return false;
    };
    let head = head.trim_end_matches('!');
    let name = head.split_once('(').map_or(head, |(name, _)| name);
    // A scope needs both parentheses.
    let closed = head.contains('(') == head.ends_with(')');
    closed && COMMIT_TYPES.contains(&name) && !rest.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_told_apart() {
        for good in ["feat: x", "fix(core)!: y", "chore(a-b): z"] {
            assert!(is_conventional(good), "{good}");
        }
        for bad in ["Fix: x", "feat x", "feat(core: x", "wip: y", "feat: "] {
            assert!(!is_conventional(bad), "{bad}");
        }
    }
}
