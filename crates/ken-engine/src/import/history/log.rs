//! Commits and their differences, read with a bounded number of git processes.

use std::collections::BTreeMap;

use ken_ledger::git::{GitError, GitRunner};

use crate::git::{LoggedCommit, read_log};

/// Number of commits examined, newest first.
pub(super) const COMMITS_MAX: usize = 5_000;

/// Maximum bytes of the differences of one batch. The rest is not examined.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Maximum bytes of a body. Longer ones are logs and pasted output.
const BODY_BYTES_MAX: usize = 16 << 10;

/// Number of commits per `git show`.
const COMMITS_PER_DIFF: usize = 100;

/// Lines that a commit added to and removed from a file, without indentation.
#[derive(Clone, Debug, Default)]
pub(super) struct FileDiff {
    pub path: String,
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

/// Loads the last commits of the branch, newest first.
pub(super) fn load_commits(git: &GitRunner) -> Result<Vec<LoggedCommit>, GitError> {
    let count = format!("--max-count={COMMITS_MAX}");
    // Merge commits have generated subjects.
    match read_log(git, &["--no-merges", &count]) {
        Ok(mut commits) => {
            for commit in &mut commits {
                let end = commit.body.floor_char_boundary(BODY_BYTES_MAX);
                commit.body.truncate(end);
            }
            Ok(commits)
        }
        // A branch without commits.
        Err(GitError::Failed { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Loads the differences of commits by commit id.
pub(super) fn load_diffs(
    git: &GitRunner,
    commits: &[&LoggedCommit],
) -> Result<BTreeMap<String, Vec<FileDiff>>, GitError> {
    let mut found = BTreeMap::new();
    for batch in commits.chunks(COMMITS_PER_DIFF) {
        let mut arguments = vec![
            "show",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--no-color",
            "--unified=0",
            "--format=%x01%H",
        ];
        arguments.extend(batch.iter().map(|it| it.id.as_str()));
        let out = git.output(&arguments)?;
        for commit in bounded_text(&out).split('\u{1}').skip(1) {
            if let Some((id, diff)) = commit.split_once('\n') {
                found.insert(id.trim().to_owned(), parse_diff(diff));
            }
        }
    }
    Ok(found)
}

fn parse_diff(text: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut in_hunk = false;
    for line in text.lines() {
        if line.starts_with("diff --git ") {
            files.push(FileDiff::default());
            in_hunk = false;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if line.starts_with("@@") {
            in_hunk = true;
        } else if in_hunk {
            if let Some(added) = line.strip_prefix('+') {
                file.added.push(added.trim().to_owned());
            } else if let Some(removed) = line.strip_prefix('-') {
                file.removed.push(removed.trim().to_owned());
            }
        } else if let Some(path) = line.strip_prefix("+++ b/") {
            // Git ends a path that contains a blank with a tab.
            path.trim_end_matches('\t').clone_into(&mut file.path);
        }
    }
    // Deleted files have no path.
    files.retain(|it| !it.path.is_empty());
    files
}

fn bounded_text(out: &[u8]) -> String {
    let bounded = out.get(..OUTPUT_BYTES_MAX).unwrap_or(out);
    String::from_utf8_lossy(bounded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_read_by_file() {
        let text = "\n\ndiff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1 @@ fn x\n-old one\n--- a comment\n+    new one\ndiff --git a/gone.rs b/gone.rs\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let files = parse_diff(text);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].path, "a.rs");
        assert_eq!(files[0].added, ["new one"]);
        assert_eq!(files[0].removed, ["old one", "-- a comment"]);
    }
}
