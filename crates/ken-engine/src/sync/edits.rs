//! Decisions about edits of entry files: each edit is recorded, waits or changes nothing.
//!
//! Nothing is written here, so that `ken verify` can judge edits without recording them.

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Channel, Restored, RetractReason};
use ken_core::ledger::fold::fold_entry_at;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::Anchor;
use ken_core::values::id::EventId;
use ken_core::values::time::DAY_MS;
use ken_guard::is_about_norm;

use super::identity::{DerivedIdentity, derive_identity};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files;
use crate::git::CommitAuthorship;
use crate::notice::EntryFileEdit;
use crate::view::entry_file::{self, INDEPENDENT, MachineLines, PRIMED, ParsedEntryFile};

/// The decision about one possible edit.
#[derive(Debug)]
pub(super) enum EditDecision {
    /// There is no edit, or this branch already has its event.
    Unchanged,
    /// The edit becomes this event.
    Record(EntryFileEdit, DerivedIdentity, Box<Draft>),
    /// Not recorded yet: the base revision is missing, or a person must sync or commit the file.
    Deferred,
}

/// Decides about every part of a file that a person may edit.
pub(super) fn decide_edits(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
    author: Option<&CommitAuthorship>,
) -> [Result<EditDecision, EngineError>; 2] {
    // Nothing of a file with a wrong source is recorded: it is not rendered, so its next edit would
    // be concurrent with this one.
    if let Err(error) = check_sources(engine, entry, reading) {
        return [Err(error), Ok(EditDecision::Unchanged)];
    }
    [
        decide_content_edit(engine, entry, reading, author),
        decide_confirmation_edit(engine, entry, reading, author),
    ]
}

/// Returns true if an error is about the edit itself, so that only its file is left alone.
pub(super) fn is_refusal(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Refused(_)
            | EngineError::RejectedByGuard(_)
            | EngineError::TooLarge(_)
            | EngineError::Usage(_)
    )
}

/// Decides about an edit of the content.
fn decide_content_edit(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
    author: Option<&CommitAuthorship>,
) -> Result<EditDecision, EngineError> {
    let digest = entry_file::content_digest(&reading.content);
    if digest == reading.digest {
        return Ok(EditDecision::Unchanged);
    }
    if entry.retracted.is_some() {
        return Err(Refusal::AlreadyRetracted(entry.id).into());
    }
    let Some(base) = entry_at_revision(engine, entry, &reading.revision)? else {
        return Ok(EditDecision::Deferred);
    };
    // The author of a merge commit saw both revisions, so the edit replaces all of them.
    let merged = author.is_some_and(|author| author.merge);
    let old = if merged {
        entry.content.clone()
    } else {
        base.content
    };
    let Some(old) = old else {
        return Ok(EditDecision::Deferred);
    };
    let mut new = reading.content.clone();
    keep_fingerprints(&old.anchors, &mut new.anchors);
    let changes = old.changes_to(&new);
    if changes.is_empty() {
        return Ok(EditDecision::Unchanged);
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
    decide_derived(engine, EntryFileEdit::Reworded, (derived, draft), author)
}

/// Decides about a confirmation by hand: a person sets `lastConfirmed` to the day and leaves or
/// sets `provenance: independent`.
fn decide_confirmation_edit(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
    author: Option<&CommitAuthorship>,
) -> Result<EditDecision, EngineError> {
    if reading.machine_is_rendered {
        return Ok(EditDecision::Unchanged);
    }
    let at = author.map_or_else(|| engine.now(), |author| author.at);
    let (provenance, date) = (&reading.machine.provenance, &reading.machine.last_confirmed);
    let was_primed = MachineLines::from_entry(entry).provenance == PRIMED;
    if provenance != INDEPENDENT && provenance != PRIMED {
        let why = format!("its `provenance` must be {INDEPENDENT} or {PRIMED}");
        return Err(EngineError::Usage(why));
    }
    let Some(on) = reading.last_confirmed else {
        return if date.is_empty() {
            Ok(EditDecision::Unchanged)
        } else {
            let why = "its `lastConfirmed` must be a day such as 2026-01-31".to_owned();
            Err(EngineError::Usage(why))
        };
    };
    let is_newer = entry.confirmation.last < Some(on);
    let is_witnessed = was_primed && provenance == INDEPENDENT;
    if !is_newer && !is_witnessed {
        return Ok(EditDecision::Unchanged);
    }
    // The author's local date may be a day ahead of UTC, or a day behind.
    if at.plus_millis(DAY_MS).date() < on {
        return Err(EngineError::Usage(format!(
            "lastConfirmed {on} is in the future"
        )));
    }
    if is_newer && provenance == PRIMED {
        let why = format!("a confirmation by hand sets `provenance: {INDEPENDENT}`, too");
        return Err(EngineError::Usage(why));
    }
    if !is_newer && at.date().days_since(on) > 1 {
        let why = "a confirmation by hand sets `lastConfirmed` to today, too".to_owned();
        return Err(EngineError::Usage(why));
    }
    // An entry may be confirmed by hand twice on one day, before and after an agent was shown it.
    let what = if is_newer {
        on.to_string()
    } else {
        format!("{on} {INDEPENDENT}")
    };
    let derived = derive_identity(entry, "confirmed", &what, &[]);
    let draft = decide::confirm(entry, &editor(engine, author), on)?;
    decide_derived(engine, EntryFileEdit::Confirmed, (derived, draft), author)
}

/// Refuses a source that a person added to the file.
///
/// It does not become a citation: the event of the source may be on another branch, and may be
/// redacted there.
fn check_sources(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
) -> Result<(), EngineError> {
    match files::unrecorded_source(engine, entry, reading)? {
        None => Ok(()),
        Some(source) => Err(EngineError::Usage(format!(
            "no event cites its source `{source}`; run `ken entry cite {} {source}` or remove the source",
            entry.id
        ))),
    }
}

/// Decides about the deletion of an entry's file.
pub(super) fn decide_deletion(
    engine: &Engine,
    entry: &Entry,
    author: Option<&CommitAuthorship>,
) -> Result<EditDecision, EngineError> {
    let history = engine.history(entry.id)?;
    // The number of restores is part of the id: a deletion after a restore is a new event,
    // which must not collide with that of the first deletion.
    let restores = history
        .iter()
        .filter(|it| it.event.get::<Restored>().is_some())
        .count();
    let derived = derive_identity(entry, "retracted", &format!("deleted {restores}"), &[]);
    let draft = decide::retract(entry, RetractReason::Unwanted, Channel::HandEdit, None)?;
    decide_derived(engine, EntryFileEdit::Deleted, (derived, draft), author)
}

/// Decides whether the event of an edit is appended.
fn decide_derived(
    engine: &Engine,
    edit: EntryFileEdit,
    (derived, draft): (DerivedIdentity, Draft),
    author: Option<&CommitAuthorship>,
) -> Result<EditDecision, EngineError> {
    if engine.index.event(derived.id)?.is_some() {
        return Ok(EditDecision::Unchanged);
    }
    if author.is_none() && is_about_norm(&draft) && !engine.actor().is_human() {
        // Only people create norms, and the agent may have edited the file itself. A person
        // must sync or commit it.
        return Ok(EditDecision::Deferred);
    }
    Ok(EditDecision::Record(edit, derived, Box::new(draft)))
}

/// Returns the actor of an edit: the commit's author, or the git identity of this clone.
pub(super) fn editor(engine: &Engine, author: Option<&CommitAuthorship>) -> Actor {
    if let Some(author) = author {
        return engine.people.stored_author(&author.by);
    }
    let actor = engine.actor();
    if actor.is_human() {
        return actor;
    }
    engine.git_identity().unwrap_or(actor)
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
    Ok(fold_entry_at(entry.id, revision, &events))
}

/// Copies the fingerprints of unchanged anchors, because entry files do not show fingerprints.
fn keep_fingerprints(old: &[Anchor], new: &mut [Anchor]) {
    for anchor in new {
        let same = old.iter().find(|known| known.at == anchor.at);
        anchor.fingerprint = same.and_then(|known| known.fingerprint.clone());
    }
}
