//! Accepted lines of a publication, one per entry.
//!
//! An event id and an entry id are two names of one line. If two lines could have one entry id, a
//! review would show the words of one of them and an approval would cover both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::values::id::{EntryId, EventId};
use crate::values::time::Date;

/// One accepted line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineRecord {
    pub sum: String,
    pub entry: EntryId,
    /// The last epoch whose manifests list the line.
    pub epoch: u64,
    /// The day the line was first accepted here; the publisher cannot change it.
    pub first_seen: Date,
}

/// Accepted lines of every epoch, by id and by entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<EventId, LineRecord>")]
pub(super) struct AcceptedLines {
    records: BTreeMap<EventId, LineRecord>,
    /// Derived from the records, so it is not stored.
    by_entry: BTreeMap<EntryId, EventId>,
}

impl AcceptedLines {
    pub(super) fn get(&self, id: EventId) -> Option<&LineRecord> {
        self.records.get(&id)
    }

    /// Returns the line of an entry.
    pub(super) fn of_entry(&self, entry: EntryId) -> Option<EventId> {
        self.by_entry.get(&entry).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (EventId, &LineRecord)> {
        self.records.iter().map(|(id, line)| (*id, line))
    }

    /// Notes that a manifest of `epoch` lists a line. Returns false if the line is unknown.
    ///
    /// `first_seen` stays: listing a line again must not make it look recent.
    pub(super) fn relist(&mut self, id: EventId, epoch: u64) -> bool {
        let known = self.records.get_mut(&id);
        let is_known = known.is_some();
        if let Some(line) = known {
            line.epoch = epoch;
        }
        is_known
    }

    /// Adds a line whose entry no other line has.
    pub(super) fn insert(&mut self, id: EventId, line: LineRecord) {
        self.by_entry.entry(line.entry).or_insert(id);
        self.records.insert(id, line);
    }
}

impl From<BTreeMap<EventId, LineRecord>> for AcceptedLines {
    fn from(records: BTreeMap<EventId, LineRecord>) -> Self {
        let mut by_entry: BTreeMap<EntryId, EventId> = BTreeMap::new();
        for (id, line) in &records {
            // A replica that was stored before this rule may have two lines with one entry id.
            by_entry.entry(line.entry).or_insert(*id);
        }
        Self { records, by_entry }
    }
}

/// Written by hand: `into` would copy all lines each time a replica is stored.
impl Serialize for AcceptedLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.records.serialize(serializer)
    }
}
