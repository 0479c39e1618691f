//! What somebody is told who records what is known already.
//!
//! No entry the agent had not seen: it would be told what it is about to confirm.

use std::collections::BTreeSet;

use super::Run;
use crate::actor::Actor;
use crate::entry::Entry;
use crate::id::EntryId;
use crate::text::Statement;

/// What became of something that was recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// It is an entry.
    Entry(Box<Entry>),
    /// It is known; where the agent had seen it, as what.
    Noted(Option<EntryId>),
}

/// How a finding is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// This agent wrote the entry, in this run.
    Added(EntryId),
    /// This agent found it before, in this run; where it had seen it, as what.
    Found(Option<EntryId>),
    /// Somebody else wrote it, or this agent some other time; where it had seen it, as what.
    Elsewhere(Option<EntryId>),
}

/// Returns how it is known what `says` say, if it is: what was taken back is not.
///
/// `run` is the one `agent` works in.
pub fn known(
    run: Option<&Run>,
    agent: &Actor,
    statement: &Statement,
    says: &[Entry],
) -> Option<Known> {
    let standing = says.iter().filter(|it| it.retracted.is_none());
    let standing: BTreeSet<EntryId> = standing.map(|it| it.id).collect();
    if standing.is_empty() {
        return None;
    }
    let Some(run) = run else {
        return Some(Known::Elsewhere(None));
    };
    let part = run.agents.get(agent);
    if let Some(own) = part.and_then(|it| it.added.intersection(&standing).next()) {
        return Some(Known::Added(*own));
    }
    // Whoever saw everything may not have had this one before its eyes: it is not named.
    let sight = run.sight(agent).entries;
    let seen = standing.intersection(&sight).next().copied();
    Some(match run.has_found(agent, statement) {
        true => Known::Found(seen),
        false => Known::Elsewhere(seen),
    })
}
