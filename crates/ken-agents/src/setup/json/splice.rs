//! Text edits on a JSON document: append an item, replace its value or remove it.
//!
//! Invariant: removing an appended item restores the text exactly. If the object or array was
//! empty, its whitespace cannot be derived from the result and is returned to be recorded.

use super::value::{JsonLayout, quote};
use super::{JsonDocument, JsonItem, JsonNode, JsonText};
use crate::setup::detect_newline;

/// The indentation unit for texts without indented members.
const DEFAULT_INDENT: &str = "  ";

/// Appends an item to `node`; returns the text and, if `node` was empty, its whitespace.
pub(in super::super) fn append_item(
    document: &JsonDocument<'_>,
    node: &JsonNode,
    key: Option<&str>,
    value: &JsonText,
) -> (String, Option<String>) {
    let style = ItemStyle::of(document, node);
    let item = style.item(key, value);
    let inside = node.inside();
    let mut text = document.text.to_owned();
    if let Some(last) = node.items.last() {
        // If the last item has a trailing comma, so does the new one: removing it then restores
        // the text.
        let comma = document.comma(last.range.end..inside.end);
        let after_last = comma.map_or(last.range.end, |at| at + 1);
        // A comment behind the last item belongs to it and must stay on its line.
        let place = document
            .last_comment_end(after_last, inside.end)
            .unwrap_or(after_last);
        let behind = if comma.is_some() { "," } else { "" };
        text.insert_str(place, &format!("{}{item}{behind}", style.before));
        if comma.is_none() {
            // The comma goes before `place`, so `place` must be used first.
            text.insert(last.range.end, ',');
        }
        return (text, None);
    }
    let blanks = &document.text[inside.clone()];
    if let Some(place) = document.last_comment_end(inside.start, inside.end) {
        // A comment counts as content: the item goes behind it and nothing is overwritten.
        text.insert_str(place, &format!("{}{item}", style.before));
        return (text, None);
    }
    text.replace_range(inside, &style.alone(&item));
    (text, Some(blanks.to_owned()))
}

/// Replaces the value of an item.
pub(in super::super) fn replace_value(
    document: &JsonDocument<'_>,
    node: &JsonNode,
    item: &JsonItem,
    value: &JsonText,
) -> String {
    let style = ItemStyle::of(document, node);
    let written = value.written(style.layout(), &style.indent);
    let mut text = document.text.to_owned();
    text.replace_range(item.node.range.clone(), &written);
    text
}

/// Removes the item at `index` from `node`.
pub(in super::super) fn remove_item(
    document: &JsonDocument<'_>,
    node: &JsonNode,
    index: usize,
) -> String {
    let Some(item) = node.items.get(index) else {
        return document.text.to_owned();
    };
    let before_blanks = document.text[..item.range.start]
        .trim_end_matches(WHITESPACE)
        .len();
    // Whitespace at the end of a line comment is part of the comment.
    let comment = document.last_comment_end(node.range.start, item.range.start);
    let bracket = node.range.start + 1;
    let before = before_blanks.max(bracket).max(comment.unwrap_or(0));
    let next = node.items.get(index + 1);
    let until = next.map_or(node.inside().end, |it| it.range.start);
    // The last item has no comma behind it; the one before it must go instead.
    let comma = document.comma(item.range.end..until).or_else(|| {
        let last = node.items.get(index.checked_sub(1)?)?;
        document.comma(last.range.end..item.range.start)
    });
    let blanks_and_item = before..item.range.end;
    let comma_range = comma.map(|at| at..at + 1);
    let mut removals: Vec<_> = comma_range.into_iter().chain([blanks_and_item]).collect();
    removals.sort_by_key(|range| range.start);
    let mut text = document.text.to_owned();
    // Back to front, so that the earlier ranges stay valid.
    for range in removals.into_iter().rev() {
        text.replace_range(range, "");
    }
    text
}

/// Replaces the content of an empty object or array with whitespace.
pub(in super::super) fn fill_empty(
    document: &JsonDocument<'_>,
    node: &JsonNode,
    blanks: &str,
) -> String {
    let mut text = document.text.to_owned();
    text.replace_range(node.inside(), blanks);
    text
}

const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The formatting of the items of an object or array.
#[derive(Debug)]
struct ItemStyle {
    newline: &'static str,
    unit: String,
    /// The indentation of an item.
    indent: String,
    /// The indentation of the line with the opening bracket.
    base: String,
    is_inline: bool,
    /// The whitespace before an item that follows others.
    before: String,
}

impl ItemStyle {
    fn of(document: &JsonDocument<'_>, node: &JsonNode) -> Self {
        let text = document.text;
        let root = document.root.as_ref();
        let newline = detect_newline(text);
        let unit =
            root.and_then(|root| own_line_indent(text, root))
                .map_or(DEFAULT_INDENT, |indent| {
                    let outer = root.map_or("", |root| line_indent(text, root.range.start));
                    indent
                        .strip_prefix(outer)
                        .filter(|it| !it.is_empty())
                        .unwrap_or(DEFAULT_INDENT)
                });
        let base = line_indent(text, node.range.start).to_owned();
        // An object on one line stays on one line; an empty one follows the style of the document.
        let shown = if node.items.is_empty() {
            root
        } else {
            Some(node)
        };
        let is_inline =
            shown.is_some_and(|it| !it.items.is_empty() && !text[it.range.clone()].contains('\n'));
        let indent =
            own_line_indent(text, node).map_or_else(|| format!("{base}{unit}"), str::to_owned);
        let before = if is_inline {
            " ".to_owned()
        } else {
            format!("{newline}{indent}")
        };
        Self {
            newline,
            unit: unit.to_owned(),
            indent,
            base,
            is_inline,
            before,
        }
    }

    fn layout(&self) -> JsonLayout<'_> {
        JsonLayout {
            newline: self.newline,
            unit: &self.unit,
            is_inline: self.is_inline,
        }
    }

    fn item(&self, key: Option<&str>, value: &JsonText) -> String {
        let rendered = value.written(self.layout(), &self.indent);
        match key {
            Some(key) => format!("{}: {rendered}", quote(key)),
            None => rendered,
        }
    }

    /// Returns the text between the brackets if `item` is the only item.
    fn alone(&self, item: &str) -> String {
        if self.is_inline {
            return item.to_owned();
        }
        format!("{}{item}{}{}", self.before, self.newline, self.base)
    }
}

/// Returns the indentation of the line that contains the byte offset `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let line = &text[start..];
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..blanks]
}

/// Returns the indentation of the last item, if that item starts its line.
fn own_line_indent<'a>(text: &'a str, node: &JsonNode) -> Option<&'a str> {
    let at = node.items.last()?.range.start;
    let start = text[..at].rfind('\n')? + 1;
    let indent = &text[start..at];
    (node.range.start < start && indent.trim_matches([' ', '\t']).is_empty()).then_some(indent)
}
