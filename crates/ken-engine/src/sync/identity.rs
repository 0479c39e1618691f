//! Deterministic identity of events from edited files: equal edits get equal ids in every clone.

use ken_core::decide::Draft;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Admission, Event};
use ken_core::values::actor::Actor;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EventId, NodeId, Salt};
use ken_core::values::time::Timestamp;

/// The id, node and salt of an edit's event; derived from the edit instead of random.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DerivedIdentity {
    pub id: EventId,
    node: NodeId,
    salt: Salt,
}

/// Derives id, node and salt from the entry, the action, the content and the base revision.
pub(crate) fn derive_identity(
    entry: &Entry,
    action: &str,
    content: &str,
    base: &[EventId],
) -> DerivedIdentity {
    let mut base = base.to_vec();
    // Concurrent heads have no order of their own; clones may list them differently.
    base.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    // Stored ids depend on this prefix and the layout below: a change needs a new version.
    hasher.update(b"ken.hand-edit.v1\n");
    hasher.update(format!("{}\n{action}\n{content}\n", entry.id).as_bytes());
    for id in &base {
        hasher.update(&id.to_bytes());
    }
    let mut out = hasher.finalize_xof();
    let mut word = || {
        let mut bytes = [0; 16];
        out.fill(&mut bytes);
        u128::from_be_bytes(bytes)
    };
    // The timestamp in the id must also be equal in every clone, so it is that of the base.
    let created = entry.created.as_ref().map(|created| created.event);
    let time = base
        .last()
        .copied()
        .or(created)
        .map_or(Timestamp::default(), EventId::timestamp);
    DerivedIdentity {
        id: EventId::new(time, word()),
        node: NodeId::new(word()),
        salt: Salt::new(word()),
    }
}

impl DerivedIdentity {
    /// Builds the event with the time and author of the commit that contains the edit.
    pub(crate) fn event(
        self,
        draft: Draft,
        wall: Timestamp,
        by: &Actor,
        admission: Admission,
    ) -> Event {
        let at = Hlc {
            wall,
            counter: 0,
            node: self.node,
        };
        Event {
            id: self.id,
            at,
            by: by.clone(),
            about: draft.about,
            salt: Some(self.salt),
            admission: Some(admission),
            body: draft.body,
            signature: None,
            unknown_fields: 0,
        }
    }
}
