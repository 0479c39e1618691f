//! What the formatters of the remaining languages change without changing what is said.

use std::borrow::Cow;

use super::{Form, text};
use crate::syntax::{Id, Syntax};

fn leaf<'t>(kind: &'static str, text: Vec<u8>) -> Form<'t> {
    Form::Leaves(vec![(kind, Cow::Owned(text))])
}

pub(super) fn go<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        ";" if syntax.parent_kind(id) != "for_clause" => Form::Nothing,
        "int_literal" | "float_literal" | "imaginary_literal" => {
            leaf("number", syntax.bytes(id).to_ascii_lowercase())
        }
        "empty_statement" => Form::Nothing,
        _ => Form::Whole,
    }
}

pub(super) fn c<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        "preproc_arg" => leaf("preproc_arg", macro_text(syntax.bytes(id))),
        _ => Form::Whole,
    }
}

/// Returns the text of a macro without its line breaks, and without its blanks if no quotes need them.
fn macro_text(bytes: &[u8]) -> Vec<u8> {
    let joined = String::from_utf8_lossy(bytes)
        .replace("\\\r\n", " ")
        .replace("\\\n", " ")
        .into_bytes();
    match joined.iter().any(|b| b"\"'".contains(b)) {
        true => joined.trim_ascii().to_vec(),
        false => text::collapse(&joined).into_owned(),
    }
}

pub(super) fn bash<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        ";" if syntax.parent_kind(id) != "c_style_for_statement" => Form::Nothing,
        _ => Form::Whole,
    }
}

pub(super) fn toml<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        "string" => quoted(syntax, id, "string"),
        "quoted_key" => quoted(syntax, id, "bare_key"),
        _ => Form::Whole,
    }
}

/// Quotes of both kinds mean the same around text without backslashes, line breaks and quotes.
fn quoted<'t>(syntax: &Syntax<'t>, id: Id, kind: &'static str) -> Form<'t> {
    let bytes = syntax.bytes(id);
    let inside = bytes
        .get(1..bytes.len().saturating_sub(1))
        .unwrap_or_default();
    if inside.iter().any(|b| b"\\\"'\n".contains(b)) {
        return leaf("verbatim", bytes.to_vec());
    }
    leaf(kind, inside.to_vec())
}

pub(super) fn yaml<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        "double_quote_scalar" | "single_quote_scalar" => quoted(syntax, id, "quoted"),
        "block_scalar" => leaf("block_scalar", outdent(syntax.bytes(id))),
        _ => Form::Whole,
    }
}

/// Returns a block without the indentation that all its lines share.
fn outdent(bytes: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let depth = |line: &&[u8]| line.iter().take_while(|b| **b == b' ').count();
    let is_full = |line: &&&[u8]| !line.trim_ascii().is_empty();
    let shared = lines[1..]
        .iter()
        .filter(is_full)
        .map(depth)
        .min()
        .unwrap_or(0);
    let mut out = lines[0].trim_ascii().to_vec();
    for line in &lines[1..] {
        out.push(b'\n');
        out.extend_from_slice(line.get(shared..).unwrap_or_default());
    }
    out
}

pub(super) fn markdown<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    match syntax.kind(id) {
        "inline" | "pipe_table_cell" => leaf("text", text::collapse(syntax.bytes(id)).into_owned()),
        "list_marker_minus" | "list_marker_star" | "list_marker_plus" => {
            leaf("marker", b"-".to_vec())
        }
        "list_marker_dot" | "list_marker_parenthesis" => {
            leaf("marker", syntax.bytes(id).trim_ascii().to_vec())
        }
        "block_continuation" => Form::Nothing,
        "pipe_table_delimiter_cell" => {
            let mut cell = syntax.bytes(id).trim_ascii().to_vec();
            cell.dedup();
            leaf("delimiter", cell)
        }
        _ => Form::Whole,
    }
}
