//! How right `ken audit` is on repositories with history: precision per type of finding.
//!
//! The clones lie outside the repository. Their labels are kept by location alone (repository,
//! commit, document, line, type); people who had not seen the rules gave them.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::Command;

use ken_engine::GitEnv;
use ken_engine::audit::{AuditOptions, audit};
use ken_engine::guard::Guard;

use crate::packages::said;

/// Share of the findings of each type that must be right.
const PRECISION_MIN: f64 = 0.9;

/// Digits of a commit in a label.
const COMMIT_DIGITS: usize = 12;

/// Audits every clone in `dir` and prints the precision by type; fails below [`PRECISION_MIN`].
pub(super) fn report(dir: &Path, labels: &Path) -> Result<(), String> {
    let text = fs::read_to_string(labels).map_err(|error| said(labels, &error))?;
    let mut known: BTreeMap<&str, VecDeque<&str>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (label, place) = line
            .split_once('\t')
            .ok_or_else(|| format!("no label: {line}"))?;
        known.entry(place).or_default().push_back(label);
    }
    let mut counts: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let mut unlabeled = 0;
    for (name, commit) in clones(dir)? {
        let root = dir.join(&name);
        let audited = audit(
            &root,
            &GitEnv::default(),
            &Guard::default(),
            &AuditOptions::default(),
        )
        .map_err(|error| format!("{name}: {error}"))?;
        for finding in &audited.findings {
            let kind = finding.kind.words().0;
            let (document, line) = (&finding.document, finding.line);
            let place = format!("{name}\t{commit}\t{document}\t{line}\t{kind}");
            // Findings of one type on one line are labeled in the order of the report.
            match known.get_mut(place.as_str()).and_then(VecDeque::pop_front) {
                Some(label) => {
                    let (right, all) = counts.entry(kind).or_default();
                    *all += 1;
                    *right += usize::from(label == "y");
                }
                None => unlabeled += 1,
            }
        }
    }
    println!("| finding | right | of | precision |\n|---|---|---|---|");
    let mut low = Vec::new();
    for (kind, (right, all)) in &counts {
        let precision = *right as f64 / *all as f64;
        println!("| {kind} | {right} | {all} | {precision:.3} |");
        if precision < PRECISION_MIN {
            low.push(*kind);
        }
    }
    let gone: usize = known.values().map(VecDeque::len).sum();
    println!(
        "{unlabeled} findings have no label; {gone} labels are of findings no longer reported"
    );
    if low.is_empty() {
        Ok(())
    } else {
        Err(format!("below {PRECISION_MIN}: {}", low.join(", ")))
    }
}

/// Returns the clones in a folder with their commits, by name.
fn clones(dir: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| said(dir, &error))? {
        let path = entry.map_err(|error| said(dir, &error))?.path();
        let Some(name) = path.file_name().and_then(|it| it.to_str()) else {
            continue;
        };
        if !path.join(".git").exists() {
            continue;
        }
        let head = Command::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(&path)
            .output();
        let head = head.map_err(|error| said(&path, &error))?;
        let commit = String::from_utf8_lossy(&head.stdout);
        let commit = commit.trim().chars().take(COMMIT_DIGITS).collect();
        found.push((name.to_owned(), commit));
    }
    found.sort();
    Ok(found)
}
