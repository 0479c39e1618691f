//! Marked blocks in texts that have comments: Markdown and TOML.
//!
//! A block names the version that wrote it and a hash of its content, so that it says by itself whether it is current, stale,
//! edited or from a newer Ken.

use std::ops::Range;

use super::record::Record;
use super::{After, Change, Piece, Standing, VERSION, What, newline_of, sum, with_newlines};

/// How a kind of text writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    Html,
    Hash,
}

/// A block that should be in a text.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) what: What,
    pub(super) comment: Comment,
    /// The lines, each ending in a newline.
    pub(super) content: String,
    /// Where nothing is to be written.
    pub(super) unless: Unless,
}

/// When a text needs no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unless {
    /// It always does.
    Never,
    /// There is no such file, or one of its words is one of these.
    AbsentOrSays(&'static [&'static str]),
    /// It is no TOML, or names the table already.
    TomlHas(&'static str, &'static str),
}

/// A block as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    /// From the begin mark to the end mark, without the newline behind it.
    whole: Range<usize>,
    version: Option<u32>,
    is_as_written: bool,
}

const BEGIN: &str = "ken:begin";
const END: &str = "ken:end";

impl Comment {
    fn wrap(self, words: &str) -> String {
        match self {
            Self::Html => format!("<!-- {words} -->"),
            Self::Hash => format!("# {words}"),
        }
    }

    /// Returns what a line says if it is a comment.
    fn words(self, line: &str) -> Option<&str> {
        let line = line.trim();
        let inside = match self {
            Self::Html => line.strip_prefix("<!--")?.strip_suffix("-->")?,
            Self::Hash => line.strip_prefix('#')?,
        };
        Some(inside.trim())
    }
}

impl Wish {
    /// Returns the block, marks included, with a newline at its end.
    pub(super) fn text(&self) -> String {
        let begin = format!("{BEGIN} v={VERSION} sha={}", sum(&self.content));
        let (begin, end) = (self.comment.wrap(&begin), self.comment.wrap(END));
        format!("{begin}\n{}{end}\n", self.content)
    }

    /// Returns how it stands where there is no block.
    fn without_block(&self, text: Option<&str>) -> Standing {
        match (self.unless, text) {
            (Unless::Never, _) | (Unless::TomlHas(..), None) => Standing::Missing,
            (Unless::AbsentOrSays(_), None) => Standing::Unneeded,
            (Unless::AbsentOrSays(words), Some(text)) => {
                if text.split_whitespace().any(|word| words.contains(&word)) {
                    Standing::Unneeded
                } else {
                    Standing::Missing
                }
            }
            (Unless::TomlHas(table, key), Some(text)) => self.toml(text, table, key),
        }
    }

    /// Says whether the block may be written behind a TOML text.
    fn toml(&self, text: &str, table: &str, key: &str) -> Standing {
        let parsed: toml_edit::DocumentMut = match text.trim_start_matches(BOM).parse() {
            Ok(parsed) => parsed,
            Err(error) => return Standing::Unreadable(last_line(&error.to_string())),
        };
        if parsed.get(table).is_some_and(|it| it.get(key).is_some()) {
            return Standing::ByHand;
        }
        let after = with_block(self, text).0;
        match after
            .trim_start_matches(BOM)
            .parse::<toml_edit::DocumentMut>()
        {
            Ok(_) => Standing::Missing,
            // As where the table is written in braces, which nothing can be added to from outside.
            Err(_) => Standing::Unreadable(format!("no table can be added to `{table}` here")),
        }
    }
}

/// What some editors write before a text.
pub(super) const BOM: char = '\u{feff}';

fn last_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next_back().unwrap_or_default().to_owned()
}

/// Says how a block stands.
pub(super) fn look(wish: &Wish, text: Option<&str>) -> Piece {
    let standing = standing(wish, text);
    Piece {
        what: wish.what,
        at: String::new(),
        standing,
    }
}

fn standing(wish: &Wish, text: Option<&str>) -> Standing {
    let found = match text.map(|text| find(wish.comment, text)) {
        None => return wish.without_block(None),
        Some(Err(why)) => return Standing::Unreadable(why),
        Some(Ok(found)) => found,
    };
    let text = text.unwrap_or_default();
    match found.as_slice() {
        [] => wish.without_block(Some(text)),
        [one] if one.version.is_none_or(|it| VERSION < it) => Standing::Newer,
        [one] if !one.is_as_written => Standing::Edited,
        [one] => {
            let stands = text[one.whole.clone()].replace("\r\n", "\n") + "\n";
            if stands == wish.text() {
                Standing::Current
            } else {
                Standing::Stale
            }
        }
        [_, _, ..] => Standing::Doubled,
    }
}

/// Finds the blocks of a text; says so where a mark has no other.
fn find(comment: Comment, text: &str) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        let Some(words) = comment.words(bare.trim_start_matches(BOM)) else {
            continue;
        };
        if words.split(' ').next() == Some(BEGIN) {
            if open.is_some() {
                return Err("a block of Ken's begins before the one above it ends".to_owned());
            }
            let start = start + (bare.len() - bare.trim_start_matches(BOM).len());
            open = Some((start, at, words.to_owned()));
        } else if words == END {
            let Some((begun, content, words)) = open.take() else {
                return Err("a block of Ken's ends that does not begin".to_owned());
            };
            let attribute = |name: &str| {
                let mut all = words.split(' ');
                all.find_map(|word| word.strip_prefix(name))
                    .map(str::to_owned)
            };
            found.push(Found {
                whole: begun..start + bare.len(),
                version: attribute("v=").and_then(|it| it.parse().ok()),
                is_as_written: attribute("sha=").is_some_and(|it| it == sum(&text[content..start])),
            });
        }
    }
    match open {
        None => Ok(found),
        Some(_) => Err("a block of Ken's begins that does not end".to_owned()),
    }
}

/// Returns the text with the block behind it, and what was written between the two.
fn with_block(wish: &Wish, text: &str) -> (String, String) {
    let newline = newline_of(text);
    let bare = text.trim_start_matches(BOM);
    let lead = if bare.is_empty() || bare.ends_with("\n\n") || bare.ends_with("\n\r\n") {
        String::new()
    } else if bare.ends_with('\n') {
        newline.to_owned()
    } else {
        newline.repeat(2)
    };
    let block = with_newlines(&wish.text(), newline);
    (format!("{text}{lead}{block}"), lead)
}

/// Puts the block in or brings it up to date.
pub(super) fn install(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let piece = look(wish, text);
    let standing = piece.standing.clone();
    let pieces = vec![piece];
    match (standing, text) {
        (Standing::Missing, _) => {
            let (after, lead) = with_block(wish, text.unwrap_or_default());
            let record = Record {
                created: text.is_none(),
                lead,
                ..Record::default()
            };
            Change {
                after: After::Text(after),
                pieces,
                record: Some(record),
            }
        }
        (Standing::Stale, Some(text)) => {
            let found = find(wish.comment, text).unwrap_or_default();
            let block = with_newlines(wish.text().trim_end(), newline_of(text));
            let mut after = text.to_owned();
            if let [one] = found.as_slice() {
                after.replace_range(one.whole.clone(), &block);
            }
            Change {
                after: After::Text(after),
                pieces,
                record: Some(record.cloned().unwrap_or_default()),
            }
        }
        (Standing::Current, _) => Change::none(pieces, Some(record.cloned().unwrap_or_default())),
        (
            Standing::Stale
            | Standing::Edited
            | Standing::Newer
            | Standing::Present
            | Standing::ByHand
            | Standing::Doubled
            | Standing::Unreadable(_)
            | Standing::Unneeded,
            _,
        ) => Change::none(pieces, record.cloned()),
    }
}

/// Takes the block out.
pub(super) fn remove(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let piece = look(wish, text);
    let is_ours = matches!(piece.standing, Standing::Current | Standing::Stale);
    let is_stuck = piece.standing.is_stuck() && piece.standing != Standing::ByHand;
    let pieces = vec![piece];
    let Some(text) = text.filter(|_| is_ours) else {
        let kept = record.filter(|_| is_stuck).cloned();
        return Change::none(pieces, kept);
    };
    let found = find(wish.comment, text).unwrap_or_default();
    let [one] = found.as_slice() else {
        return Change::none(pieces, record.cloned());
    };
    let left = without_block(text, &one.whole, record);
    let was_created = record.is_some_and(|it| it.created);
    let after = if was_created && left.is_empty() {
        After::Gone
    } else {
        After::Text(left)
    };
    Change {
        after,
        pieces,
        record: None,
    }
}

/// Returns the text without the block, what was written before it and the newline behind it.
fn without_block(text: &str, whole: &Range<usize>, record: Option<&Record>) -> String {
    let (before, after) = (&text[..whole.start], &text[whole.end..]);
    let after = after
        .strip_prefix("\r\n")
        .or_else(|| after.strip_prefix('\n'))
        .unwrap_or(after);
    let lead = record.map(|it| it.lead.as_str());
    // Where nothing was written down, a blank line before the block was most likely Ken's.
    let guessed = newline_of(text);
    let before = match lead {
        Some(lead) => before.strip_suffix(lead).unwrap_or(before),
        None if before.ends_with(&guessed.repeat(2)) => {
            before.strip_suffix(guessed).unwrap_or(before)
        }
        None => before,
    };
    // Two lines of a person's must not become one.
    let is_torn = !after.is_empty() && !before.is_empty() && !before.ends_with(['\n', BOM]);
    let between = if is_torn { newline_of(text) } else { "" };
    format!("{before}{between}{after}")
}
