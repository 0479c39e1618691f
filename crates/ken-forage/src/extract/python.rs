//! Docstrings of Python: of modules, and of classes and functions whose names are public.

use super::{identifier, line_number, plain, push_comment};
use crate::document::{BLOCKS_MAX, DocumentBlock};

/// Lines of a signature that are skipped to find its docstring.
const SIGNATURE_LINES_MAX: usize = 60;

/// Returns the blocks of the docstrings in a source file.
pub(crate) fn blocks(text: &str) -> Vec<DocumentBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    // Enclosing definitions: indentation and name.
    let mut scopes: Vec<(usize, &str)> = Vec::new();
    push_docstring(&mut blocks, &lines, first_statement(&lines), "");
    let mut at = 0;
    while at < lines.len() && blocks.len() < BLOCKS_MAX {
        let trimmed = lines[at].trim_start();
        let indent = lines[at].len() - trimmed.len();
        let Some(name) = definition(trimmed) else {
            at += 1;
            continue;
        };
        scopes.retain(|(other, _)| *other < indent);
        scopes.push((indent, name));
        let end = signature_end(&lines, at);
        let is_public = |name: &str| !name.starts_with('_') || name == "__init__";
        if scopes.iter().all(|(_, name)| is_public(name)) {
            let names: Vec<&str> = scopes.iter().map(|(_, name)| *name).collect();
            push_docstring(&mut blocks, &lines, end, &names.join("."));
        }
        at += 1;
    }
    blocks
}

fn definition(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line
        .strip_prefix("def ")
        .or_else(|| line.strip_prefix("class "))?;
    let name = identifier(rest);
    (!name.is_empty()).then_some(name)
}

/// Returns the line after a signature, which may span several lines.
fn signature_end(lines: &[&str], start: usize) -> usize {
    let mut depth = 0_i32;
    for (at, line) in lines
        .iter()
        .enumerate()
        .skip(start)
        .take(SIGNATURE_LINES_MAX)
    {
        for byte in line.bytes() {
            depth +=
                i32::from(matches!(byte, b'(' | b'[')) - i32::from(matches!(byte, b')' | b']'));
        }
        let code = line.split(" #").next().unwrap_or(line).trim_end();
        if depth <= 0 && code.ends_with(':') {
            return at + 1;
        }
    }
    lines.len()
}

/// Returns the first line of a module that is no comment.
fn first_statement(lines: &[&str]) -> usize {
    let is_statement = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    lines.iter().position(is_statement).unwrap_or(lines.len())
}

/// Adds the docstring at `at`, if there is one.
fn push_docstring(blocks: &mut Vec<DocumentBlock>, lines: &[&str], at: usize, name: &str) {
    let Some(first) = lines.get(at).map(|it| it.trim_start()) else {
        return;
    };
    let body = first.trim_start_matches(['r', 'R', 'u', 'U']);
    let quote = ["\"\"\"", "'''"]
        .into_iter()
        .find(|it| body.starts_with(it));
    let Some(quote) = quote else { return };
    let indent = lines[at].len() - first.len();
    let mut text = String::new();
    for (index, line) in lines[at..].iter().enumerate() {
        let line = match index {
            0 => &body[quote.len()..],
            // Docstrings are indented like the code around them.
            _ => line
                .get(indent..)
                .filter(|_| line[..indent].trim().is_empty())
                .unwrap_or(line),
        };
        if let Some((last, _)) = line.split_once(quote) {
            text.push_str(last);
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    push_comment(blocks, plain::blocks(&text), name, line_number(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docstrings_of_public_names_are_read() {
        let text = "# licence\n\"\"\"The module.\"\"\"\n\nclass A(Base):\n    \"\"\"A class.\n\n    More of it.\n    \"\"\"\n\n    def get(\n        self, url: str,\n    ) -> None:\n        r\"\"\"Gets. :param url: Where.\"\"\"\n\n    def _no(self):\n        \"\"\"Hidden.\"\"\"\n\ndef top():\n    return 1\n";
        let shown: Vec<(String, u32, String)> = blocks(text)
            .into_iter()
            .map(|it| (it.heading, it.line, it.text))
            .collect();
        let expected = [
            ("", 2, "The module."),
            ("A", 5, "A class."),
            ("A", 7, "More of it."),
            ("A.get", 13, "Gets. :param url: Where."),
        ];
        assert_eq!(
            shown,
            expected.map(|(a, b, c)| (a.to_owned(), b, c.to_owned()))
        );
    }
}
