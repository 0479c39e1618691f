//! JSDoc comments of JavaScript and TypeScript.

use super::{identifier, line_number, markdown, push_comment};
use crate::document::{BLOCKS_MAX, DocumentBlock};

/// Words before a declaration's name.
const WORDS: [&str; 20] = [
    "export",
    "default",
    "declare",
    "abstract",
    "async",
    "public",
    "static",
    "readonly",
    "function",
    "class",
    "interface",
    "type",
    "const",
    "let",
    "var",
    "enum",
    "namespace",
    "module",
    "get",
    "set",
];

/// Returns the blocks of the doc comments in a source file.
pub(crate) fn blocks(text: &str) -> Vec<DocumentBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut owner = "";
    let mut at = 0;
    while at < lines.len() && blocks.len() < BLOCKS_MAX {
        let trimmed = lines[at].trim_start();
        if !trimmed.starts_with("/**") {
            // Declarations of the top level own the members below them.
            let is_top = trimmed.len() == lines[at].len();
            if is_top && trimmed.ends_with('{') {
                owner = declared_name(trimmed);
            } else if is_top && trimmed.starts_with('}') {
                owner = "";
            }
            at += 1;
            continue;
        }
        let start = at;
        let mut comment = String::new();
        let mut is_private = false;
        while let Some(line) = lines.get(at) {
            at += 1;
            let (line, is_end) = match line.split_once("*/") {
                Some((line, _)) => (line, true),
                None => (*line, false),
            };
            let line = line.trim_start();
            let line = line
                .strip_prefix("/**")
                .or_else(|| line.strip_prefix('*'))
                .unwrap_or(line);
            // Asked of the line as written: spelling it out removes the `@`.
            is_private |= line.contains("@private") || line.contains("@internal");
            comment.push_str(&spell_tag(line.strip_prefix(' ').unwrap_or(line)));
            comment.push('\n');
            if is_end {
                break;
            }
        }
        let Some(next) = lines.get(at) else { break };
        let is_member = next.starts_with([' ', '\t']);
        let name = declared_name(next.trim_start());
        // A comment of a private member, or one that documents nothing.
        if is_private || name.starts_with('_') {
            continue;
        }
        let name = match (is_member, owner.is_empty(), name.is_empty()) {
            (true, false, false) => format!("{owner}.{name}"),
            _ => name.to_owned(),
        };
        push_comment(
            &mut blocks,
            markdown::blocks(&comment),
            &name,
            line_number(start),
        );
    }
    blocks
}

/// Returns the name that a line declares.
fn declared_name(line: &str) -> &str {
    let mut rest = line;
    loop {
        let name = identifier(rest);
        if !WORDS.contains(&name) {
            // `app.use = function`: the last part is the name.
            let member = rest[name.len()..].strip_prefix('.').map(identifier);
            return member.filter(|it| !it.is_empty()).unwrap_or(name);
        }
        let after = rest[name.len()..].trim_start();
        // `get(url)` is a method called `get`.
        if !after.starts_with(|it: char| it.is_alphabetic() || it == '_' || it == '$') {
            return name;
        }
        rest = after;
    }
}

/// Writes `@param {Type} name text` as a list item, which Markdown keeps apart.
fn spell_tag(line: &str) -> String {
    match line.trim_start().strip_prefix('@') {
        Some(tag) => format!("\n- {tag}"),
        None => line.replace("{@link ", "").replace("{@code ", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_keep_their_comments_and_names() {
        let text = "/**\n * Serves files.\n * @param {string} root the folder\n */\nexport function serve(root) {}\n\nexport interface Options {\n  /** Time limit. */\n  timeout?: number;\n  /** @private */\n  x: 1;\n}\n\n/** Uses it. */\napp.use = function use(fn) {\n";
        let shown: Vec<(String, u32, String)> = blocks(text)
            .into_iter()
            .map(|it| (it.heading, it.line, it.text))
            .collect();
        assert_eq!(
            shown[0],
            ("serve".to_owned(), 2, "Serves files.".to_owned())
        );
        assert_eq!(shown[1].2, "param {string} root the folder");
        assert_eq!(shown[2].0, "Options.timeout");
        assert_eq!(shown[3].0, "use");
        assert_eq!(shown.len(), 4);
    }
}
