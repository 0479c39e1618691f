//! Acceptance of findings as entries, by the gate of a policy.

use ken_core::ledger::event::Outcome;
use ken_core::trust::run::accumulation::{self, AcceptedFinding};
use ken_core::trust::run::{Run, RunFinding};
use ken_core::values::actor::Actor;
use ken_core::values::kind::EntryKind;

use crate::policy::EntryGate;

/// Returns the entry to create from equal findings that no entry states yet, if the gate accepts
/// them.
pub fn accept_findings(
    run: &Run,
    outcome: Outcome,
    findings: &[(&Actor, &RunFinding)],
    gate: EntryGate,
) -> Option<AcceptedFinding> {
    let gained = accumulation::accept_finding(run, outcome, findings);
    match gate {
        // Findings that pass Ken's rule keep the kind it assigns.
        EntryGate::Any => gained.or_else(|| accept_first(findings)),
        EntryGate::Accumulation => gained,
    }
}

/// Returns the entry to create from a single finding if the gate accepts all.
fn accept_first(findings: &[(&Actor, &RunFinding)]) -> Option<AcceptedFinding> {
    let (_, finding) = findings.first()?;
    Some(AcceptedFinding {
        kind: EntryKind::Pattern,
        finding: (*finding).clone(),
        found_by: findings.iter().map(|(agent, _)| (*agent).clone()).collect(),
        is_convergent: false,
    })
}
