//! Marked blocks in formats with comments: Markdown and TOML.
//!
//! The begin marker holds the format version and a hash of the content. The block alone therefore
//! shows if it is current, stale, edited or from a newer Ken.

use std::ops::Range;

use super::record::SetupRecord;
use super::{
    FileUpdate, PartKind, PartState, PartStatus, SetupChange, VERSION, detect_newline, short_hash,
    with_newlines,
};

/// The comment syntax of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommentSyntax {
    Html,
    Hash,
}

/// A block that should be in a text.
#[derive(Clone, Debug)]
pub(super) struct DesiredBlock {
    pub(super) what: PartKind,
    pub(super) comment: CommentSyntax,
    /// The lines, each ending in a newline.
    pub(super) content: String,
    /// The condition under which no block is written.
    pub(super) skip_if: SkipCondition,
}

/// A condition under which a text needs no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipCondition {
    /// The block is always needed.
    Never,
    /// The file does not exist or contains one of these words.
    AbsentOrContains(&'static [&'static str]),
    /// The text is not valid TOML or already contains the table.
    TomlHas(&'static str, &'static str),
}

/// A block found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlockMatch {
    /// The bytes from the begin marker to the end marker, without the newline after it.
    whole: Range<usize>,
    version: Option<u32>,
    is_as_written: bool,
}

const BEGIN: &str = "ken:begin";
const END: &str = "ken:end";

impl CommentSyntax {
    fn wrap(self, words: &str) -> String {
        match self {
            Self::Html => format!("<!-- {words} -->"),
            Self::Hash => format!("# {words}"),
        }
    }

    /// Returns the content of a comment line, or `None` if the line is not a comment.
    fn words(self, line: &str) -> Option<&str> {
        let line = line.trim();
        let inside = match self {
            Self::Html => line.strip_prefix("<!--")?.strip_suffix("-->")?,
            Self::Hash => line.strip_prefix('#')?,
        };
        Some(inside.trim())
    }
}

impl DesiredBlock {
    /// Returns the block with its markers and a final newline.
    pub(super) fn text(&self) -> String {
        let marker = format!("{BEGIN} v={VERSION} sha={}", short_hash(&self.content));
        let (begin, end) = (self.comment.wrap(&marker), self.comment.wrap(END));
        format!("{begin}\n{}{end}\n", self.content)
    }

    /// Returns the state of a text that contains no block.
    fn without_block(&self, text: Option<&str>) -> PartState {
        match (self.skip_if, text) {
            (SkipCondition::Never, _) | (SkipCondition::TomlHas(..), None) => PartState::Missing,
            (SkipCondition::AbsentOrContains(_), None) => PartState::Unneeded,
            (SkipCondition::AbsentOrContains(words), Some(text)) => {
                if text.split_whitespace().any(|word| words.contains(&word)) {
                    PartState::Unneeded
                } else {
                    PartState::Missing
                }
            }
            (SkipCondition::TomlHas(table, key), Some(text)) => self.toml(text, table, key),
        }
    }

    /// Returns the state of a TOML text: `Missing` if the block can be appended to it.
    fn toml(&self, text: &str, table: &str, key: &str) -> PartState {
        let parsed: toml_edit::DocumentMut = match text.trim_start_matches(BOM).parse() {
            Ok(parsed) => parsed,
            Err(error) => return PartState::Unreadable(last_line(&error.to_string())),
        };
        if parsed.get(table).is_some_and(|it| it.get(key).is_some()) {
            return PartState::Handwritten;
        }
        // Parse the result before writing it. A valid file must not become invalid, as it would
        // where the table is an inline table in braces, which cannot be extended.
        let after = append_block(self, text).0;
        match after
            .trim_start_matches(BOM)
            .parse::<toml_edit::DocumentMut>()
        {
            Ok(_) => PartState::Missing,
            Err(_) => PartState::Unreadable(format!("`{table}` cannot be extended in this file")),
        }
    }
}

/// The byte order mark some editors write at the start of a file.
pub(super) const BOM: char = '\u{feff}';

fn last_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next_back().unwrap_or_default().to_owned()
}

/// Reports the state of the block.
pub(super) fn inspect(desired: &DesiredBlock, text: Option<&str>) -> PartStatus {
    let standing = block_state(desired, text);
    PartStatus {
        what: desired.what,
        at: String::new(),
        standing,
    }
}

fn block_state(desired: &DesiredBlock, text: Option<&str>) -> PartState {
    let found = match text.map(|text| find_blocks(desired.comment, text)) {
        None => return desired.without_block(None),
        Some(Err(why)) => return PartState::Unreadable(why),
        Some(Ok(found)) => found,
    };
    let text = text.unwrap_or_default();
    match found.as_slice() {
        [] => desired.without_block(Some(text)),
        // A marker without a readable version has an unknown format, so it counts as newer.
        [one] if one.version.is_none_or(|it| it > VERSION) => PartState::Newer,
        [one] if !one.is_as_written => PartState::Edited,
        [one] => {
            let existing = text[one.whole.clone()].replace("\r\n", "\n") + "\n";
            if existing == desired.text() {
                PartState::Current
            } else {
                PartState::Stale
            }
        }
        [_, _, ..] => PartState::Duplicated,
    }
}

/// Finds the blocks of a text; returns an error if a marker has no counterpart.
fn find_blocks(comment: CommentSyntax, text: &str) -> Result<Vec<BlockMatch>, String> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        let Some(words) = comment.words(bare.trim_start_matches(BOM)) else {
            continue;
        };
        if words.split(' ').next() == Some(BEGIN) {
            if open.is_some() {
                return Err("a Ken block starts before the previous one ends".to_owned());
            }
            let after_bom = start + (bare.len() - bare.trim_start_matches(BOM).len());
            open = Some((after_bom, offset, words.to_owned()));
        } else if words == END {
            let Some((begun, content, words)) = open.take() else {
                return Err("a Ken block has an end marker without a start marker".to_owned());
            };
            let attribute = |name: &str| {
                let mut all = words.split(' ');
                all.find_map(|word| word.strip_prefix(name))
                    .map(str::to_owned)
            };
            found.push(BlockMatch {
                whole: begun..start + bare.len(),
                version: attribute("v=").and_then(|it| it.parse().ok()),
                is_as_written: attribute("sha=")
                    .is_some_and(|it| it == short_hash(&text[content..start])),
            });
        }
    }
    match open {
        None => Ok(found),
        Some(_) => Err("a Ken block has a start marker without an end marker".to_owned()),
    }
}

/// Appends the block to a text; returns the new text and the separator between the two.
fn append_block(desired: &DesiredBlock, text: &str) -> (String, String) {
    let newline = detect_newline(text);
    // One blank line separates the block from existing text. The separator is recorded so that a
    // removal can delete exactly these bytes.
    let bare = text.trim_start_matches(BOM);
    let lead = if bare.is_empty() || bare.ends_with("\n\n") || bare.ends_with("\n\r\n") {
        String::new()
    } else if bare.ends_with('\n') {
        newline.to_owned()
    } else {
        newline.repeat(2)
    };
    let block = with_newlines(&desired.text(), newline);
    (format!("{text}{lead}{block}"), lead)
}

/// Adds the block or updates it.
pub(super) fn install(
    desired: &DesiredBlock,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let part = inspect(desired, text);
    let standing = part.standing.clone();
    let parts = vec![part];
    match (standing, text) {
        (PartState::Missing, _) => {
            let (after, lead) = append_block(desired, text.unwrap_or_default());
            let record = SetupRecord {
                created: text.is_none(),
                lead,
                ..SetupRecord::default()
            };
            SetupChange {
                after: FileUpdate::Text(after),
                pieces: parts,
                record: Some(record),
            }
        }
        (PartState::Stale, Some(text)) => {
            // `Stale` implies exactly one block without errors, so both fallbacks are unreachable.
            let found = find_blocks(desired.comment, text).unwrap_or_default();
            let block = with_newlines(desired.text().trim_end(), detect_newline(text));
            let mut after = text.to_owned();
            if let [one] = found.as_slice() {
                after.replace_range(one.whole.clone(), &block);
            }
            SetupChange {
                after: FileUpdate::Text(after),
                pieces: parts,
                record: Some(record.cloned().unwrap_or_default()),
            }
        }
        // A current block without a record is adopted.
        (PartState::Current, _) => {
            SetupChange::none(parts, Some(record.cloned().unwrap_or_default()))
        }
        (
            PartState::Stale
            | PartState::Edited
            | PartState::Newer
            | PartState::Present
            | PartState::Handwritten
            | PartState::Duplicated
            | PartState::Unreadable(_)
            | PartState::Unneeded,
            _,
        ) => SetupChange::none(parts, record.cloned()),
    }
}

/// Removes the block.
pub(super) fn remove(
    desired: &DesiredBlock,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let part = inspect(desired, text);
    let is_ours = matches!(part.standing, PartState::Current | PartState::Stale);
    // A handwritten entry was never Ken's, so its record is dropped. The other stuck states keep
    // the record until a person fixes the file.
    let is_stuck = part.standing.is_stuck() && part.standing != PartState::Handwritten;
    let parts = vec![part];
    let Some(text) = text.filter(|_| is_ours) else {
        let kept = record.filter(|_| is_stuck).cloned();
        return SetupChange::none(parts, kept);
    };
    let found = find_blocks(desired.comment, text).unwrap_or_default();
    let [one] = found.as_slice() else {
        return SetupChange::none(parts, record.cloned());
    };
    let left = remove_block(text, &one.whole, record);
    let was_created = record.is_some_and(|it| it.created);
    let after = if was_created && left.is_empty() {
        FileUpdate::Gone
    } else {
        FileUpdate::Text(left)
    };
    SetupChange {
        after,
        pieces: parts,
        record: None,
    }
}

/// Returns the text without the block, its separator and the newline after it.
fn remove_block(text: &str, whole: &Range<usize>, record: Option<&SetupRecord>) -> String {
    let (before_block, after_block) = (&text[..whole.start], &text[whole.end..]);
    let after = after_block
        .strip_prefix("\r\n")
        .or_else(|| after_block.strip_prefix('\n'))
        .unwrap_or(after_block);
    let lead = record.map(|it| it.lead.as_str());
    // Without a record, assume that Ken wrote the blank line before the block.
    let guessed = detect_newline(text);
    let before = match lead {
        Some(lead) => before_block.strip_suffix(lead).unwrap_or(before_block),
        None if before_block.ends_with(&guessed.repeat(2)) => {
            before_block.strip_suffix(guessed).unwrap_or(before_block)
        }
        None => before_block,
    };
    // A person may have added text after the block. Its first line must not join the last line
    // before the block.
    let is_torn = !after.is_empty() && !before.is_empty() && !before.ends_with(['\n', BOM]);
    let between = if is_torn { detect_newline(text) } else { "" };
    format!("{before}{between}{after}")
}
