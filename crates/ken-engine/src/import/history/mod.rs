//! Commit history as evidence: norms, obligations, reasons, reverts, repeated fixes and files
//! that change together become inbox claims with `commit:` citations.
//!
//! Nothing here becomes an entry by itself. A claim is about code that is still there: most lines
//! of its commit are in the work tree, and its anchor resolves. The number of commits, bytes and
//! claims is bounded.

mod code;
mod fixes;
mod log;
mod norms;
mod together;

use std::collections::{BTreeMap, BTreeSet};

use ken_digest::commit::{
    CommitClaim, HistoryRule, clean_subject, extract_commit_claims, fixed_bug, names_code,
    revert_claim, reverted_commits,
};
use ken_ledger::LedgerLocation;
use ken_ledger::git::GitRunner;

use super::inbox::InboxClaim;
use crate::error::EngineError;
use crate::git::{COMMIT_CHARS, LoggedCommit};
use crate::validity::WorkTree;
use code::{CurrentCode, KeptChange, is_source};
use log::FileDiff;

/// What is taken from the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryScope {
    /// What most readers keep: norms, reverts, files that change together.
    Reliable,
    /// Also repeated fixes, and sentences with "must", "never" or "because". Readers reject most of
    /// them.
    All,
}

/// Maximum number of source files of a commit whose message is about one thing.
const SOURCE_FILES_MAX: usize = 6;

/// Maximum number of commits whose message is compared with the code of today.
const TOLD_COMMITS_MAX: usize = 600;

/// Maximum number of fixes compared with the code of today.
const FIXES_MAX: usize = 600;

/// Digits of a commit id that identify it in a message.
const SHORT_DIGITS: usize = 7;

/// Source name in the ids of claims.
const ID_SOURCE: &str = "history";

/// Returns the maximum number of new claims of a rule per import: a person reviews each.
fn claims_max(rule: HistoryRule) -> usize {
    match rule {
        HistoryRule::Norm => usize::MAX,
        HistoryRule::Obligation | HistoryRule::Reason => 8,
        HistoryRule::Revert | HistoryRule::RepeatedFix => 6,
        HistoryRule::ChangeTogether => 4,
    }
}

/// A commit whose message tells something, before the code is read.
struct ToldClaim<'c> {
    commit: &'c LoggedCommit,
    claim: CommitClaim,
}

/// Returns the claims of the branch's history, newest first within a rule.
pub(super) fn history_claims(
    place: &LedgerLocation,
    scope: HistoryScope,
) -> Result<Vec<InboxClaim>, EngineError> {
    let Some(dirs) = &place.git else {
        return Err(EngineError::Usage(
            "this folder has no commit history: it is not in a git repository".to_owned(),
        ));
    };
    let git = GitRunner::new(&place.root, dirs);
    let commits = log::load_commits(&git)?;
    let mut found = norms::observed_norms(&commits);
    let mut told = told_claims(&commits);
    told.retain(|it| scope == HistoryScope::All || it.claim.rule == HistoryRule::Revert);
    let fixes = match scope {
        HistoryScope::Reliable => Vec::new(),
        HistoryScope::All => fixing_commits(&commits),
    };
    let mut wanted: Vec<&LoggedCommit> = told.iter().map(|it| it.commit).collect();
    wanted.extend(&fixes);
    wanted.sort_by(|one, other| one.id.cmp(&other.id));
    wanted.dedup_by(|one, other| one.id == other.id);
    let diffs = log::load_diffs(&git, &wanted)?;
    let mut code = CurrentCode::open(WorkTree::new(place)?)?;
    for told in told {
        found.extend(located_claim(&told, &diffs, &mut code)?);
    }
    found.extend(fixes::repeated_fixes(&fixes, &diffs, &mut code)?);
    found.extend(together::changing_together(&commits, &code));
    found.sort_by_key(|claim| {
        HistoryRule::ALL
            .iter()
            .position(|it| claim.rule == Some(*it))
    });
    Ok(found)
}

/// Keeps the first claims of each rule, up to its limit.
pub(super) fn limit_claims(claims: &mut Vec<InboxClaim>) {
    let mut counts: BTreeMap<HistoryRule, usize> = BTreeMap::new();
    claims.retain(|claim| {
        claim.rule.is_none_or(|rule| {
            let count = counts.entry(rule).or_default();
            *count += 1;
            *count <= claims_max(rule)
        })
    });
}

/// Returns what the messages tell, at most one claim per commit, newest first.
fn told_claims(commits: &[LoggedCommit]) -> Vec<ToldClaim<'_>> {
    let mut reverted: BTreeSet<String> = BTreeSet::new();
    let mut later_subjects: BTreeSet<String> = BTreeSet::new();
    let by_id: BTreeMap<&str, &LoggedCommit> = commits
        .iter()
        .filter_map(|it| Some((it.id.get(..SHORT_DIGITS)?, it)))
        .collect();
    let mut found = Vec::new();
    // Newest first: a revert is seen before the commit it takes back.
    for commit in commits {
        let short = commit.id.get(..SHORT_DIGITS).unwrap_or(&commit.id);
        let is_reverted = reverted.contains(short);
        let subject = clean_subject(&commit.subject);
        let takes_back: Vec<String> = reverted_commits(&commit.body)
            .iter()
            .filter_map(|it| it.get(..SHORT_DIGITS).map(str::to_owned))
            .collect();
        let claim = match takes_back.as_slice() {
            _ if is_reverted || !is_focused(commit) => None,
            [] => extract_commit_claims(&commit.subject, &commit.body)
                .into_iter()
                .next(),
            [tried] => by_id.get(tried.as_str()).and_then(|tried| {
                // Tried again later: the revert is not the last word.
                let again = later_subjects.contains(&clean_subject(&tried.subject));
                (!again)
                    .then(|| revert_claim(&tried.subject, &commit.body))
                    .flatten()
            }),
            _ => None,
        };
        // A revert that was taken back takes nothing back.
        if !is_reverted {
            reverted.extend(takes_back);
        }
        later_subjects.insert(subject);
        found.extend(claim.map(|claim| ToldClaim { commit, claim }));
        if found.len() >= TOLD_COMMITS_MAX {
            break;
        }
    }
    found
}

/// Returns whether a commit changes few source files, and at least one.
fn is_focused(commit: &LoggedCommit) -> bool {
    let sources = commit.files.iter().filter(|it| is_source(it)).count();
    (1..=SOURCE_FILES_MAX).contains(&sources)
}

fn fixing_commits(commits: &[LoggedCommit]) -> Vec<&LoggedCommit> {
    let fixes = commits
        .iter()
        .filter(|it| is_focused(it) && fixed_bug(&it.subject).is_some());
    fixes.take(FIXES_MAX).collect()
}

/// Anchors a claim to the code of today, if that is still the code of its commit.
fn located_claim(
    told: &ToldClaim<'_>,
    diffs: &BTreeMap<String, Vec<FileDiff>>,
    code: &mut CurrentCode,
) -> Result<Option<InboxClaim>, EngineError> {
    let Some(diff) = diffs.get(&told.commit.id) else {
        return Ok(None);
    };
    let rule = told.claim.rule;
    let place = if rule == HistoryRule::Revert {
        code.stays_reverted(diff)?
    } else {
        code.locate(diff, &told.claim.text)?
    };
    let Some(KeptChange { anchor, names }) = place else {
        return Ok(None);
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = &told.claim.text;
    if !names_code(text, &names) || !code.still_says(&anchor, text)? {
        return Ok(None);
    }
    let claim = told.claim.clone();
    let cite = cite_commit(told.commit);
    let mut staged = InboxClaim::new(claim.kind, claim.text, ID_SOURCE, cite);
    staged.rule = Some(rule);
    staged.anchors = vec![anchor];
    staged.findings = vec![format!(
        "{} in commit {}",
        rule.name(),
        short_id(told.commit)
    )];
    Ok(Some(staged))
}

/// Returns the citation of a commit.
fn cite_commit(commit: &LoggedCommit) -> String {
    format!("commit:{}", short_id(commit))
}

fn short_id(commit: &LoggedCommit) -> &str {
    commit.id.get(..COMMIT_CHARS).unwrap_or(&commit.id)
}
