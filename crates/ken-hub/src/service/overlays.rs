//! Overlays of people: pins and mutes, which change what one person sees.
//!
//! In a repository, overlays belong to one clone. At a hub they belong to the actor of the token,
//! and count for every request with a token of that actor, the ones of MCP clients included. They
//! are no events: neither other readers nor clones see them. Programs have none, because a team
//! may share their token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::decide::Refusal;
use ken_core::ledger::entry::{AnnotationState, Entry};
use ken_core::ledger::event::{Overlay, Switch};
use ken_core::values::id::EntryId;

use super::{ServiceError, WorkspaceSession};

/// Maximum number of overlays per person and workspace.
pub const OVERLAYS_MAX: usize = 1_000;

/// Overlays that the caller set, by entry.
#[derive(Debug, Default)]
pub(super) struct PersonalOverlays(BTreeMap<EntryId, BTreeSet<Overlay>>);

impl PersonalOverlays {
    /// Adds the overlays to an entry.
    pub(super) fn apply(&self, entry: &mut Entry) {
        for overlay in self.0.get(&entry.id).into_iter().flatten() {
            let set = AnnotationState {
                state: Switch::On,
                heads: Vec::new(),
                note: None,
            };
            entry.overlays.insert(*overlay, set);
        }
    }

    fn count(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }
}

/// Pins or mutes an entry for the caller, or ends that.
pub async fn set_overlay(
    session: &mut WorkspaceSession,
    wanted: &str,
    overlay: Overlay,
    state: Switch,
) -> Result<Entry, ServiceError> {
    let actor = session.caller.actor.clone();
    if !actor.is_human() {
        let what = "pinning or muting an entry";
        return Err(ServiceError::PersonNeeded { what });
    }
    // Locked, so that two requests cannot both use the last free place.
    session.lock().await?;
    let entry = session.find(wanted).await?;
    session.ensure_visible(&entry)?;
    let is_changed = match state {
        Switch::Off => session.tx.remove_overlay(&actor, entry.id, overlay).await?,
        Switch::On => {
            if session.personal_overlays().await?.count() >= OVERLAYS_MAX {
                return Err(ServiceError::Conflict(format!(
                    "you have reached the limit of {OVERLAYS_MAX} pinned and muted entries; remove some of them"
                )));
            }
            session.tx.set_overlay(&actor, entry.id, overlay).await?
        }
    };
    session.overlays = None;
    if is_changed {
        Ok(entry)
    } else {
        Err(Refusal::NothingChanges.into())
    }
}

impl WorkspaceSession {
    /// Returns the overlays of the caller, loaded once.
    pub(super) async fn personal_overlays(
        &mut self,
    ) -> Result<Arc<PersonalOverlays>, ServiceError> {
        let overlays = match self.overlays.take() {
            Some(overlays) => overlays,
            None => Arc::new(self.load_overlays().await?),
        };
        Ok(Arc::clone(self.overlays.insert(overlays)))
    }

    async fn load_overlays(&mut self) -> Result<PersonalOverlays, ServiceError> {
        let mut overlays = PersonalOverlays::default();
        if self.caller.actor.is_human() {
            let actor = self.caller.actor.clone();
            for (entry, overlay) in self.tx.overlays(&actor).await? {
                overlays.0.entry(entry).or_default().insert(overlay);
            }
        }
        Ok(overlays)
    }
}
