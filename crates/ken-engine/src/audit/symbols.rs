//! Claims that name symbols which are not in the code, or not in the file that the claim cites.
//!
//! A name counts as moved or removed only if the cited file had it when the line was written.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use ken_digest::MentionKind;

use super::citations::prose_words;
use super::duplicates::illustrates;
use super::file_lookup::{FileLookup, parent_folder};
use super::history::{History, LineOrigin};
use super::{AuditFinding, AuditedClaim, FindingKind};

/// Minimum length of a checked name; shorter ones occur by chance in almost any file.
const NAME_CHARS_MIN: usize = 4;

/// Words of claims about names that need not exist.
const ABSENCE_WORDS: &[&str] = &[
    "removed",
    "deleted",
    "renamed",
    "formerly",
    "legacy",
    "old",
    "previously",
    "was",
    "were",
    "deprecated",
    "longer",
    "create",
    "creates",
    "add",
    "new",
    "example",
    "e.g",
    "eg",
    "named",
    "called",
    "no",
    "not",
    "never",
    "don't",
    "would",
    "could",
    "instead",
    "your",
];

/// Name in a claim and the code files that the claim cites for it.
struct NamedSymbol<'c> {
    claim: usize,
    /// The symbol as written.
    written: &'c str,
    name: &'c str,
    cited: Vec<&'c str>,
    /// Whether the claim says that the file has the symbol: `src/pay.py#charge`.
    is_member: bool,
}

/// Returns findings for symbols that are gone from the cited files.
pub(super) fn check(
    files: &FileLookup,
    history: &History,
    claims: &[AuditedClaim],
) -> Vec<AuditFinding> {
    let absent: Vec<NamedSymbol> = (0..claims.len())
        .filter(|at| !illustrates(&claims[*at]))
        .flat_map(|at| named_symbols(files, claims, at))
        .filter(|it| !it.cited.iter().any(|path| has_name(files, path, it.name)))
        .collect();
    let names: BTreeSet<&str> = absent.iter().map(|it| it.name).collect();
    let found = find_names(files, &names.into_iter().collect::<Vec<_>>());
    let mut past = PastFiles::new(history);
    let mut findings = Vec::new();
    for symbol in &absent {
        let claim = &claims[symbol.claim];
        let finding = |kind, message| AuditFinding::for_claim(kind, claims, symbol.claim, message);
        let name = symbol.name;
        // `src/pay.py#charge` says which file has the symbol; no other place will do.
        if let (true, [path]) = (symbol.is_member, &symbol.cited[..]) {
            let message = format!("`{name}` is not in `{path}`");
            findings.push(finding(FindingKind::DeadSymbol, message));
            continue;
        }
        let elsewhere = found.get(name);
        // The claim may cite the folder that the name is in.
        let below = |path: &String| claim.cites.iter().any(|cite| is_below(path, cite));
        if elsewhere.is_some_and(|paths| paths.iter().any(below)) {
            continue;
        }
        findings.extend(match (elsewhere, past.file_with(claim, symbol)) {
            (None, Some(path)) => Some(finding(
                FindingKind::DeadSymbol,
                format!("`{name}` is not in `{path}` and does not occur in the code"),
            )),
            (None, None) => Some(finding(
                FindingKind::DeadSymbol,
                format!("`{}` does not occur in the code", symbol.written),
            )),
            (Some(paths), Some(path)) => {
                let now = match &paths[..] {
                    [only] => format!("; it occurs in `{only}`"),
                    _ => String::new(),
                };
                let message = format!("`{name}` is not in `{path}`{now}");
                Some(finding(FindingKind::Stale, message))
            }
            (Some(_), None) => None,
        });
    }
    findings
}

/// Returns the symbols that a claim names beside code files.
fn named_symbols<'c>(
    files: &FileLookup,
    claims: &'c [AuditedClaim],
    at: usize,
) -> Vec<NamedSymbol<'c>> {
    let claim = &claims[at];
    let is_cited_code = |path: &&str| files.is_file(path) && is_code(path);
    let cited: Vec<&str> = claim
        .cites
        .iter()
        .map(String::as_str)
        .filter(is_cited_code)
        .collect();
    let is_absent =
        prose_words(&claim.found.text).any(|word| ABSENCE_WORDS.contains(&word.as_str()));
    if cited.is_empty() || is_absent {
        return Vec::new();
    }
    let folder = parent_folder(&claim.document);
    let named = claim
        .found
        .mentions
        .iter()
        .filter(|it| it.kind == MentionKind::Symbol);
    named
        .filter_map(|mention| {
            let member = ken_digest::split_member(&mention.text);
            let (name, cited) = match member {
                Some((path, name)) => {
                    let path = files.resolve(path, folder)?;
                    let own = cited.iter().copied().filter(|it| *it == path).collect();
                    (name, own)
                }
                None => {
                    let name = mention.text.rsplit([':', '.', '#']).next()?;
                    (name, cited.clone())
                }
            };
            let fits = !cited.is_empty() && (member.is_some() || name.len() >= NAME_CHARS_MIN);
            fits.then_some(NamedSymbol {
                claim: at,
                written: &mention.text,
                name,
                cited,
                is_member: member.is_some(),
            })
        })
        .collect()
}

/// Returns true for source files, as opposed to documents.
fn is_code(path: &str) -> bool {
    ken_anchor::Language::of(path).is_some() && !path.ends_with(".md")
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn has_name(files: &FileLookup, path: &str, name: &str) -> bool {
    // A file that cannot be read proves nothing.
    files
        .read_bytes(path)
        .is_none_or(|bytes| contains_name(&bytes, name))
}

/// Returns true if `name` occurs in a text as a whole identifier.
fn contains_name(bytes: &[u8], name: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let windows = bytes.windows(name.len().max(1)).enumerate();
    let mut places = windows.filter(|(_, window)| *window == name.as_bytes());
    places.any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        !is_part(before) && !is_part(bytes.get(at + name.len()))
    })
}

/// Maximum number of files that are remembered per name.
const PLACES_MAX: usize = 2;

/// Returns the files, other than agent documents, in which each name occurs.
fn find_names<'n>(files: &FileLookup, names: &[&'n str]) -> BTreeMap<&'n str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    if names.is_empty() {
        return found;
    }
    let Ok(finder) = AhoCorasick::new(names) else {
        // Without a searcher every name counts as present in unknown files: nothing is reported.
        return names.iter().map(|name| (*name, Vec::new())).collect();
    };
    for path in files.all() {
        // The document that makes the claim mentions the name itself.
        if ken_digest::source_kind(path).is_some() {
            continue;
        }
        let Some(bytes) = files.read_bytes(path) else {
            continue;
        };
        let hits = finder.find_overlapping_iter(&*bytes);
        let here: BTreeSet<usize> = hits.map(|it| it.pattern().as_usize()).collect();
        for pattern in here {
            let places = found.entry(names[pattern]).or_default();
            if places.len() < PLACES_MAX {
                places.push(path.clone());
            }
        }
    }
    found
}

/// Versions of cited files at the time a line was written.
struct PastFiles<'h> {
    history: &'h History,
    reader: Option<ken_ledger::git::GitObjectReader>,
    origins: BTreeMap<String, BTreeMap<usize, LineOrigin>>,
}

impl<'h> PastFiles<'h> {
    fn new(history: &'h History) -> Self {
        Self {
            history,
            reader: history.objects(),
            origins: BTreeMap::new(),
        }
    }

    /// Returns the cited file that had the symbol when the claim was last edited.
    fn file_with<'c>(&mut self, claim: &AuditedClaim, symbol: &NamedSymbol<'c>) -> Option<&'c str> {
        let (history, document) = (self.history, &claim.document);
        let lines = self
            .origins
            .entry(document.clone())
            .or_insert_with(|| history.line_origins(document));
        let span = claim.found.line..=claim.found.last_line;
        let last = span
            .filter_map(|line| lines.get(&line))
            .max_by_key(|it| it.time)?;
        if last.is_uncommitted {
            return None;
        }
        let commit = last.commit.clone();
        let reader = self.reader.as_mut()?;
        symbol.cited.iter().copied().find(|path| {
            let object = reader.get(&format!("{commit}:{path}")).ok().flatten();
            object.is_some_and(|it| contains_name(&it.content, symbol.name))
        })
    }
}
