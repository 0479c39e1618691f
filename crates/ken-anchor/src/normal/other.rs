//! Normalization rules of the remaining languages.

use std::borrow::Cow;

use super::{NodeForm, text};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

fn single_leaf<'t>(kind: &'static str, text: Vec<u8>) -> NodeForm<'t> {
    NodeForm::Leaves(vec![(kind, Cow::Owned(text))])
}

pub(super) fn go<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        // gofmt removes semicolons that end a statement; those of a `for` clause separate its
        // parts.
        ";" if syntax.parent_kind(id) != "for_clause" => NodeForm::Nothing,
        "int_literal" | "float_literal" | "imaginary_literal" => {
            single_leaf("number", syntax.bytes(id).to_ascii_lowercase())
        }
        "empty_statement" => NodeForm::Nothing,
        _ => NodeForm::Whole,
    }
}

pub(super) fn c<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        "preproc_arg" => single_leaf("preproc_arg", normalize_macro_text(syntax.bytes(id))),
        _ => NodeForm::Whole,
    }
}

/// Returns the text of a macro without line continuations, and with collapsed blanks unless it
/// contains quotes.
fn normalize_macro_text(bytes: &[u8]) -> Vec<u8> {
    let joined = String::from_utf8_lossy(bytes)
        .replace("\\\r\n", " ")
        .replace("\\\n", " ")
        .into_bytes();
    // The grammar does not tokenize macro bodies, so a blank may be part of a string.
    if joined.iter().any(|b| b"\"'".contains(b)) {
        joined.trim_ascii().to_vec()
    } else {
        text::collapse_blanks(&joined).into_owned()
    }
}

pub(super) fn bash<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        // A line break ends a command like a semicolon.
        ";" if syntax.parent_kind(id) != "c_style_for_statement" => NodeForm::Nothing,
        _ => NodeForm::Whole,
    }
}

pub(super) fn toml<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        "string" => normalize_quotes(syntax, id, "string"),
        "quoted_key" => normalize_quotes(syntax, id, "bare_key"),
        _ => NodeForm::Whole,
    }
}

/// Normalizes quotes: both kinds are equivalent around text without backslashes, line breaks and
/// quotes.
fn normalize_quotes<'t>(
    syntax: &SyntaxTree<'t>,
    id: SyntaxNodeId,
    kind: &'static str,
) -> NodeForm<'t> {
    let bytes = syntax.bytes(id);
    let inside = bytes
        .get(1..bytes.len().saturating_sub(1))
        .unwrap_or_default();
    if inside.iter().any(|b| b"\\\"'\n".contains(b)) {
        return single_leaf("verbatim", bytes.to_vec());
    }
    single_leaf(kind, inside.to_vec())
}

pub(super) fn yaml<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        "double_quote_scalar" | "single_quote_scalar" => normalize_quotes(syntax, id, "quoted"),
        "block_scalar" => single_leaf("block_scalar", outdent(syntax.bytes(id))),
        _ => NodeForm::Whole,
    }
}

/// Returns a block without the indentation common to all its lines.
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
    // The first line holds the indicator, such as `|-`; the text starts on the second.
    let mut out = lines[0].trim_ascii().to_vec();
    for line in &lines[1..] {
        out.push(b'\n');
        out.extend_from_slice(line.get(shared..).unwrap_or_default());
    }
    out
}

pub(super) fn markdown<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    match syntax.kind(id) {
        "inline" | "pipe_table_cell" => {
            single_leaf("text", text::collapse_blanks(syntax.bytes(id)).into_owned())
        }
        // Formatters exchange bullets, but the number of an ordered item is content.
        "list_marker_minus" | "list_marker_star" | "list_marker_plus" => {
            single_leaf("marker", b"-".to_vec())
        }
        "list_marker_dot" | "list_marker_parenthesis" => {
            single_leaf("marker", syntax.bytes(id).trim_ascii().to_vec())
        }
        "block_continuation" => NodeForm::Nothing,
        "pipe_table_delimiter_cell" => {
            let mut cell = syntax.bytes(id).trim_ascii().to_vec();
            // The width of `---` is layout; its colons set the alignment.
            cell.dedup();
            single_leaf("delimiter", cell)
        }
        _ => NodeForm::Whole,
    }
}
