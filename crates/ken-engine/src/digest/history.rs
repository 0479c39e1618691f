//! Norms a history keeps without anybody having written them down, with how often it keeps them.

use ken_core::kind::Kind;
use ken_ledger::Place;
use ken_ledger::git::Runner;

use super::staging::Staged;
use crate::error::Error;

/// Commits looked at, newest first.
const COMMITS_MAX: usize = 500;

/// Commits below which a habit is chance.
const COMMITS_MIN: usize = 20;

/// Share of commits, in percent, from which on a habit is a norm.
const SHARE_MIN: usize = 80;

/// Characters a subject fits in on most hosts.
const SUBJECT_CHARS: usize = 72;

/// One commit.
struct Commit {
    subject: String,
    body: String,
    files: Vec<String>,
}

/// Something a commit keeps or does not; `None` where it does not apply.
struct Habit {
    says: &'static str,
    kind: Kind,
    keeps: fn(&Commit) -> Option<bool>,
}

const HABITS: [Habit; 5] = [
    Habit {
        says: "Commit subjects follow Conventional Commits: `type(scope): what changed`",
        kind: Kind::CommitNorm,
        keeps: |it| Some(is_conventional(&it.subject)),
    },
    Habit {
        says: "Commit subjects have at most 72 characters",
        kind: Kind::CommitNorm,
        keeps: |it| Some(it.subject.chars().count() <= SUBJECT_CHARS),
    },
    Habit {
        says: "Commits carry a `Signed-off-by` line",
        kind: Kind::CommitNorm,
        keeps: |it| {
            Some(
                it.body
                    .lines()
                    .any(|line| line.starts_with("Signed-off-by: ")),
            )
        },
    },
    Habit {
        says: "Changes land through pull requests: the subject ends with their number, `(#123)`",
        kind: Kind::PrExpectation,
        keeps: |it| Some(ends_with_number(&it.subject)),
    },
    Habit {
        says: "A change of code comes with a change of its tests",
        kind: Kind::UserExpectation,
        keeps: |it| {
            let is_test = |path: &String| {
                path.to_lowercase()
                    .split(['/', '.', '_', '-'])
                    .any(|part| matches!(part, "test" | "tests" | "spec" | "specs"))
            };
            let is_code =
                |path: &String| ken_anchor::Language::of(path).is_some() && !path.ends_with(".md");
            let changes_code = it.files.iter().any(|path| is_code(path) && !is_test(path));
            changes_code.then(|| it.files.iter().any(is_test))
        },
    },
];

const TYPES: [&str; 12] = [
    "feat", "fix", "docs", "style", "refactor", "perf", "test", "tests", "build", "ci", "chore",
    "revert",
];

/// Returns the norms that the branch in use keeps.
pub(super) fn norms(place: &Place) -> Result<Vec<Staged>, Error> {
    let Some(dirs) = &place.git else {
        return Err(Error::Usage(
            "there is no history here: this folder is not in git".to_owned(),
        ));
    };
    let git = Runner::new(&place.root, dirs);
    let commits = commits(&git);
    if commits.len() < COMMITS_MIN {
        return Ok(Vec::new());
    }
    let head = crate::git::head_commit(place).unwrap_or_default();
    let kept = HABITS
        .iter()
        .filter_map(|habit| norm(habit, &commits, &head));
    Ok(kept.collect())
}

fn norm(habit: &Habit, commits: &[Commit], head: &str) -> Option<Staged> {
    let answers: Vec<bool> = commits.iter().filter_map(habit.keeps).collect();
    let kept = answers.iter().filter(|it| **it).count();
    let is_kept = COMMITS_MIN <= answers.len() && answers.len() * SHARE_MIN <= kept * 100;
    is_kept.then(|| {
        let statement = format!(
            "{} ({kept} of the last {} commits do).",
            habit.says,
            answers.len()
        );
        // The count is evidence, not part of the name: the same norm is not staged again after the next commit.
        let mut staged = Staged::new(
            habit.kind,
            habit.says.to_owned(),
            "history",
            format!("commit:{head}"),
        );
        staged.statement = statement;
        staged.tags = vec!["git".to_owned()];
        staged
    })
}

fn is_conventional(subject: &str) -> bool {
    let Some((head, rest)) = subject.split_once(": ") else {
        return false;
    };
    let head = head.trim_end_matches('!');
    let name = head.split_once('(').map_or(head, |(name, _)| name);
    let closed = head.contains('(') == head.ends_with(')');
    closed && TYPES.contains(&name) && !rest.trim().is_empty()
}

fn ends_with_number(subject: &str) -> bool {
    let number = subject
        .trim_end()
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once("(#"));
    number
        .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn commits(git: &Runner) -> Vec<Commit> {
    let count = COMMITS_MAX.to_string();
    let out = git.output(&[
        "log",
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
        Some(Commit {
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
