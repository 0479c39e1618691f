//! Edits that a sync would record, judged without recording them.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::Draft;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Event;
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EntryId;

use super::edits::{self, EditDecision, editor};
use super::identity::DerivedIdentity;
use super::scan::{ChangedEntryFile, count_changed_files, scan_entry_files};
use super::{BulkDeletion, classify_deletions, describe_shallow, dirty_files, edit_author};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files;
use crate::git::{self, CommitAuthorship, EditAuthor};
use crate::notice::EngineNotice;

/// Maximum number of changed files that a reading command looks at for edits. More change at once
/// only by git, in a new clone or a checkout.
const READ_FILES_MAX: usize = 500;

/// Edits of entry files that are not events yet.
#[derive(Debug, Default)]
pub(crate) struct PendingEdits {
    /// Number of edits and deletions that a sync would record.
    pub edits: usize,
    /// The edited entries as they are after a sync.
    pub entries: BTreeMap<EntryId, Entry>,
    events: BTreeMap<EntryId, Vec<Event>>,
    /// Files whose edit a sync would refuse, with the reason.
    pub refused: Vec<(String, String)>,
    /// Files with conflict markers.
    pub conflicted: Vec<String>,
    /// Files that are too many to count as intended deletions.
    pub uncertain_deletions: Vec<String>,
    /// The reason why a sync would record nothing now.
    pub deferred: Option<String>,
}

/// Evaluates the edits of entry files in memory.
pub(crate) fn evaluate_edits(engine: &Engine) -> Result<PendingEdits, EngineError> {
    let mut pending = PendingEdits::default();
    let scan = scan_entry_files(engine, &engine.ken)?;
    pending.conflicted.clone_from(&scan.conflicted);
    for (file, why) in &scan.unreadable {
        if !files::is_proposal_redacted(engine, file)? {
            pending.refused.push((file.clone(), why.clone()));
        }
    }
    // Git is slow in a large repository, so it is asked only if a file was edited.
    let has_edits = scan.has_edits();
    if has_edits {
        pending.deferred = git::sync_blocker(&engine.place)?;
    }
    if pending.deferred.is_some() || !pending.conflicted.is_empty() {
        return Ok(pending);
    }
    let dirty = if has_edits {
        dirty_files(engine)?
    } else {
        BTreeSet::new()
    };
    for edited in &scan.changed {
        pending.evaluate_file(engine, edited, &dirty)?;
    }
    if scan.missing.is_empty() {
        return Ok(pending);
    }
    let classified = classify_deletions(engine, scan.missing, BulkDeletion::Refuse)?;
    pending.uncertain_deletions = classified.unrecorded.uncertain;
    for (file, entry, author) in classified.intended {
        let decision = edits::decide_deletion(engine, &entry, author.as_ref());
        pending.evaluate(engine, (&file, entry.id), decision, author.as_ref())?;
    }
    Ok(pending)
}

impl PendingEdits {
    /// Evaluates the edits of a file that exists.
    fn evaluate_file(
        &mut self,
        engine: &Engine,
        edited: &ChangedEntryFile,
        dirty: &BTreeSet<String>,
    ) -> Result<(), EngineError> {
        let file = &edited.file;
        let Some(entry) = engine.index.entry(edited.parsed.id)? else {
            return Ok(());
        };
        let author = if !edited.is_edited() {
            None
        } else if files::is_proposal_redacted(engine, file)? {
            let why = "its entry was redacted".to_owned();
            self.refused.push((file.clone(), why));
            return Ok(());
        } else {
            match edit_author(engine, file, dirty)? {
                EditAuthor::Uncommitted => None,
                EditAuthor::Committed(author) => Some(author),
                EditAuthor::BeyondShallow => {
                    self.deferred = Some(describe_shallow(file));
                    return Ok(());
                }
            }
        };
        let author = author.as_ref();
        for decision in edits::decide_edits(engine, &entry, &edited.parsed, author) {
            self.evaluate(engine, (file, entry.id), decision, author)?;
        }
        Ok(())
    }

    /// Applies a decision to the entry in memory, or keeps the reason why it is refused.
    fn evaluate(
        &mut self,
        engine: &Engine,
        (file, id): (&str, EntryId),
        decision: Result<EditDecision, EngineError>,
        author: Option<&CommitAuthorship>,
    ) -> Result<(), EngineError> {
        let evaluated = decision.and_then(|decision| match decision {
            EditDecision::Unchanged | EditDecision::Deferred => Ok(()),
            EditDecision::Record(_, derived, draft) => {
                self.apply(engine, id, (derived, *draft), author)
            }
        });
        match evaluated {
            Err(error) if edits::is_refusal(&error) => {
                self.refused.push((file.to_owned(), error.to_string()));
                Ok(())
            }
            other => other,
        }
    }

    /// Folds an entry with the event that an edit would become.
    fn apply(
        &mut self,
        engine: &Engine,
        id: EntryId,
        (derived, draft): (DerivedIdentity, Draft),
        author: Option<&CommitAuthorship>,
    ) -> Result<(), EngineError> {
        let by = editor(engine, author);
        let at = author.map_or_else(|| engine.now(), |author| author.at);
        let (draft, admission) = engine.guard.admit(draft, &by, at)?;
        // A file may be reworded and confirmed at once; the state shows both.
        let edits = self.events.entry(id).or_default();
        edits.push(derived.event(draft, at, &by, admission));
        let history = engine.history(id)?;
        let events = history.iter().map(|it| &it.event).chain(&*edits);
        self.entries
            .extend(fold_entry(id, events).map(|entry| (id, entry)));
        self.edits += 1;
        Ok(())
    }
}

/// Adds a notice about edits that are not events yet, for a reading command: it does not show them.
pub(crate) fn note_unrecorded_edits(engine: &mut Engine) {
    // A read must not fail because of an entry file; `ken verify` reports the error.
    let edits = count_unrecorded_edits(engine).unwrap_or(0);
    if edits > 0 {
        engine.notices.push(EngineNotice::EditsUnrecorded { edits });
    }
}

/// Returns the number of entry files whose edit is not an event yet. Changes nothing.
pub(crate) fn count_unrecorded_edits(engine: &Engine) -> Result<usize, EngineError> {
    match count_changed_files(&engine.ken)? {
        1..=READ_FILES_MAX => {}
        _ => return Ok(0),
    }
    let pending = evaluate_edits(engine)?;
    Ok(pending.edits + pending.refused.len() + pending.conflicted.len())
}
