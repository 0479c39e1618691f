//! Claims nobody touched while the code they cite changed.
//!
//! One question to git a document (who wrote which line when) and one for all cited files (when each changed).

use std::collections::{BTreeMap, BTreeSet};

use ken_core::time::Timestamp;
use ken_ledger::Place;
use ken_ledger::git::Runner;

use super::{AuditFinding, Claim, Document, FindingKind};

/// Commits a file must have changed in since somebody last touched the line that cites it.
const CHANGES_MIN: usize = 3;

/// Commits looked through for changes of cited files.
const COMMITS_MAX: &str = "2000";

/// Documents whose lines are asked for.
const DOCUMENTS_MAX: usize = 50;

/// Returns the claims that may be stale; nothing where git does not know.
pub(super) fn check(place: &Place, claims: &[Claim], documents: &[Document]) -> Vec<AuditFinding> {
    let Some(dirs) = &place.git else {
        return Vec::new();
    };
    let git = Runner::new(&place.root, dirs);
    let cited: BTreeSet<&str> = claims
        .iter()
        .flat_map(|it| &it.cites)
        .map(String::as_str)
        .collect();
    // What documents say about each other is no code.
    let cited: Vec<&str> = cited
        .into_iter()
        .filter(|path| ken_digest::source_kind(path).is_none())
        .collect();
    if cited.is_empty() {
        return Vec::new();
    }
    let changes = changes(&git, &cited);
    let mut findings = Vec::new();
    let with_citations = documents.iter().filter(|it| {
        claims
            .iter()
            .any(|claim| claim.document == it.path && !claim.cites.is_empty())
    });
    for document in with_citations.take(DOCUMENTS_MAX) {
        let lines = line_times(&git, &document.path);
        for (at, claim) in claims
            .iter()
            .enumerate()
            .filter(|(_, it)| it.document == document.path)
        {
            let span = claim.found.line..=claim.found.last_line;
            let Some(touched) = span.filter_map(|line| lines.get(&line)).max() else {
                continue;
            };
            findings.extend(stale(claims, at, *touched, &changes));
        }
    }
    findings
}

/// Returns the finding about a claim whose cited file changed most since `touched`.
fn stale(
    claims: &[Claim],
    at: usize,
    touched: u64,
    changes: &BTreeMap<String, Vec<u64>>,
) -> Option<AuditFinding> {
    let since = |path: &&String| {
        let times = changes.get(*path)?;
        let later = times.iter().filter(|time| touched < **time).count();
        (CHANGES_MIN <= later).then_some(later)
    };
    let most = claims[at]
        .cites
        .iter()
        .filter_map(|path| Some((since(&path)?, path)))
        .max()?;
    let date = Timestamp::from_millis(touched.saturating_mul(1000)).date();
    let (count, path) = most;
    let message = format!("`{path}` changed {count} times since this was last touched ({date})");
    Some(AuditFinding::about(FindingKind::Stale, claims, at, message))
}

/// Returns when each of `paths` changed, in seconds since 1970.
fn changes(git: &Runner, paths: &[&str]) -> BTreeMap<String, Vec<u64>> {
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

/// Returns when each line of a document was last touched; lines nobody committed are as new as can be.
fn line_times(git: &Runner, path: &str) -> BTreeMap<usize, u64> {
    let mut times = BTreeMap::new();
    let Ok(out) = git.output(&["blame", "--line-porcelain", "--", path]) else {
        return times;
    };
    let text = String::from_utf8_lossy(&out);
    let (mut line, mut uncommitted) = (0, false);
    for row in text.lines() {
        if row.starts_with('\t') {
            continue;
        }
        let words: Vec<&str> = row.split(' ').collect();
        match words[..] {
            [id, _, number] | [id, _, number, _]
                if id.len() >= 40 && id.bytes().all(|b| b.is_ascii_hexdigit()) =>
            {
                line = number.parse().unwrap_or(0);
                uncommitted = id.bytes().all(|b| b == b'0');
            }
            ["committer-time", time] => {
                let time = if uncommitted {
                    u64::MAX
                } else {
                    time.parse().unwrap_or(u64::MAX)
                };
                times.insert(line, time);
            }
            _ => {}
        }
    }
    times
}
