//! Plain text and reStructuredText: paragraphs, underlined titles, indented or `::` code.

use super::{cut_code, fold, line_number};
use crate::document::{BLOCKS_MAX, DocumentBlock};

/// Minimum length of a title's underline.
const UNDERLINE_MIN: usize = 3;
/// Maximum length of a role's name and of its target.
const ROLE_BYTES_MAX: usize = 20;
const TARGET_BYTES_MAX: usize = 200;

/// Returns the blocks of a text.
pub(crate) fn blocks(text: &str) -> Vec<DocumentBlock> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks: Vec<DocumentBlock> = Vec::new();
    let mut heading = String::new();
    let mut at = 0;
    while at < lines.len() && blocks.len() < BLOCKS_MAX {
        let start = at;
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        if let Some(after) = lines.get(at + 1).filter(|it| is_underline(it))
            && after.trim().len() * 2 >= lines[at].trim().len()
            && !is_underline(lines[at])
        {
            heading = unquote(&fold(lines[at]));
            at += 2;
            continue;
        }
        while at < lines.len() && !lines[at].trim().is_empty() {
            // A new list item or field begins a new block.
            if at > start && starts_item(lines[at]) {
                break;
            }
            at += 1;
        }
        push_paragraph(&mut blocks, &lines[start..at], &heading, line_number(start));
    }
    blocks
}

fn push_paragraph(blocks: &mut Vec<DocumentBlock>, lines: &[&str], heading: &str, line: u32) {
    let is_code = lines
        .iter()
        .all(|it| it.starts_with("    ") || it.starts_with('\t'))
        || lines[0].trim_start().starts_with(">>>");
    let joined = lines.join("\n");
    if is_code {
        let code = cut_code(&dedent(lines));
        match blocks.last_mut() {
            Some(last) if last.heading == heading => match &mut last.code {
                None => last.code = code,
                // A blank line inside an example does not end it.
                Some(known) => {
                    let more = code.map(|it| format!("{known}\n\n{it}"));
                    *known = more
                        .and_then(|it| cut_code(&it))
                        .unwrap_or_else(|| known.clone());
                }
            },
            Some(_) | None => blocks.push(DocumentBlock {
                heading: heading.to_owned(),
                line,
                text: String::new(),
                code,
            }),
        }
        return;
    }
    let text = unquote(&fold(&joined));
    // Directives such as `.. code-block:: python` are markup.
    if text.starts_with(".. ") || is_underline(&text) || text.is_empty() {
        return;
    }
    let text = text
        .strip_suffix("::")
        .map_or(text.clone(), |it| format!("{it}:"));
    blocks.push(DocumentBlock {
        heading: heading.to_owned(),
        line,
        text,
        code: None,
    });
}

fn dedent(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().map(indent).min().unwrap_or_default();
    let lines: Vec<&str> = lines
        .iter()
        .map(|it| it.get(common..).unwrap_or(it))
        .collect();
    lines.join("\n")
}

fn is_underline(line: &str) -> bool {
    let line = line.trim();
    let Some(first) = line.chars().next() else {
        return false;
    };
    line.len() >= UNDERLINE_MIN
        && matches!(first, '=' | '-' | '~' | '^' | '"' | '*' | '#' | '+')
        && line.chars().all(|it| it == first)
}

fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    // A line may begin with a role in the middle of a sentence; `:param name:` begins a field.
    let is_field = line.starts_with(':') && split_role(line).is_none();
    line.starts_with("- ") || line.starts_with("* ") || is_field
}

/// Replaces the markup of reStructuredText: double backticks and roles.
pub(crate) fn unquote(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([':', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("``") {
            out.push('`');
            rest = after;
        } else if let Some((role, target)) = split_role(rest) {
            out.push('`');
            out.push_str(target);
            out.push('`');
            rest = &rest[role..];
        } else {
            let width = rest.chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..width]);
            rest = &rest[width..];
        }
    }
    out.push_str(rest);
    out
}

/// Splits `` :role:`target` ``; returns its length and the target's last part.
fn split_role(text: &str) -> Option<(usize, &str)> {
    let inner = text.strip_prefix(':')?;
    // Both searches are bounded: a page of colons would otherwise be searched to its end for each.
    let is_role = |it: &u8| it.is_ascii_lowercase() || matches!(it, b':' | b'-');
    let length = inner.bytes().take(ROLE_BYTES_MAX + 1);
    let (role, rest) = inner.split_at(length.take_while(is_role).count());
    let role = role.strip_suffix(':').filter(|it| !it.is_empty())?;
    let rest = rest.strip_prefix('`')?;
    let end = rest
        .bytes()
        .take(TARGET_BYTES_MAX + 1)
        .position(|it| it == b'`')?;
    let target = &rest[..end];
    if target.is_empty() {
        return None;
    }
    let length = 1 + role.len() + 2 + target.len() + 1;
    // `Text <target>` shows its text.
    let shown = target.split_once(" <").map_or(target, |(shown, _)| shown);
    Some((length, shown.trim_start_matches(['~', '!'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_with_a_role_goes_on_with_its_sentence() {
        let text = "This maps to the\n:data:`~app.config` value.\n:param name: The key.\n";
        let found: Vec<String> = blocks(text).into_iter().map(|it| it.text).collect();
        assert_eq!(
            found,
            [
                "This maps to the `app.config` value.",
                ":param name: The key."
            ]
        );
    }

    #[test]
    fn paragraphs_titles_and_code_are_told_apart() {
        let text = "Timeouts\n========\n\nSet ``timeout`` with :func:`~requests.get`::\n\n    get(url,\n        timeout=1)\n\n- one\n- two\n";
        let found = blocks(text);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].heading, "Timeouts");
        assert_eq!(found[0].text, "Set `timeout` with `requests.get`:");
        assert_eq!(found[0].code.as_deref(), Some("get(url,\n    timeout=1)"));
        assert_eq!((found[1].text.as_str(), found[1].line), ("- one", 9));
    }
}
