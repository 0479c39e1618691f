//! Operations on entries: add, edit, cite, confirm, retract, restore, archive, link.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_core::decide::retracted_claims::RetractedClaims;
use ken_core::decide::{self, Draft, Proposal, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{ArchiveReason, Channel, Event, Feedback, Relation, RetractReason};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::values::actor::Actor;
use ken_core::values::citation::{Citation, CitationSource};
use ken_core::values::content::{ContentChanges, EntryScope};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::status::EntryStatus;
use ken_core::values::text::{Note, Tag};
use ken_core::values::time::Date;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{citations, files, promotion, sync, validity};

/// Maximum number of events per append, and thus per fsync.
pub const BATCH_MAX: usize = 100;

/// Attempts at a free entry id; even two collisions in a row are practically impossible.
const ID_TRIES: usize = 8;

/// Adds one entry.
pub(crate) fn add(
    engine: &mut Engine,
    proposal: Proposal,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let mut ids = engine.add_many(vec![proposal], by)?;
    engine.entry(ids.remove(0))
}

/// Adds entries, with one durable append per [`BATCH_MAX`] entries.
///
/// All entries are checked before the first is written.
pub(crate) fn add_many(
    engine: &mut Engine,
    mut proposals: Vec<Proposal>,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    // All citations at once, so that git is started once.
    let cited = proposals.iter().flat_map(|it| it.citations.iter().cloned());
    let mut cited: Vec<Citation> = cited.collect();
    citations::check_new(engine, &mut cited)?;
    let mut cited = cited.into_iter();
    for proposal in &mut proposals {
        let count = proposal.citations.len();
        proposal.citations = cited.by_ref().take(count).collect();
    }
    let stones = load_retracted_claims(engine)?;
    let mut drafts = Vec::with_capacity(proposals.len());
    let mut ids = Vec::with_capacity(proposals.len());
    // Shared by the batch, so that the work tree is listed once.
    let mut context = None;
    for mut proposal in proposals {
        validity::anchoring::fingerprint_content(engine, &mut proposal.content, &mut context)?;
        stones.check(&proposal.content.statement, proposal.overrides, by)?;
        let (event, entry) = fresh_entry_id(engine, &proposal)?;
        drafts.push((Some(event), decide::propose(event, proposal)?));
        ids.push(entry);
    }
    sync::sync_before_writing(engine)?;
    for batch in batches(drafts) {
        engine.record_with_ids(batch, by)?;
    }
    files::render_due(engine)?;
    Ok(ids)
}

/// Adds one entry without syncing or rendering entry files, for callers with a time limit.
///
/// The next writing command renders its file.
pub(crate) fn add_without_rendering(
    engine: &mut Engine,
    mut proposal: Proposal,
    by: &Actor,
) -> Result<EntryId, EngineError> {
    let (event, entry) = prepare_proposal(engine, &mut proposal, by)?;
    let draft = decide::propose(event, proposal)?;
    engine.record_with_ids(vec![(Some(event), draft)], by)?;
    Ok(entry)
}

/// Runs the checks for a proposal and returns its event and entry id.
pub(crate) fn prepare_proposal(
    engine: &mut Engine,
    proposal: &mut Proposal,
    by: &Actor,
) -> Result<(EventId, EntryId), EngineError> {
    let stones = load_retracted_claims(engine)?;
    validity::anchoring::fingerprint_content(engine, &mut proposal.content, &mut None)?;
    stones.check(&proposal.content.statement, proposal.overrides, by)?;
    fresh_entry_id(engine, proposal)
}

/// Returns the retracted claims, cached until a retraction arrives.
fn load_retracted_claims(engine: &mut Engine) -> Result<Arc<RetractedClaims>, EngineError> {
    if let Some(stones) = &engine.retracted_claims {
        return Ok(Arc::clone(stones));
    }
    let stones = Arc::new(RetractedClaims::new(engine.index.tombstones()?));
    engine.retracted_claims = Some(Arc::clone(&stones));
    Ok(stones)
}

/// Edits fields of an entry.
pub(crate) fn edit(
    engine: &mut Engine,
    id: EntryId,
    mut changes: ContentChanges,
    reason: Option<Note>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    validity::anchoring::fingerprint_changes(engine, &mut changes)?;
    // A person may take up a claim again that was retracted.
    if let Some(statement) = changes.statement.as_ref().filter(|_| !by.is_human()) {
        load_retracted_claims(engine)?.check(statement, None, by)?;
    }
    apply_decision(engine, id, by, |entry, by| {
        let draft = decide::edit(entry, changes, None, Channel::Command, reason)?;
        decide::attribute_change(draft, entry, by)
    })
}

/// Adds a citation to an entry.
pub(crate) fn cite(
    engine: &mut Engine,
    id: EntryId,
    evidence: CitationSource,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let citation = check_citation(engine, evidence, by)?;
    apply_decision(engine, id, by, |entry, _| decide::cite(entry, citation))
}

/// Returns the citation of an existing source by `by`.
pub(crate) fn check_citation(
    engine: &mut Engine,
    source: CitationSource,
    by: &Actor,
) -> Result<Citation, EngineError> {
    let mut citation = source.cite(by, engine.now());
    citations::check_new(engine, std::slice::from_mut(&mut citation))?;
    Ok(citation)
}

/// Records a confirmation by `by` on the date `on`; today by default.
pub(crate) fn confirm(
    engine: &mut Engine,
    id: EntryId,
    on: Option<Date>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let on = on.unwrap_or_else(|| engine.now().date());
    apply_decision(engine, id, by, |entry, by| decide::confirm(entry, by, on))
}

/// Changes the status of an entry.
pub(crate) fn set_status(
    engine: &mut Engine,
    id: EntryId,
    to: EntryStatus,
    reason: Option<Note>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    apply_decision(engine, id, by, |entry, by| {
        let draft = decide::set_status(entry, to, by, reason)?;
        decide::ensure_may_change(entry, by)?;
        Ok(draft)
    })
}

/// Marks an entry as stale as a maintenance service that a person allowed, also one that a person
/// wrote.
pub(crate) fn mark_stale_in_maintenance(
    engine: &mut Engine,
    id: EntryId,
    reason: Note,
    by: &Actor,
) -> Result<Entry, EngineError> {
    apply_decision(engine, id, by, |entry, by| {
        decide::set_status(entry, EntryStatus::Stale, by, Some(reason))
    })
}

/// Retracts an entry.
pub(crate) fn retract(
    engine: &mut Engine,
    id: EntryId,
    reason: RetractReason,
    note: Option<Note>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    apply_decision(engine, id, by, |entry, by| {
        decide::ensure_may_change(entry, by)?;
        decide::retract(entry, reason, Channel::Command, note)
    })
}

/// Restores an archived, retracted, merged or superseded entry.
pub(crate) fn restore(
    engine: &mut Engine,
    id: EntryId,
    reason: Option<Note>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let history = engine.history(id)?;
    let history: Vec<Event> = history.into_iter().map(|it| it.event).collect();
    let draft = decide::restore(&engine.entry(id)?, &history, reason)?;
    decide::ensure_may_restore(&draft, &history, by)?;
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(id)
}

/// Archives one entry.
pub(crate) fn archive(engine: &mut Engine, id: EntryId, by: &Actor) -> Result<Entry, EngineError> {
    apply_decision(engine, id, by, |entry, by| {
        decide::ensure_may_change(entry, by)?;
        decide::archive(entry, ArchiveReason::Manual)
    })
}

/// Archives every descriptive entry not confirmed for more than `days`; returns their ids.
pub(crate) fn archive_older_than(
    engine: &mut Engine,
    days: u32,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    let today = engine.now().date();
    let is_old = |entry: &Entry| {
        let last = entry.confirmation.last;
        // A decision does not end because nobody mentioned it.
        !entry.is_prescriptive() && last.is_some_and(|last| today.days_since(last) > days)
    };
    archive_matching(engine, is_old, ArchiveReason::Age, by)
}

/// Archives every entry of a thread whose scope is that thread only; returns their ids.
pub(crate) fn archive_thread(
    engine: &mut Engine,
    thread: &Tag,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    let in_thread = |entry: &Entry| {
        let created = entry.created.as_ref();
        let own = created.and_then(|it| it.thread.as_ref());
        own == Some(thread) && entry.scope.value == EntryScope::Thread
    };
    archive_matching(engine, in_thread, ArchiveReason::Thread, by)
}

/// Archives entries in one go; those that are out of use already stay as they are.
pub(crate) fn archive_entries(
    engine: &mut Engine,
    ids: &BTreeSet<EntryId>,
    by: &Actor,
) -> Result<(), EngineError> {
    archive_matching(engine, |it| ids.contains(&it.id), ArchiveReason::Manual, by).map(drop)
}

fn archive_matching(
    engine: &mut Engine,
    filter: impl Fn(&Entry) -> bool,
    reason: ArchiveReason,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    // A confirmation in an edited file must count before the age of entries is judged.
    sync::sync_before_writing(engine)?;
    let mut all = engine.list(&EntryFilter::default())?;
    all.retain(filter);
    let mut drafts = Vec::new();
    for entry in &all {
        drafts.push((None, decide::archive(entry, reason)?));
    }
    for batch in batches(drafts) {
        engine.record_with_ids(batch, by)?;
    }
    files::render_due(engine)?;
    Ok(all.iter().map(|entry| entry.id).collect())
}

/// Records feedback on an entry.
pub(crate) fn feedback(
    engine: &mut Engine,
    id: EntryId,
    verdict: Feedback,
    by: &Actor,
) -> Result<Entry, EngineError> {
    apply_decision(engine, id, by, |entry, _| {
        decide::give_feedback(entry, verdict)
    })
}

/// Resets the confidence of an entry to the prior.
pub(crate) fn reset_confidence(
    engine: &mut Engine,
    id: EntryId,
    reason: Note,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let today = engine.now().date();
    let checked = validity::anchoring::validity_of(engine, [&engine.entry(id)?])?;
    let validity = checked.get(&id).copied().unwrap_or_default();
    apply_decision(engine, id, by, |entry, by| {
        let posterior = entry.posterior(validity, today);
        decide::reset_confidence(entry, posterior, by, reason)
    })
}

/// Links an entry to another.
pub(crate) fn link(
    engine: &mut Engine,
    from: EntryId,
    to: EntryId,
    rel: Relation,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let target = engine.entry(to)?;
    apply_decision(engine, from, by, |entry, _| {
        decide::link(entry, &target, rel)
    })
}

/// Releases a quarantined entry.
pub(crate) fn release(
    engine: &mut Engine,
    id: EntryId,
    reason: Note,
    by: &Actor,
) -> Result<Entry, EngineError> {
    promotion::approval::check_release(engine, &engine.entry(id)?)?;
    apply_decision(engine, id, by, |entry, by| {
        decide::release_quarantine(entry, by, reason)
    })
}

/// Syncs edits, calls `decide` with the current entry, records its draft and renders.
pub(crate) fn apply_decision(
    engine: &mut Engine,
    id: EntryId,
    by: &Actor,
    decide: impl FnOnce(&Entry, &Actor) -> Result<Draft, Refusal>,
) -> Result<Entry, EngineError> {
    // Syncing comes first: the decision must see the entry with its pending edits.
    sync::sync_before_writing(engine)?;
    let draft = decide(&engine.entry(id)?, by)?;
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(id)
}

/// Returns ids for a proposal, unless its claim was retracted before.
pub(crate) fn ids_for_proposal(
    engine: &mut Engine,
    proposal: &Proposal,
    by: &Actor,
) -> Result<(EventId, EntryId), EngineError> {
    load_retracted_claims(engine)?.check(&proposal.content.statement, proposal.overrides, by)?;
    fresh_entry_id(engine, proposal)
}

fn fresh_entry_id(
    engine: &mut Engine,
    proposal: &Proposal,
) -> Result<(EventId, EntryId), EngineError> {
    // An entry id is only part of the event id, so two event ids may yield the same entry id.
    for _ in 0..ID_TRIES {
        let event = EventId::new(engine.runtime.now(), engine.runtime.random());
        let entry = EntryId::created_by(event, proposal.kind);
        if engine.index.entry(entry)?.is_none() {
            return Ok((event, entry));
        }
    }
    Err(EngineError::Usage(
        "no free entry id was found; try again".to_owned(),
    ))
}

/// Splits drafts into batches of [`BATCH_MAX`].
pub(crate) fn batches(
    drafts: Vec<(Option<EventId>, Draft)>,
) -> impl Iterator<Item = Vec<(Option<EventId>, Draft)>> {
    let mut rest = drafts.into_iter();
    std::iter::from_fn(move || {
        let batch: Vec<_> = rest.by_ref().take(BATCH_MAX).collect();
        (!batch.is_empty()).then_some(batch)
    })
}
