//! History of a file: the commit that last changed some lines, and the difference to the base of
//! the current change.

use ken_anchor::FileTree as _;
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use ken_ledger::git::{GitError, GitRunner};

use super::code_version::WorkTree;
use super::file_knowledge::{LineRange, parse_file_path};
use super::range::merge_base_with;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::is_commit_id;

/// Maximum number of lines of a file's diff.
pub const FILE_DIFF_LINES_MAX: usize = 2_000;

/// Maximum number of lines whose last commit is looked up; Git reads the history for each.
pub const BLAMED_LINES_MAX: u32 = 2_000;

/// The last changes of some lines in the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineHistory {
    /// The newest commit among those that changed the lines.
    pub commit: Option<LineCommit>,
    /// Set if a line differs from the last commit.
    pub is_modified: bool,
}

/// A commit that changed lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCommit {
    /// The full commit id.
    pub id: String,
    pub author: Actor,
    pub at: Timestamp,
    /// The first line of the message.
    pub summary: String,
}

/// The difference of one file between the base of the change and the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    pub path: String,
    /// The full id of the merge base.
    pub base: String,
    pub hunks: Vec<DiffHunk>,
    /// Set if the diff has more than [`FILE_DIFF_LINES_MAX`] lines.
    pub is_cut: bool,
}

/// Lines of a diff that are next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk {
    /// First line in the old and in the new version, counted from 1; 0 for a version without lines.
    pub old_first: u32,
    pub new_first: u32,
    pub lines: Vec<DiffLine>,
}

/// One line of a diff, without its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffLine {
    Context(String),
    Removed(String),
    Added(String),
}

/// Returns the last changes of lines of a file in the work tree. Without git, or for a file that is
/// not committed yet, no commit is known.
pub(crate) fn line_history(
    engine: &Engine,
    path: &str,
    lines: LineRange,
) -> Result<LineHistory, EngineError> {
    let path = parse_file_path(path)?;
    let Some(dirs) = &engine.place.git else {
        return Ok(LineHistory::default());
    };
    let last = lines
        .last
        .min(lines.first.saturating_add(BLAMED_LINES_MAX - 1));
    let range = format!("{},{last}", lines.first);
    let git = GitRunner::new(&engine.place.root, dirs);
    let blame = [
        "blame",
        "--porcelain",
        "--no-textconv",
        "-L",
        &range,
        "--",
        &path,
    ];
    match git.output(&blame) {
        Ok(out) => Ok(parse_blame(&String::from_utf8_lossy(&out))),
        // The file is not committed, or has fewer lines.
        Err(GitError::Failed { .. }) => Ok(LineHistory {
            commit: None,
            is_modified: true,
        }),
        Err(error) => Err(error.into()),
    }
}

/// Parses the output of `git blame --porcelain`. The fields of a commit follow its first line.
fn parse_blame(text: &str) -> LineHistory {
    let mut found = LineHistory::default();
    let mut id = "";
    let (mut mail, mut at, mut summary) = ("", None, "");
    for line in text.lines() {
        // The text of a source line follows a tab, so it cannot be taken for a field.
        if line.starts_with('\t') {
            if id.bytes().all(|byte| byte == b'0') {
                found.is_modified = true;
            } else if let Some(at) = at
                && found.commit.as_ref().is_none_or(|it| it.at < at)
            {
                found.commit = Some(LineCommit {
                    id: id.to_owned(),
                    author: Actor::from_claim(ActorRole::Human, mail),
                    at,
                    summary: summary.to_owned(),
                });
            }
            continue;
        }
        match line.split_once(' ') {
            Some(("author-mail", value)) => {
                mail = value.trim_start_matches('<').trim_end_matches('>');
            }
            Some(("committer-time", value)) => {
                at = value.parse().ok().map(Timestamp::from_seconds);
            }
            Some(("summary", value)) => summary = value,
            Some((word, _)) if is_commit_id(word) => {
                id = word;
                // A commit that was listed before has no fields again.
                at = None;
            }
            Some(_) | None => {}
        }
    }
    found
}

/// Returns the difference of a file between the merge base with `base`, or with the default branch
/// if `None`, and the work tree. A file that git does not track is added as a whole.
pub(crate) fn file_diff(
    engine: &Engine,
    path: &str,
    base: Option<&str>,
) -> Result<FileDiff, EngineError> {
    let path = parse_file_path(path)?;
    let (git, base) = merge_base_with(&engine.place, base)?;
    let args = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--no-color",
        "--unified=3",
        "--end-of-options",
        &base,
        "--",
        &path,
    ];
    let out = git.output(&args)?;
    let mut hunks = parse_hunks(&String::from_utf8_lossy(&out));
    let tree = WorkTree::new(&engine.place)?;
    if out.is_empty() && is_untracked(&git, &path)? && tree.lists_file(&path)? {
        let bytes = tree.read(&path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| DiffLine::Added(line.to_owned()));
        hunks = vec![DiffHunk {
            old_first: 0,
            new_first: 1,
            lines: lines.take(FILE_DIFF_LINES_MAX + 1).collect(),
        }];
    }
    let is_cut = cut_hunks(&mut hunks);
    Ok(FileDiff {
        path,
        base,
        hunks,
        is_cut,
    })
}

fn is_untracked(git: &GitRunner, path: &str) -> Result<bool, EngineError> {
    Ok(git.output(&["ls-files", "-z", "--", path])?.is_empty())
}

/// Drops the lines after the limit; returns whether there were any.
fn cut_hunks(hunks: &mut Vec<DiffHunk>) -> bool {
    let mut room = FILE_DIFF_LINES_MAX;
    let mut is_cut = false;
    for hunk in hunks.iter_mut() {
        is_cut |= hunk.lines.len() > room;
        hunk.lines.truncate(room);
        room -= hunk.lines.len();
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    is_cut
}

/// Parses the hunks of a unified diff of one file.
fn parse_hunks(diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    for line in diff.lines() {
        if let Some(hunk) = parse_hunk_start(line) {
            hunks.push(hunk);
            continue;
        }
        // The lines before the first hunk name the file.
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        hunk.lines.extend(parse_diff_line(line));
    }
    hunks
}

fn parse_diff_line(line: &str) -> Option<DiffLine> {
    let text = |rest: &str| rest.to_owned();
    let context = || line.strip_prefix(' ').map(text).map(DiffLine::Context);
    let removed = || line.strip_prefix('-').map(text).map(DiffLine::Removed);
    let added = || line.strip_prefix('+').map(text).map(DiffLine::Added);
    // `\ No newline at end of file` is none of them.
    context().or_else(removed).or_else(added)
}

/// Parses a header such as `@@ -1,2 +3,4 @@ fn main()`. Source lines begin with a marker, so that
/// none of them is a header.
fn parse_hunk_start(line: &str) -> Option<DiffHunk> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let first = |word: &str, sign: char| -> Option<u32> {
        let range = word.strip_prefix(sign)?;
        range.split(',').next()?.parse().ok()
    };
    Some(DiffHunk {
        old_first: first(words.next()?, '-')?,
        new_first: first(words.next()?, '+')?,
        lines: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lines_are_not_taken_for_headers() {
        let diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@ fn x\n @@ -9,1 +9,1 @@\n--- a\n+++ b\n+\n\\ No newline at end of file\n@@ -9 +10,0 @@\n-z\n";
        let hunks = parse_hunks(diff);
        let wanted = [
            DiffHunk {
                old_first: 1,
                new_first: 1,
                lines: vec![
                    DiffLine::Context("@@ -9,1 +9,1 @@".to_owned()),
                    DiffLine::Removed("-- a".to_owned()),
                    DiffLine::Added("++ b".to_owned()),
                    DiffLine::Added(String::new()),
                ],
            },
            DiffHunk {
                old_first: 9,
                new_first: 10,
                lines: vec![DiffLine::Removed("z".to_owned())],
            },
        ];
        assert_eq!(hunks, wanted);
    }

    #[test]
    fn a_long_diff_is_cut() {
        let hunk = |lines: usize| DiffHunk {
            old_first: 1,
            new_first: 1,
            lines: vec![DiffLine::Context(String::new()); lines],
        };
        for (sizes, left, is_cut) in [
            (vec![FILE_DIFF_LINES_MAX], 1, false),
            (vec![FILE_DIFF_LINES_MAX + 1], 1, true),
            (vec![FILE_DIFF_LINES_MAX, 1], 1, true),
            (vec![], 0, false),
        ] {
            let mut hunks: Vec<DiffHunk> = sizes.iter().map(|it| hunk(*it)).collect();
            assert_eq!(cut_hunks(&mut hunks), is_cut, "{sizes:?}");
            assert_eq!(hunks.len(), left, "{sizes:?}");
        }
    }
}
