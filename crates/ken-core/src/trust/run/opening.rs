//! Opening of a run: its checks and first notes, the same in a repository and on a hub.

use super::accumulation::SCALE_MILLI;
use super::name::IMPLICIT_PREFIX;
use super::{AGENTS_MAX, RunFinding, RunMember, RunMode, RunNote, RunWitness};
use crate::values::actor::Actor;
use crate::values::text::{Note as Words, Tag};

/// Settings of a run to open.
#[derive(Clone, Debug, Default)]
pub struct OpenRunRequest {
    /// Run id; generated if absent.
    pub id: Option<String>,
    pub agents: Vec<(Actor, RunMember)>,
    pub witness: RunWitness,
    pub thread: Option<Tag>,
    pub task: Option<Words>,
}

/// The reason a run cannot be opened or a finding cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunInputError {
    #[error("a run has at most {AGENTS_MAX} agents")]
    TooManyAgents,
    #[error("names that start with `{IMPLICIT_PREFIX}` are reserved for runs that Ken creates")]
    ReservedName,
    #[error("severity and confidence range from 0 to 10")]
    OffScale,
}

/// Returns the id and the first notes of a run. `random` supplies the id if the request has none.
pub fn opening_notes(
    request: OpenRunRequest,
    random: impl FnOnce() -> u128,
) -> Result<(String, Vec<RunNote>), RunInputError> {
    if request.agents.len() > AGENTS_MAX {
        return Err(RunInputError::TooManyAgents);
    }
    // 40 random bits: short enough to type, and a collision is reported as a conflict.
    let generated = || format!("R-{:010x}", random() >> 88);
    let id = request.id.unwrap_or_else(generated);
    if id.starts_with(IMPLICIT_PREFIX) {
        return Err(RunInputError::ReservedName);
    }
    let opened = RunNote::Opened {
        run: id.clone(),
        manner: RunMode::Explicit,
        witness: request.witness,
        thread: request.thread,
        task: request.task,
    };
    let joined = request.agents.into_iter().map(|(agent, member)| {
        let declared = true;
        let member = RunMember { declared, ..member };
        RunNote::Joined { agent, member }
    });
    let notes = [opened].into_iter().chain(joined).collect();
    Ok((id, notes))
}

/// Checks the scales of a finding.
pub fn check_finding(finding: &RunFinding) -> Result<(), RunInputError> {
    if finding.severity_milli > SCALE_MILLI || finding.confidence_milli > SCALE_MILLI {
        return Err(RunInputError::OffScale);
    }
    Ok(())
}
