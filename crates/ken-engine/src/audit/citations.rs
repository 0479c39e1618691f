//! Claims that cite files or symbols that no longer exist.
//!
//! A missing file is reported only with little doubt: the claim does not talk about creating it,
//! git does not ignore it, and the folder it would be in exists.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use ken_digest::MentionKind;
use ken_ledger::LedgerLocation;
use ken_ledger::git::GitRunner;

use super::file_lookup::{FileLookup, join_path, parent_folder};
use super::{AuditFinding, AuditedClaim, FindingKind};

/// Words of claims about files that need not exist.
const ABSENCE_WORDS: &[&str] = &[
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

/// Output directories of build tools.
const BUILD_DIRS: [&str; 16] = [
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

/// Parts of link paths that a code host resolves, not the repository.
const HOST_PATH_PARTS: [&str; 9] = [
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

/// Stems of file names that occur in many folders.
const COMMON_STEMS: [&str; 7] = [
    "readme", "index", "mod", "__init__", "main", "lib", "conftest",
];

/// Maximum number of files with the same name for which one is suggested.
const NAMESAKES_MAX: usize = 1;

/// Fills in the files that each claim cites and returns findings for missing files and symbols.
pub(super) fn check(
    files: &FileLookup,
    place: &LedgerLocation,
    claims: &mut [AuditedClaim],
) -> Vec<AuditFinding> {
    let mut missing: Vec<(usize, String)> = Vec::new();
    for (at, claim) in claims.iter_mut().enumerate() {
        let folder = parent_folder(&claim.document).to_owned();
        let may_be_absent =
            prose_words(&claim.found.text).any(|word| ABSENCE_WORDS.contains(&word.as_str()));
        for mention in &claim.found.mentions {
            let is_link = match mention.kind {
                MentionKind::Path => false,
                MentionKind::Link => true,
                MentionKind::Symbol | MentionKind::Command => continue,
            };
            match files.resolve(&mention.text, &folder) {
                Some(path) => claim.cites.push(path),
                // A link promises that its target exists, whatever the sentence around it says.
                None if may_be_absent && !is_link => {}
                None if is_expected(files, &mention.text, &folder, is_link) => {
                    missing.push((at, mention.text.clone()));
                }
                None => {}
            }
        }
    }
    // A single `git check-ignore` for all paths: a process per path would be slow.
    let ignored = ignored_paths(place, missing.iter().map(|(_, path)| path.as_str()));
    missing.retain(|(_, path)| !ignored.contains(path));
    let mut findings: Vec<AuditFinding> = missing
        .iter()
        .map(|(at, path)| {
            AuditFinding::for_claim(
                FindingKind::DeadCitation,
                claims,
                *at,
                describe_missing(files, path),
            )
        })
        .collect();
    findings.extend(find_dead_symbols(files, claims));
    findings
}

/// Returns true if a repository with these folders should contain `name`.
fn is_expected(files: &FileLookup, name: &str, folder: &str, is_link: bool) -> bool {
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    if parts.iter().any(|part| BUILD_DIRS.contains(part)) {
        return false;
    }
    if is_link {
        let leads_to_host = parts.iter().any(|part| HOST_PATH_PARTS.contains(part));
        return join_path(folder, name).is_some() && !leads_to_host;
    }
    let (Some(first), true) = (parts.first(), parts.len() > 1) else {
        return false;
    };
    let from_here = join_path(folder, first).is_some_and(|path| files.is_folder(&path));
    // A missing file in a missing folder is reported, a missing folder alone is too ambiguous.
    let names_file = parts.last().is_some_and(|it| it.contains('.')) && !first.starts_with('.');
    from_here || files.is_folder(first) || names_file
}

/// Describes a missing file and suggests the only file with the same name.
fn describe_missing(files: &FileLookup, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match files.namesakes(path) {
        // Suggesting one of many `README.md` files would be a guess.
        _ if COMMON_STEMS.contains(&stem.as_str()) => format!("`{path}` does not exist"),
        same if (1..=NAMESAKES_MAX).contains(&same.len()) => {
            format!("`{path}` does not exist; did you mean `{}`?", same[0])
        }
        _ => format!("`{path}` does not exist"),
    }
}

/// Returns the paths that git ignores.
fn ignored_paths<'p>(
    place: &LedgerLocation,
    paths: impl Iterator<Item = &'p str>,
) -> BTreeSet<String> {
    let paths: Vec<&str> = paths.filter(|path| !path.contains("..")).collect();
    let Some(dirs) = place.git.as_ref().filter(|_| !paths.is_empty()) else {
        return BTreeSet::new();
    };
    let runner = GitRunner::new(&place.root, dirs);
    let arguments = [&["check-ignore", "-z", "--no-index", "--"][..], &paths].concat();
    // `git check-ignore` exits with 1 if no path is ignored.
    let out = runner.output(&arguments).unwrap_or_default();
    let names = out.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    names
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

/// Returns findings for symbols that occur neither in the cited file nor anywhere in the code.
fn find_dead_symbols(files: &FileLookup, claims: &[AuditedClaim]) -> Vec<AuditFinding> {
    let mut wanted: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for (at, claim) in claims.iter().enumerate() {
        let cited = claim
            .cites
            .iter()
            .filter(|path| files.is_file(path) && is_code(path));
        if cited.count() == 0
            || prose_words(&claim.found.text).any(|word| ABSENCE_WORDS.contains(&word.as_str()))
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
            // Short names occur by chance in almost any file.
            if last.len() > 3 {
                wanted.entry(last).or_default().push((at, &mention.text));
            }
        }
    }
    let names: Vec<&str> = wanted.keys().copied().collect();
    let found = names_in_code(files, &names);
    let dead = wanted.iter().filter(|(name, _)| !found.contains(**name));
    dead.flat_map(|(_, at)| at)
        .map(|(at, name)| {
            let message = format!("`{name}` does not occur in the code");
            AuditFinding::for_claim(FindingKind::DeadSymbol, claims, *at, message)
        })
        .collect()
}

/// Returns true for source files, as opposed to documents.
fn is_code(path: &str) -> bool {
    ken_anchor::Language::of(path).is_some() && !path.ends_with(".md")
}

/// Returns the names that occur in files other than agent documents.
fn names_in_code<'n>(files: &FileLookup, names: &[&'n str]) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let Ok(finder) = AhoCorasick::new(names) else {
        // Without a searcher every name counts as present, so nothing is reported.
        return names.iter().copied().collect();
    };
    for path in files.all() {
        if found.len() == names.len() {
            break;
        }
        // The document that makes the claim mentions the name itself.
        if ken_digest::source_kind(path).is_some() {
            continue;
        }
        let Some(bytes) = files.read_bytes(path) else {
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

/// Returns the lower-case words of a text outside backticks.
fn prose_words(text: &str) -> impl Iterator<Item = String> {
    let outside = text.split('`').step_by(2);
    let words =
        outside.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !"'.".contains(c)));
    words
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
}
