//! What black changes without changing the program.

use std::borrow::Cow;

use super::Form;
use crate::syntax::{Id, Syntax};

pub(super) fn form<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        "expression_statement" if is_docstring(syntax, id) => Form::Nothing,
        "parenthesized_expression" => Form::Inside,
        // In parentheses a type is read as an expression, with other names for the same.
        "type" | "type_parameter" => Form::Inside,
        "generic_type" => Form::As("subscript"),
        "union_type" => Form::As("binary_operator"),
        "member_type" => Form::As("attribute"),
        "(" | ")" if is_free(parent) => Form::Nothing,
        ";" => Form::Nothing,
        "tuple" | "expression_list" => Form::As("tuple"),
        "tuple_pattern" if syntax.only(id).is_some() && !syntax.has(id, ",") => Form::Inside,
        "tuple_pattern" | "pattern_list" => Form::As("tuple_pattern"),
        "argument_list" if parent == "class_definition" && syntax.named(id).next().is_none() => {
            Form::Nothing
        }
        "string_start" => Form::Leaves(prefix(syntax.bytes(id))),
        "string_end" => Form::Nothing,
        "string_content" => content(syntax, id),
        "interpolation" if syntax.has(id, "=") => verbatim(syntax, id),
        "integer" => Form::Leaves(vec![(
            "integer",
            Cow::Owned(syntax.bytes(id).to_ascii_lowercase()),
        )]),
        "float" => Form::Leaves(vec![("float", Cow::Owned(float(syntax.bytes(id))))]),
        _ => Form::Whole,
    }
}

/// Where parentheses only hold lines together; what is inside says the rest.
fn is_free(parent: &str) -> bool {
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

/// The first string of a body documents it.
fn is_docstring(syntax: &Syntax<'_>, id: Id) -> bool {
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
        !bytes.iter().any(|b| b"bBfFtT".contains(b)) && !syntax.has(string, "interpolation")
    });
    documents && is_first && is_plain
}

/// `U"`, `u'` and `"` start the same string; the order and case of other letters do not count.
fn prefix(start: &[u8]) -> Vec<(&'static str, Cow<'_, [u8]>)> {
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

fn content<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let start = syntax
        .parent(id)
        .and_then(|string| syntax.child(string, "string_start"));
    let has = |letters: &[u8]| {
        start.is_some_and(|start| syntax.bytes(start).iter().any(|b| letters.contains(b)))
    };
    if has(b"rR") {
        return verbatim(syntax, id);
    }
    Form::Leaves(vec![(
        "string_content",
        Cow::Owned(unescape(syntax.bytes(id), has(b"bB"))),
    )])
}

/// Returns text without what only its quotes ask for, and with small letters in `\xAB`.
///
/// In bytes, `\u` is no escape.
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

/// Returns `1.0` for `1.` and `0.5` for `.5`.
fn float(text: &[u8]) -> Vec<u8> {
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

fn verbatim<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    Form::Leaves(vec![("verbatim", Cow::Borrowed(syntax.bytes(id)))])
}
