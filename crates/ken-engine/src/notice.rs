//! What happened beside the answer, as data for whoever prints.

use ken_core::actor::Actor;
use ken_core::id::EntryId;
use ken_index::Rung;

/// Something worth telling; never an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Ledger(ken_ledger::Notice),
    /// A person's edit of a file became an event.
    Absorbed {
        entry: EntryId,
        edit: Edit,
        by: Actor,
    },
    /// A file was not read as an edit, and why.
    LeftAlone {
        file: String,
        why: String,
    },
    /// Nothing was absorbed because git is in the middle of something.
    Waiting {
        why: String,
    },
    /// More files are gone at once than anybody deletes by hand.
    ManyFilesGone {
        files: Vec<String>,
    },
    /// Copies of blanked events came back and were blanked again.
    Scrubbed {
        events: u64,
    },
    /// Copies of blanked events are in the tree and could not be blanked now.
    ScrubWaits {
        why: String,
    },
    /// The index was damaged or of another version and was built anew.
    IndexRebuilt,
    /// A list of signers lies here that nobody committed: it is not in force.
    SignersNotCommitted,
    /// The model chosen here does not serve, and what serves instead.
    ModelMissing {
        why: String,
        served_by: Rung,
    },
    /// A service ran unasked, as the policy lets it.
    Maintained {
        task: String,
        changed: usize,
        /// Matters it leaves to a person.
        left: usize,
    },
    /// What is known needs somebody before work begins.
    ActionRequired {
        matters: usize,
    },
    /// A service the policy lets run could not.
    MaintenanceFailed {
        why: String,
    },
}

/// What a person did to an entry's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Reworded,
    Confirmed,
    Deleted,
}
