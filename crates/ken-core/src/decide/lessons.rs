//! What runs teach about entries.

use crate::actor::Actor;
use crate::entry::Entry;
use crate::event::{
    ArchiveReason, Body, ConfidenceReset, Confirmed, Effect, Outcome, Provenance, RunEffects,
    StatusChanged,
};
use crate::facts::Beta;
use crate::run::Run;
use crate::run::accumulate::Gain;
use crate::run::close::Closing;
use crate::status::Status;
use crate::text::Note;
use crate::time::Date;

use super::entry_changes::{archive, restore};
use super::{Draft, Refusal, about, person_needed, writable};

/// Records that a run found the claim again, and how that came about.
pub fn find_again(
    entry: &Entry,
    provenance: Provenance,
    run: &str,
    on: Date,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    let body = Confirmed {
        provenance,
        on,
        run: Some(run.to_owned()),
        withdraws: Vec::new(),
    };
    Ok(about(entry, Body::Confirmed(body)))
}

/// Records what a run did to the entries it touched.
pub fn effects(run: &str, effects: &[Effect]) -> Draft {
    Draft {
        about: effects.iter().map(|it| it.entry.into()).collect(),
        body: Body::RunEffects(RunEffects {
            run: run.to_owned(),
            effects: effects.to_vec(),
        }),
    }
}

/// Moves an entry up the ladder because of what a run showed.
///
/// Nobody's word is asked: the closing of the run decided it ([`crate::run::close`]).
pub fn rise(entry: &Entry, to: Status) -> Result<Draft, Refusal> {
    writable(entry)?;
    if entry.status.value == to {
        return Err(Refusal::NothingChanges);
    }
    let body = StatusChanged {
        to,
        replaces: entry.status.heads.clone(),
        reason: None,
    };
    Ok(about(entry, Body::StatusChanged(body)))
}

/// Returns what the closing of a run changes about one entry.
pub fn after_run(entry: &Entry, closing: &Closing, on: Date) -> Result<Vec<Draft>, Refusal> {
    let (id, mut drafts) = (entry.id, Vec::new());
    if let Some(provenance) = closing.found.get(&id) {
        drafts.push(find_again(entry, *provenance, &closing.closed.run, on)?);
    }
    if closing.restored.contains(&id) {
        drafts.push(restore(entry, None)?);
    }
    if closing.archived.contains(&id) {
        drafts.push(archive(entry, ArchiveReason::Decay)?);
    }
    if let Some(status) = closing.promoted.get(&id) {
        drafts.push(rise(entry, *status)?);
    }
    Ok(drafts)
}

/// Returns what is said of an entry that a run's findings just became: that agents agreed, and that the work
/// succeeded.
pub fn after_gain(
    entry: &Entry,
    gained: &Gain,
    run: &Run,
    outcome: Outcome,
    on: Date,
) -> Result<Vec<Draft>, Refusal> {
    let mut drafts = Vec::new();
    if gained.is_convergent {
        drafts.push(find_again(entry, Provenance::Independent, &run.id, on)?);
    }
    if outcome == Outcome::Succeeded {
        drafts.push(rise(entry, Status::Active)?);
    }
    Ok(drafts)
}

/// Puts a posterior that is stuck back to the prior; only a person may.
pub fn reset_confidence(
    entry: &Entry,
    posterior: Beta,
    by: &Actor,
    reason: Note,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    person_needed("resetting confidence", by)?;
    if !posterior.is_stuck() {
        return Err(Refusal::NotStuck(entry.id));
    }
    Ok(about(
        entry,
        Body::ConfidenceReset(ConfidenceReset { reason }),
    ))
}
