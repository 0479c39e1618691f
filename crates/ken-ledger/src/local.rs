//! Small files beside the journal: the node's id and the ids of blanked events.

use std::collections::BTreeSet;

use ken_core::id::{EventId, IdSource, NodeId};

use crate::disk::DiskError;
use crate::ledger::Ledger;

impl Ledger {
    /// Returns the id of this clone on this machine; makes one if there is none or the folder
    /// was copied from elsewhere.
    pub fn node(&self, _ids: &mut dyn IdSource) -> Result<NodeId, DiskError> {
        unimplemented!("next commit")
    }

    /// Returns the ids of events whose data must not come back.
    pub fn blanked_ids(&self) -> Result<BTreeSet<EventId>, DiskError> {
        unimplemented!("next commit")
    }
}
