//! Normalization rules for Python: changes made by black.

use std::borrow::Cow;

use super::NodeForm;
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn node_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        "expression_statement" if is_docstring(syntax, id) => NodeForm::Nothing,
        "parenthesized_expression" => NodeForm::Inside,
        // In parentheses, a type is parsed as an expression with other node kinds.
        "type" | "type_parameter" => NodeForm::Inside,
        "generic_type" => NodeForm::Renamed("subscript"),
        "union_type" => NodeForm::Renamed("binary_operator"),
        "member_type" => NodeForm::Renamed("attribute"),
        "(" | ")" if joins_lines_only(parent) => NodeForm::Nothing,
        // black puts every statement on its own line.
        ";" => NodeForm::Nothing,
        "tuple" | "expression_list" => NodeForm::Renamed("tuple"),
        "tuple_pattern" if syntax.only(id).is_some() && !syntax.has(id, ",") => NodeForm::Inside,
        "tuple_pattern" | "pattern_list" => NodeForm::Renamed("tuple_pattern"),
        // `class A():` equals `class A:`.
        "argument_list" if parent == "class_definition" && syntax.named(id).next().is_none() => {
            NodeForm::Nothing
        }
        "string_start" => NodeForm::Leaves(normalize_string_prefix(syntax.bytes(id))),
        // The end only repeats the quotes.
        "string_end" => NodeForm::Nothing,
        "string_content" => string_content_form(syntax, id),
        // `f"{a = }"` prints its own source text, blanks included.
        "interpolation" if syntax.has(id, "=") => verbatim_form(syntax, id),
        "integer" => NodeForm::Leaves(vec![(
            "integer",
            Cow::Owned(syntax.bytes(id).to_ascii_lowercase()),
        )]),
        "float" => NodeForm::Leaves(vec![(
            "float",
            Cow::Owned(normalize_float(syntax.bytes(id))),
        )]),
        _ => NodeForm::Whole,
    }
}

/// Returns whether parentheses only join lines; the remaining children carry the meaning.
fn joins_lines_only(parent: &str) -> bool {
    matches!(
        parent,
        "parenthesized_expression"
            | "tuple"
            | "tuple_pattern"
            | "import_from_statement"
            | "future_import_statement"
            | "with_clause"
    )
}

/// Returns whether a statement is the docstring of its body.
fn is_docstring(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    let Some(body) = syntax.parent(id) else {
        return false;
    };
    let documents = match syntax.kind(body) {
        "module" => true,
        "block" => matches!(
            syntax.parent_kind(body),
            "function_definition" | "class_definition"
        ),
        _ => false,
    };
    let is_first = syntax.named(body).next() == Some(id);
    let string = syntax
        .only(id)
        .filter(|&only| syntax.kind(only) == "string");
    let is_plain = string.is_some_and(|string| {
        let start = syntax.child(string, "string_start");
        let bytes = start.map_or(&b""[..], |start| syntax.bytes(start));
        // Byte strings, f-strings and template strings are values, never documentation.
        !bytes.iter().any(|b| b"bBfFtT".contains(b)) && !syntax.has(string, "interpolation")
    });
    documents && is_first && is_plain
}

/// Normalizes a string prefix: `u` has no effect, and neither order nor case of letters matters.
fn normalize_string_prefix(start: &[u8]) -> Vec<(&'static str, Cow<'_, [u8]>)> {
    let mut letters: Vec<u8> = start
        .iter()
        .filter(|b| b.is_ascii_alphabetic())
        .copied()
        .collect();
    letters.make_ascii_lowercase();
    letters.retain(|b| *b != b'u');
    letters.sort_unstable();
    vec![("string_start", Cow::Owned(letters))]
}

fn string_content_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let start = syntax
        .parent(id)
        .and_then(|string| syntax.child(string, "string_start"));
    let has = |letters: &[u8]| {
        start.is_some_and(|start| syntax.bytes(start).iter().any(|b| letters.contains(b)))
    };
    if has(b"rR") {
        return verbatim_form(syntax, id);
    }
    NodeForm::Leaves(vec![(
        "string_content",
        Cow::Owned(unescape(syntax.bytes(id), has(b"bB"))),
    )])
}

/// Removes escapes of quotes and lowers the hexadecimal digits of `\xAB`.
///
/// In byte strings, `\u` is not an escape.
fn unescape(text: &[u8], is_bytes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let hex = match rest {
            [b'\\', b'x', ..] => 2,
            [b'\\', b'u', ..] if !is_bytes => 4,
            [b'\\', b'U', ..] if !is_bytes => 8,
            _ => 0,
        };
        let taken = match rest {
            [b'\\', quote @ (b'"' | b'\''), ..] => {
                out.push(*quote);
                2
            }
            [b'\\', _, ..] => {
                let taken = (2 + hex).min(rest.len());
                out.extend_from_slice(&rest[..2]);
                out.extend(rest[2..taken].iter().map(u8::to_ascii_lowercase));
                taken
            }
            _ => {
                out.push(rest[0]);
                1
            }
        };
        at += taken;
    }
    out
}

/// Adds omitted zeros: `1.` becomes `1.0` and `.5` becomes `0.5`.
fn normalize_float(text: &[u8]) -> Vec<u8> {
    let text = text.to_ascii_lowercase();
    let cut = text
        .iter()
        .position(|b| b"ej".contains(b))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(cut);
    let front: &[u8] = if number.starts_with(b".") { b"0" } else { b"" };
    let back: &[u8] = if number.ends_with(b".") { b"0" } else { b"" };
    [front, number, back, rest].concat()
}

fn verbatim_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    NodeForm::Leaves(vec![("verbatim", Cow::Borrowed(syntax.bytes(id)))])
}
