//! What prettier changes in JavaScript and TypeScript without changing the program.

use std::borrow::Cow;

use super::{Form, text};
use crate::syntax::{Id, Syntax};

pub(super) fn form<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        ";" if parent != "for_statement" => Form::Nothing,
        "," if matches!(parent, "object_type" | "interface_body") => Form::Nothing,
        "empty_statement" if parent != "for_statement" => Form::Nothing,
        "parenthesized_expression" if !counts(syntax, id) => Form::Inside,
        "(" | ")" if parent == "parenthesized_expression" => match counts_around(syntax, id) {
            true => Form::Whole,
            false => Form::Nothing,
        },
        "parenthesized_type" => Form::Inside,
        "(" | ")" if parent == "parenthesized_type" => Form::Nothing,
        "formal_parameters" if lone_name(syntax, id).is_some() => Form::Inside,
        "required_parameter" if is_lone_parameter(syntax, id) => Form::Inside,
        "(" | ")" if parent == "formal_parameters" && is_lone_list(syntax, id) => Form::Nothing,
        "arguments" if parent == "new_expression" && syntax.named(id).next().is_none() => {
            Form::Nothing
        }
        "binary_expression" if continues_logic(syntax, id) => Form::Inside,
        "|" | "&" if is_leading(syntax, id, parent) => Form::Nothing,
        "union_type" | "intersection_type" if syntax.only(id).is_some() => Form::Inside,
        "string" => string(syntax, id, parent),
        "number" => leaf("number", text::decimal(syntax.bytes(id))),
        "regex_flags" => {
            let mut flags = syntax.bytes(id).to_vec();
            flags.sort_unstable();
            leaf("regex_flags", flags)
        }
        "jsx_text" => Form::Leaves(jsx_text(syntax.bytes(id))),
        "jsx_expression" => jsx_expression(syntax, id, parent),
        _ => Form::Whole,
    }
}

fn leaf<'t>(kind: &'static str, text: Vec<u8>) -> Form<'t> {
    Form::Leaves(vec![(kind, Cow::Owned(text))])
}

/// Whether parentheses say something that the tree without them does not.
fn counts(syntax: &Syntax<'_>, id: Id) -> bool {
    let inner = syntax.only(id);
    match syntax.parent_kind(id) {
        // `(a?.b).c` fails where `a?.b.c` gives up.
        "member_expression"
        | "subscript_expression"
        | "call_expression"
        | "non_null_expression" => inner.is_some_and(|inner| is_optional_chain(syntax, inner)),
        // `"use strict"` is a directive, `("use strict")` is not.
        "expression_statement" => inner.is_some_and(|inner| syntax.kind(inner) == "string"),
        _ => inner.is_none() && !syntax.has(id, "sequence_expression"),
    }
}

fn is_optional_chain(syntax: &Syntax<'_>, id: Id) -> bool {
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

fn counts_around(syntax: &Syntax<'_>, bracket: Id) -> bool {
    counts(syntax, syntax.nodes[bracket].parent)
}

/// Returns the name in `(name) => …`, which may stand without parentheses.
fn lone_name(syntax: &Syntax<'_>, list: Id) -> Option<Id> {
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

fn is_lone_parameter(syntax: &Syntax<'_>, parameter: Id) -> bool {
    let list = syntax.nodes[parameter].parent;
    syntax.kind(list) == "formal_parameters" && lone_name(syntax, list).is_some()
}

fn is_lone_list(syntax: &Syntax<'_>, bracket: Id) -> bool {
    lone_name(syntax, syntax.nodes[bracket].parent).is_some()
}

/// `a && (b && c)` is `(a && b) && c`; prettier writes neither pair of parentheses.
fn continues_logic(syntax: &Syntax<'_>, id: Id) -> bool {
    let operator = |id: Id| syntax.field(id, "operator").map(|it| syntax.bytes(it));
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

fn is_leading(syntax: &Syntax<'_>, id: Id, parent: &str) -> bool {
    matches!(parent, "union_type" | "intersection_type") && syntax.nodes[id].previous.is_none()
}

fn string<'t>(syntax: &Syntax<'t>, id: Id, parent: &str) -> Form<'t> {
    let bytes = syntax.bytes(id);
    let Some(inside) = bytes.get(1..bytes.len().saturating_sub(1)) else {
        return Form::Whole;
    };
    // Backslashes mean nothing there.
    if parent == "jsx_attribute" {
        return leaf("string", unescape_entities(inside));
    }
    let content = text::unescape_quotes(inside);
    if is_key(syntax, id, parent) && text::is_plain_name(&content) {
        return leaf("property_identifier", content);
    }
    let is_number = !content.is_empty() && content.iter().all(u8::is_ascii_digit);
    if is_key(syntax, id, parent) && is_number && (content.len() == 1 || content[0] != b'0') {
        return leaf("number", content);
    }
    leaf("string", content)
}

fn is_key(syntax: &Syntax<'_>, id: Id, parent: &str) -> bool {
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

/// Text between tags: a line break and the blanks around it are nothing at the ends, one space inside.
fn jsx_text<'t>(text: &[u8]) -> Vec<(&'static str, Cow<'t, [u8]>)> {
    let words = text::collapse(text).into_owned();
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

fn jsx_expression<'t>(syntax: &Syntax<'t>, id: Id, parent: &str) -> Form<'t> {
    let Some(inner) = syntax.children(id).nth(1) else {
        return Form::Whole;
    };
    // Only a comment was inside.
    if syntax.kind(inner) == "}" {
        return Form::Nothing;
    }
    if syntax.kind(inner) != "string" || syntax.only(id) != Some(inner) {
        return Form::Whole;
    }
    let bytes = syntax.bytes(inner);
    let inside = bytes
        .get(1..bytes.len().saturating_sub(1))
        .unwrap_or_default();
    let is_plain = !inside.iter().any(|b| b"\\&\"'{}<>\n".contains(b));
    match parent {
        "jsx_element" if inside == b" " => Form::Leaves(vec![("jsx_space", Cow::Borrowed(b" "))]),
        "jsx_attribute" if is_plain => leaf("string", inside.to_vec()),
        _ => Form::Whole,
    }
}
