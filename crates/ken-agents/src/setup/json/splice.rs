//! Edits of a text: an item is added behind the others of its object or array, given another value, or cut out.
//!
//! Invariant: cutting what was added gives the text back, whatever stands around it. Where an object or array was empty, the
//! blanks that were in it are handed out to be kept.

use super::value::{Layout, quoted};
use super::{Document, Item, Json, Node};
use crate::setup::newline_of;

/// One step where a text shows none.
const UNIT: &str = "  ";

/// Adds an item behind those of `node`; returns the text, and the blanks that were in `node` if it was empty.
pub(in super::super) fn add(
    document: &Document<'_>,
    node: &Node,
    key: Option<&str>,
    value: &Json,
) -> (String, Option<String>) {
    let style = Style::of(document, node);
    let item = style.item(key, value);
    let inside = node.inside();
    let mut text = document.text.to_owned();
    if let Some(last) = node.items.last() {
        let comma = document.comma(last.range.end..inside.end);
        let begun = comma.map_or(last.range.end, |at| at + 1);
        let place = document.last_comment(begun, inside.end).unwrap_or(begun);
        let behind = if comma.is_some() { "," } else { "" };
        text.insert_str(place, &format!("{}{item}{behind}", style.before));
        if comma.is_none() {
            text.insert(last.range.end, ',');
        }
        return (text, None);
    }
    let blanks = &document.text[inside.clone()];
    if let Some(place) = document.last_comment(inside.start, inside.end) {
        text.insert_str(place, &format!("{}{item}", style.before));
        return (text, None);
    }
    text.replace_range(inside, &style.alone(&item));
    (text, Some(blanks.to_owned()))
}

/// Gives an item another value.
pub(in super::super) fn set(
    document: &Document<'_>,
    node: &Node,
    item: &Item,
    value: &Json,
) -> String {
    let style = Style::of(document, node);
    let written = value.written(style.layout(), &style.indent);
    let mut text = document.text.to_owned();
    text.replace_range(item.node.range.clone(), &written);
    text
}

/// Cuts an item out of `node`.
pub(in super::super) fn cut(document: &Document<'_>, node: &Node, index: usize) -> String {
    let Some(item) = node.items.get(index) else {
        return document.text.to_owned();
    };
    let before = document.text[..item.range.start]
        .trim_end_matches(BLANKS)
        .len();
    // The blanks at the end of a comment are the comment's.
    let comment = document.last_comment(node.range.start, item.range.start);
    let before = before.max(node.range.start + 1).max(comment.unwrap_or(0));
    let next = node.items.get(index + 1);
    let until = next.map_or(node.inside().end, |it| it.range.start);
    let comma = document.comma(item.range.end..until).or_else(|| {
        let last = node.items.get(index.checked_sub(1)?)?;
        document.comma(last.range.end..item.range.start)
    });
    let blanks_and_item = before..item.range.end;
    let comma = comma.map(|at| at..at + 1);
    let mut doomed: Vec<_> = comma.into_iter().chain([blanks_and_item]).collect();
    doomed.sort_by_key(|range| range.start);
    let mut text = document.text.to_owned();
    for range in doomed.into_iter().rev() {
        text.replace_range(range, "");
    }
    text
}

/// Puts `blanks` into an object or array that is empty.
pub(in super::super) fn fill(document: &Document<'_>, node: &Node, blanks: &str) -> String {
    let mut text = document.text.to_owned();
    text.replace_range(node.inside(), blanks);
    text
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// How the items of an object or array are laid out.
#[derive(Debug)]
struct Style {
    newline: &'static str,
    unit: String,
    /// What the lines of an item begin with.
    indent: String,
    /// What the line of the opening bracket begins with.
    base: String,
    is_inline: bool,
    /// What is written before an item that follows others.
    before: String,
}

impl Style {
    fn of(document: &Document<'_>, node: &Node) -> Self {
        let text = document.text;
        let root = document.root.as_ref();
        let newline = newline_of(text);
        let unit = root
            .and_then(|root| own_line(text, root))
            .map_or(UNIT, |it| {
                let outer = root.map_or("", |root| line_indent(text, root.range.start));
                it.strip_prefix(outer)
                    .filter(|it| !it.is_empty())
                    .unwrap_or(UNIT)
            });
        let base = line_indent(text, node.range.start).to_owned();
        // An object on one line stays on one line; an empty one is laid out like the text around it.
        let shown = if node.items.is_empty() {
            root
        } else {
            Some(node)
        };
        let is_inline =
            shown.is_some_and(|it| !it.items.is_empty() && !text[it.range.clone()].contains('\n'));
        let indent = own_line(text, node).map_or_else(|| format!("{base}{unit}"), str::to_owned);
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

    fn layout(&self) -> Layout<'_> {
        Layout {
            newline: self.newline,
            unit: &self.unit,
            is_inline: self.is_inline,
        }
    }

    fn item(&self, key: Option<&str>, value: &Json) -> String {
        let value = value.written(self.layout(), &self.indent);
        match key {
            Some(key) => format!("{}: {value}", quoted(key)),
            None => value,
        }
    }

    /// Returns what is between the brackets where `item` is the only one.
    fn alone(&self, item: &str) -> String {
        if self.is_inline {
            return item.to_owned();
        }
        format!("{}{item}{}{}", self.before, self.newline, self.base)
    }
}

/// Returns what the line at `at` begins with.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let line = &text[start..];
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..blanks]
}

/// Returns what the line of the last item begins with, if that item is the first on it.
fn own_line<'a>(text: &'a str, node: &Node) -> Option<&'a str> {
    let at = node.items.last()?.range.start;
    let start = text[..at].rfind('\n')? + 1;
    let indent = &text[start..at];
    (node.range.start < start && indent.trim_matches([' ', '\t']).is_empty()).then_some(indent)
}
