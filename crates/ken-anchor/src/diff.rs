//! Short line diff between two versions of a symbol.

use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;

/// Lines of a text that are compared; later lines are ignored.
const LINES_MAX: usize = 2000;

/// Returns the lines that differ, marked `-` and `+`, with context; at most `lines_max` lines.
///
/// A line `…` marks omitted lines.
pub fn diff(old: &str, new: &str, lines_max: usize) -> String {
    let (old, new) = (first_lines(old), first_lines(new));
    let diff = TextDiff::from_lines(&old, &new);
    let mut lines: Vec<String> = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        if !lines.is_empty() {
            lines.push("…".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            lines.push(format!("{mark}{text}"));
        }
    }
    if lines.len() > lines_max {
        // The `…` line counts toward the limit.
        lines.truncate(lines_max.saturating_sub(1));
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

/// Returns the first lines, each terminated by `\n`, so that a missing final line break is not a
/// change.
fn first_lines(text: &str) -> String {
    // Diffing is quadratic in the worst case, so a generated file must not reach it whole.
    let lines = text.lines().take(LINES_MAX);
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let old = "fn f() {\n    a();\n    b();\n    c();\n    d();\n    e();\n}";
        let new = "fn f() {\n    a();\n    b();\n    c();\n    d();\n    g();\n}\n";
        assert_eq!(
            diff(old, new, 20),
            "     c();\n     d();\n-    e();\n+    g();\n }"
        );
    }

    #[test]
    fn a_long_diff_is_cut() {
        let old: String = (0..50).map(|n| format!("{n}\n")).collect();
        let shown = diff(&old, "", 10);
        assert_eq!(shown.lines().count(), 10);
        assert!(shown.ends_with('…'));
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(diff("a\nb", "a\nb\n", 10), "");
    }
}
