//! Which findings of a run become entries, by the gate a policy has.

use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::kind::Kind;
use ken_core::run::accumulate::{self, Gain};
use ken_core::run::{Finding, Run};

use crate::policy::Gate;

/// Returns what findings that all say the same, and that no entry says, become.
pub fn gain(
    run: &Run,
    outcome: Outcome,
    findings: &[(&Actor, &Finding)],
    gate: Gate,
) -> Option<Gain> {
    let gained = accumulate::gain(run, outcome, findings);
    match gate {
        Gate::Any => gained.or_else(|| any(findings)),
        Gate::Accumulation => gained,
    }
}

/// Returns the entry that one finding alone becomes where every one is taken up.
fn any(findings: &[(&Actor, &Finding)]) -> Option<Gain> {
    let (_, finding) = findings.first()?;
    Some(Gain {
        kind: Kind::Pattern,
        finding: (*finding).clone(),
        found_by: findings.iter().map(|(agent, _)| (*agent).clone()).collect(),
        is_convergent: false,
    })
}
