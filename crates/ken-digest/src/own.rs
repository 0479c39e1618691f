//! Removal of Ken's own blocks from a document, which are not knowledge about the codebase.

use std::borrow::Cow;

const BEGIN: &str = "<!-- ken:begin";
const END: &str = "<!-- ken:end";

/// Replaces the lines of Ken's own blocks with empty lines, so that line numbers stay correct.
pub(crate) fn blank_own_blocks(text: &str) -> Cow<'_, str> {
    // A block without an end mark is left alone, or the rest of the document would disappear.
    match (text.find(BEGIN), text.rfind(END)) {
        (Some(begin), Some(end)) if begin < end => {}
        (Some(_) | None, Some(_) | None) => return Cow::Borrowed(text),
    }
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_mark = |mark: &str| line.trim_start().starts_with(mark);
        // The mark lines themselves are inside, hence set before and cleared after the line.
        inside |= is_mark(BEGIN);
        if inside {
            out.push('\n');
        } else {
            out.push_str(line);
        }
        inside &= !is_mark(END);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_between_the_marks_go_and_the_others_keep_their_numbers() {
        let text = "a\n<!-- ken:begin v=1 sha=0 -->\nb\n<!-- ken:end -->\nc\n";
        assert_eq!(blank_own_blocks(text), "a\n\n\n\nc\n");
        for text in ["a\n", "<!-- ken:begin\nnever ends\n", ""] {
            assert_eq!(blank_own_blocks(text), text);
        }
    }
}
