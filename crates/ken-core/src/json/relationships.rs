//! Relationships of an entity: the edges of the graph that start or end at it.

use std::fmt;

use serde::Serialize;

use crate::ledger::entry::Entry;
use crate::values::content::KindDetail;
use crate::values::id::EntryId;

/// A relationship between two entities, as its entry states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntityRelationship {
    /// The entry of kind `relationship`.
    pub id: EntryId,
    pub from: EntryId,
    pub rel: String,
    pub to: EntryId,
}

impl EntityRelationship {
    /// Returns the relationships among `entries` that start or end at `entity`.
    pub fn of(entity: EntryId, entries: &[Entry]) -> Vec<Self> {
        let stated = entries.iter().filter_map(Self::from_entry);
        let ends_here = |it: &Self| it.from == entity || it.to == entity;
        stated.filter(ends_here).collect()
    }

    fn from_entry(entry: &Entry) -> Option<Self> {
        match entry.content.as_ref()?.detail.as_ref()? {
            KindDetail::Relationship(detail) => Some(Self {
                id: entry.id,
                from: detail.from,
                rel: detail.rel.to_string(),
                to: detail.to,
            }),
            KindDetail::Spike(_)
            | KindDetail::Entity(_)
            | KindDetail::Friction(_)
            | KindDetail::Norm(_) => None,
        }
    }
}

impl fmt::Display for EntityRelationship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, from, rel, to } = self;
        write!(f, "{from} {rel} {to} ({id})")
    }
}
