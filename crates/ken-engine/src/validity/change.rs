//! A change as norms see it: which lines it adds to which files, and the commits it consists of.
//!
//! Ken's own folder is left out: the ledger has gates of its own. Everything is bounded; what is beyond a
//! limit is told, never passed over, so that size does not carry anything past a gate.

use std::collections::BTreeMap;

use ken_anchor::Tree as _;
use ken_ledger::layout::KEN_DIR;

use super::range::Range;
use super::tree::{Version, split};
use crate::error::Error;

/// Lines one file may add and still be looked at.
const FILE_LINES_MAX: u64 = 50_000;
/// Lines of all files together that are looked at.
const CHANGE_LINES_MAX: u64 = 500_000;
/// Commits of a change that are looked at.
pub(super) const COMMITS_MAX: usize = 2_000;
/// Paths that are given to git at once.
const PATHS_AT_ONCE: usize = 200;

/// What a change does to files, and its commits.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Files by the name they have after it.
    pub(super) files: BTreeMap<String, FileChange>,
    pub(super) commits: Vec<Commit>,
    /// Whether there are more commits than are looked at.
    pub(super) too_many_commits: bool,
}

/// What a change does to one file.
#[derive(Debug, Default)]
pub(super) struct FileChange {
    pub(super) added: u64,
    pub(super) removed: u64,
    /// No text, as git and its content both say; its lines count for nothing.
    pub(super) binary: bool,
    /// Why it is not looked at: it is too large.
    pub(super) unread: Option<String>,
}

/// One commit.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) author: String,
    pub(super) is_merge: bool,
    pub(super) message: String,
}

/// A line a change adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) line: u32,
    pub(super) text: String,
}

impl Commit {
    pub(super) fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the commit as it is named in a finding.
    pub(super) fn place(&self) -> String {
        let id = self.id.get(..12).unwrap_or(&self.id);
        format!("commit:{id}")
    }
}

impl Change {
    /// Asks git what the change consists of.
    pub(super) fn of(range: &Range) -> Result<Self, Error> {
        let mut change = Self::default();
        change.read_files(range)?;
        change.read_commits(range)?;
        Ok(change)
    }

    /// Returns the lines that files of `paths` gain, by file.
    pub(super) fn added(
        range: &Range,
        paths: &[&str],
    ) -> Result<BTreeMap<String, Vec<Added>>, Error> {
        let mut found = BTreeMap::new();
        for some in paths.chunks(PATHS_AT_ONCE) {
            let mut args = vec![
                "diff",
                "-U0",
                "--text",
                "--no-color",
                "-M",
                "--no-ext-diff",
                "--no-textconv",
            ];
            args.extend(["--src-prefix=a/", "--dst-prefix=b/"]);
            let (from, to) = ends(range);
            args.extend(["--end-of-options", from]);
            args.extend(to);
            args.push("--");
            args.extend(some);
            // Git sees a renaming only where it is asked about both names.
            let old = range
                .renamed
                .iter()
                .filter(|(_, new)| some.contains(&new.as_str()));
            args.extend(old.map(|(old, _)| old.as_str()));
            let out = range.git.output(&args)?;
            parse_added(&String::from_utf8_lossy(&out), &mut found);
        }
        // Files only in the work tree git does not know yet, and names it would quote are not read above: of
        // those every line counts.
        for path in paths {
            if !found.contains_key(*path) {
                found.insert((*path).to_owned(), whole(range, path)?);
            }
        }
        Ok(found)
    }

    fn read_files(&mut self, range: &Range) -> Result<(), Error> {
        let mut args = vec![
            "diff",
            "--numstat",
            "-z",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let (from, to) = ends(range);
        args.extend(["--end-of-options", from]);
        args.extend(to);
        let out = range.git.output(&args)?;
        let mut records = split(&out);
        while let Some(record) = records.next() {
            let mut parts = record.splitn(3, '\t');
            let (Some(added), Some(removed), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            // Of a renaming, both names follow.
            let renamed = path.is_empty().then(|| (records.next(), records.next()));
            let new = renamed.and_then(|(_, new)| new);
            let path = new.as_deref().unwrap_or(path);
            let count = |text: &str| text.parse().unwrap_or(0);
            // Attributes, which a change may bring, call anything binary: what it holds is asked instead.
            let (added, binary) = match added {
                "-" => lines_of(range, path)?,
                added => (count(added), false),
            };
            self.insert(path, added, count(removed), binary);
        }
        if let Version::Work(_) = range.head {
            for path in &range.touched {
                if self.files.contains_key(path) || range.base.read(path)?.is_some() {
                    continue;
                }
                let (added, binary) = lines_of(range, path)?;
                self.insert(path, added, 0, binary);
            }
        }
        let mut left = CHANGE_LINES_MAX;
        for file in self.files.values_mut() {
            left = left.saturating_sub(file.added);
            let too_large = FILE_LINES_MAX < file.added || left == 0;
            if too_large && file.unread.is_none() {
                let most = FILE_LINES_MAX;
                file.unread = Some(format!(
                    "it adds {} lines; at most {most} of a file and {CHANGE_LINES_MAX} of a change are looked at",
                    file.added
                ));
            }
        }
        Ok(())
    }

    fn insert(&mut self, path: &str, added: u64, removed: u64, binary: bool) {
        if path.starts_with(&format!("{KEN_DIR}/")) {
            return;
        }
        let file = FileChange {
            added,
            removed,
            binary,
            unread: None,
        };
        self.files.insert(path.to_owned(), file);
    }

    fn read_commits(&mut self, range: &Range) -> Result<(), Error> {
        let head = match &range.head {
            Version::Commit(head) => head.commit.as_str(),
            Version::Work(_) => "HEAD",
        };
        let span = format!("{}..{head}", range.base.commit);
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
        for record in split(&out) {
            let mut parts = record.splitn(4, '\u{1f}').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            let (id, author, parents, message) = (next(), next(), next(), next());
            self.commits.push(Commit {
                id,
                author,
                is_merge: parents.contains(' '),
                message,
            });
        }
        self.too_many_commits = COMMITS_MAX < self.commits.len();
        self.commits.truncate(COMMITS_MAX);
        Ok(())
    }
}

/// Returns what git compares; without a second, the work tree.
fn ends(range: &Range) -> (&str, Option<&str>) {
    let to = match &range.head {
        Version::Commit(head) => Some(head.commit.as_str()),
        Version::Work(_) => None,
    };
    (&range.base.commit, to)
}

/// Returns how many lines a file has after the change, and whether it is no text.
fn lines_of(range: &Range, path: &str) -> Result<(u64, bool), Error> {
    let Some(bytes) = range.head.read(path)? else {
        return Ok((0, false));
    };
    let ends = bytes.iter().filter(|it| **it == b'\n').count() as u64;
    Ok((ends.max(1), bytes.contains(&0)))
}

fn whole(range: &Range, path: &str) -> Result<Vec<Added>, Error> {
    let bytes = range.head.read(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines = text.lines().zip(1..);
    let added = |(text, line): (&str, u32)| Added {
        line,
        text: text.to_owned(),
    };
    Ok(lines.map(added).collect())
}

/// Reads a difference without context.
fn parse_added(diff: &str, found: &mut BTreeMap<String, Vec<Added>>) {
    let (mut path, mut line, mut in_hunk) = (None, 0_u32, 0_u32);
    for text in diff.lines() {
        if 0 < in_hunk {
            if let (Some(path), Some(text)) = (&path, text.strip_prefix('+')) {
                let added: &mut Vec<Added> = found.entry(String::clone(path)).or_default();
                added.push(Added {
                    line,
                    text: text.to_owned(),
                });
                line += 1;
                in_hunk -= 1;
            }
            continue;
        }
        if let Some(name) = text.strip_prefix("+++ ") {
            path = name
                .strip_prefix("b/")
                .map(|it| it.trim_end_matches('\t').to_owned());
        } else if text.starts_with("@@ ") {
            (line, in_hunk) = hunk(text).unwrap_or((0, 0));
        }
    }
}

/// Returns the first line and the number of lines that `@@ -1,2 +3,4 @@` adds.
fn hunk(text: &str) -> Option<(u32, u32)> {
    let new = text.split(' ').find_map(|it| it.strip_prefix('+'))?;
    let (first, count) = new.split_once(',').unwrap_or((new, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

/// Returns who the messages say looked at the change: names or addresses, in lower case.
pub(super) fn reviewers(commits: &[Commit]) -> Vec<(String, String)> {
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
        let known = |it: &(String, String)| match address.is_empty() {
            true => it.0 == name,
            false => it.1 == address,
        };
        let is_author = authors.contains(&address) || authors.contains(&name);
        let is_nobody = name.is_empty() && address.is_empty();
        if !is_author && !is_nobody && !found.iter().any(known) {
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
        parse_added(diff, &mut found);
        let lines: Vec<(u32, &str)> = found["x"]
            .iter()
            .map(|it| (it.line, it.text.as_str()))
            .collect();
        assert_eq!(lines, [(1, "c"), (9, "++ d"), (10, "e")]);
    }

    #[test]
    fn authors_do_not_review_their_own_change() {
        let commit = |author: &str, message: &str| Commit {
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
