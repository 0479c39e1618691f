//! Fingerprinting and reanchoring: fingerprints for new entries, and updates after code moved.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ken_anchor::{ResolveError, TextPattern, resolve, validate_code_pattern};
use ken_core::decide::{self, Refusal};
use ken_core::ledger::canonical;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::ranking::SearchHit;
use ken_core::trust::facts::Validity;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::{Anchor, CodeLocation, FilePart};
use ken_core::values::check::{NormCheck, parse_language};
use ken_core::values::citation::CitationSource;
use ken_core::values::condition::TruthValue;
use ken_core::values::content::{Content, ContentChanges, KindDetail};
use ken_core::values::id::EntryId;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Condition;
use ken_ledger::LedgerLocation;
use ken_ledger::git::{CatFileMode, GitError, GitObjectReader, GitRunner};

use super::code_version::CommitTree;
use super::file_reader::SpotLookup;
use super::impact::anchor_diff;
use super::{
    AnchorVerdict, CodeVersion, Effort, EntryCheck, EntryChecker, MoveSearch, VersionReader,
    WorkTree,
};
use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::sync::identity::derive_identity;
use crate::{entries, files};

/// Maximum number of commits of a file searched for the code an anchor was fingerprinted from.
const SEARCHED_COMMITS_MAX: usize = 32;
/// The same while somebody waits for an answer.
const ANSWER_COMMITS_MAX: usize = 8;
/// Maximum number of hits of an answer whose changing commit is looked up.
const COMMITS_NAMED_MAX: usize = 3;
/// Characters of a commit id in an answer.
const COMMIT_CHARS: usize = 10;

/// The result of `ken entry reanchor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReanchorOutcome {
    /// Entries that received missing fingerprints.
    pub fingerprinted: Vec<EntryId>,
    /// Entries whose anchors now point at the new location of their code.
    pub moved: Vec<EntryId>,
    /// Entries that need a person, because their code changed or is gone, or because a person wrote
    /// or verified them and the author is not one.
    pub unresolved: Vec<EntryId>,
}

/// The work tree and configuration that new entries are checked against.
#[derive(Debug)]
pub(crate) struct FingerprintContext {
    version: CodeVersion,
    config: RepositoryConfig,
}

impl FingerprintContext {
    fn open(place: &LedgerLocation) -> Result<Self, EngineError> {
        let version = CodeVersion::Work(WorkTree::new(place)?);
        let config = RepositoryConfig::load(&version)?;
        Ok(Self { version, config })
    }
}

/// Fingerprints the anchors of `content`, and rejects anchors and conditions that do not hold.
///
/// Anchors that already have a fingerprint keep it. The context is created on first use and
/// shared by a batch.
pub(crate) fn fingerprint_content(
    engine: &mut Engine,
    content: &mut Content,
    ground: &mut Option<FingerprintContext>,
) -> Result<(), EngineError> {
    validate_norm_check(content.detail.as_ref())?;
    fingerprint_and_check(engine, &mut content.anchors, &content.depends_on, ground)
}

/// Fingerprints the anchors of an edit, as [`fingerprint_content`] does.
pub(crate) fn fingerprint_changes(
    engine: &mut Engine,
    changes: &mut ContentChanges,
) -> Result<(), EngineError> {
    validate_norm_check(changes.detail.as_ref().and_then(Option::as_ref))?;
    let evidence = changes.anchors.as_deref_mut().unwrap_or_default();
    let conditions = changes.depends_on.as_deref().unwrap_or_default();
    fingerprint_and_check(engine, evidence, conditions, &mut None)
}

/// Fingerprints anchors that come without conditions.
pub(crate) fn fingerprint_anchors(
    engine: &mut Engine,
    evidence: &mut [Anchor],
) -> Result<(), EngineError> {
    fingerprint_and_check(engine, evidence, &[], &mut None)
}

fn fingerprint_and_check(
    engine: &mut Engine,
    evidence: &mut [Anchor],
    conditions: &[Condition],
    ground: &mut Option<FingerprintContext>,
) -> Result<(), EngineError> {
    if evidence.is_empty() && conditions.is_empty() {
        return Ok(());
    }
    let FingerprintContext { version, config } = match ground {
        Some(ground) => ground,
        none => none.insert(FingerprintContext::open(&engine.place)?),
    };
    let root = &engine.place.root;
    let reader = VersionReader::new(version, &mut engine.index, engine.runtime.now());
    let mut checker = EntryChecker::new(reader, MoveSearch::Tree, Effort::Full, &config.facts);
    for anchor in evidence {
        // A fingerprint in the input was taken when the claim was made, maybe of older code.
        if anchor.fingerprint.is_none() {
            fingerprint_anchor(&mut checker, anchor, root)?;
        }
    }
    for condition in conditions {
        let check = checker.check_condition(condition);
        // Unverifiable conditions are accepted: this clone may lack a lock file or a grammar.
        if check.truth == TruthValue::Broken {
            return Err(EngineError::UnsupportedByCode {
                what: format!("the condition `{condition}` is not met"),
                why: check.why,
                nearest: Vec::new(),
            });
        }
    }
    checker.store_results()
}

/// Checks one entry against the work tree and adds diffs to changed anchors.
pub(crate) fn check_entry(engine: &mut Engine, id: EntryId) -> Result<EntryCheck, EngineError> {
    let mut checked = check_in_work_tree(engine, id)?;
    let now = CodeVersion::Work(WorkTree::new(&engine.place)?);
    add_diffs(&now, std::slice::from_mut(&mut checked))?;
    Ok(checked)
}

fn check_in_work_tree(engine: &mut Engine, id: EntryId) -> Result<EntryCheck, EngineError> {
    let entry = engine.entry(id)?;
    let checked = check_entries(engine, vec![entry], MoveSearch::Tree, Effort::Full)?;
    checked
        .into_iter()
        .next()
        .ok_or(EngineError::NotFound(id.to_string()))
}

/// Checks entries against the work tree.
pub(crate) fn check_entries(
    engine: &mut Engine,
    entries: Vec<Entry>,
    search: MoveSearch<'_>,
    haste: Effort,
) -> Result<Vec<EntryCheck>, EngineError> {
    let version = CodeVersion::Work(WorkTree::new(&engine.place)?);
    let config = RepositoryConfig::load_or_default(&version);
    let reader = VersionReader::new(&version, &mut engine.index, engine.runtime.now());
    let mut checker = EntryChecker::new(reader, search, haste, &config.facts);
    let mut checked = Vec::with_capacity(entries.len());
    checker.check_all(entries, |it| checked.push(it))?;
    Ok(checked)
}

/// Returns the validity of entries that have anchors or conditions, with reduced effort for
/// interactive queries.
pub(crate) fn validity_of<'e>(
    engine: &mut Engine,
    entries: impl IntoIterator<Item = &'e Entry>,
) -> Result<BTreeMap<EntryId, Validity>, EngineError> {
    let anchored = entries.into_iter().filter(|it| it.is_checkable());
    let entries: Vec<Entry> = anchored.cloned().collect();
    if entries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let checked = check_entries(engine, entries, MoveSearch::File, Effort::Cached)?;
    let validity = checked.into_iter().map(|it| (it.entry.id, it.validity));
    Ok(validity.collect())
}

/// Returns the entries whose code changed or is gone.
pub(crate) fn invalid_entries(engine: &mut Engine) -> Result<Vec<EntryCheck>, EngineError> {
    let entries = engine.index.checkable()?;
    let mut checked = check_entries(engine, entries, MoveSearch::Tree, Effort::Full)?;
    checked.retain(EntryCheck::is_invalid);
    add_diffs(
        &CodeVersion::Work(WorkTree::new(&engine.place)?),
        &mut checked,
    )?;
    Ok(checked)
}

/// Returns the matching entries that are stale: by their status, or because their code changed or
/// is gone. The status of `filter` is ignored.
pub(crate) fn stale_entries(
    engine: &mut Engine,
    filter: &EntryFilter,
) -> Result<Vec<(Entry, Option<Validity>)>, EngineError> {
    let any = EntryFilter {
        status: None,
        limit: None,
        ..filter.clone()
    };
    let entries = engine.index.list(&any)?;
    let validity = validity_of(engine, &entries)?;
    let stale = entries.into_iter().filter_map(|entry| {
        let validity = validity.get(&entry.id).copied();
        let is_changed = matches!(validity, Some(Validity::Changed | Validity::Broken));
        let is_stale = is_changed || entry.status.value == EntryStatus::Stale;
        is_stale.then_some((entry, validity))
    });
    Ok(stale.take(filter.limit.unwrap_or(usize::MAX)).collect())
}

/// Adds diffs to anchors that changed up to `now`, if git still has the code they were
/// fingerprinted from.
pub(super) fn add_diffs(now: &CodeVersion, all: &mut [EntryCheck]) -> Result<(), EngineError> {
    let Some(history) = now.history() else {
        return Ok(());
    };
    // Several entries often have the same anchor, and each search starts git processes.
    let mut found: Vec<(Anchor, Option<String>)> = Vec::new();
    for checked in all {
        let content = checked.entry.content.as_ref();
        let anchors = content.into_iter().flat_map(|it| &it.anchors);
        let changed = anchors
            .zip(&mut checked.anchors)
            .filter(|(_, check)| check.verdict == AnchorVerdict::Changed);
        for (anchor, check) in changed {
            if let Some((_, diff)) = found.iter().find(|(known, _)| known == anchor) {
                check.diff.clone_from(diff);
                continue;
            }
            if let Some(then) = find_fingerprinted_commit(history, anchor, SEARCHED_COMMITS_MAX)? {
                let then = CommitTree::new(history.0.clone(), then.commit);
                let then = CodeVersion::Commit(Arc::new(then));
                check.diff = anchor_diff(&then, now, &anchor.at)?;
            }
            found.push((anchor.clone(), check.diff.clone()));
        }
    }
    Ok(())
}

/// Adds missing fingerprints and follows moved code; changed code is left to a person.
pub(crate) fn reanchor_all(
    engine: &mut Engine,
    by: &Actor,
) -> Result<ReanchorOutcome, EngineError> {
    let mut entries = engine.index.checkable()?;
    entries.retain(|entry| {
        let content = entry.content.as_ref();
        content.is_some_and(|content| !content.anchors.is_empty())
    });
    let mut done = ReanchorOutcome::default();
    for checked in check_entries(engine, entries, MoveSearch::Tree, Effort::Full)? {
        reanchor_checked(engine, &checked, by, &mut done)?;
    }
    files::render_due(engine)?;
    Ok(done)
}

fn reanchor_checked(
    engine: &mut Engine,
    checked: &EntryCheck,
    by: &Actor,
    done: &mut ReanchorOutcome,
) -> Result<(), EngineError> {
    let id = checked.entry.id;
    let evidence = checked.refreshed_anchors();
    let content = checked.entry.content.as_ref();
    // An event without an effect would only bloat the ledger.
    if content.is_some_and(|content| content.anchors != evidence) {
        // Every clone derives the same event id, so that two clones that follow the same move do
        // not leave concurrent versions.
        let entry = &checked.entry;
        let digest = canonical::to_string(&evidence);
        let id_of_event = derive_identity(entry, "reanchored", &digest, &entry.revision).id;
        let draft = decide::reanchor(entry, evidence)?;
        let is_left = match decide::attribute_change(draft, entry, by) {
            Ok(draft) => {
                engine.record_with_ids(vec![(Some(id_of_event), draft)], by)?;
                let list = if checked.has_moved() {
                    &mut done.moved
                } else {
                    &mut done.fingerprinted
                };
                list.push(id);
                false
            }
            // A person wrote or verified it, so a person has to update its anchors.
            Err(_) => true,
        };
        if is_left && !checked.is_invalid() {
            done.unresolved.push(id);
        }
    }
    // Not exclusive: one anchor of an entry may have moved while another one changed.
    if checked.is_invalid() {
        done.unresolved.push(id);
    }
    Ok(())
}

/// Fingerprints the current code of an entry after a person confirmed that the claim still holds,
/// and cites `citation` for it. Either both are recorded or neither.
pub(crate) fn accept_current_code(
    engine: &mut Engine,
    id: EntryId,
    citation: Option<CitationSource>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let checked = check_in_work_tree(engine, id)?;
    let mut anchors = checked.anchors.iter();
    if let Some(gone) = anchors.find(|it| it.verdict == AnchorVerdict::Gone) {
        return Err(EngineError::UnsupportedByCode {
            what: format!("`{}` is gone", gone.at),
            why: "an anchor must point at existing code".to_owned(),
            nearest: Vec::new(),
        });
    }
    let evidence = checked.anchors.iter().map(|check| {
        let old = Anchor::from(check.at.clone());
        check.now.clone().unwrap_or(old)
    });
    let draft = decide::reanchor(&checked.entry, evidence.collect())?;
    let mut drafts = vec![decide::attribute_change(draft, &checked.entry, by)?];
    if let Some(citation) = citation {
        let citation = entries::check_citation(engine, citation, by)?;
        match decide::cite(&checked.entry, citation) {
            // Accepted, undone and accepted within a second: the first citation is still there.
            Err(Refusal::NothingChanges) => {}
            draft => drafts.push(draft?),
        }
    }
    engine.record(drafts, by)?;
    files::render_due(engine)?;
    engine.entry(id)
}

/// Replaces the anchors of an entry whose code changed or is gone with `to`; others stay.
pub(crate) fn reanchor_to(
    engine: &mut Engine,
    id: EntryId,
    to: Vec<CodeLocation>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let checked = check_in_work_tree(engine, id)?;
    let is_lost = |verdict| matches!(verdict, AnchorVerdict::Changed | AnchorVerdict::Gone);
    let content = checked.entry.content.iter();
    let old = content.flat_map(|content| &content.anchors);
    let kept = old
        .zip(&checked.anchors)
        .filter(|(_, check)| !is_lost(check.verdict));
    let mut anchors: Vec<Anchor> = kept.map(|(anchor, _)| anchor.clone()).collect();
    anchors.extend(to.into_iter().map(Anchor::from));
    let changes = ContentChanges {
        anchors: Some(anchors),
        ..ContentChanges::default()
    };
    // An edit and not a `Reanchored` event: the new code may differ, and norms need a person.
    engine.edit(id, changes, None, by)
}

/// The latest commit in which anchored code has its stored fingerprint, and its successor.
struct FingerprintedCommit {
    commit: String,
    /// The commit that changed the code; `None` if only the work tree did.
    changed_by: Option<String>,
}

/// Returns the commit that changed the code of an entry, abbreviated; `None` if the change is not
/// committed, or lies further back than the commits an answer has time to read.
fn changing_commit(git: &GitRunner, entry: &Entry) -> Result<Option<String>, EngineError> {
    let anchors = entry.content.iter().flat_map(|it| &it.anchors);
    for anchor in anchors.filter(|it| *it.at.part() != FilePart::File) {
        let found = find_fingerprinted_commit((git, "HEAD"), anchor, ANSWER_COMMITS_MAX)?;
        if let Some(changed_by) = found.and_then(|it| it.changed_by) {
            return Ok(Some(
                changed_by[..COMMIT_CHARS.min(changed_by.len())].to_owned(),
            ));
        }
    }
    Ok(None)
}

/// Adds the commit that changed the code to the first prescriptive hits whose code changed.
pub(crate) fn add_changing_commits(
    engine: &Engine,
    hits: &mut [SearchHit],
) -> Result<(), EngineError> {
    let is_departed = |hit: &&mut SearchHit| {
        hit.facts.validity == Validity::Changed && hit.entry.is_prescriptive()
    };
    let mut departed = hits
        .iter_mut()
        .filter(is_departed)
        .take(COMMITS_NAMED_MAX)
        .peekable();
    let Some(dirs) = engine
        .place
        .git
        .as_ref()
        .filter(|_| departed.peek().is_some())
    else {
        return Ok(());
    };
    let git = GitRunner::new(&engine.place.root, dirs);
    for hit in departed {
        hit.facts.changed_in = changing_commit(&git, &hit.entry)?;
    }
    Ok(())
}

/// Returns the latest of at most `most` commits up to `head` in which the anchored code has the
/// stored fingerprint.
fn find_fingerprinted_commit(
    (git, head): (&GitRunner, &str),
    anchor: &Anchor,
    most: usize,
) -> Result<Option<FingerprintedCommit>, EngineError> {
    let (path, spot) = (anchor.at.path(), anchor.at.part());
    let count = format!("-{most}");
    let commits = match git.output(&["log", "--format=%H", &count, head, "--", path]) {
        Ok(commits) => commits,
        // Before the first commit there is no older code, and a search must not fail for it.
        Err(GitError::Failed { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // One process reads all versions: starting git costs more than parsing a file.
    let mut objects = GitObjectReader::open(git, CatFileMode::Content)?;
    let mut changed_by = None;
    for commit in String::from_utf8_lossy(&commits).lines() {
        let bytes = objects.get(&format!("{commit}:{path}"))?;
        let found = bytes.and_then(|it| resolve(path, &it.content, spot).ok());
        let fingerprint = found.map(|it| it.fingerprint.to_string());
        if fingerprint.is_some() && fingerprint == anchor.fingerprint {
            let commit = commit.to_owned();
            return Ok(Some(FingerprintedCommit { commit, changed_by }));
        }
        changed_by = Some(commit.to_owned());
    }
    Ok(None)
}

/// Fingerprints the code an anchor points at.
fn fingerprint_anchor(
    checker: &mut EntryChecker<'_>,
    anchor: &mut Anchor,
    root: &Path,
) -> Result<(), EngineError> {
    let at = &anchor.at;
    let refused = |why: String, nearest: Vec<String>| {
        let what = format!("the anchor `{at}` was not found");
        Err(EngineError::UnsupportedByCode { what, why, nearest })
    };
    match checker.reader.resolve_spot(at.path(), at.part())? {
        SpotLookup::Found(found) => {
            anchor.fingerprint = Some(found.fingerprint.to_string());
            Ok(())
        }
        SpotLookup::NoFile if checker.is_folder(at)? => Ok(()),
        SpotLookup::NoFile => refused(explain_missing_file(root, at.path()), Vec::new()),
        SpotLookup::Missing(ResolveError::SymbolNotFound { nearest, .. }) => {
            refused("the file has no such symbol".to_owned(), nearest)
        }
        SpotLookup::Missing(other) => refused(other.to_string(), Vec::new()),
        SpotLookup::Unreadable(why) => refused(why, Vec::new()),
    }
}

/// Returns why Ken finds no file at `path`: a file behind a symbolic link exists, but only its own
/// path is the same in every commit and on every system.
fn explain_missing_file(root: &Path, path: &str) -> String {
    let real = root.canonicalize().and_then(|root| {
        let real = root.join(path).canonicalize()?;
        Ok((root, real))
    });
    let Ok((root, real)) = real else {
        return format!("the file `{path}` does not exist");
    };
    let link = format!("`{path}` is behind a symbolic link, which Ken does not follow");
    match real.strip_prefix(root) {
        Ok(inside) if inside != Path::new(path) => {
            format!("{link}; anchor `{}` instead", inside.display())
        }
        Ok(_) => format!("`{path}` is not a regular file"),
        Err(_) => format!("{link}; it leads out of the repository"),
    }
}

/// Rejects a norm whose check cannot be compiled.
fn validate_norm_check(detail: Option<&KindDetail>) -> Result<(), EngineError> {
    let Some(KindDetail::Norm(norm)) = detail else {
        return Ok(());
    };
    norm.check.validate().map_err(Refusal::from)?;
    let understood = match &norm.check {
        NormCheck::CommitMessage { pattern, .. } | NormCheck::ForbiddenText { pattern, .. } => {
            TextPattern::new(pattern).map(|_| ())
        }
        NormCheck::ForbiddenCode {
            language, pattern, ..
        } => {
            let language = parse_language(language).map_err(Refusal::from)?;
            validate_code_pattern(language, pattern)
        }
        NormCheck::ChangedTogether { .. }
        | NormCheck::Reviewers { .. }
        | NormCheck::DiffSize { .. }
        | NormCheck::RiskTier { .. } => Ok(()),
    };
    understood.map_err(|why| EngineError::Usage(format!("the check is invalid: {why}")))
}
