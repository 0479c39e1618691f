//! Notices: side effects of a command, as data for the caller to print.

use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_index::Backend;
pub use ken_ledger::LedgerNotice;

/// Information for the user; never an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineNotice {
    Ledger(LedgerNotice),
    /// A person's edit of an entry file became an event.
    EditSynced {
        entry: EntryId,
        edit: EntryFileEdit,
        by: Actor,
    },
    /// Edits of entry files are not events yet, so the answer does not show them.
    EditsUnrecorded {
        edits: usize,
    },
    /// A status that a person set in an entry file; it was reset, because no event records it.
    StatusReset {
        entry: EntryId,
        status: String,
    },
    /// A file was not synced, with the reason.
    FileIgnored {
        file: String,
        why: String,
    },
    /// A conflict in an entry file was resolved: the ledger has the versions of both sides.
    ConflictResolved {
        entry: EntryId,
        file: String,
    },
    /// Nothing was synced, because a git operation is in progress.
    SyncDeferred {
        why: String,
    },
    /// So many entry files are missing that their deletion must be confirmed.
    ManyFilesGone {
        files: Vec<String>,
    },
    /// Copies of redacted events reappeared and were redacted again.
    CopiesRedacted {
        events: u64,
    },
    /// Copies of redacted events exist and could not be redacted now.
    RedactionDeferred {
        why: String,
    },
    /// A citation was accepted although this clone cannot tell whether its source exists.
    CitationUnchecked {
        citation: String,
        why: &'static str,
    },
    /// The index was damaged or of another version and was rebuilt.
    IndexRebuilt,
    /// The configuration file is broken, and the defaults apply.
    ConfigInvalid {
        why: String,
    },
    /// The index cannot be written, so this command built one in memory.
    IndexInMemory {
        why: String,
    },
    /// A decision was recorded without the signature that git's configuration asks for.
    NotSigned {
        why: String,
    },
    /// The user of this clone wrote an entry and approved it under another name.
    SelfApproval {
        own: Actor,
        by: Actor,
    },
    /// The list of signers is not committed and therefore not in force.
    SignersNotCommitted,
    /// The configured model is not available; another one serves instead.
    ModelMissing {
        why: String,
        served_by: Backend,
    },
    /// A service ran automatically, as the policy allows.
    Maintained {
        task: String,
        changed: usize,
        /// Number of decisions left to a person.
        left: usize,
    },
    /// The health report has insights that require action before work begins.
    ActionRequired {
        matters: usize,
    },
    /// An automatic service failed.
    MaintenanceFailed {
        why: String,
    },
}

/// Edit of an entry file by a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryFileEdit {
    Reworded,
    Confirmed,
    Deleted,
}
