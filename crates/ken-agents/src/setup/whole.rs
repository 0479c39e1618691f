//! Files that are Ken's altogether: skills and plugins. Their last line names the version and a hash of the lines above.

use super::block::BOM;
use super::record::Record;
use super::{After, Change, Piece, Standing, VERSION, What, sum};

/// A file that should be there.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) what: What,
    /// What a line of comment begins and ends with.
    pub(super) comment: (&'static str, &'static str),
    /// The lines above the stamp, each ending in a newline.
    pub(super) content: String,
}

const STAMP: &str = "ken:file";

impl Wish {
    /// Returns the file.
    pub(super) fn text(&self) -> String {
        let (open, close) = self.comment;
        let sum = sum(&self.content);
        format!(
            "{}{open}{STAMP} v={VERSION} sha={sum}{close}\n",
            self.content
        )
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches(BOM).trim().is_empty()
}

/// Says how the file stands.
pub(super) fn look(wish: &Wish, text: Option<&str>) -> Piece {
    Piece {
        what: wish.what,
        at: String::new(),
        standing: standing(wish, text),
    }
}

fn standing(wish: &Wish, text: Option<&str>) -> Standing {
    let Some(text) = text.filter(|it| !is_blank(it)) else {
        return Standing::Missing;
    };
    let text = text.replace("\r\n", "\n");
    let lines = text.trim_end_matches('\n');
    let (content, stamp) = match lines.rfind('\n') {
        Some(at) => lines.split_at(at + 1),
        None => ("", lines),
    };
    let (open, close) = wish.comment;
    let words = stamp
        .strip_prefix(open)
        .and_then(|it| it.strip_suffix(close))
        .and_then(|it| it.strip_prefix(STAMP));
    let Some(words) = words else {
        return Standing::ByHand;
    };
    let attribute = |name: &str| words.split(' ').find_map(|word| word.strip_prefix(name));
    let version: Option<u32> = attribute("v=").and_then(|it| it.parse().ok());
    if version.is_none_or(|it| VERSION < it) {
        Standing::Newer
    } else if attribute("sha=") != Some(sum(content).as_str()) {
        Standing::Edited
    } else if text == wish.text() {
        Standing::Current
    } else {
        Standing::Stale
    }
}

/// Writes the file, or writes it anew.
pub(super) fn install(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let piece = look(wish, text);
    let is_due = piece.standing.is_due();
    let is_ours = matches!(piece.standing, Standing::Current | Standing::Stale);
    let pieces = vec![piece];
    let record = match record.filter(|_| is_ours) {
        Some(record) => record.clone(),
        None => Record {
            created: text.is_none() || is_ours,
            blank: text.filter(|it| is_blank(it)).map(str::to_owned),
            ..Record::default()
        },
    };
    if !is_due {
        return Change::none(pieces, is_ours.then_some(record));
    }
    Change {
        after: After::Text(wish.text()),
        pieces,
        record: Some(record),
    }
}

/// Removes the file unless somebody changed it.
pub(super) fn remove(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let piece = look(wish, text);
    let is_ours = matches!(piece.standing, Standing::Current | Standing::Stale);
    let is_kept = matches!(piece.standing, Standing::Edited | Standing::Newer);
    let pieces = vec![piece];
    if !is_ours {
        return Change::none(pieces, record.filter(|_| is_kept).cloned());
    }
    let blank = record.and_then(|it| it.blank.clone());
    Change {
        after: blank.map_or(After::Gone, After::Text),
        pieces,
        record: None,
    }
}
