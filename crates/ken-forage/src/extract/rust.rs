//! Doc comments of Rust: `///` and `//!` of public items.

use super::{identifier, line_number, markdown, push_comment};
use crate::document::{BLOCKS_MAX, DocumentBlock};

/// Words before an item's name.
const MODIFIERS: [&str; 6] = ["const", "async", "unsafe", "extern", "default", "\"C\""];

/// Returns the blocks of the doc comments in a source file.
pub(crate) fn blocks(text: &str) -> Vec<DocumentBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut owner = Owner::default();
    let mut at = 0;
    while at < lines.len() && blocks.len() < BLOCKS_MAX {
        // Lines outside of comments matter only for what they open and close.
        let Some(marker) = doc_marker(lines[at]) else {
            owner.read(lines[at]);
            at += 1;
            continue;
        };
        let start = at;
        let mut comment = String::new();
        while let Some(text) = lines
            .get(at)
            .and_then(|it| it.trim_start().strip_prefix(marker))
        {
            let text = text.strip_prefix(' ').unwrap_or(text);
            // Lines that rustdoc hides in examples.
            if !text.starts_with("# ") && text != "#" {
                comment.push_str(text);
            }
            comment.push('\n');
            at += 1;
        }
        let name = match marker {
            "//!" => Some(String::new()),
            _ => {
                let item = skip_attributes(&lines[at..]);
                item.and_then(|it| owner.item_name(it))
            }
        };
        if let Some(name) = name {
            push_comment(
                &mut blocks,
                markdown::blocks(&comment),
                &name,
                line_number(start),
            );
        }
    }
    blocks
}

fn doc_marker(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    if line.starts_with("//!") {
        return Some("//!");
    }
    // Four slashes are an ordinary comment.
    (line.starts_with("///") && !line.starts_with("////")).then_some("///")
}

/// Returns the first line after attributes and comments.
fn skip_attributes<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut depth = 0_i32;
    for line in lines {
        let trimmed = line.trim();
        if depth == 0 && !trimmed.starts_with("#[") && !trimmed.starts_with("//") {
            if trimmed.is_empty() {
                return None;
            }
            return Some(line);
        }
        if depth > 0 || trimmed.starts_with("#[") {
            for byte in trimmed.bytes() {
                depth += i32::from(byte == b'[') - i32::from(byte == b']');
            }
        }
    }
    None
}

/// The type, trait or implementation that encloses the current line.
#[derive(Default)]
struct Owner {
    name: String,
    indent: usize,
    /// Members need no `pub`: variants, trait methods.
    is_open: bool,
    is_hidden: bool,
}

impl Owner {
    /// Notes the beginning or end of an enclosing item.
    fn read(&mut self, line: &str) {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if !self.name.is_empty() && indent == self.indent && trimmed.starts_with('}') {
            *self = Self::default();
            return;
        }
        let (is_public, rest) = strip_visibility(trimmed);
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        if let Some(rest) = rest.strip_prefix("impl") {
            let head = rest.split(" where").next().unwrap_or(rest);
            let (of_trait, target) = match head.split_once(" for ") {
                Some((_, target)) => (true, target),
                None => (false, skip_generics(head)),
            };
            *self = Self {
                name: identifier(target.trim_start()).to_owned(),
                indent,
                is_open: false,
                is_hidden: of_trait,
            };
            return;
        }
        for (word, is_open) in [("trait ", true), ("enum ", true), ("struct ", false)] {
            if let Some(rest) = rest.strip_prefix(word).filter(|_| trimmed.ends_with('{')) {
                *self = Self {
                    name: identifier(rest).to_owned(),
                    indent,
                    is_open,
                    is_hidden: !is_public,
                };
            }
        }
    }

    /// Returns the full name of a public item; `None` if it is private.
    fn item_name(&self, line: &str) -> Option<String> {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let is_member = !self.name.is_empty() && indent > self.indent;
        let (is_public, mut rest) = strip_visibility(trimmed);
        // A trait implementation repeats the documentation of its trait.
        if is_member && self.is_hidden {
            return None;
        }
        while let Some(next) = MODIFIERS
            .iter()
            .find_map(|word| rest.strip_prefix(word)?.strip_prefix(' '))
        {
            // `const NAME: …` is an item itself.
            if !next.starts_with("fn ") && !MODIFIERS.iter().any(|it| next.starts_with(it)) {
                break;
            }
            rest = next;
        }
        let kinds = [
            "fn ",
            "struct ",
            "enum ",
            "trait ",
            "mod ",
            "type ",
            "const ",
            "static ",
            "union ",
            "macro_rules! ",
            "use ",
        ];
        let kind = kinds.iter().find(|it| rest.starts_with(**it));
        let name = kind.map_or(rest, |it| &rest[it.len()..]);
        let is_macro = kind.is_some_and(|it| it.starts_with("macro"));
        if !(is_public || is_macro || is_member && self.is_open) {
            return None;
        }
        let name = identifier(name.trim_start());
        if name.is_empty() {
            return None;
        }
        Some(if is_member {
            format!("{}::{name}", self.name)
        } else if is_macro {
            format!("{name}!")
        } else {
            name.to_owned()
        })
    }
}

/// Splits a visibility; `pub(crate)` is not public.
fn strip_visibility(line: &str) -> (bool, &str) {
    match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => {
            (false, rest.split_once(") ").map_or(rest, |(_, rest)| rest))
        }
        Some(rest) if rest.starts_with(' ') => (true, rest.trim_start()),
        Some(_) | None => (false, line),
    }
}

/// Skips `<…>` behind `impl`.
fn skip_generics(text: &str) -> &str {
    let text = text.trim_start();
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0_i32;
    for (at, byte) in text.bytes().enumerate() {
        depth += i32::from(byte == b'<') - i32::from(byte == b'>');
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_keep_their_comments_and_names() {
        let text = "//! Crate docs.\n\n/// A thing.\n#[derive(\n  Debug)]\npub struct Thing {\n    /// Public field.\n    pub a: u8,\n    /// Private field.\n    b: u8,\n}\n\nimpl<T> Thing {\n    /// Makes one.\n    ///\n    /// ```\n    /// # hidden();\n    /// Thing::new();\n    /// ```\n    pub fn new() {}\n    /// Secret.\n    fn no() {}\n}\n\n/// Inner.\nfn inner() {}\n\n/// Mac.\nmacro_rules! mac { () => {} }\n";
        let shown: Vec<(String, u32, String)> = blocks(text)
            .into_iter()
            .map(|it| (it.heading, it.line, it.text))
            .collect();
        let expected = [
            ("", 1, "Crate docs."),
            ("Thing", 3, "A thing."),
            ("Thing::a", 7, "Public field."),
            ("Thing::new", 14, "Makes one."),
            ("mac!", 28, "Mac."),
        ];
        let expected = expected.map(|(a, b, c)| (a.to_owned(), b, c.to_owned()));
        assert_eq!(shown, expected);
        assert_eq!(blocks(text)[3].code.as_deref(), Some("Thing::new();"));
    }
}
