//! Stack frames of an error: entries anchored in the code of a frame rank first.

use super::SearchHit;
use crate::ledger::entry::Entry;
use crate::values::anchor::{CodeLocation, FilePart};

/// A stack frame in a file of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFrame {
    pub path: String,
    pub line: Option<u32>,
    /// The function of the frame and the symbols around its line.
    pub symbols: Vec<String>,
}

impl CodeFrame {
    /// Returns whether the frame is inside the symbol or the lines of an anchor.
    fn is_inside(&self, anchor: &CodeLocation) -> bool {
        let is_part = match anchor.part() {
            // An anchor of the whole file says nothing about the frame's function.
            FilePart::File => false,
            FilePart::Symbol(name) => self.symbols.iter().any(|it| is_same_symbol(it, name)),
            FilePart::Lines { first, last } => {
                self.line.is_some_and(|it| (*first..=*last).contains(&it))
            }
        };
        is_part && self.path == anchor.path()
    }
}

/// Moves hits whose anchored code contains a frame to the front; the order is otherwise kept.
pub fn prefer_frames(hits: &mut [SearchHit], frames: &[CodeFrame]) {
    if !frames.is_empty() {
        hits.sort_by_key(|hit| !contains_frame(&hit.entry, frames));
    }
}

fn contains_frame(entry: &Entry, frames: &[CodeFrame]) -> bool {
    let anchors = entry.content.iter().flat_map(|it| &it.anchors);
    let mut anchors = anchors.map(|it| &it.at);
    anchors.any(|anchor| frames.iter().any(|frame| frame.is_inside(anchor)))
}

/// Returns whether two names are the same symbol, one of them possibly qualified.
fn is_same_symbol(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() {
        (other, one)
    } else {
        (one, other)
    };
    let before = long.strip_suffix(short).filter(|_| !short.is_empty());
    before.is_some_and(|it| {
        let last = it.chars().next_back();
        !last.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_inside_the_symbol_or_the_lines_it_runs_in() {
        let frame = CodeFrame {
            path: "src/pay.py".to_owned(),
            line: Some(12),
            symbols: vec!["charge".to_owned()],
        };
        for (anchor, is_inside) in [
            ("src/pay.py#Ledger.charge", true),
            ("src/pay.py#charge", true),
            ("src/pay.py#recharge", false),
            ("src/pay.py:10-20", true),
            ("src/pay.py:13-20", false),
            ("src/pay.py", false),
            ("lib/pay.py#charge", false),
        ] {
            let anchor: CodeLocation = anchor.parse().unwrap();
            assert_eq!(frame.is_inside(&anchor), is_inside, "{anchor}");
        }
        assert!(is_same_symbol("till::pay::charge", "charge"));
        assert!(is_same_symbol("Charge", "(*Ledger).Charge"));
    }
}
