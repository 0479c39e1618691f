//! Sync: turns edits of entry files into events.
//!
//! An edit becomes one event. Its id is derived from entry, content and base; its time and actor
//! are those of the commit that contains it. Every clone therefore records the same event. Nothing
//! is recorded if the edit may be unintentional: during a merge, with conflict markers, in a sparse
//! checkout, or if many files are missing at once.

mod identity;
mod scan;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Channel, RecordedEvent, Restored, RetractReason};
use ken_core::ledger::store::DerivedStore as _;

use ken_core::values::actor::Actor;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::DAY_MS;
use ken_guard::is_about_norm;
use ken_ledger::disk::{LockGuard, LockWait};
use ken_ledger::{Dir as _, DiskError, RealDir};
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{self, ENTRIES_DIR, MachineStatePolicy, SeenFiles, write_atomically};
use crate::git::{self, CommitAuthorship, EditAuthor};
use crate::ledger_maintenance;
use crate::notice::{EngineNotice, EntryFileEdit};
use crate::view::entry_file::{self, MachineLines, ParsedEntryFile};

use identity::{DerivedIdentity, derive_identity};
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

/// The result of syncing one possible edit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EditOutcome {
    /// There is no edit, or this branch already has its event.
    Unchanged,
    /// An event by this actor was recorded.
    Recorded(Actor),
    /// Not recorded yet: the base revision is missing, or a person must sync or commit the file.
    Deferred,
}

/// The result of a sync: edits that became events, files that were rendered, and entries whose
/// file is gone without a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncOutcome {
    pub edits: usize,
    pub rendered_files: usize,
    /// Entries whose file was deleted before it was ever committed, with the file name.
    pub missing_uncommitted: Vec<(EntryId, String)>,
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

/// Turns edits of entry files into events, redacts copies that came back, and renders stale
/// files.
pub(crate) fn sync(engine: &mut Engine, bulk: BulkDeletion) -> Result<SyncOutcome, EngineError> {
    let span = tracing::info_span!("sync", absorbed = Empty, rendered = Empty);
    let _in = span.enter();
    ledger_maintenance::apply_redactions(engine)?;
    let before = engine.notices.len();
    let missing = sync_edits(engine, bulk)?;
    if !missing.uncertain.is_empty() && bulk == BulkDeletion::Refuse {
        return Err(EngineError::BulkDeletion {
            count: missing.uncertain.len(),
            files: missing.uncertain,
        });
    }
    let absorbed = engine.notices[before..]
        .iter()
        .filter(|notice| matches!(notice, EngineNotice::EditSynced { .. }))
        .count();
    let rendered = files::render_due(engine)? + files::rerender_unredacted(engine)?;
    span.record("absorbed", absorbed);
    span.record("rendered", rendered);
    Ok(SyncOutcome {
        edits: absorbed,
        rendered_files: rendered,
        missing_uncommitted: missing.never_committed,
    })
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
    if let Some(file) = scan.conflicted {
        let why = format!("{file} contains conflict markers");
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
                let why = format!(
                    "the history of this shallow clone does not show the author of {}",
                    edited.file
                );
                engine.notices.push(EngineNotice::SyncDeferred { why });
                seen.forget(&edited.file);
                continue;
            }
        };
        sync_file(engine, &dir, &edited, author.as_ref(), &mut seen)?;
    }
    let unrecorded = record_deletions(engine, scan.missing, bulk, &mut seen)?;
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
    for (edit, result) in [
        (
            EntryFileEdit::Reworded,
            record_content_edit(engine, &entry, &edited.parsed, author),
        ),
        (
            EntryFileEdit::Confirmed,
            record_confirmation_edit(engine, &entry, &edited.parsed, author),
        ),
    ] {
        match result {
            Ok(EditOutcome::Unchanged) => {}
            // A file that was left alone is not rendered: rendering would discard the edit.
            Ok(EditOutcome::Deferred) => left_alone = true,
            Ok(EditOutcome::Recorded(by)) => engine.notices.push(EngineNotice::EditSynced {
                entry: entry.id,
                edit,
                by,
            }),
            Err(
                error @ (EngineError::Refused(_)
                | EngineError::RejectedByGuard(_)
                | EngineError::TooLarge(_)
                | EngineError::Usage(_)),
            ) => {
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
        files::render_entry(engine, dir, &entry, MachineStatePolicy::Keep, seen)?;
        return Ok(());
    }
    // The edited file keeps its name, even if the entry would get another one now.
    let path = format!("{ENTRIES_DIR}/{}", edited.file);
    let kept = edited.parsed.machine.clone();
    let machine = if edited.parsed.machine_is_rendered {
        kept
    } else {
        MachineLines {
            sources: kept.sources,
            ..MachineLines::from_entry(&entry)
        }
    };
    if let Some(text) = entry_file::render(&entry, Some(&machine)) {
        write_atomically(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
    }
    if let Some(stat) = dir
        .stat(&path)
        .map_err(DiskError::on("read the metadata of", &path))?
    {
        seen.record(&edited.file, &stat);
    }
    Ok(())
}

/// Records an edit of the content.
fn record_content_edit(
    engine: &mut Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
    author: Option<&CommitAuthorship>,
) -> Result<EditOutcome, EngineError> {
    let digest = entry_file::content_digest(&reading.content);
    if digest == reading.digest {
        return Ok(EditOutcome::Unchanged);
    }
    if entry.retracted.is_some() {
        return Err(Refusal::AlreadyRetracted(entry.id).into());
    }
    let Some(base) = entry_at_revision(engine, entry, &reading.revision)? else {
        return Ok(EditOutcome::Deferred);
    };
    // The author of a merge commit saw both revisions, so the edit replaces all of them.
    let merged = author.is_some_and(|author| author.merge);
    let old = if merged {
        entry.content.clone()
    } else {
        base.content
    };
    let Some(old) = old else {
        return Ok(EditOutcome::Deferred);
    };
    let mut new = reading.content.clone();
    keep_fingerprints(&old.anchors, &mut new.anchors);
    let changes = old.changes_to(&new);
    if changes.is_empty() {
        return Ok(EditOutcome::Unchanged);
    }
    // Outside a merge only the revision in the file is replaced: a concurrent edit that its
    // author did not see must survive.
    let mut replaces = reading.revision.clone();
    if merged {
        let others = entry
            .revision
            .iter()
            .filter(|id| !reading.revision.contains(id));
        replaces.extend(others);
    }
    let derived = derive_identity(entry, "revised", &digest, &replaces);
    let draft = decide::edit(entry, changes, Some(replaces), Channel::HandEdit, None)?;
    record_derived(engine, derived, draft, author)
}

/// Records that a person set `lastConfirmed`.
fn record_confirmation_edit(
    engine: &mut Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
    author: Option<&CommitAuthorship>,
) -> Result<EditOutcome, EngineError> {
    let edited = reading
        .last_confirmed
        .filter(|_| !reading.machine_is_rendered);
    let Some(on) = edited.filter(|on| entry.confirmation.last < Some(*on)) else {
        return Ok(EditOutcome::Unchanged);
    };
    // The author's local date may be a day ahead of UTC.
    let latest = author
        .map_or_else(|| engine.now(), |author| author.at)
        .plus_millis(DAY_MS);
    if latest.date() < on {
        return Err(EngineError::Usage(format!(
            "lastConfirmed {on} is in the future"
        )));
    }
    let derived = derive_identity(entry, "confirmed", &on.to_string(), &[]);
    let draft = decide::confirm(entry, &editor(engine, author), on)?;
    record_derived(engine, derived, draft, author)
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
        let history = engine.history(entry.id)?;
        // The number of restores is part of the id: a deletion after a restore is a new event,
        // which must not collide with that of the first deletion.
        let restores = history
            .iter()
            .filter(|it| it.event.get::<Restored>().is_some())
            .count();
        let derived = derive_identity(&entry, "retracted", &format!("deleted {restores}"), &[]);
        let draft = decide::retract(&entry, RetractReason::Unwanted, Channel::HandEdit, None)?;
        if let EditOutcome::Recorded(by) = record_derived(engine, derived, draft, author.as_ref())?
        {
            engine.notices.push(EngineNotice::EditSynced {
                entry: entry.id,
                edit: EntryFileEdit::Deleted,
                by,
            });
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

/// Returns the entry at `revision`, or `None` if this branch lacks one of its events.
fn entry_at_revision(
    engine: &Engine,
    entry: &Entry,
    revision: &[EventId],
) -> Result<Option<Entry>, EngineError> {
    let history = engine.history(entry.id)?;
    let known = |id: &EventId| history.iter().any(|recorded| recorded.event.id == *id);
    if revision.is_empty() || !revision.iter().all(known) {
        return Ok(None);
    }
    let events: Vec<_> = history.into_iter().map(|recorded| recorded.event).collect();
    Ok(ken_core::ledger::fold::fold_entry_at(
        entry.id, revision, &events,
    ))
}

/// Appends an event derived from an edit, unless this branch already has it.
fn record_derived(
    engine: &mut Engine,
    derived: DerivedIdentity,
    draft: Draft,
    author: Option<&CommitAuthorship>,
) -> Result<EditOutcome, EngineError> {
    if engine.index.event(derived.id)?.is_some() {
        return Ok(EditOutcome::Unchanged);
    }
    if author.is_none() && is_about_norm(&draft) && !engine.actor().is_human() {
        // Only people create norms, and the agent may have edited the file itself. A person
        // must sync or commit it.
        return Ok(EditOutcome::Deferred);
    }
    let by = editor(engine, author);
    let Some(author) = author else {
        engine.record_with_ids(vec![(Some(derived.id), draft)], &by)?;
        return Ok(EditOutcome::Recorded(by));
    };
    // A committed edit does not go through `record_with_ids`: its time and node must be equal
    // in every clone.
    let (draft, admission) = engine.guard.admit(draft, &by)?;
    let at = Hlc {
        wall: author.at,
        counter: 0,
        node: derived.node,
    };
    let event = derived.event(draft, at, &by, admission);
    engine.append(&[RecordedEvent::new_verified(event)?])?;
    Ok(EditOutcome::Recorded(by))
}

/// Returns the actor of an edit: the commit's author, or the git identity of this clone.
fn editor(engine: &Engine, author: Option<&CommitAuthorship>) -> Actor {
    if let Some(author) = author {
        return author.by.clone();
    }
    let actor = engine.actor();
    if actor.is_human() {
        return actor;
    }
    git::identity(&engine.place).unwrap_or(actor)
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

/// Copies the fingerprints of unchanged anchors, because entry files do not show fingerprints.
fn keep_fingerprints(
    old: &[ken_core::values::anchor::Anchor],
    new: &mut [ken_core::values::anchor::Anchor],
) {
    for anchor in new {
        let same = old.iter().find(|known| known.at == anchor.at);
        anchor.fingerprint = same.and_then(|known| known.fingerprint.clone());
    }
}
