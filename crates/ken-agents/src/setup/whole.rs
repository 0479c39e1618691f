//! Files written entirely by Ken: skills and plugins.
//!
//! The last line holds the format version and a hash of the lines above it.

use super::block::BOM;
use super::record::SetupRecord;
use super::{FileUpdate, PartKind, PartState, PartStatus, SetupChange, VERSION, short_hash};

/// A file that should exist.
#[derive(Clone, Debug)]
pub(super) struct DesiredFile {
    pub(super) what: PartKind,
    /// The prefix and suffix of a comment line.
    pub(super) comment: (&'static str, &'static str),
    /// The lines above the stamp, each ending in a newline.
    pub(super) content: String,
}

const STAMP: &str = "ken:file";

impl DesiredFile {
    /// Returns the text of the file, stamp included.
    pub(super) fn text(&self) -> String {
        let (open, close) = self.comment;
        let sum = short_hash(&self.content);
        format!(
            "{}{open}{STAMP} v={VERSION} sha={sum}{close}\n",
            self.content
        )
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches(BOM).trim().is_empty()
}

/// Reports the state of the file.
pub(super) fn inspect(desired: &DesiredFile, text: Option<&str>) -> PartStatus {
    PartStatus {
        what: desired.what,
        at: String::new(),
        standing: file_state(desired, text),
    }
}

fn file_state(desired: &DesiredFile, text: Option<&str>) -> PartState {
    let Some(text) = text.filter(|it| !is_blank(it)) else {
        return PartState::Missing;
    };
    let unix_text = text.replace("\r\n", "\n");
    let lines = unix_text.trim_end_matches('\n');
    let (content, stamp) = match lines.rfind('\n') {
        Some(at) => lines.split_at(at + 1),
        None => ("", lines),
    };
    let (open, close) = desired.comment;
    let words = stamp
        .strip_prefix(open)
        .and_then(|it| it.strip_suffix(close))
        .and_then(|it| it.strip_prefix(STAMP));
    let Some(words) = words else {
        return PartState::Handwritten;
    };
    let attribute = |name: &str| words.split(' ').find_map(|word| word.strip_prefix(name));
    let version: Option<u32> = attribute("v=").and_then(|it| it.parse().ok());
    // A stamp without a readable version has an unknown format, so it counts as newer.
    if version.is_none_or(|it| it > VERSION) {
        PartState::Newer
    } else if attribute("sha=") != Some(short_hash(content).as_str()) {
        PartState::Edited
    } else if unix_text == desired.text() {
        PartState::Current
    } else {
        PartState::Stale
    }
}

/// Creates or replaces the file.
pub(super) fn install(
    desired: &DesiredFile,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let part = inspect(desired, text);
    let is_due = part.standing.is_due();
    let is_ours = matches!(part.standing, PartState::Current | PartState::Stale);
    let parts = vec![part];
    // The record of the first installation describes the original file and must be kept: a later
    // installation sees only Ken's text.
    let record = match record.filter(|_| is_ours) {
        Some(record) => record.clone(),
        None => SetupRecord {
            created: text.is_none() || is_ours,
            blank: text.filter(|it| is_blank(it)).map(str::to_owned),
            ..SetupRecord::default()
        },
    };
    if !is_due {
        return SetupChange::none(parts, is_ours.then_some(record));
    }
    SetupChange {
        after: FileUpdate::Text(desired.text()),
        pieces: parts,
        record: Some(record),
    }
}

/// Removes the file unless a person changed it.
pub(super) fn remove(
    desired: &DesiredFile,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let part = inspect(desired, text);
    let is_ours = matches!(part.standing, PartState::Current | PartState::Stale);
    let is_kept = matches!(part.standing, PartState::Edited | PartState::Newer);
    let parts = vec![part];
    if !is_ours {
        return SetupChange::none(parts, record.filter(|_| is_kept).cloned());
    }
    let blank = record.and_then(|it| it.blank.clone());
    SetupChange {
        after: blank.map_or(FileUpdate::Gone, FileUpdate::Text),
        pieces: parts,
        record: None,
    }
}
