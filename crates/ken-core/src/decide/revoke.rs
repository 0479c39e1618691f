//! Turning off everything from one author or origin, and on again.

use crate::actor::Actor;
use crate::event::{Body, OriginRevoked, Switch};
use crate::id::EventId;
use crate::source::Source;
use crate::workspace::Workspace;

use super::{Draft, Refusal, person_needed};

/// Revokes `source`, or takes that back; only a person may. One event, however much came from it.
///
/// `replaces` are the events that said something about the same source before.
pub fn revoke(
    workspace: &Workspace,
    source: Source,
    state: Switch,
    replaces: Vec<EventId>,
    by: &Actor,
) -> Result<Draft, Refusal> {
    person_needed("revoking a source", by)?;
    match (state, workspace.revoked.contains(&source)) {
        (Switch::On, true) => return Err(Refusal::AlreadyRevoked(source)),
        (Switch::Off, false) => return Err(Refusal::NotRevoked(source)),
        (Switch::On, false) | (Switch::Off, true) => {}
    }
    let body = Body::OriginRevoked(OriginRevoked {
        source,
        state,
        replaces,
    });
    let about = Vec::new();
    Ok(Draft { about, body })
}
