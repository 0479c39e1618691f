//! Which findings of a run become entries, by the gate a policy has.

use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::kind::Kind;
use ken_core::run::{Finding, Run};

use crate::policy::Gate;

/// Agents that must have found the same for it to become an entry, whatever its severity.
const AGENTS_MIN: usize = 2;

/// The severity, in thousandths, at which one agent's finding is an incident.
const INCIDENT_MILLI: u16 = 9_000;

/// The severity and the confidence, in thousandths, at which one agent's finding is a pattern.
const PATTERN_MILLI: (u16, u16) = (7_000, 8_000);

/// Returns what findings that all say the same, and that no entry says, become.
pub fn gain(
    run: &Run,
    outcome: Outcome,
    findings: &[(&Actor, &Finding)],
    gate: Gate,
) -> Option<Kind> {
    let gained = accumulated(run, outcome, findings);
    match gate {
        Gate::Any => gained.or(Some(Kind::Pattern)),
        Gate::Accumulation => gained,
    }
}

fn accumulated(run: &Run, _: Outcome, findings: &[(&Actor, &Finding)]) -> Option<Kind> {
    let watched = findings.iter().filter(|(agent, _)| run.is_witnessed(agent));
    let is_convergent = AGENTS_MIN <= watched.count();
    let alone = findings.iter().find_map(|(_, finding)| severe(finding));
    alone.or(is_convergent.then_some(Kind::Pattern))
}

fn severe(finding: &Finding) -> Option<Kind> {
    let (severity, confidence) = PATTERN_MILLI;
    if INCIDENT_MILLI <= finding.severity_milli {
        return Some(Kind::Incident);
    }
    let is_pattern = severity <= finding.severity_milli && confidence <= finding.confidence_milli;
    is_pattern.then_some(Kind::Pattern)
}
