//! Sync: turns edits of entry files into events.
//!
//! An edit becomes one event. Its id is derived from entry, content and base; its time and actor
//! are those of the commit that contains it. Every clone therefore records the same event. Nothing
//! is recorded if the edit may be unintentional: during a merge, with conflict markers, in a sparse
//! checkout, or if many files are missing at once.

mod conflicts;
mod edits;
pub(crate) mod identity;
pub(crate) mod pending;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use ken_core::decide::Draft;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::id::EntryId;
use ken_core::values::status::EntryStatus;
use ken_ledger::disk::{LockGuard, LockWait};
use ken_ledger::{Dir as _, DiskError, RealDir};
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{self, ENTRIES_DIR, SeenFiles, write_atomically};
use crate::git::{self, CommitAuthorship, EditAuthor};
use crate::ledger_maintenance;
use crate::notice::{EngineNotice, EntryFileEdit};
use crate::validity::anchoring::{self, ReanchorOutcome};
use crate::view::entry_file;

use edits::{EditDecision, editor};
use identity::DerivedIdentity;
use scan::ChangedEntryFile;

/// Maximum number of files deleted at once without a confirmation.
pub const DELETIONS_MAX: usize = 3;

/// Lock file that serializes syncs of one clone.
const LOCK_FILE: &str = ".local/absorb.lock";

/// Policy for deleting more than [`DELETIONS_MAX`] files at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkDeletion {
    Refuse,
    Allow,
}

/// The result of a sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncOutcome {
    /// Number of edits that became events.
    pub edits: usize,
    pub rendered_files: usize,
    /// Entries whose anchors were moved or fingerprinted, and those whose code changed.
    pub anchors: ReanchorOutcome,
    /// Entries whose file was deleted before it was ever committed, with the file name.
    pub missing_uncommitted: Vec<(EntryId, String)>,
    /// Live entries with concurrent versions, which a person settles with an edit.
    pub concurrent: Vec<EntryId>,
    /// Pairs that replace each other, so that neither is in use: two branches merged them in
    /// opposite directions. A person restores one.
    pub mutual: Vec<(EntryId, EntryId)>,
}

/// Missing entry files that are not recorded as deletions.
#[derive(Default)]
struct UnrecordedDeletions {
    /// Files that are too many to count as intended deletions.
    uncertain: Vec<String>,
    /// Entries whose file was never committed. Git cannot tell a deletion of such a file from a
    /// file that was never written, so the user decides.
    never_committed: Vec<(EntryId, String)>,
}

/// Missing entry files, sorted by what the sync does about them.
struct ClassifiedDeletions {
    /// File, entry, and the author of the commit that deleted the file.
    intended: Vec<(String, Entry, Option<CommitAuthorship>)>,
    unrecorded: UnrecordedDeletions,
}

/// Turns edits of entry files into events, redacts copies that came back, follows moved code and
/// renders stale files.
pub(crate) fn sync(engine: &mut Engine, bulk: BulkDeletion) -> Result<SyncOutcome, EngineError> {
    let span = tracing::info_span!("sync", absorbed = Empty, rendered = Empty);
    let _in = span.enter();
    ledger_maintenance::apply_redactions(engine)?;
    conflicts::resolve_rendered_conflicts(engine)?;
    if SeenFiles::load(&*engine.ken).is_some_and(|seen| seen.may_lag) {
        engine.views.mark_all_due();
    }
    let before = engine.notices.len();
    let missing = sync_edits(engine, bulk)?;
    if !missing.uncertain.is_empty() && bulk == BulkDeletion::Refuse {
        return Err(EngineError::BulkDeletion {
            count: missing.uncertain.len(),
            files: missing.uncertain,
        });
    }
    let count = |test: &dyn Fn(&EngineNotice) -> bool| {
        let new = &engine.notices[before..];
        new.iter().filter(|notice| test(notice)).count()
    };
    let absorbed = count(&|notice| matches!(notice, EngineNotice::EditSynced { .. }));
    let is_deferred = count(&|notice| matches!(notice, EngineNotice::SyncDeferred { .. })) > 0;
    if !is_deferred {
        mark_unrendered(engine)?;
    }
    let rendered = files::render_due(engine)? + files::rerender_unredacted(engine)?;
    // In the middle of a git operation the code is as unfinished as the entry files.
    let anchors = if is_deferred {
        ReanchorOutcome::default()
    } else {
        let by = engine.actor();
        anchoring::reanchor_all(engine, &by)?
    };
    if let Some(seen) = &mut engine.views.seen {
        seen.may_lag = false;
    }
    span.record("absorbed", absorbed);
    span.record("rendered", rendered);
    let entries = all_entries(engine)?;
    Ok(SyncOutcome {
        edits: absorbed,
        rendered_files: rendered,
        anchors,
        missing_uncommitted: missing.never_committed,
        concurrent: concurrent_entries(&entries),
        mutual: mutual_replacements(&entries),
    })
}

/// Marks entries for rendering whose file was never written, because a process was killed.
fn mark_unrendered(engine: &mut Engine) -> Result<(), EngineError> {
    let Some(seen) = &engine.views.seen else {
        return Ok(());
    };
    let dir = Arc::clone(&engine.ken);
    let mut known: BTreeSet<EntryId> = BTreeSet::new();
    for name in seen.names() {
        match files::id_from_file_name(name) {
            Some(id) => drop(known.insert(id)),
            // A person gave the file another name.
            None => {
                let text = files::read_text(&*dir, &format!("{ENTRIES_DIR}/{name}"))?;
                let parsed = entry_file::parse(&text.unwrap_or_default());
                known.extend(parsed.map(|it| it.id));
            }
        }
    }
    let entries = all_entries(engine)?;
    let mut missing: BTreeMap<String, EntryId> = BTreeMap::new();
    for entry in entries {
        let is_expected = entry.retracted.is_none() && !known.contains(&entry.id);
        let Some(file) = entry.file_name().filter(|_| is_expected) else {
            continue;
        };
        let stat = dir.stat(&format!("{ENTRIES_DIR}/{file}"));
        if stat.map_err(DiskError::on("stat", &file))?.is_none() {
            missing.insert(file, entry.id);
        }
    }
    if !missing.is_empty() && engine.place.git.is_some() {
        // A sparse checkout leaves files out.
        let in_head = git::entry_files_in_head(&engine.place)?;
        missing.retain(|file, _| !in_head.contains(file));
    }
    engine
        .views
        .mark_due(&missing.into_values().collect::<BTreeSet<_>>());
    Ok(())
}

/// Returns the live entries with concurrent versions.
fn concurrent_entries(entries: &[Entry]) -> Vec<EntryId> {
    let shown = EntryFilter::default();
    let live = entries.iter().filter(|it| shown.matches(it));
    let concurrent = live.filter(|it| !it.concurrent.is_empty());
    concurrent.map(|it| it.id).collect()
}

/// Returns the pairs of entries that are merged into, or superseded by, each other.
fn mutual_replacements(entries: &[Entry]) -> Vec<(EntryId, EntryId)> {
    let replaced = entries.iter().filter(|it| it.retracted.is_none());
    let by: BTreeMap<EntryId, EntryId> = replaced
        .filter_map(|it| Some((it.id, it.merged_into.or(it.superseded_by)?)))
        .collect();
    let pairs = by.iter().map(|(one, other)| (*one, *other));
    pairs
        .filter(|(one, other)| one < other && by.get(other) == Some(one))
        .collect()
}

/// Returns every entry, also those that are archived, retracted or replaced.
fn all_entries(engine: &Engine) -> Result<Vec<Entry>, EngineError> {
    Ok(engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?)
}

/// Redacts returned copies and syncs edits; every writing command calls this first.
///
/// Runs once per process.
pub(crate) fn sync_before_writing(engine: &mut Engine) -> Result<(), EngineError> {
    if !std::mem::replace(&mut engine.redactions_applied, true) {
        ledger_maintenance::apply_redactions(engine)?;
    }
    sync_edits_once(engine)
}

/// Syncs edits unless this process has done so already.
pub(crate) fn sync_edits_once(engine: &mut Engine) -> Result<(), EngineError> {
    if std::mem::replace(&mut engine.edits_synced, true) {
        return Ok(());
    }
    let files = sync_edits(engine, BulkDeletion::Refuse)?.uncertain;
    if !files.is_empty() {
        engine.notices.push(EngineNotice::ManyFilesGone { files });
    }
    Ok(())
}

/// Syncs edits. Returns the missing files that were not recorded as deletions.
fn sync_edits(engine: &mut Engine, bulk: BulkDeletion) -> Result<UnrecordedDeletions, EngineError> {
    // During a merge or rebase, files on disk are git's work in progress, not a person's edits.
    if let Some(why) = git::sync_blocker(&engine.place)? {
        engine.notices.push(EngineNotice::SyncDeferred { why });
        return Ok(UnrecordedDeletions::default());
    }
    let dir = Arc::clone(&engine.ken);
    let mut scan = scan::scan_entry_files(engine, &dir)?;
    let _lock;
    // The lock is taken only if there is something to record: most commands find nothing.
    if scan.has_edits() {
        _lock = lock_sync(&dir).map_err(DiskError::on("lock", LOCK_FILE))?;
        // The previous holder of the lock may have recorded the same edits.
        engine.refresh()?;
        scan = scan::scan_entry_files(engine, &dir)?;
    }
    if let Some(file) = scan.conflicted.first() {
        let why = format!("{file} contains conflict markers; keep one version of each conflict");
        engine.notices.push(EngineNotice::SyncDeferred { why });
        return Ok(UnrecordedDeletions::default());
    }
    let mut seen = scan.seen;
    // Git is slow in a large repository, so it is asked only if a file changed.
    let dirty = if scan.changed.is_empty() {
        BTreeSet::new()
    } else {
        dirty_files(engine)?
    };
    for (file, why) in scan.unreadable {
        if !files::remove_if_redacted(engine, &dir, &file, &mut seen)? {
            // Reported until a person corrects it.
            seen.forget(&file);
            engine.notices.push(EngineNotice::FileIgnored { file, why });
        }
    }
    for edited in scan.changed {
        if files::remove_if_redacted(engine, &dir, &edited.file, &mut seen)? {
            // Redaction takes precedence over an edit of the redacted entry.
            if edited.is_edited() {
                let (file, why) = (edited.file, "its entry was redacted".to_owned());
                engine.notices.push(EngineNotice::FileIgnored { file, why });
            }
            continue;
        }
        let author = if edited.is_edited() {
            edit_author(engine, &edited.file, &dirty)?
        } else {
            EditAuthor::Uncommitted
        };
        let author = match author {
            EditAuthor::Uncommitted => None,
            EditAuthor::Committed(author) => Some(author),
            // Recording with another author would give this clone a different event than
            // others.
            EditAuthor::BeyondShallow => {
                let why = describe_shallow(&edited.file);
                engine.notices.push(EngineNotice::SyncDeferred { why });
                seen.forget(&edited.file);
                continue;
            }
        };
        sync_file(engine, &dir, &edited, author.as_ref(), &mut seen)?;
    }
    let mut unrecorded = record_deletions(engine, scan.missing, bulk, &mut seen)?;
    if scan.is_first {
        // Nothing says that these files were ever written here: the sync writes them.
        unrecorded.never_committed.clear();
    }
    engine.views.seen = Some(seen);
    Ok(unrecorded)
}

fn dirty_files(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    match engine.place.git {
        Some(_) => Ok(git::dirty_entry_files(&engine.place)?),
        None => Ok(BTreeSet::new()),
    }
}

/// Returns the author of a file's current content.
fn edit_author(
    engine: &Engine,
    file: &str,
    dirty: &BTreeSet<String>,
) -> Result<EditAuthor, EngineError> {
    if engine.place.git.is_none() || dirty.contains(file) {
        return Ok(EditAuthor::Uncommitted);
    }
    Ok(git::edit_author(&engine.place, file)?)
}

/// Returns the reason why an edit is not recorded in a shallow clone.
fn describe_shallow(file: &str) -> String {
    format!(
        "the history of this shallow clone does not show the author of {file}; fetch it with `git fetch --unshallow` (`fetch-depth: 0` in CI)"
    )
}

fn sync_file(
    engine: &mut Engine,
    dir: &RealDir,
    edited: &ChangedEntryFile,
    author: Option<&CommitAuthorship>,
    seen: &mut SeenFiles,
) -> Result<(), EngineError> {
    let Some(entry) = engine.index.entry(edited.parsed.id)? else {
        // The file arrived before its events. Forgetting it makes the next sync look again.
        seen.forget(&edited.file);
        return Ok(());
    };
    let mut left_alone = false;
    for decision in edits::decide_edits(engine, &entry, &edited.parsed, author) {
        let recorded = decision.and_then(|decision| match decision {
            EditDecision::Unchanged => Ok(()),
            // A file that was left alone is not rendered: rendering would discard the edit.
            EditDecision::Deferred => {
                left_alone = true;
                Ok(())
            }
            EditDecision::Record(edit, derived, draft) => {
                record_edit(engine, entry.id, edit, (derived, *draft), author)
            }
        });
        match recorded {
            Ok(()) => {}
            Err(error) if edits::is_refusal(&error) => {
                left_alone = true;
                let (file, why) = (edited.file.clone(), error.to_string());
                engine.notices.push(EngineNotice::FileIgnored { file, why });
            }
            Err(error) => return Err(error),
        }
    }
    if left_alone {
        seen.forget(&edited.file);
        return Ok(());
    }
    let status = &edited.parsed.machine.status;
    let is_set = !edited.parsed.machine_is_rendered && *status != entry.status.value.to_string();
    // Only a name that `ken entry status` accepts: other text need not be repeated.
    if is_set && status.parse::<EntryStatus>().is_ok() {
        engine.notices.push(EngineNotice::StatusReset {
            entry: entry.id,
            status: status.clone(),
        });
    }
    render_synced(engine, dir, edited, seen)
}

/// Renders a file whose edits have been recorded.
fn render_synced(
    engine: &Engine,
    dir: &RealDir,
    edited: &ChangedEntryFile,
    seen: &mut SeenFiles,
) -> Result<(), EngineError> {
    let entry = engine.entry(edited.parsed.id)?;
    if !edited.is_edited() {
        files::render_entry(engine, dir, &entry, seen)?;
        return Ok(());
    }
    // The edited file keeps its name, even if the entry would get another one now.
    write_entry_file(dir, &edited.file, &entry, seen)
}

/// Writes the file of an entry under the given name.
fn write_entry_file(
    dir: &RealDir,
    file: &str,
    entry: &Entry,
    seen: &mut SeenFiles,
) -> Result<(), EngineError> {
    let path = format!("{ENTRIES_DIR}/{file}");
    if let Some(text) = entry_file::render(entry) {
        write_atomically(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
    }
    if let Some(stat) = dir
        .stat(&path)
        .map_err(DiskError::on("read the metadata of", &path))?
    {
        seen.record(file, &stat);
    }
    Ok(())
}

/// Retracts entries whose files were deleted intentionally; returns the files it left alone.
fn record_deletions(
    engine: &mut Engine,
    missing: Vec<(String, Entry)>,
    bulk: BulkDeletion,
    seen: &mut SeenFiles,
) -> Result<UnrecordedDeletions, EngineError> {
    if missing.is_empty() {
        return Ok(UnrecordedDeletions::default());
    }
    let classified = classify_deletions(engine, missing, bulk)?;
    for (file, entry, author) in classified.intended {
        let decision = edits::decide_deletion(engine, &entry, author.as_ref())?;
        if let EditDecision::Record(edit, derived, draft) = decision {
            record_edit(engine, entry.id, edit, (derived, *draft), author.as_ref())?;
        }
        seen.forget(&file);
    }
    Ok(classified.unrecorded)
}

/// Sorts missing files into intended deletions and files to leave alone.
fn classify_deletions(
    engine: &Engine,
    missing: Vec<(String, Entry)>,
    bulk: BulkDeletion,
) -> Result<ClassifiedDeletions, EngineError> {
    let mut here = Vec::new();
    let mut intended = Vec::new();
    let mut unrecorded = UnrecordedDeletions::default();
    if engine.place.git.is_some() {
        let deleted = git::deleted_in_worktree(&engine.place)?;
        let in_head = git::entry_files_in_head(&engine.place)?;
        let commits = git::deletion_commits(&engine.place)?;
        let latest = git::latest_deletions(&commits);
        for (file, entry) in missing {
            if deleted.contains(&file) {
                here.push((file, entry, None));
            } else if in_head.contains(&file) {
                // A sparse checkout leaves the file out; nobody deleted it.
            } else if let Some(commit) = latest.get(file.as_str()) {
                if commit.files.len() <= DELETIONS_MAX || bulk == BulkDeletion::Allow {
                    intended.push((file, entry, Some(commit.author.clone())));
                } else {
                    unrecorded.uncertain.push(file);
                }
            } else {
                unrecorded.never_committed.push((entry.id, file));
            }
        }
    } else {
        here.extend(missing.into_iter().map(|(file, entry)| (file, entry, None)));
    }
    if here.len() <= DELETIONS_MAX || bulk == BulkDeletion::Allow {
        intended.extend(here);
    } else {
        let files = here.into_iter().map(|(file, _, _)| file);
        unrecorded.uncertain.extend(files);
    }
    Ok(ClassifiedDeletions {
        intended,
        unrecorded,
    })
}

/// Appends the event of an edit.
fn record_edit(
    engine: &mut Engine,
    entry: EntryId,
    edit: EntryFileEdit,
    (derived, draft): (DerivedIdentity, Draft),
    author: Option<&CommitAuthorship>,
) -> Result<(), EngineError> {
    let by = editor(engine, author);
    match author {
        None => {
            engine.record_with_ids(vec![(Some(derived.id), draft)], &by)?;
        }
        // A committed edit does not go through `record_with_ids`: its time and node must be equal
        // in every clone.
        Some(author) => {
            let (draft, admission) = engine.guard.admit(draft, &by, author.at)?;
            let event = derived.event(draft, author.at, &by, admission);
            engine.append(&[RecordedEvent::new_verified(event)?])?;
        }
    }
    let notice = EngineNotice::EditSynced { entry, edit, by };
    engine.notices.push(notice);
    Ok(())
}

/// Locks out concurrent syncs, which would record an uncommitted edit once per process.
fn lock_sync(dir: &RealDir) -> io::Result<Option<LockGuard>> {
    match dir.lock(LOCK_FILE, LockWait::UntilFree) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.create_dirs(".local")?;
            dir.lock(LOCK_FILE, LockWait::UntilFree)
        }
        other => other,
    }
}
