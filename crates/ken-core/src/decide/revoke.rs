//! Revocation of all contributions of an author or origin.

use crate::ledger::event::{EventBody, OriginRevoked, Switch};
use crate::ledger::source::ContributionSource;
use crate::ledger::workspace::WorkspaceState;
use crate::values::actor::Actor;
use crate::values::id::EventId;

use super::{Draft, Refusal, ensure_human};

/// Revokes `source` or ends its revocation; only a person may. One event, regardless of the number
/// of entries.
///
/// `replaces` are the earlier revocation events of the same source.
pub fn revoke(
    workspace: &WorkspaceState,
    source: ContributionSource,
    state: Switch,
    replaces: Vec<EventId>,
    by: &Actor,
) -> Result<Draft, Refusal> {
    ensure_human("revoking a source", by)?;
    match (state, workspace.revoked.contains(&source)) {
        (Switch::On, true) => return Err(Refusal::AlreadyRevoked(source)),
        (Switch::Off, false) => return Err(Refusal::NotRevoked(source)),
        (Switch::On, false) | (Switch::Off, true) => {}
    }
    let body = EventBody::OriginRevoked(OriginRevoked {
        source,
        state,
        replaces,
    });
    // The event names no entry: entries that arrive later are covered too.
    let about = Vec::new();
    Ok(Draft { about, body })
}
