//! Changes to entries that follow from runs.

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    ArchiveReason, ConfidenceReset, Confirmed, EntryEffect, EventBody, Outcome, Provenance,
    RunEffects, StatusChanged,
};
use crate::trust::facts::BetaPosterior;
use crate::trust::run::Run;
use crate::trust::run::accumulation::AcceptedFinding;
use crate::trust::run::closing::RunClosing;
use crate::values::actor::Actor;
use crate::values::status::EntryStatus;
use crate::values::text::Note;
use crate::values::time::Date;

use super::change::{archive, restore};
use super::{Draft, Refusal, draft_about, ensure_human, ensure_writable};

/// Records that a run confirmed the claim, with the provenance.
pub fn record_confirmation(
    entry: &Entry,
    provenance: Provenance,
    run: &str,
    on: Date,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let body = Confirmed {
        provenance,
        on,
        // Links the confirmation to its run, so that the provenance can be audited.
        run: Some(run.to_owned()),
        withdraws: Vec::new(),
    };
    Ok(draft_about(entry, EventBody::Confirmed(body)))
}

/// Records the effects of a run on the entries it touched.
pub fn record_run_effects(run: &str, effects: &[EntryEffect]) -> Draft {
    Draft {
        about: effects.iter().map(|effect| effect.entry.into()).collect(),
        body: EventBody::RunEffects(RunEffects {
            run: run.to_owned(),
            effects: effects.to_vec(),
        }),
    }
}

/// Raises the status of an entry because of a run's outcome.
///
/// No actor is checked: closing the run decided it ([`crate::trust::run::closing`]).
pub fn raise_status(entry: &Entry, to: EntryStatus) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    if entry.status.value == to {
        return Err(Refusal::NothingChanges);
    }
    let body = StatusChanged {
        to,
        replaces: entry.status.heads.clone(),
        reason: None,
    };
    Ok(draft_about(entry, EventBody::StatusChanged(body)))
}

/// Returns the changes to one entry when a run closes.
pub fn changes_after_run(
    entry: &Entry,
    closing: &RunClosing,
    on: Date,
) -> Result<Vec<Draft>, Refusal> {
    let (id, mut drafts) = (entry.id, Vec::new());
    if let Some(provenance) = closing.found.get(&id) {
        drafts.push(record_confirmation(
            entry,
            *provenance,
            &closing.closed.run,
            on,
        )?);
    }
    if closing.restored.contains(&id) {
        drafts.push(restore(entry, &[], None)?);
    }
    if closing.archived.contains(&id) {
        drafts.push(archive(entry, ArchiveReason::Decay)?);
    }
    if let Some(status) = closing.promoted.get(&id) {
        drafts.push(raise_status(entry, *status)?);
    }
    Ok(drafts)
}

/// Returns the changes to an entry just extracted from a run: a confirmation if several agents
/// found it, and a higher status if the run succeeded.
pub fn changes_after_gain(
    entry: &Entry,
    gained: &AcceptedFinding,
    run: &Run,
    outcome: Outcome,
    on: Date,
) -> Result<Vec<Draft>, Refusal> {
    let mut drafts = Vec::new();
    // Agreement of agents that did not see each other's finding is independent evidence.
    if gained.is_convergent {
        drafts.push(record_confirmation(
            entry,
            Provenance::Independent,
            &run.id,
            on,
        )?);
    }
    if outcome == Outcome::Succeeded {
        drafts.push(raise_status(entry, EntryStatus::Active)?);
    }
    Ok(drafts)
}

/// Resets a stuck posterior to the prior; only a person may.
pub fn reset_confidence(
    entry: &Entry,
    posterior: BetaPosterior,
    by: &Actor,
    reason: Note,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    ensure_human("resetting confidence", by)?;
    // Otherwise a reset could erase unwelcome evidence.
    if !posterior.is_stuck() {
        return Err(Refusal::NotStuck(entry.id));
    }
    Ok(draft_about(
        entry,
        EventBody::ConfidenceReset(ConfidenceReset { reason }),
    ))
}
