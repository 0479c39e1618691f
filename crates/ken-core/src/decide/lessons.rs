//! What runs and those who work with entries teach about them.

use crate::actor::Actor;
use crate::entry::Entry;
use crate::event::{
    Body, ConfidenceReset, Confirmed, Effect, Feedback, FeedbackGiven, Provenance, RunEffects,
    StatusChanged,
};
use crate::facts::Beta;
use crate::status::Status;
use crate::text::Note;
use crate::time::Date;

use super::{Draft, Refusal, about, person_needed, writable};

/// What one word of feedback adds to alpha or beta, in thousandths: as much as the least outcome.
pub const FEEDBACK_WEIGHT_MILLI: u32 = 500;

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

/// Records whether an entry helped.
pub fn feedback(entry: &Entry, verdict: Feedback) -> Result<Draft, Refusal> {
    writable(entry)?;
    let weight_milli = FEEDBACK_WEIGHT_MILLI;
    let body = FeedbackGiven {
        verdict,
        weight_milli,
    };
    Ok(about(entry, Body::FeedbackGiven(body)))
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
