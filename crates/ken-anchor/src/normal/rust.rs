//! What rustfmt changes without changing the program.

use std::borrow::Cow;

use super::{Form, text};
use crate::syntax::{Id, Syntax};

/// Uses nested deeper than this are taken as they are written.
const USE_DEPTH_MAX: usize = 32;

pub(super) fn form<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        "attribute_item" => attribute(syntax, id),
        "use_declaration" => uses(syntax, id),
        "block" if is_bare_body(syntax, id, parent) => Form::Inside,
        "{" | "}" if parent == "block" && is_bare_block(syntax, id) => Form::Nothing,
        "expression_statement" if !syntax.has(id, ";") || is_jump(syntax, id) => Form::Inside,
        ";" if parent == "expression_statement" && is_jump(syntax, syntax.nodes[id].parent) => {
            Form::Nothing
        }
        "," if parent == "match_arm" => Form::Nothing,
        "empty_statement" => empty(syntax, id),
        "|" if is_leading_bar(syntax, id, parent) => Form::Nothing,
        "or_pattern" if is_lone_pattern(syntax, id) => Form::Inside,
        "parenthesized_expression" if parent == "parenthesized_expression" => Form::Inside,
        "(" | ")" if parent == "parenthesized_expression" && is_second(syntax, id) => Form::Nothing,
        "extern_modifier" if syntax.named(id).next().is_none() => {
            Form::Leaves(vec![("extern_modifier", Cow::Borrowed(b"\"C\""))])
        }
        "extern_modifier" => Form::Leaves(vec![(
            "extern_modifier",
            Cow::Borrowed(
                syntax
                    .named(id)
                    .next()
                    .map_or(&b""[..], |abi| syntax.bytes(abi)),
            ),
        )]),
        "->" if returns_unit(syntax, id) => Form::Nothing,
        "unit_type" if returns_unit(syntax, id) => Form::Nothing,
        _ => Form::Whole,
    }
}

/// `#[derive(A, B)]` is `#[derive(A)] #[derive(B)]`, and `#[doc = ""]` is a comment.
fn attribute<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let Some(attribute) = syntax.child(id, "attribute") else {
        return Form::Whole;
    };
    let Some(name) = syntax.children(attribute).next() else {
        return Form::Whole;
    };
    match syntax.bytes(name) {
        b"doc" if syntax.field(attribute, "value").is_some() => Form::Nothing,
        b"derive" => match syntax.field(attribute, "arguments") {
            Some(arguments) => Form::Leaves(derives(syntax.bytes(arguments))),
            None => Form::Whole,
        },
        _ => Form::Whole,
    }
}

fn derives(arguments: &[u8]) -> Vec<(&'static str, Cow<'_, [u8]>)> {
    let inside = arguments.strip_prefix(b"(").unwrap_or(arguments);
    let inside = inside.strip_suffix(b")").unwrap_or(inside);
    let mut leaves = Vec::new();
    for part in inside.split(|b| *b == b',') {
        let mut part = text::collapse(part).into_owned();
        part.retain(|b| *b != b' ');
        if !part.is_empty() {
            leaves.push(("derive", Cow::Owned(part)));
        }
    }
    leaves
}

/// A run of uses is a set of paths: rustfmt sorts them, and people merge and split them.
fn uses<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let is_alone = |id: Id| syntax.previous_kind(id) == "attribute_item";
    let before = syntax.nodes[id].previous;
    let joins = before.is_some_and(|it| syntax.kind(it) == "use_declaration" && !is_alone(it));
    if joins && !is_alone(id) {
        return Form::Nothing;
    }
    let mut run = vec![id];
    let mut at = id;
    while let Some(next) = syntax.following(at).filter(|_| !is_alone(id)) {
        if syntax.kind(next) != "use_declaration" {
            break;
        }
        run.push(next);
        at = next;
    }
    let mut paths = Vec::new();
    for declaration in run {
        if !flatten(syntax, declaration, &mut paths) {
            return Form::Whole;
        }
    }
    paths.sort_unstable();
    Form::Leaves(
        paths
            .into_iter()
            .map(|path| ("use", Cow::Owned(path)))
            .collect(),
    )
}

/// Adds every path of a use. Returns whether it could be followed.
fn flatten(syntax: &Syntax<'_>, declaration: Id, paths: &mut Vec<Vec<u8>>) -> bool {
    let mut visible = syntax
        .child(declaration, "visibility_modifier")
        .map_or(Vec::new(), |modifier| packed(syntax.bytes(modifier)));
    visible.push(b' ');
    let Some(argument) = syntax.field(declaration, "argument") else {
        return false;
    };
    let mut open = vec![(argument, visible, 0)];
    while let Some((at, prefix, depth)) = open.pop() {
        if depth == USE_DEPTH_MAX {
            return false;
        }
        let list = match syntax.kind(at) {
            "use_list" => Some(at),
            "scoped_use_list" => syntax.field(at, "list"),
            _ => None,
        };
        let Some(list) = list else {
            paths.push([prefix, packed(syntax.bytes(at))].concat());
            continue;
        };
        let path = syntax.field(at, "path").map_or(Vec::new(), |path| {
            [packed(syntax.bytes(path)), b"::".to_vec()].concat()
        });
        let prefix = [prefix, path].concat();
        open.extend(
            syntax
                .named(list)
                .map(|child| (child, prefix.clone(), depth + 1)),
        );
    }
    true
}

/// Returns a path without spaces, but for those that part words: `a :: b as c`.
fn packed(path: &[u8]) -> Vec<u8> {
    let words = text::collapse(path);
    let mut out = Vec::with_capacity(words.len());
    for (at, byte) in words.iter().enumerate() {
        let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let parts = is_word(words.get(at.wrapping_sub(1))) && is_word(words.get(at + 1));
        if *byte != b' ' || parts {
            out.push(*byte);
        }
    }
    out
}

/// `=> { x }` is `=> x`, and `|a| { x }` is `|a| x`.
fn is_bare_body(syntax: &Syntax<'_>, id: Id, parent: &str) -> bool {
    let is_body = match parent {
        "match_arm" => syntax.nodes[id].field == Some("value"),
        "closure_expression" => syntax.nodes[id].field == Some("body"),
        _ => false,
    };
    let Some(only) = syntax.only(id).filter(|_| is_body) else {
        return false;
    };
    let is_statement = match syntax.kind(only) {
        "expression_statement" => syntax.has(only, ";") && !is_jump(syntax, only),
        kind => {
            kind.ends_with("_item")
                || kind.ends_with("_declaration")
                || matches!(
                    kind,
                    "label" | "macro_definition" | "empty_statement" | "ERROR"
                )
        }
    };
    !is_statement && !syntax.has(id, "async") && !syntax.has(id, "label")
}

fn is_bare_block(syntax: &Syntax<'_>, brace: Id) -> bool {
    let block = syntax.nodes[brace].parent;
    is_bare_body(syntax, block, syntax.parent_kind(block))
}

/// Whether a statement leaves, so that the `;` after it says nothing.
fn is_jump(syntax: &Syntax<'_>, statement: Id) -> bool {
    syntax.only(statement).is_some_and(|only| {
        matches!(
            syntax.kind(only),
            "return_expression" | "break_expression" | "continue_expression"
        )
    })
}

/// A lone `;` counts only where it takes the value of a block away.
fn empty<'t>(syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    let has_value = syntax.nodes[id].previous.is_some_and(|before| {
        syntax.kind(before) == "expression_statement" && !syntax.has(before, ";")
    });
    let mut after = syntax.following(id).filter(|_| has_value);
    while let Some(next) = after.filter(|&next| syntax.kind(next) == "empty_statement") {
        after = syntax.following(next);
    }
    let is_last = after.is_none_or(|next| syntax.kind(next) == "}");
    match has_value && is_last {
        true => Form::Whole,
        false => Form::Nothing,
    }
}

fn is_leading_bar(syntax: &Syntax<'_>, id: Id, parent: &str) -> bool {
    matches!(parent, "or_pattern" | "match_pattern") && syntax.nodes[id].parent + 1 == id
}

/// Whether a pattern is only a bar and one other: `_` is a token, not a pattern of its own.
fn is_lone_pattern(syntax: &Syntax<'_>, id: Id) -> bool {
    let mut children = syntax.children(id).filter(|&it| syntax.kind(it) != "|");
    children.next().is_some() && children.next().is_none()
}

/// Whether parentheses stand directly inside others.
fn is_second(syntax: &Syntax<'_>, id: Id) -> bool {
    syntax.parent_kind(syntax.nodes[id].parent) == "parenthesized_expression"
}

/// Whether this belongs to a `-> ()`, which is what a function without it returns.
fn returns_unit(syntax: &Syntax<'_>, id: Id) -> bool {
    let Some(parent) = syntax.parent(id) else {
        return false;
    };
    let is_function = matches!(
        syntax.kind(parent),
        "function_item" | "function_signature_item"
    );
    let returned = syntax.field(parent, "return_type");
    let is_unit = returned.is_some_and(|it| syntax.kind(it) == "unit_type");
    is_function && is_unit && (syntax.kind(id) == "->" || returned == Some(id))
}
