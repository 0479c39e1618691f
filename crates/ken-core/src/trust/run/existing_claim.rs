//! Lookup of an existing claim when an agent records one.
//!
//! The answer never names an entry that the agent was not shown: that would prime the agent and
//! spoil an independent confirmation.

use std::collections::BTreeSet;

use super::Run;
use crate::ledger::entry::Entry;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::text::Statement;

/// The outcome of recording a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordOutcome {
    /// The claim became a new entry.
    Entry(Box<Entry>),
    /// The claim exists; the id is given only if the agent was shown the entry.
    Noted(Option<EntryId>),
}

/// The way in which a claim already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingClaim {
    /// This agent added the entry in this run.
    Added(EntryId),
    /// This agent reported the claim before in this run; the id only if it was shown the entry.
    Found(Option<EntryId>),
    /// Another agent or another run added it; the id only if this agent was shown the entry.
    Elsewhere(Option<EntryId>),
}

/// Returns how a claim already exists, given the entries `says` that make it.
///
/// Retracted entries do not count. `run` is the run of `agent`.
pub fn find_existing_claim(
    run: Option<&Run>,
    agent: &Actor,
    statement: &Statement,
    says: &[Entry],
) -> Option<ExistingClaim> {
    let unretracted = says.iter().filter(|it| it.retracted.is_none());
    let existing: BTreeSet<EntryId> = unretracted.map(|it| it.id).collect();
    if existing.is_empty() {
        return None;
    }
    let Some(run) = run else {
        return Some(ExistingClaim::Elsewhere(None));
    };
    let activity = run.agents.get(agent);
    if let Some(own) = activity.and_then(|it| it.added.intersection(&existing).next()) {
        return Some(ExistingClaim::Added(*own));
    }
    // Ignores `everything`: an agent that may have seen any entry may not have seen this one, and
    // naming it would reveal it.
    let exposed = run.exposures(agent).entries;
    let seen = existing.intersection(&exposed).next().copied();
    Some(if run.has_found(agent, statement) {
        ExistingClaim::Found(seen)
    } else {
        ExistingClaim::Elsewhere(seen)
    })
}
