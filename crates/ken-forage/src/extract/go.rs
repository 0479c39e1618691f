//! Doc comments of Go: the lines directly above an exported declaration or the package clause.

use super::{identifier, line_number, plain, push_comment};
use crate::document::{BLOCKS_MAX, DocumentBlock};

/// Returns the blocks of the doc comments in a source file.
pub(crate) fn blocks(text: &str) -> Vec<DocumentBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() && blocks.len() < BLOCKS_MAX {
        if !lines[at].starts_with("//") {
            at += 1;
            continue;
        }
        let start = at;
        let mut comment = String::new();
        while let Some(text) = lines.get(at).and_then(|it| it.strip_prefix("//")) {
            comment.push_str(text.strip_prefix(' ').unwrap_or(text));
            comment.push('\n');
            at += 1;
        }
        let name = lines.get(at).and_then(|it| exported_name(it));
        if let Some(name) = name {
            push_comment(
                &mut blocks,
                plain::blocks(&comment),
                &name,
                line_number(start),
            );
        }
    }
    blocks
}

/// Returns the exported name that a line declares; empty for the package clause.
fn exported_name(line: &str) -> Option<String> {
    if line.starts_with("package ") {
        return Some(String::new());
    }
    let rest = ["func ", "type ", "var ", "const "]
        .iter()
        .find_map(|it| line.strip_prefix(it))?;
    let (receiver, rest) = match rest.strip_prefix('(') {
        Some(method) => {
            let (receiver, rest) = method.split_once(") ")?;
            let kind = receiver.rsplit([' ', '*']).next().unwrap_or(receiver);
            (Some(identifier(kind)), rest)
        }
        None => (None, rest),
    };
    let name = identifier(rest);
    let is_exported = |name: &str| name.starts_with(char::is_uppercase);
    if !is_exported(name) || receiver.is_some_and(|it| !is_exported(it)) {
        return None;
    }
    Some(receiver.map_or(name.to_owned(), |it| format!("{it}.{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_declarations_keep_their_comments() {
        let text = "// Package p does it.\npackage p\n\n// Get reads.\n// It blocks.\nfunc (c *Client) Get() {}\n\n// inner\nfunc inner() {}\n\n// floating\n\nvar X int\n";
        let shown: Vec<(String, String)> = blocks(text)
            .into_iter()
            .map(|it| (it.heading, it.text))
            .collect();
        let expected = [
            ("", "Package p does it."),
            ("Client.Get", "Get reads. It blocks."),
        ];
        assert_eq!(shown, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
