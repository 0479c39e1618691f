//! Extraction of blocks, one module per format.

pub(crate) mod go;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod plain;
pub(crate) mod python;
pub(crate) mod rust;
pub(crate) mod script;

use crate::document::DocumentBlock;

/// Maximum bytes of a code example; longer ones are cut at the end of a line.
const CODE_BYTES_MAX: usize = 480;
/// Maximum lines of a code example.
const CODE_LINES_MAX: usize = 12;

/// Returns the beginning of a code example without blank lines at its ends.
fn cut_code(code: &str) -> Option<String> {
    let mut kept = String::new();
    let lines = code.lines().skip_while(|line| line.trim().is_empty());
    for line in lines.take(CODE_LINES_MAX) {
        if kept.len() + line.len() > CODE_BYTES_MAX {
            break;
        }
        kept.push_str(line.trim_end());
        kept.push('\n');
    }
    let kept = kept.trim_end();
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// Folds whitespace.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds the blocks of a comment under the name of its item.
///
/// `line` is the line of the comment's first line.
fn push_comment(
    blocks: &mut Vec<DocumentBlock>,
    comment: Vec<DocumentBlock>,
    name: &str,
    line: u32,
) {
    for mut block in comment {
        block.line = block.line.saturating_add(line).saturating_sub(1);
        block.heading = match (name.is_empty(), block.heading.is_empty()) {
            (true, _) => block.heading,
            (false, true) => name.to_owned(),
            (false, false) => format!("{name} > {}", block.heading),
        };
        blocks.push(block);
    }
}

/// Returns the identifier at the beginning of `text`.
fn identifier(text: &str) -> &str {
    let end = text.find(|it: char| !(it.is_alphanumeric() || it == '_' || it == '$'));
    &text[..end.unwrap_or(text.len())]
}

fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
