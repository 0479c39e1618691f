//! Claims whose cited files changed since the line was written.
//!
//! Only on request: a change of the file rarely makes the claim wrong. Runs `git blame` once per
//! document and `git log` once for all cited files.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::time::Timestamp;
use ken_ledger::git::GitRunner;

use super::history::History;
use super::{AuditFinding, AuditedClaim, AuditedDocument, FindingKind};

/// Minimum number of commits to a cited file since the citing line changed.
const CHANGES_MIN: usize = 3;

/// Number of commits searched for changes of cited files.
const COMMITS_MAX: &str = "2000";

/// Number of documents on which `git blame` runs.
const DOCUMENTS_MAX: usize = 50;

/// Returns findings for claims whose files changed often; none without git.
pub(super) fn check(
    history: &History,
    claims: &[AuditedClaim],
    documents: &[AuditedDocument],
) -> Vec<AuditFinding> {
    let Some(git) = history.git() else {
        return Vec::new();
    };
    let cited: BTreeSet<&str> = claims
        .iter()
        .flat_map(|it| &it.cites)
        .map(String::as_str)
        .collect();
    // Only changes of code can make a claim stale, not changes of other documents.
    let cited_code: Vec<&str> = cited
        .into_iter()
        .filter(|path| ken_digest::source_kind(path).is_none())
        .collect();
    if cited_code.is_empty() {
        return Vec::new();
    }
    let changes = change_times(git, &cited_code);
    let mut findings = Vec::new();
    let with_citations = documents.iter().filter(|document| {
        claims
            .iter()
            .any(|claim| claim.document == document.path && !claim.cites.is_empty())
    });
    for document in with_citations.take(DOCUMENTS_MAX) {
        let lines = history.line_origins(&document.path);
        for (at, claim) in claims
            .iter()
            .enumerate()
            .filter(|(_, it)| it.document == document.path)
        {
            // An edit to any line of the claim counts: its author looked at the claim then.
            let span = claim.found.line..=claim.found.last_line;
            let times = span.filter_map(|line| Some(lines.get(&line)?.time));
            let Some(touched) = times.max() else {
                continue;
            };
            findings.extend(stale_finding(claims, at, touched, &changes));
        }
    }
    findings
}

/// Returns a finding that names the cited file with the most changes since `touched`.
fn stale_finding(
    claims: &[AuditedClaim],
    at: usize,
    touched: u64,
    changes: &BTreeMap<String, Vec<u64>>,
) -> Option<AuditFinding> {
    let since = |path: &&String| {
        let times = changes.get(*path)?;
        let later = times.iter().filter(|time| touched < **time).count();
        (later >= CHANGES_MIN).then_some(later)
    };
    let most = claims[at]
        .cites
        .iter()
        .filter_map(|path| Some((since(&path)?, path)))
        .max()?;
    let date = Timestamp::from_millis(touched.saturating_mul(1000)).date();
    let (count, path) = most;
    let message =
        format!("`{path}` changed {count} times since this line was last edited ({date})");
    Some(AuditFinding::for_claim(
        FindingKind::Stale,
        claims,
        at,
        message,
    ))
}

/// Returns the commit times of each path, in seconds since 1970.
fn change_times(git: &GitRunner, paths: &[&str]) -> BTreeMap<String, Vec<u64>> {
    // `-z` prints names unquoted; the byte 1 marks the beginning of a commit.
    let options = [
        "log",
        "--no-merges",
        "--format=%x01%ct",
        "--name-only",
        "-z",
        "-n",
        COMMITS_MAX,
        "--",
    ];
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let Ok(out) = git.output(&[&options[..], paths].concat()) else {
        return found;
    };
    let text = String::from_utf8_lossy(&out);
    for commit in text.split('\u{1}').skip(1) {
        let mut parts = commit.split(['\0', '\n']).filter(|it| !it.is_empty());
        let Some(time) = parts.next().and_then(|it| it.parse().ok()) else {
            continue;
        };
        for path in parts {
            found.entry(path.to_owned()).or_default().push(time);
        }
    }
    found
}
