//! Which findings of a run become entries, by the gate a policy has.

use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::kind::Kind;
use ken_core::run::{Finding, Run, accumulate};

use crate::policy::Gate;

/// Returns what findings that all say the same, and that no entry says, become.
pub fn gain(
    run: &Run,
    outcome: Outcome,
    findings: &[(&Actor, &Finding)],
    gate: Gate,
) -> Option<Kind> {
    let gained = accumulate::gain(run, outcome, findings).map(|gain| gain.kind);
    match gate {
        Gate::Any => gained.or(Some(Kind::Pattern)),
        Gate::Accumulation => gained,
    }
}
