//! Normalization rules for JavaScript and TypeScript: changes made by prettier.

use std::borrow::Cow;

use super::{NodeForm, text};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn node_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        // Automatic semicolon insertion makes them optional outside `for`.
        ";" if parent != "for_statement" => NodeForm::Nothing,
        "," if matches!(parent, "object_type" | "interface_body") => NodeForm::Nothing,
        "empty_statement" if parent != "for_statement" => NodeForm::Nothing,
        "parenthesized_expression" if !parentheses_matter(syntax, id) => NodeForm::Inside,
        "(" | ")" if parent == "parenthesized_expression" => {
            if enclosing_parentheses_matter(syntax, id) {
                NodeForm::Whole
            } else {
                NodeForm::Nothing
            }
        }
        "parenthesized_type" => NodeForm::Inside,
        "(" | ")" if parent == "parenthesized_type" => NodeForm::Nothing,
        "formal_parameters" if lone_parameter_name(syntax, id).is_some() => NodeForm::Inside,
        "required_parameter" if is_lone_parameter(syntax, id) => NodeForm::Inside,
        "(" | ")" if parent == "formal_parameters" && is_lone_list(syntax, id) => NodeForm::Nothing,
        // `new A()` equals `new A`.
        "arguments" if parent == "new_expression" && syntax.named(id).next().is_none() => {
            NodeForm::Nothing
        }
        "binary_expression" if continues_logical_chain(syntax, id) => NodeForm::Inside,
        "|" | "&" if is_leading(syntax, id, parent) => NodeForm::Nothing,
        "union_type" | "intersection_type" if syntax.only(id).is_some() => NodeForm::Inside,
        "string" => string_form(syntax, id, parent),
        "number" => single_leaf("number", text::normalize_decimal(syntax.bytes(id))),
        "regex_flags" => {
            // The order of flags has no effect, and prettier sorts them.
            let mut flags = syntax.bytes(id).to_vec();
            flags.sort_unstable();
            single_leaf("regex_flags", flags)
        }
        "jsx_text" => NodeForm::Leaves(split_jsx_text(syntax.bytes(id))),
        "jsx_expression" => jsx_expression_form(syntax, id, parent),
        _ => NodeForm::Whole,
    }
}

fn single_leaf<'t>(kind: &'static str, text: Vec<u8>) -> NodeForm<'t> {
    NodeForm::Leaves(vec![(kind, Cow::Owned(text))])
}

/// Returns whether parentheses change the meaning of the tree without them.
fn parentheses_matter(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    let inner = syntax.only(id);
    match syntax.parent_kind(id) {
        // `(a?.b).c` throws where `a?.b.c` short-circuits.
        "member_expression"
        | "subscript_expression"
        | "call_expression"
        | "non_null_expression" => inner.is_some_and(|inner| is_optional_chain(syntax, inner)),
        // `"use strict"` is a directive, `("use strict")` is not.
        "expression_statement" => inner.is_some_and(|inner| syntax.kind(inner) == "string"),
        _ => inner.is_none() && !syntax.has(id, "sequence_expression"),
    }
}

fn is_optional_chain(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    let mut at = id;
    loop {
        let is_link = matches!(
            syntax.kind(at),
            "member_expression"
                | "subscript_expression"
                | "call_expression"
                | "non_null_expression"
        );
        if !is_link {
            return false;
        }
        if syntax.has(at, "optional_chain") || syntax.has(at, "?.") {
            return true;
        }
        match syntax.children(at).next() {
            Some(first) => at = first,
            None => return false,
        }
    }
}

fn enclosing_parentheses_matter(syntax: &SyntaxTree<'_>, bracket: SyntaxNodeId) -> bool {
    parentheses_matter(syntax, syntax.nodes[bracket].parent)
}

/// Returns the only parameter of `(name) => …`, whose parentheses are optional.
fn lone_parameter_name(syntax: &SyntaxTree<'_>, list: SyntaxNodeId) -> Option<SyntaxNodeId> {
    if syntax.parent_kind(list) != "arrow_function" {
        return None;
    }
    let only = syntax.only(list)?;
    match syntax.kind(only) {
        "identifier" => Some(only),
        "required_parameter" => {
            let name = syntax.children(only).next()?;
            let is_alone = syntax.nodes[name].next == syntax.nodes[only].next;
            (is_alone && syntax.kind(name) == "identifier").then_some(name)
        }
        _ => None,
    }
}

fn is_lone_parameter(syntax: &SyntaxTree<'_>, parameter: SyntaxNodeId) -> bool {
    let list = syntax.nodes[parameter].parent;
    syntax.kind(list) == "formal_parameters" && lone_parameter_name(syntax, list).is_some()
}

fn is_lone_list(syntax: &SyntaxTree<'_>, bracket: SyntaxNodeId) -> bool {
    lone_parameter_name(syntax, syntax.nodes[bracket].parent).is_some()
}

/// Returns whether a logical expression continues its parent's chain: `a && (b && c)` equals
/// `(a && b) && c`, and prettier writes neither pair of parentheses.
fn continues_logical_chain(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    let operator = |id: SyntaxNodeId| syntax.field(id, "operator").map(|it| syntax.bytes(it));
    let mut around = syntax.parent(id);
    while let Some(parent) = around {
        match syntax.kind(parent) {
            "parenthesized_expression" => around = syntax.parent(parent),
            "binary_expression" => {
                let own = operator(id);
                let is_logic = matches!(own, Some(b"&&" | b"||" | b"??"));
                return is_logic && own == operator(parent);
            }
            _ => return false,
        }
    }
    false
}

fn is_leading(syntax: &SyntaxTree<'_>, id: SyntaxNodeId, parent: &str) -> bool {
    matches!(parent, "union_type" | "intersection_type") && syntax.nodes[id].previous.is_none()
}

fn string_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId, parent: &str) -> NodeForm<'t> {
    let bytes = syntax.bytes(id);
    let Some(inside) = bytes.get(1..bytes.len().saturating_sub(1)) else {
        return NodeForm::Whole;
    };
    // In JSX attributes, backslashes are literal and entities are escapes.
    if parent == "jsx_attribute" {
        return single_leaf("string", unescape_entities(inside));
    }
    let content = text::unescape_quotes(inside);
    if is_key(syntax, id, parent) && text::is_plain_name(&content) {
        return single_leaf("property_identifier", content);
    }
    // `{"1": a}` equals `{1: a}`, but a leading zero would change the key.
    let is_number = !content.is_empty() && content.iter().all(u8::is_ascii_digit);
    if is_key(syntax, id, parent) && is_number && (content.len() == 1 || content[0] != b'0') {
        return single_leaf("number", content);
    }
    single_leaf("string", content)
}

fn is_key(syntax: &SyntaxTree<'_>, id: SyntaxNodeId, parent: &str) -> bool {
    match parent {
        "pair" | "pair_pattern" => syntax.nodes[id].field == Some("key"),
        "method_definition"
        | "method_signature"
        | "abstract_method_signature"
        | "property_signature"
        | "public_field_definition"
        | "enum_assignment" => syntax.nodes[id].field == Some("name"),
        "field_definition" => syntax.nodes[id].field == Some("property"),
        "enum_body" => true,
        _ => false,
    }
}

fn unescape_entities(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    text.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .into_bytes()
}

/// Splits the text between tags. Whitespace with a line break is ignored at the ends and one space
/// inside.
fn split_jsx_text<'t>(text: &[u8]) -> Vec<(&'static str, Cow<'t, [u8]>)> {
    let words = text::collapse_blanks(text).into_owned();
    let is_blank = |b: &u8| b.is_ascii_whitespace();
    let front: Vec<u8> = text.iter().copied().take_while(is_blank).collect();
    let back: Vec<u8> = text.iter().rev().copied().take_while(is_blank).collect();
    let counts = |blank: &[u8]| !blank.is_empty() && !blank.contains(&b'\n');
    let space = || ("jsx_space", Cow::Borrowed(&b" "[..]));
    let mut leaves = Vec::new();
    if counts(&front) {
        leaves.push(space());
    }
    if !words.is_empty() {
        leaves.push(("jsx_text", Cow::Owned(words)));
        if counts(&back) {
            leaves.push(space());
        }
    }
    leaves
}

fn jsx_expression_form<'t>(
    syntax: &SyntaxTree<'t>,
    id: SyntaxNodeId,
    parent: &str,
) -> NodeForm<'t> {
    let Some(inner) = syntax.children(id).nth(1) else {
        return NodeForm::Whole;
    };
    // The braces contained only a comment.
    if syntax.kind(inner) == "}" {
        return NodeForm::Nothing;
    }
    if syntax.kind(inner) != "string" || syntax.only(id) != Some(inner) {
        return NodeForm::Whole;
    }
    let bytes = syntax.bytes(inner);
    let inside = bytes
        .get(1..bytes.len().saturating_sub(1))
        .unwrap_or_default();
    let is_plain = !inside.iter().any(|b| b"\\&\"'{}<>\n".contains(b));
    match parent {
        // Prettier writes `{" "}` to keep a space at the end of a line.
        "jsx_element" if inside == b" " => {
            NodeForm::Leaves(vec![("jsx_space", Cow::Borrowed(b" "))])
        }
        "jsx_attribute" if is_plain => single_leaf("string", inside.to_vec()),
        _ => NodeForm::Whole,
    }
}
