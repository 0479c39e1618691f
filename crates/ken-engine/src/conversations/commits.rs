//! Commit messages of the current branch, with the files each commit changes.

use ken_core::retrieval::unrecorded::UnrecordedKind;
use ken_guard::{GuardPolicy, TextMode, redact};
use ken_index::conversations::{CleanCommit, ConversationIndex};
use ken_ledger::LedgerLocation;
use ken_ledger::git::{GitRunner, GitView as _, RealGit};
use ken_ledger::layout::KEN_DIR;

use crate::error::EngineError;
use crate::git::{LoggedCommit, read_log};

/// Maximum number of commits read by one search, and in the index.
const COMMITS_PER_STEP: usize = 2_000;
const COMMITS_MAX: usize = 50_000;

/// Maximum bytes of a message, and of the names of changed files.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
const PATHS_BYTES_MAX: usize = 2 << 10;

/// Names of meta rows: git's state when nothing was left to do; the newest commit, from which older
/// ones are counted; the number of those that were read.
const META_HEAD: &str = "head";
const META_TIP: &str = "tip";
const META_READ: &str = "read";

/// Adds the commits that are new, and older ones step by step. Returns whether all are indexed.
pub(super) fn update_commits(
    place: &LedgerLocation,
    index: &mut ConversationIndex,
    policy: &GuardPolicy,
) -> Result<bool, EngineError> {
    let Some(dirs) = &place.git else {
        return Ok(true);
    };
    // Files of git tell whether HEAD moved, without starting a process.
    let head = RealGit::new(&place.root, dirs).head_token();
    if index.meta(META_HEAD)?.as_ref() == Some(&head) {
        return Ok(true);
    }
    let git = GitRunner::new(&place.root, dirs);
    let Ok(tip) = git.output(&["rev-parse", "--verify", "--quiet", "HEAD"]) else {
        return Ok(true);
    };
    let tip = String::from_utf8_lossy(&tip).trim().to_owned();
    // Set once all older commits were read.
    let was_complete = index.meta(META_HEAD)?.is_some();
    let before = read_count(index)?;
    let known = index.meta(META_TIP)?.filter(|it| *it != tip);
    let range = known.map(|it| format!("{it}..{tip}"));
    let new = range.and_then(|it| read_clean_log(&git, &it, 0, COMMITS_MAX, policy));
    let (commits, read, is_done) = if let Some(new) = new {
        let read = before + new.len();
        (new, read, was_complete)
    } else {
        let older =
            read_clean_log(&git, &tip, before, COMMITS_PER_STEP, policy).unwrap_or_default();
        let read = before + older.len();
        let is_done = older.len() < COMMITS_PER_STEP || read >= COMMITS_MAX;
        (older, read, is_done)
    };
    index.change(|writer| {
        for commit in &commits {
            writer.add_commit(commit)?;
        }
        writer.set_meta(META_TIP, &tip)?;
        writer.set_meta(META_READ, &read.to_string())?;
        if is_done {
            writer.set_meta(META_HEAD, &head)?;
        }
        Ok(())
    })?;
    Ok(is_done)
}

fn read_count(index: &ConversationIndex) -> Result<usize, EngineError> {
    let read = index.meta(META_READ)?.and_then(|it| it.parse().ok());
    Ok(read.unwrap_or(0))
}

/// Reads commits with secrets removed; `None` if git fails.
fn read_clean_log(
    git: &GitRunner,
    range: &str,
    skip: usize,
    count: usize,
    policy: &GuardPolicy,
) -> Option<Vec<CleanCommit>> {
    let (skip, count) = (format!("--skip={skip}"), format!("--max-count={count}"));
    let commits = read_log(git, &[&skip, &count, range, "--"]).ok()?;
    Some(commits.iter().map(|it| clean(it, policy)).collect())
}

fn clean(commit: &LoggedCommit, policy: &GuardPolicy) -> CleanCommit {
    let message = format!("{}\n\n{}", commit.subject, commit.body);
    let message = message.trim();
    // Files of entries are named after their statements, which are found as entries.
    let paths = commit.files.iter().filter(|it| !it.starts_with(KEN_DIR));
    let paths: Vec<&str> = paths.map(String::as_str).collect();
    let kind = if message.starts_with("Revert \"") || message.contains("This reverts commit ") {
        UnrecordedKind::Revert
    } else if commit.parents > 1 {
        UnrecordedKind::Merge
    } else {
        UnrecordedKind::Commit
    };
    let redacted = |text: &str, max: usize| {
        let redacted = redact(policy, text, TextMode::Code);
        // Instructions to a model are not shown, as elsewhere.
        let text = if redacted.is_quarantined {
            String::new()
        } else {
            redacted.text
        };
        text[..text.floor_char_boundary(max.min(text.len()))].to_owned()
    };
    CleanCommit {
        id: commit.id.clone(),
        at: commit.at,
        kind,
        message: redacted(message, MESSAGE_BYTES_MAX),
        paths: redacted(&paths.join("\n"), PATHS_BYTES_MAX),
    }
}
