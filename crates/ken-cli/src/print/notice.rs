//! What happened beside the answer, in plain words, with what to do about it.

use ken_engine::model::Rung;
use ken_engine::notice::{Edit, Notice};

use super::counted;

/// File names listed before the rest is only counted.
const FILES_MAX: usize = 5;

/// Returns a notice as one sentence.
pub(super) fn words(notice: &Notice) -> String {
    match notice {
        Notice::Ledger(notice) => format!("{notice:?}"),
        Notice::Absorbed { entry, edit, by } => match edit {
            Edit::Reworded => format!("{by} reworded {entry} in its file"),
            Edit::Confirmed => format!("{by} confirmed {entry} in its file"),
            Edit::Deleted => format!("{by} retracted {entry} by deleting its file"),
        },
        Notice::LeftAlone { file, why } => {
            format!(
                "the edit of {file} was not recorded: {why}; correct the file and run `ken sync`"
            )
        }
        Notice::Waiting { why } => {
            format!("edits of entry files were not looked at: {why}; run `ken sync` afterwards")
        }
        Notice::ManyFilesGone { files } => format!(
            "{} are gone at once ({}): `ken sync --yes` retracts the entries, `ken render` writes the files again",
            counted(files.len() as u64, "entry file", "entry files"),
            few(files),
        ),
        Notice::Scrubbed { events } => {
            let copies = counted(*events, "blanked event", "blanked events");
            format!("git had brought back the data of {copies}; it was removed again")
        }
        Notice::ScrubWaits { why } => {
            format!(
                "the data of blanked events is back and could not be removed yet: {why}; run `ken sync` afterwards"
            )
        }
        Notice::IndexRebuilt => {
            "the index was damaged or of another version and was built anew".to_owned()
        }
        Notice::SignersNotCommitted => {
            "`.ken/allowed_signers` is not committed and so not in force; no signature was asked for".to_owned()
        }
        Notice::ModelMissing { why, served_by } => {
            let instead = match served_by {
                Rung::None => "keywords alone answer, and its vectors are kept",
                Rung::Static | Rung::Transformer | Rung::Http => "the built-in model answers",
            };
            format!("the model chosen here does not serve: {why}; {instead}; see `ken model show`")
        }
        Notice::Maintained {
            task,
            changed,
            left,
        } => {
            let changed = counted(*changed as u64, "entry changed", "entries changed");
            format!("{task}: {changed}, {left} left to a person; see `ken maintain`")
        }
        Notice::ActionRequired { matters } => {
            let matters = counted(*matters as u64, "matter requires", "matters require");
            format!("{matters} action; see `ken health report`")
        }
        Notice::MaintenanceFailed { why } => {
            format!("maintenance could not be done: {why}; see `ken maintain`")
        }
    }
}

fn few(files: &[String]) -> String {
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
