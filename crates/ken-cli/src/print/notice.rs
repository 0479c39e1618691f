//! Texts of notices: side effects of a command, with the recommended action.

use ken_engine::model::Backend;
use ken_engine::notice::{EngineNotice, EntryFileEdit, LedgerNotice};

use super::pluralize;

/// Maximum file names listed; the rest is counted.
const FILES_MAX: usize = 5;

/// Renders a notice as one sentence.
#[expect(clippy::too_many_lines, reason = "a table: one sentence per notice")]
pub(super) fn notice_text(notice: &EngineNotice) -> String {
    match notice {
        EngineNotice::Ledger(notice) => ledger_notice_text(notice),
        EngineNotice::EditSynced { entry, edit, by } => match edit {
            EntryFileEdit::Reworded => format!("{by} edited {entry} in its file"),
            EntryFileEdit::Confirmed => format!("{by} confirmed {entry} in its file"),
            EntryFileEdit::Deleted => format!("{by} retracted {entry} by deleting its file"),
        },
        EngineNotice::FileIgnored { file, why } => {
            format!(
                "the edit of {file} was not recorded: {why}; correct the file and run `ken sync`"
            )
        }
        EngineNotice::EditsUnrecorded { edits } => {
            let edits = pluralize(*edits as u64, "edit", "edits");
            format!("{edits} of entry files not recorded yet, so not shown here; run `ken sync`")
        }
        EngineNotice::StatusReset { entry, status } => format!(
            "the status `{status}` in the file of {entry} was reset; run `ken entry status {entry} {status}` to set it"
        ),
        EngineNotice::ConflictResolved { entry, file } => format!(
            "resolved the conflict in .ken/entries/{file}: the ledger has both versions (`ken show {entry}`); run `git add .ken/entries/{file}`"
        ),
        EngineNotice::SyncDeferred { why } => {
            format!("edits of entry files were not synced: {why}; run `ken sync` afterwards")
        }
        EngineNotice::ManyFilesGone { files } => format!(
            "{} were deleted at once ({}): `ken sync --yes` retracts the entries, `ken ledger render` writes the files again",
            pluralize(files.len() as u64, "entry file", "entry files"),
            list_first(files),
        ),
        EngineNotice::CopiesRedacted { events } => {
            let copies = pluralize(*events, "redacted event", "redacted events");
            format!("git had restored the data of {copies}; Ken removed it again")
        }
        EngineNotice::RedactionDeferred { why } => {
            format!(
                "git restored the data of redacted events, and Ken could not remove it yet: {why}; run `ken sync` afterwards"
            )
        }
        EngineNotice::CitationUnchecked { citation, why } => {
            format!("`{citation}` was not checked: {why}")
        }
        EngineNotice::IndexRebuilt => {
            "the index was damaged or had another version; Ken rebuilt it".to_owned()
        }
        EngineNotice::ConfigInvalid { why } => {
            format!("{why}; the defaults apply until you correct it")
        }
        EngineNotice::IndexInMemory { why } => format!(
            "cannot write the index in .ken/.index ({why}); this command reads the whole ledger instead"
        ),
        EngineNotice::NotSigned { why } => {
            format!("the decision is not signed: {why}; a hub accepts it only from your own token")
        }
        EngineNotice::SelfApproval { own, by } => format!(
            "git knows you as {own}, who wrote this entry, and nothing verifies that {by} approved it; list the keys of approvers in `.ken/allowed_signers` to require signatures"
        ),
        EngineNotice::SignersNotCommitted => {
            "`.ken/allowed_signers` is not committed and so not in effect; no signature was required".to_owned()
        }
        EngineNotice::ModelMissing { why, served_by } => {
            let instead = match served_by {
                // Vectors of different models cannot be compared, so those of the missing model are
                // not replaced.
                Backend::None => "search uses keywords only and keeps its vectors",
                Backend::Static | Backend::Transformer | Backend::Http => "search uses the built-in model",
            };
            format!("the selected model is not available: {why}; {instead}; see `ken config model show`")
        }
        EngineNotice::Maintained {
            task,
            changed,
            left,
        } => {
            let changed = pluralize(*changed as u64, "entry changed", "entries changed");
            format!("{task}: {changed}, {left} left to a person; see `ken health maintain`")
        }
        EngineNotice::ActionRequired { matters } => {
            let matters = pluralize(*matters as u64, "finding requires", "findings require");
            format!("{matters} action; see `ken health report`")
        }
        EngineNotice::MaintenanceFailed { why } => {
            format!("maintenance failed: {why}; see `ken health maintain`")
        }
    }
}

/// Renders a notice of the ledger as one sentence.
#[expect(clippy::too_many_lines, reason = "a table: one sentence per notice")]
fn ledger_notice_text(notice: &LedgerNotice) -> String {
    let events = |count: u64| pluralize(count, "event", "events");
    let branch = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    match notice {
        LedgerNotice::SegmentCarriedOver {
            segment,
            written_on,
            now_on,
            events: count,
        } => format!(
            "{} written on {} came along to {}: {} is not committed",
            events(*count),
            branch(written_on),
            branch(now_on),
            segment.tree_path(),
        ),
        LedgerNotice::TornTail {
            file,
            line,
            moved_to,
            ..
        } => format!("{file} line {line} was an interrupted write, moved to {moved_to}"),
        LedgerNotice::SegmentRepaired {
            segment,
            events: count,
        } => format!(
            "{} was damaged by a crash; Ken restored {} from the journal",
            segment.tree_path(),
            events(*count),
        ),
        LedgerNotice::BytesMovedAside {
            segment,
            line,
            moved_to,
            ..
        } => format!(
            "damaged bytes of {} line {line} were moved to {moved_to}",
            segment.tree_path()
        ),
        LedgerNotice::SegmentBehind { segment, error } => format!(
            "the events are safe in the journal, but {} could not be written: {error}; the next command that writes retries",
            segment.tree_path()
        ),
        LedgerNotice::JournalDamaged { file, line } => {
            format!("{file} line {line} is damaged; the events in .ken are not affected")
        }
        LedgerNotice::SegmentCut {
            segment,
            missing: 0,
        } => {
            let path = segment.tree_path();
            format!(
                "{path} is cut short, and its last events are missing: `git checkout -- {path}` restores a committed file"
            )
        }
        LedgerNotice::SegmentCut { segment, missing } => format!(
            "{} is cut short: {} missing; `ken ledger recover` restores it",
            segment.tree_path(),
            pluralize(*missing, "event is", "events are"),
        ),
        LedgerNotice::Copied => {
            "this folder is a copy of another one; it has a new node id now".to_owned()
        }
        LedgerNotice::StateLost { file } => format!("{file} was unreadable; Ken reset it"),
        LedgerNotice::ReplacementCompleted { commit } => {
            let also = if *commit { " and committed it" } else { "" };
            format!("Ken finished an interrupted pack or redaction{also}")
        }
        LedgerNotice::ReplacementPending { error } => format!(
            "an interrupted pack or redaction is not finished: {error}; the next command that writes retries"
        ),
    }
}

fn list_first(files: &[String]) -> String {
    let shown = files
        .iter()
        .take(FILES_MAX)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match files.len().saturating_sub(FILES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
