//! Citations checked against the repository: a cited commit or document must exist.
//!
//! New citations are checked before they are written, and `ken verify` reports those that dangle.
//! A repository that cannot tell, outside git or in a shallow clone, accepts a citation unchecked.

use std::collections::BTreeMap;

use ken_core::health::gates::{GateFinding, dangling_citation};
use ken_core::ledger::entry::Entry;
use ken_core::values::citation::{Citation, CitationRef, CitationType};
use ken_ledger::LedgerLocation;
use ken_ledger::git::{CatFileMode, GitError, GitObjectReader, GitRunner};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::forage::{FOLDER_PREFIX, PACKAGE_PREFIX};
use crate::git::COMMIT_CHARS;
use crate::norms::EXAMPLES_PREFIX;
use crate::notice::EngineNotice;
use crate::promotion::global::CITATION_PREFIX;

/// Minimum length of an abbreviated commit id that is stored as given.
const ABBREVIATION_CHARS: usize = 7;

/// Prefixes of documents that Ken itself cites; they are in no repository.
const OWN_DOCUMENTS: [&str; 4] = [
    EXAMPLES_PREFIX,
    CITATION_PREFIX,
    PACKAGE_PREFIX,
    FOLDER_PREFIX,
];

/// Whether a cited artifact exists.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CitationState {
    Exists,
    /// It exists under a name that may mean something else tomorrow; this is its hash.
    Resolved(CitationRef),
    /// This clone cannot tell, for this reason.
    Unchecked(&'static str),
    Missing(&'static str),
}

/// Checks citations that are about to be written; symbolic names of commits become hashes.
pub(crate) fn check_new(
    engine: &mut Engine,
    citations: &mut [Citation],
) -> Result<(), EngineError> {
    if !citations.iter().any(is_checkable) {
        return Ok(());
    }
    let mut checker = CitationChecker::open(&engine.place)?;
    for citation in citations.iter_mut().filter(|it| is_checkable(it)) {
        match checker.state_of(citation)? {
            CitationState::Exists => {}
            CitationState::Resolved(hash) => citation.evidence_ref = hash,
            CitationState::Unchecked(why) => {
                let citation = citation.to_string();
                let notice = EngineNotice::CitationUnchecked { citation, why };
                if !engine.notices.contains(&notice) {
                    engine.notices.push(notice);
                }
            }
            CitationState::Missing(why) => {
                let citation = citation.to_string();
                return Err(EngineError::DanglingCitation { citation, why });
            }
        }
    }
    Ok(())
}

/// A citation of an artifact that does not exist.
#[derive(Debug)]
pub(crate) struct DanglingCitation<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) citation: &'a Citation,
    why: &'static str,
}

/// Returns a finding for every live entry with a citation that dangles and was not replaced since.
pub(crate) fn dangling_findings<'a>(
    engine: &Engine,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Vec<GateFinding>, EngineError> {
    let dangling = dangling(engine, entries)?.into_iter();
    let findings = dangling.map(|it| dangling_citation(it.entry, it.citation, it.why));
    Ok(findings.collect())
}

/// Returns, for every live entry, the citation that dangles and was not replaced since.
pub(crate) fn dangling<'a>(
    engine: &Engine,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Vec<DanglingCitation<'a>>, EngineError> {
    let mut checker = None;
    let mut found = Vec::new();
    for entry in entries.into_iter().filter(|it| it.is_live()) {
        // Citations are permanent, so a later one takes the place of one that dangles.
        let mut dangling = None;
        for citation in &entry.citations {
            let state = if is_checkable(citation) {
                let checker = match &mut checker {
                    Some(checker) => checker,
                    none => none.insert(CitationChecker::open(&engine.place)?),
                };
                checker.state_of(citation)?
            } else {
                CitationState::Exists
            };
            match (state, dangling) {
                (CitationState::Missing(why), _) => dangling = Some((citation, why)),
                (_, Some((before, _))) if citation.cited_at > before.cited_at => dangling = None,
                _ => {}
            }
        }
        found.extend(dangling.map(|(citation, why)| DanglingCitation {
            entry,
            citation,
            why,
        }));
    }
    Ok(found)
}

/// Returns whether the repository can tell if the cited artifact exists.
fn is_checkable(citation: &Citation) -> bool {
    let text = citation.evidence_ref.as_str();
    let is_own = || OWN_DOCUMENTS.iter().any(|own| text.starts_with(own));
    match citation.evidence_type {
        CitationType::Commit => !citation.evidence_ref.looks_like_url(),
        CitationType::Doc => !citation.evidence_ref.looks_like_url() && !is_own(),
        CitationType::Test => is_outside(text),
        CitationType::Pr | CitationType::Transcript => false,
    }
}

/// Returns whether a path of a test is not below the repository root.
fn is_outside(text: &str) -> bool {
    text.starts_with(['/', '~']) || text.get(1..3) == Some(":\\")
}

/// Looks up cited artifacts, with one git process for all of them.
struct CitationChecker<'a> {
    place: &'a LedgerLocation,
    /// `None` outside git and without the program git.
    objects: Option<GitObjectReader>,
    is_shallow: bool,
    known: BTreeMap<(CitationType, CitationRef), CitationState>,
}

impl<'a> CitationChecker<'a> {
    fn open(place: &'a LedgerLocation) -> Result<Self, EngineError> {
        let dirs = place.git.as_ref();
        let runner = dirs.map(|dirs| GitRunner::new(&place.root, dirs));
        let objects = match runner.map(|it| GitObjectReader::open(&it, CatFileMode::About)) {
            None | Some(Err(GitError::Run { .. })) => None,
            Some(opened) => Some(opened?),
        };
        Ok(Self {
            place,
            objects,
            is_shallow: dirs.is_some_and(|dirs| dirs.common_dir.join("shallow").exists()),
            known: BTreeMap::new(),
        })
    }

    fn state_of(&mut self, citation: &Citation) -> Result<CitationState, EngineError> {
        let key = (citation.evidence_type, citation.evidence_ref.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let text = citation.evidence_ref.as_str();
        let state = match citation.evidence_type {
            CitationType::Commit => self.commit_state(text)?,
            CitationType::Doc => self.document_state(text)?,
            CitationType::Test if is_outside(text) => {
                CitationState::Missing("a test is a name or a path below the repository root")
            }
            CitationType::Pr | CitationType::Test | CitationType::Transcript => {
                CitationState::Exists
            }
        };
        self.known.insert(key, state.clone());
        Ok(state)
    }

    fn commit_state(&mut self, text: &str) -> Result<CitationState, EngineError> {
        let Some(objects) = &mut self.objects else {
            return Ok(OUTSIDE_GIT);
        };
        let Some(id) = objects.id_of(&format!("{text}^{{commit}}"))? else {
            return Ok(if self.is_shallow && is_hash(text) {
                CitationState::Unchecked("this clone is shallow and does not have the commit")
            } else {
                CitationState::Missing("no such commit in this repository")
            });
        };
        let given = text.to_ascii_lowercase();
        if id.starts_with(&given) && given.len() >= ABBREVIATION_CHARS {
            return Ok(CitationState::Exists);
        }
        let hash = id.get(..COMMIT_CHARS).unwrap_or(&id);
        // Hexadecimal digits are a valid reference.
        Ok(hash
            .parse()
            .map_or(CitationState::Exists, CitationState::Resolved))
    }

    /// A document is `PATH`, `PATH#FRAGMENT` or `PATH#FRAGMENT@COMMIT`.
    fn document_state(&mut self, text: &str) -> Result<CitationState, EngineError> {
        if self.place.git.is_none() {
            return Ok(OUTSIDE_GIT);
        }
        let (path, commit) = split_document(text);
        let is_inside =
            !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..");
        if !is_inside {
            return Ok(CitationState::Missing(
                "a document is a path below the repository root",
            ));
        }
        if self.place.root.join(path).symlink_metadata().is_ok() {
            return Ok(CitationState::Exists);
        }
        let Some(objects) = &mut self.objects else {
            return Ok(OUTSIDE_GIT);
        };
        for revision in commit.into_iter().chain(["HEAD"]) {
            if objects.id_of(&format!("{revision}:{path}"))?.is_some() {
                return Ok(CitationState::Exists);
            }
        }
        Ok(if self.is_shallow && commit.is_some() {
            CitationState::Unchecked("this clone is shallow and does not have the commit")
        } else {
            CitationState::Missing("no such file in this repository")
        })
    }
}

const OUTSIDE_GIT: CitationState = CitationState::Unchecked("this folder is not in git");

fn is_hash(text: &str) -> bool {
    text.len() >= ABBREVIATION_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Splits a document into its path and the commit it is cited at.
fn split_document(text: &str) -> (&str, Option<&str>) {
    let (text, commit) = match text.rsplit_once('@') {
        Some((before, commit)) if is_hash(commit) => (before, Some(commit)),
        Some(_) | None => (text, None),
    };
    let path = text.split_once('#').map_or(text, |(path, _)| path);
    // A line or range of lines behind the path, as compilers print it.
    let path = match path.rsplit_once(':') {
        Some((before, lines)) if lines.bytes().all(|it| it.is_ascii_digit() || it == b'-') => {
            before
        }
        Some(_) | None => path,
    };
    (path, commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_document_is_found_behind_fragments_lines_and_commits() {
        for (text, path, commit) in [
            ("docs/a.md", "docs/a.md", None),
            ("docs/a.md#context", "docs/a.md", None),
            ("docs/a.md:12-14", "docs/a.md", None),
            ("CLAUDE.md#L12@3fce3b5", "CLAUDE.md", Some("3fce3b5")),
            ("docs/mail@home.md", "docs/mail@home.md", None),
        ] {
            assert_eq!(split_document(text), (path, commit), "{text}");
        }
    }
}
