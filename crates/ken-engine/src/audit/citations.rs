//! Claims that cite what is not there any more.
//!
//! Said only where little doubt is left: the claim does not speak of making the file, nothing ignores it, and it would
//! lie in a folder that is here.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use ken_digest::MentionKind;
use ken_ledger::Place;
use ken_ledger::git::Runner;

use super::tree::{Files, folder_of, joined};
use super::{AuditFinding, Claim, FindingKind};

/// Words of claims about files that need not be here.
const MAKING: &[&str] = &[
    "create",
    "creates",
    "created",
    "creating",
    "generate",
    "generates",
    "generated",
    "generating",
    "produce",
    "produces",
    "output",
    "outputs",
    "write",
    "writes",
    "written",
    "emit",
    "emits",
    "save",
    "saves",
    "saved",
    "add",
    "adding",
    "adds",
    "new",
    "example",
    "examples",
    "e.g",
    "eg",
    "like",
    "named",
    "called",
    "name",
    "optional",
    "optionally",
    "if",
    "removed",
    "deleted",
    "moved",
    "renamed",
    "no",
    "not",
    "never",
    "don't",
    "formerly",
    "legacy",
    "old",
    "was",
    "were",
    "download",
    "downloads",
    "copy",
    "copies",
    "ignored",
    "gitignored",
    "temporary",
    "would",
    "could",
    "might",
    "suppose",
    "imagine",
    "your",
    "their",
    "user's",
    "users",
    "without",
    "missing",
    "lack",
    "instead",
    "will",
];

/// Folders builds write to.
const BUILT: [&str; 16] = [
    "dist",
    "build",
    "out",
    "target",
    "node_modules",
    "coverage",
    ".venv",
    "venv",
    "__pycache__",
    ".next",
    "tmp",
    ".cache",
    "generated",
    "bin",
    "htmlcov",
    "site",
];

/// Parts of links that code hosts answer, not the tree.
const HOSTED: [&str; 9] = [
    "blob",
    "tree",
    "issues",
    "labels",
    "pull",
    "pulls",
    "wiki",
    "discussions",
    "releases",
];

/// Names that many files have, without their ending.
const EVERYWHERE: [&str; 7] = [
    "readme", "index", "mod", "__init__", "main", "lib", "conftest",
];

/// Namesakes worth naming.
const NAMESAKES_MAX: usize = 1;

/// Notes which files each claim cites and returns what is not there.
pub(super) fn check(files: &Files, place: &Place, claims: &mut [Claim]) -> Vec<AuditFinding> {
    let mut missing: Vec<(usize, String)> = Vec::new();
    for (at, claim) in claims.iter_mut().enumerate() {
        let folder = folder_of(&claim.document).to_owned();
        let asks_for_it =
            spoken_words(&claim.found.text).any(|word| MAKING.contains(&word.as_str()));
        for mention in &claim.found.mentions {
            let is_link = match mention.kind {
                MentionKind::Path => false,
                MentionKind::Link => true,
                MentionKind::Symbol | MentionKind::Command => continue,
            };
            match files.meant(&mention.text, &folder) {
                Some(path) => claim.cites.push(path),
                None if asks_for_it && !is_link => {}
                None if is_expected(files, &mention.text, &folder, is_link) => {
                    missing.push((at, mention.text.clone()));
                }
                None => {}
            }
        }
    }
    let ignored = ignored(place, missing.iter().map(|(_, path)| path.as_str()));
    missing.retain(|(_, path)| !ignored.contains(path));
    let mut findings: Vec<AuditFinding> = missing
        .iter()
        .map(|(at, path)| {
            AuditFinding::about(FindingKind::DeadCitation, claims, *at, told(files, path))
        })
        .collect();
    findings.extend(dead_names(files, claims));
    findings
}

/// Returns whether the tree is one that should have `name`.
fn is_expected(files: &Files, name: &str, folder: &str, is_link: bool) -> bool {
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    if parts.iter().any(|part| BUILT.contains(part)) {
        return false;
    }
    if is_link {
        let leads_to_host = parts.iter().any(|part| HOSTED.contains(part));
        return joined(folder, name).is_some() && !leads_to_host;
    }
    let (Some(first), true) = (parts.first(), 1 < parts.len()) else {
        return false;
    };
    let from_here = joined(folder, first).is_some_and(|path| files.is_folder(&path));
    // A file in a folder that is gone too; a folder alone may be anybody's.
    let names_file = parts.last().is_some_and(|it| it.contains('.')) && !first.starts_with('.');
    from_here || files.is_folder(first) || names_file
}

fn told(files: &Files, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match files.namesakes(path) {
        // There is one of these in every folder.
        _ if EVERYWHERE.contains(&stem.as_str()) => format!("`{path}` is not here"),
        same if (1..=NAMESAKES_MAX).contains(&same.len()) => {
            format!("`{path}` is not here; is `{}` meant?", same[0])
        }
        _ => format!("`{path}` is not here"),
    }
}

/// Returns which of `paths` git is told to ignore.
fn ignored<'p>(place: &Place, paths: impl Iterator<Item = &'p str>) -> BTreeSet<String> {
    let paths: Vec<&str> = paths.filter(|path| !path.contains("..")).collect();
    let Some(dirs) = place.git.as_ref().filter(|_| !paths.is_empty()) else {
        return BTreeSet::new();
    };
    let runner = Runner::new(&place.root, dirs);
    let arguments = [&["check-ignore", "-z", "--no-index", "--"][..], &paths].concat();
    // It answers 1 where none is ignored.
    let out = runner.output(&arguments).unwrap_or_default();
    let names = out.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    names
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

/// Returns names that stand neither in the file their claim cites nor anywhere else.
fn dead_names(files: &Files, claims: &[Claim]) -> Vec<AuditFinding> {
    let mut wanted: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for (at, claim) in claims.iter().enumerate() {
        let cited = claim
            .cites
            .iter()
            .filter(|path| files.is_file(path) && is_code(path));
        if cited.count() == 0
            || spoken_words(&claim.found.text).any(|word| MAKING.contains(&word.as_str()))
        {
            continue;
        }
        let names = claim
            .found
            .mentions
            .iter()
            .filter(|it| it.kind == MentionKind::Symbol);
        for mention in names {
            let last = mention
                .text
                .rsplit([':', '.', '#'])
                .next()
                .unwrap_or(&mention.text);
            if 3 < last.len() {
                wanted.entry(last).or_default().push((at, &mention.text));
            }
        }
    }
    let names: Vec<&str> = wanted.keys().copied().collect();
    let found = standing(files, &names);
    let dead = wanted.iter().filter(|(name, _)| !found.contains(**name));
    dead.flat_map(|(_, at)| at)
        .map(|(at, name)| {
            let message = format!("`{name}` is nowhere in the code");
            AuditFinding::about(FindingKind::DeadSymbol, claims, *at, message)
        })
        .collect()
}

fn is_code(path: &str) -> bool {
    ken_anchor::Language::of(path).is_some() && !path.ends_with(".md")
}

/// Returns which of `names` stand in some file that is no document for agents.
fn standing<'n>(files: &Files, names: &[&'n str]) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let Ok(finder) = AhoCorasick::new(names) else {
        return names.iter().copied().collect();
    };
    for path in files.all() {
        if found.len() == names.len() {
            break;
        }
        if ken_digest::source_kind(path).is_some() {
            continue;
        }
        let Some(bytes) = files.bytes(path) else {
            continue;
        };
        found.extend(
            finder
                .find_overlapping_iter(&*bytes)
                .map(|it| names[it.pattern().as_usize()]),
        );
    }
    found
}

/// Returns the words of a text outside backticks, in lower case.
fn spoken_words(text: &str) -> impl Iterator<Item = String> {
    let outside = text.split('`').step_by(2);
    let words =
        outside.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !"'.".contains(c)));
    words
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
}
