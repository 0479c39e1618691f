//! A change as norm checks see it: the lines it adds to each file, and its commits.
//!
//! The `.ken` folder is excluded, because the ledger has gates of its own. All work is bounded.
//! Exceeding a limit is reported, never skipped silently: otherwise a large change could bypass a
//! gate.

use std::collections::BTreeMap;

use ken_anchor::FileTree as _;
use ken_ledger::layout::KEN_DIR;

use super::code_version::CodeVersion;
use super::range::ChangeRange;
use crate::error::EngineError;
use crate::git::split_nul;

/// Maximum number of added lines of a file that is checked.
const FILE_LINES_MAX: u64 = 50_000;
/// Maximum number of added lines that are checked in all files together.
const CHANGE_LINES_MAX: u64 = 500_000;
/// Maximum number of commits whose messages are checked.
pub(super) const COMMITS_MAX: usize = 2_000;
/// Paths per git command line; keeps the command line below the limit of the operating system.
const PATHS_PER_COMMAND: usize = 200;

/// The files a change modifies, and its commits.
#[derive(Debug, Default)]
pub(super) struct CodeChange {
    /// Files by their path after the change.
    pub(super) files: BTreeMap<String, FileChange>,
    pub(super) commits: Vec<ChangeCommit>,
    /// Set if the change has more than [`COMMITS_MAX`] commits.
    pub(super) too_many_commits: bool,
}

/// The line counts of one file in a change.
#[derive(Debug, Default)]
pub(super) struct FileChange {
    pub(super) added: u64,
    pub(super) removed: u64,
    /// Set if both git and the content say that the file is binary; its lines do not count.
    pub(super) binary: bool,
    /// The reason why the file is not checked: it is too large.
    pub(super) skip_reason: Option<String>,
}

/// One commit of a change.
#[derive(Debug)]
pub(super) struct ChangeCommit {
    pub(super) id: String,
    pub(super) author: String,
    pub(super) is_merge: bool,
    pub(super) message: String,
}

/// A line a change adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedLine {
    pub(super) line: u32,
    pub(super) text: String,
}

impl ChangeCommit {
    pub(super) fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the location string of the commit in findings.
    pub(super) fn location(&self) -> String {
        let id = self.id.get(..12).unwrap_or(&self.id);
        format!("commit:{id}")
    }
}

impl CodeChange {
    /// Reads the files and commits of a change from git.
    pub(super) fn read(range: &ChangeRange) -> Result<Self, EngineError> {
        let mut change = Self::default();
        change.read_files(range)?;
        change.read_commits(range)?;
        Ok(change)
    }

    /// Returns the lines added to each of `paths`.
    pub(super) fn added_lines(
        range: &ChangeRange,
        paths: &[&str],
    ) -> Result<BTreeMap<String, Vec<AddedLine>>, EngineError> {
        let mut found = BTreeMap::new();
        for batch in paths.chunks(PATHS_PER_COMMAND) {
            let mut args = vec![
                "diff",
                "-U0",
                // A `binary` attribute in the change would otherwise hide its lines from the check.
                "--text",
                "--no-color",
                "-M",
                "--no-ext-diff",
                "--no-textconv",
            ];
            // User configuration may change the prefixes that `parse_added_lines` strips.
            args.extend(["--src-prefix=a/", "--dst-prefix=b/"]);
            let (from, to) = compared_revisions(range);
            args.extend(["--end-of-options", from]);
            args.extend(to);
            args.push("--");
            args.extend(batch);
            // Git detects a rename only if the pathspecs include both names.
            let old = range
                .renamed
                .iter()
                .filter(|(_, new)| batch.contains(&new.as_str()));
            args.extend(old.map(|(old, _)| old.as_str()));
            let out = range.git.output(&args)?;
            parse_added_lines(&String::from_utf8_lossy(&out), &mut found);
        }
        // The diff lacks untracked files and files whose names git quotes. For those, every line
        // counts as added.
        for path in paths {
            if !found.contains_key(*path) {
                found.insert((*path).to_owned(), all_lines(range, path)?);
            }
        }
        Ok(found)
    }

    fn read_files(&mut self, range: &ChangeRange) -> Result<(), EngineError> {
        let mut args = vec![
            "diff",
            "--numstat",
            "-z",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let (from, to) = compared_revisions(range);
        args.extend(["--end-of-options", from]);
        args.extend(to);
        let out = range.git.output(&args)?;
        let mut records = split_nul(&out);
        while let Some(record) = records.next() {
            let mut parts = record.splitn(3, '\t');
            let (Some(added), Some(removed), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            // For a rename, the path is empty and the old and new name follow as two records.
            let renamed = path.is_empty().then(|| (records.next(), records.next()));
            let new = renamed.and_then(|(_, new)| new);
            let path = new.as_deref().unwrap_or(path);
            let count = |text: &str| text.parse().unwrap_or(0);
            // The change itself may contain attributes that declare any file binary, so the content
            // decides.
            let (added, binary) = match added {
                "-" => count_lines(range, path)?,
                added => (count(added), false),
            };
            self.insert_file(path, added, count(removed), binary);
        }
        // `git diff` skips untracked files of the work tree.
        if let CodeVersion::Work(_) = range.head {
            for path in &range.touched {
                if self.files.contains_key(path) || range.base.read(path)?.is_some() {
                    continue;
                }
                let (added, binary) = count_lines(range, path)?;
                self.insert_file(path, added, 0, binary);
            }
        }
        let mut left = CHANGE_LINES_MAX;
        for file in self.files.values_mut() {
            left = left.saturating_sub(file.added);
            let too_large = file.added > FILE_LINES_MAX || left == 0;
            if too_large && file.skip_reason.is_none() {
                let most = FILE_LINES_MAX;
                file.skip_reason = Some(format!(
                    "it adds {} lines; at most {most} per file and {CHANGE_LINES_MAX} per change are checked",
                    file.added
                ));
            }
        }
        Ok(())
    }

    fn insert_file(&mut self, path: &str, added: u64, removed: u64, binary: bool) {
        if path.starts_with(&format!("{KEN_DIR}/")) {
            return;
        }
        let file = FileChange {
            added,
            removed,
            binary,
            skip_reason: None,
        };
        self.files.insert(path.to_owned(), file);
    }

    fn read_commits(&mut self, range: &ChangeRange) -> Result<(), EngineError> {
        let head = match &range.head {
            CodeVersion::Commit(head) => head.commit.as_str(),
            CodeVersion::Work(_) => "HEAD",
        };
        let span = format!("{}..{head}", range.base.commit);
        // One more than the maximum tells whether the limit was exceeded.
        let limit = format!("--max-count={}", COMMITS_MAX + 1);
        let args = [
            "log",
            "-z",
            &limit,
            "--format=%H%x1f%ae%x1f%P%x1f%B",
            "--end-of-options",
            &span,
            "--",
        ];
        let out = range.git.output(&args)?;
        for record in split_nul(&out) {
            // The message is last, so that a separator inside it stays part of the message.
            let mut parts = record.splitn(4, '\u{1f}').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            let (id, author, parents, message) = (next(), next(), next(), next());
            self.commits.push(ChangeCommit {
                id,
                author,
                is_merge: parents.contains(' '),
                message,
            });
        }
        self.too_many_commits = self.commits.len() > COMMITS_MAX;
        self.commits.truncate(COMMITS_MAX);
        Ok(())
    }
}

/// Returns the two revisions git compares; the second is `None` for the work tree.
fn compared_revisions(range: &ChangeRange) -> (&str, Option<&str>) {
    let to = match &range.head {
        CodeVersion::Commit(head) => Some(head.commit.as_str()),
        CodeVersion::Work(_) => None,
    };
    (&range.base.commit, to)
}

/// Returns the number of lines of a file after the change, and true if the file is binary.
fn count_lines(range: &ChangeRange, path: &str) -> Result<(u64, bool), EngineError> {
    let Some(bytes) = range.head.read(path)? else {
        return Ok((0, false));
    };
    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    // At least 1: a file without a newline still adds a line, and files that add none are skipped.
    Ok((newlines.max(1), bytes.contains(&0)))
}

/// Returns every line of a file as added.
fn all_lines(range: &ChangeRange, path: &str) -> Result<Vec<AddedLine>, EngineError> {
    let bytes = range.head.read(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines = text.lines().zip(1..);
    let added = |(text, line): (&str, u32)| AddedLine {
        line,
        text: text.to_owned(),
    };
    Ok(lines.map(added).collect())
}

/// Parses a diff without context lines into the added lines of each file.
fn parse_added_lines(diff: &str, found: &mut BTreeMap<String, Vec<AddedLine>>) {
    let (mut path, mut line, mut in_hunk) = (None, 0_u32, 0_u32);
    for text in diff.lines() {
        // Counting down the hunk keeps an added line such as `++ b/x` from being read as a header.
        if in_hunk > 0 {
            if let (Some(path), Some(text)) = (&path, text.strip_prefix('+')) {
                let added: &mut Vec<AddedLine> = found.entry(String::clone(path)).or_default();
                added.push(AddedLine {
                    line,
                    text: text.to_owned(),
                });
                line += 1;
                in_hunk -= 1;
            }
            continue;
        }
        if let Some(name) = text.strip_prefix("+++ ") {
            // Git ends a name that contains spaces with a tab.
            path = name
                .strip_prefix("b/")
                .map(|name| name.trim_end_matches('\t').to_owned());
        } else if text.starts_with("@@ ") {
            (line, in_hunk) = parse_hunk_header(text).unwrap_or((0, 0));
        }
    }
}

/// Parses the first line and the number of added lines from a header such as `@@ -1,2 +3,4 @@`.
fn parse_hunk_header(text: &str) -> Option<(u32, u32)> {
    let new = text.split(' ').find_map(|word| word.strip_prefix('+'))?;
    let (first, count) = new.split_once(',').unwrap_or((new, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

/// Returns the name and address of each reviewer in the commit trailers, in lower case.
///
/// Authors of the change do not count as its reviewers.
pub(super) fn reviewers(commits: &[ChangeCommit]) -> Vec<(String, String)> {
    const TRAILERS: [&str; 3] = ["reviewed-by:", "approved-by:", "acked-by:"];
    let authors: Vec<String> = commits.iter().map(|it| it.author.to_lowercase()).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in commits.iter().flat_map(|it| it.message.lines()) {
        let line = line.trim().to_lowercase();
        let Some(who) = TRAILERS.iter().find_map(|it| line.strip_prefix(it)) else {
            continue;
        };
        let (name, address) = who.split_once('<').unwrap_or((who, ""));
        let (name, address) = (
            name.trim().to_owned(),
            address.trim().trim_end_matches('>').to_owned(),
        );
        // The address identifies a reviewer, because one person may appear under several names.
        let known = |reviewer: &(String, String)| {
            if address.is_empty() {
                reviewer.0 == name
            } else {
                reviewer.1 == address
            }
        };
        let is_author = authors.contains(&address) || authors.contains(&name);
        let is_empty = name.is_empty() && address.is_empty();
        if !is_author && !is_empty && !found.iter().any(known) {
            found.push((name, address));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_have_the_numbers_they_have_afterwards() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n-b\n+c\n@@ -9,0 +9,2 @@ fn\n+++ d\n+e\n";
        let mut found = BTreeMap::new();
        parse_added_lines(diff, &mut found);
        let lines: Vec<(u32, &str)> = found["x"]
            .iter()
            .map(|it| (it.line, it.text.as_str()))
            .collect();
        assert_eq!(lines, [(1, "c"), (9, "++ d"), (10, "e")]);
    }

    #[test]
    fn authors_do_not_review_their_own_change() {
        let commit = |author: &str, message: &str| ChangeCommit {
            id: "0".repeat(40),
            author: author.to_owned(),
            is_merge: false,
            message: message.to_owned(),
        };
        let commits = [
            commit(
                "ana@x.org",
                "One\n\nReviewed-by: Ana <ana@x.org>\nReviewed-by: Ben <ben@x.org>",
            ),
            commit(
                "cy@x.org",
                "Two\n\nreviewed-by: Benjamin <BEN@x.org>\nApproved-by: Dee",
            ),
        ];
        let found = reviewers(&commits);
        let names: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(names, ["ben", "dee"]);
    }
}
