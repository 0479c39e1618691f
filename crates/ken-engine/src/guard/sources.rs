//! Sources of entries: revocation of a source, and quarantine of entries by a person.

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{AdmissionVerdict, OriginRevoked, Overlay, RecordedEvent, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::Note;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::validity::{ChangeRange, changed_entries};
use crate::{files, sync};

/// Quarantined entry and the reason.
#[derive(Clone, Debug)]
pub struct QuarantinedEntry {
    pub entry: Entry,
    pub reason: String,
}

/// Revokes a source, or ends its revocation, with a single event. Returns the number of its
/// entries.
pub(crate) fn revoke(
    engine: &mut Engine,
    source: &ContributionSource,
    state: Switch,
    by: &Actor,
) -> Result<usize, EngineError> {
    sync::sync_before_writing(engine)?;
    let earlier: Vec<EventId> = engine
        .index
        .of_type::<OriginRevoked>()?
        .into_iter()
        .filter(|it| {
            it.event
                .get::<OriginRevoked>()
                .is_some_and(|data| data.source == *source)
        })
        .map(|it| it.event.id)
        .collect();
    let workspace = engine.workspace()?;
    let draft = decide::revoke(&workspace, source.clone(), state, earlier, by)?;
    engine.record(vec![draft], by)?;
    let all = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    Ok(all
        .iter()
        .filter(|entry| source.matches_entry(entry))
        .count())
}

/// Quarantines an entry until a person releases it.
pub(crate) fn quarantine(
    engine: &mut Engine,
    id: EntryId,
    reason: &Note,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let entry = engine.entry(id)?;
    let held = quarantine_all(engine, &[entry], reason, by)?;
    // `quarantine_all` skips entries it cannot write to.
    if held.is_empty() {
        return Err(Refusal::ReadOnly(id).into());
    }
    engine.entry(id)
}

/// Quarantines every entry that the change since `base` adds or touches. Returns their ids.
pub(crate) fn quarantine_change(
    engine: &mut Engine,
    base: &str,
    reason: &Note,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    sync::sync_before_writing(engine)?;
    let range = ChangeRange::compare(&engine.place, Some(base), None)?;
    let mut entries = Vec::new();
    for id in changed_entries(&range)? {
        // A redacted or incomplete entry has no content to hide.
        if let Some(entry) = engine.index.entry(id)?
            && entry.content.is_some()
            && entry.quarantine.is_empty()
        {
            entries.push(entry);
        }
    }
    quarantine_all(engine, &entries, reason, by)
}

/// Quarantines entries with an annotation admitted as quarantined. Returns those it could.
///
/// An entry partly written by a newer version is read-only; it must not prevent the quarantine
/// of the others.
fn quarantine_all(
    engine: &mut Engine,
    entries: &[Entry],
    reason: &Note,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    // An agent could otherwise hide entries that contradict it.
    if !matches!(by.role(), ActorRole::Human | ActorRole::Ci) {
        let (what, by) = ("quarantining an entry", by.clone());
        return Err(Refusal::PersonNeeded { what, by }.into());
    }
    // The reason becomes part of an event, so it must not contain secrets either.
    let reason = engine.guard.cleaned(reason)?;
    let (mut drafts, mut held) = (Vec::new(), Vec::new());
    for entry in entries {
        let annotate = |note: &Note| {
            decide::set_annotation(entry, Overlay::Annotate, Switch::On, Some(note.clone()))
        };
        let draft = match annotate(&reason) {
            // The entry still has this annotation from an earlier quarantine.
            Err(Refusal::NothingChanges) => {
                let again = format!("{reason}, again").parse();
                again.map_or(Err(Refusal::NothingChanges), |note| annotate(&note))
            }
            other => other,
        };
        if let Ok(draft) = draft {
            drafts.push(draft);
            held.push(entry.id);
        }
    }
    record_quarantined(engine, drafts, reason.as_str(), by)?;
    files::render_due(engine)?;
    Ok(held)
}

/// Returns every quarantined entry with the reason.
pub(crate) fn quarantined_entries(engine: &Engine) -> Result<Vec<QuarantinedEntry>, EngineError> {
    let quarantined = engine.index.quarantined()?.into_iter();
    quarantined
        .filter(|entry| entry.retracted.is_none())
        .map(|entry| {
            let why = quarantine_reason(engine, &entry)?;
            Ok(QuarantinedEntry { entry, reason: why })
        })
        .collect()
}

/// Returns the entry with the reason if it exists and is quarantined.
pub(crate) fn quarantined_entry(
    engine: &Engine,
    id: EntryId,
) -> Result<Option<QuarantinedEntry>, EngineError> {
    let entry = engine.index.entry(id)?;
    let Some(entry) = entry.filter(|it| !it.quarantine.is_empty()) else {
        return Ok(None);
    };
    let why = quarantine_reason(engine, &entry)?;
    Ok(Some(QuarantinedEntry { entry, reason: why }))
}

/// Returns the first recorded reason of a quarantine: a given one, or the guard's findings.
fn quarantine_reason(engine: &Engine, entry: &Entry) -> Result<String, EngineError> {
    for id in &entry.quarantine {
        if let Some(RecordedEvent { event, .. }) = engine.index.event(*id)?
            && let Some(admission) = event.admission
        {
            if let Some(why) = admission.held_for {
                return Ok(why);
            }
            let found: Vec<String> = admission.findings.into_iter().collect();
            if !found.is_empty() {
                return Ok(found.join(", "));
            }
        }
    }
    if entry.is_promoted() {
        return Ok("its statement is not approved yet".to_owned());
    }
    Ok("it was quarantined when it was added".to_owned())
}

/// Records drafts as quarantined, whatever the guard decides.
pub(crate) fn record_quarantined(
    engine: &mut Engine,
    drafts: Vec<Draft>,
    why: &str,
    by: &Actor,
) -> Result<(), EngineError> {
    engine.record_with_policy(
        drafts.into_iter().map(|draft| (None, draft)).collect(),
        by,
        &mut |admission| {
            admission.verdict = AdmissionVerdict::Quarantined;
            admission.held_for = Some(why.to_owned());
        },
    )?;
    Ok(())
}
