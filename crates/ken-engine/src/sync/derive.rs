//! Events that follow from a file: equal edits give equal ids in every clone.

use ken_core::actor::Actor;
use ken_core::decide::Draft;
use ken_core::entry::Entry;
use ken_core::event::{Admission, Event};
use ken_core::hlc::Hlc;
use ken_core::id::{EventId, NodeId, Salt};
use ken_core::time::Timestamp;

/// What an edit's event is made from instead of dice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Derived {
    pub id: EventId,
    pub node: NodeId,
    salt: Salt,
}

/// Derives id, node and salt from the entry, what was done, its content and its base.
pub(crate) fn derive(entry: &Entry, what: &str, content: &str, base: &[EventId]) -> Derived {
    let mut base = base.to_vec();
    base.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ken.hand-edit.v1\n");
    hasher.update(format!("{}\n{what}\n{content}\n", entry.id).as_bytes());
    for id in &base {
        hasher.update(&id.to_bytes());
    }
    let mut out = hasher.finalize_xof();
    let mut word = || {
        let mut bytes = [0; 16];
        out.fill(&mut bytes);
        u128::from_be_bytes(bytes)
    };
    // The id's time must be the same everywhere too, so it is that of the base.
    let created = entry.created.as_ref().map(|created| created.event);
    let time = base
        .last()
        .copied()
        .or(created)
        .map_or(Timestamp::default(), EventId::timestamp);
    Derived {
        id: EventId::new(time, word()),
        node: NodeId::new(word()),
        salt: Salt::new(word()),
    }
}

impl Derived {
    /// Makes the event as a commit's author brought it.
    pub(crate) fn event(self, draft: Draft, at: Hlc, by: &Actor, admission: Admission) -> Event {
        Event {
            id: self.id,
            at,
            by: by.clone(),
            about: draft.about,
            salt: Some(self.salt),
            admission: Some(admission),
            body: draft.body,
            unknown_fields: 0,
        }
    }
}
