//! Norms that the commit history follows, with their frequency.

use ken_core::values::kind::EntryKind;
use ken_ledger::LedgerLocation;
use ken_ledger::git::GitRunner;

use super::inbox::InboxClaim;
use crate::error::EngineError;

/// Number of commits examined, newest first.
const COMMITS_MAX: usize = 500;

/// Minimum number of commits; with fewer, a habit may be chance.
const COMMITS_MIN: usize = 20;

/// Minimum percentage of commits that follow a habit to make it a norm.
const PERCENT_MIN: usize = 80;

/// Maximum length of a subject that most hosts show in full.
const SUBJECT_CHARS: usize = 72;

/// Commit message and changed files.
struct HistoryCommit {
    subject: String,
    body: String,
    files: Vec<String>,
}

/// Habit that a commit follows or breaks; the check returns `None` if it does not apply.
struct CommitHabit {
    statement: &'static str,
    kind: EntryKind,
    check: fn(&HistoryCommit) -> Option<bool>,
}

/// Habits to look for.
const HABITS: [CommitHabit; 5] = [
    CommitHabit {
        statement: "Commit subjects follow Conventional Commits: `type(scope): what changed`",
        kind: EntryKind::CommitNorm,
        check: |it| Some(is_conventional(&it.subject)),
    },
    CommitHabit {
        statement: "Commit subjects have at most 72 characters",
        kind: EntryKind::CommitNorm,
        check: |it| Some(it.subject.chars().count() <= SUBJECT_CHARS),
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
        statement: "Changes land through pull requests: the subject ends with their number, `(#123)`",
        kind: EntryKind::PrExpectation,
        check: |it| Some(ends_with_number(&it.subject)),
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

/// Returns the norms that the current branch follows.
pub(super) fn observed_norms(place: &LedgerLocation) -> Result<Vec<InboxClaim>, EngineError> {
    let Some(dirs) = &place.git else {
        return Err(EngineError::Usage(
            "this folder has no commit history: it is not in a git repository".to_owned(),
        ));
    };
    let git = GitRunner::new(&place.root, dirs);
    let commits = load_commits(&git);
    if commits.len() < COMMITS_MIN {
        return Ok(Vec::new());
    }
    let head = crate::git::head_commit(place).unwrap_or_default();
    let kept = HABITS
        .iter()
        .filter_map(|habit| norm_from_habit(habit, &commits, &head));
    Ok(kept.collect())
}

/// Returns a norm if enough of the commits follow a habit.
fn norm_from_habit(
    habit: &CommitHabit,
    commits: &[HistoryCommit],
    head: &str,
) -> Option<InboxClaim> {
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
            "history",
            format!("commit:{head}"),
        );
        staged.statement = statement;
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

/// Returns true if a subject ends with a pull request number.
fn ends_with_number(subject: &str) -> bool {
    let number = subject
        .trim_end()
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once("(#"));
    number
        .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Loads the last commits; none if git fails.
fn load_commits(git: &GitRunner) -> Vec<HistoryCommit> {
    let count = COMMITS_MAX.to_string();
    // Bodies contain newlines, so control characters separate the fields.
    let out = git.output(&[
        "log",
        // Merge commits have generated subjects.
        "--no-merges",
        "--format=%x01%s%x02%b%x02",
        "--name-only",
        "-n",
        &count,
    ]);
    let Ok(out) = out else { return Vec::new() };
    let text = String::from_utf8_lossy(&out);
    let commits = text.split('\u{1}').skip(1).filter_map(|commit| {
        let mut parts = commit.splitn(3, '\u{2}');
        Some(HistoryCommit {
            subject: parts.next()?.to_owned(),
            body: parts.next()?.to_owned(),
            files: parts
                .next()?
                .lines()
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    });
    commits.collect()
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
        assert!(ends_with_number("Add it (#12)"));
        assert!(!ends_with_number("Add it (#x)") && !ends_with_number("Add it"));
    }
}
