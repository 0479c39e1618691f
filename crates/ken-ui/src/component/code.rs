//! Code and diffs as markup. Syntax classes are a fixed set around escaped text.

use maud::{Markup, html};

use crate::untrusted::UntrustedText;
use crate::view::{CodeClass, CodeLine};

/// Renders a unified diff. Added and removed lines differ by sign, not by color alone.
///
/// Indentation that all lines share is dropped, because notes are narrow.
pub(crate) fn diff(text: &str) -> Markup {
    let changed = text
        .lines()
        .filter(|line| !line.starts_with('@') && line.len() > 1);
    let texts = changed.filter_map(|line| line.get(1..));
    let indents = texts.map(|text| text.chars().take_while(|it| *it == ' ').count());
    let indent = indents.min().unwrap_or_default();
    html! {
        pre.diff tabindex="0" aria-label="What changed" {
            @for line in text.lines() {
                @let class = match line.as_bytes().first() {
                    Some(b'+') => Some("ins"),
                    Some(b'-') => Some("del"),
                    Some(b'@') => Some("hunk"),
                    Some(_) | None => None,
                };
                @let (sign, rest) = split_sign(line, indent);
                span class=[class] { (sign) (UntrustedText(rest)) } "\n"
            }
        }
    }
}

/// Splits a line of a diff into its sign and its text without the shared indentation.
fn split_sign(line: &str, indent: usize) -> (&str, &str) {
    let has_sign = line.starts_with(['+', '-', ' ']);
    match line.get(1 + indent..) {
        Some(rest) if has_sign => (&line[..1], rest),
        Some(_) | None => ("", line),
    }
}

/// Renders the parts of a line of code.
pub(crate) fn code_parts(line: &CodeLine) -> Markup {
    html! {
        @for (class, text) in &line.parts {
            @match class_name(*class) {
                Some(name) => span class=(name) { (UntrustedText(text)) },
                None => (UntrustedText(text)),
            }
        }
    }
}

fn class_name(class: CodeClass) -> Option<&'static str> {
    match class {
        CodeClass::Plain => None,
        CodeClass::Keyword => Some("k"),
        CodeClass::Function => Some("f"),
        CodeClass::Type => Some("t"),
        CodeClass::Text => Some("s"),
        CodeClass::Number => Some("n"),
        CodeClass::Comment => Some("c"),
        CodeClass::Attribute => Some("a"),
    }
}

/// Renders the words that changed between two statements.
pub(crate) fn word_diff(old: &str, new: &str) -> Markup {
    let changes = similar::TextDiff::from_words(old, new);
    html! {
        @for change in changes.iter_all_changes() {
            @match change.tag() {
                similar::ChangeTag::Equal => (UntrustedText(change.value())),
                similar::ChangeTag::Insert => ins { (UntrustedText(change.value())) },
                similar::ChangeTag::Delete => del { (UntrustedText(change.value())) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_drops_the_indentation_that_all_lines_share() {
        let rendered = diff("@@ -1 @@\n-        old <a>\n+            new").0;
        assert!(
            rendered.contains(">-old &lt;a&gt;<") && rendered.contains(">+    new<"),
            "{rendered}"
        );
    }

    #[test]
    fn words_that_changed_are_marked() {
        let rendered = word_diff("retry a payment once", "retry a <charge> once").0;
        assert_eq!(
            rendered,
            "retry a <del>payment</del><ins>&lt;charge&gt;</ins> once"
        );
    }

    #[test]
    fn code_is_escaped_inside_its_class() {
        let line = CodeLine {
            parts: vec![
                (CodeClass::Keyword, "if".to_owned()),
                (CodeClass::Plain, " a<b\u{202e}".to_owned()),
            ],
        };
        assert_eq!(
            code_parts(&line).0,
            "<span class=\"k\">if</span> a&lt;b<span class=\"hid\">U+202E</span>"
        );
    }
}
