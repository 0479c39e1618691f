//! Normalization rules for Rust: changes made by rustfmt.

use std::borrow::Cow;

use super::{NodeForm, text};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

/// Maximum nesting of `use` lists; deeper ones are not normalized.
const USE_DEPTH_MAX: usize = 32;

pub(super) fn node_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let parent = syntax.parent_kind(id);
    match syntax.kind(id) {
        "attribute_item" => attribute_form(syntax, id),
        "use_declaration" => use_form(syntax, id),
        "block" if has_optional_braces(syntax, id, parent) => NodeForm::Inside,
        "{" | "}" if parent == "block" && is_optional_brace(syntax, id) => NodeForm::Nothing,
        "expression_statement" if !syntax.has(id, ";") || is_jump(syntax, id) => NodeForm::Inside,
        ";" if parent == "expression_statement" && is_jump(syntax, syntax.nodes[id].parent) => {
            NodeForm::Nothing
        }
        // rustfmt removes the comma after a block.
        "," if parent == "match_arm" => NodeForm::Nothing,
        "empty_statement" => empty_statement_form(syntax, id),
        "|" if is_leading_bar(syntax, id, parent) => NodeForm::Nothing,
        "or_pattern" if is_lone_pattern(syntax, id) => NodeForm::Inside,
        "parenthesized_expression" if parent == "parenthesized_expression" => NodeForm::Inside,
        "(" | ")" if parent == "parenthesized_expression" && is_nested_parenthesis(syntax, id) => {
            NodeForm::Nothing
        }
        // `extern fn` means `extern "C" fn`.
        "extern_modifier" if syntax.named(id).next().is_none() => {
            NodeForm::Leaves(vec![("extern_modifier", Cow::Borrowed(b"\"C\""))])
        }
        "extern_modifier" => NodeForm::Leaves(vec![(
            "extern_modifier",
            Cow::Borrowed(
                syntax
                    .named(id)
                    .next()
                    .map_or(&b""[..], |abi| syntax.bytes(abi)),
            ),
        )]),
        "->" if is_unit_return(syntax, id) => NodeForm::Nothing,
        "unit_type" if is_unit_return(syntax, id) => NodeForm::Nothing,
        _ => NodeForm::Whole,
    }
}

/// Normalizes attributes: `#[derive(A, B)]` equals `#[derive(A)] #[derive(B)]`, and `#[doc = ""]`
/// is a comment.
fn attribute_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let Some(attribute) = syntax.child(id, "attribute") else {
        return NodeForm::Whole;
    };
    let Some(name) = syntax.children(attribute).next() else {
        return NodeForm::Whole;
    };
    match syntax.bytes(name) {
        b"doc" if syntax.field(attribute, "value").is_some() => NodeForm::Nothing,
        b"derive" => match syntax.field(attribute, "arguments") {
            Some(arguments) => NodeForm::Leaves(split_derives(syntax.bytes(arguments))),
            None => NodeForm::Whole,
        },
        _ => NodeForm::Whole,
    }
}

fn split_derives(arguments: &[u8]) -> Vec<(&'static str, Cow<'_, [u8]>)> {
    let inside = arguments.strip_prefix(b"(").unwrap_or(arguments);
    let inside = inside.strip_suffix(b")").unwrap_or(inside);
    let mut leaves = Vec::new();
    for part in inside.split(|b| *b == b',') {
        let mut part = text::collapse_blanks(part).into_owned();
        part.retain(|b| *b != b' ');
        if !part.is_empty() {
            leaves.push(("derive", Cow::Owned(part)));
        }
    }
    leaves
}

/// Normalizes consecutive `use` declarations to a sorted list of paths: rustfmt sorts them, and
/// people merge and split them.
fn use_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    // An attribute such as `#[cfg(test)]` applies to one declaration, which must stay separate.
    let is_alone = |id: SyntaxNodeId| syntax.previous_kind(id) == "attribute_item";
    let before = syntax.nodes[id].previous;
    let joins = before.is_some_and(|it| syntax.kind(it) == "use_declaration" && !is_alone(it));
    // The first declaration of a run has written the paths of this one.
    if joins && !is_alone(id) {
        return NodeForm::Nothing;
    }
    let mut run = vec![id];
    let mut at = id;
    while let Some(next) = syntax.next_sibling(at).filter(|_| !is_alone(id)) {
        if syntax.kind(next) != "use_declaration" {
            break;
        }
        run.push(next);
        at = next;
    }
    let mut paths = Vec::new();
    for declaration in run {
        if !flatten_use_paths(syntax, declaration, &mut paths) {
            return NodeForm::Whole;
        }
    }
    paths.sort_unstable();
    NodeForm::Leaves(
        paths
            .into_iter()
            .map(|path| ("use", Cow::Owned(path)))
            .collect(),
    )
}

/// Adds every path of a `use` declaration. Returns whether its structure is known.
fn flatten_use_paths(
    syntax: &SyntaxTree<'_>,
    declaration: SyntaxNodeId,
    paths: &mut Vec<Vec<u8>>,
) -> bool {
    let mut visible = syntax
        .child(declaration, "visibility_modifier")
        .map_or(Vec::new(), |modifier| {
            remove_path_blanks(syntax.bytes(modifier))
        });
    visible.push(b' ');
    let Some(argument) = syntax.field(declaration, "argument") else {
        return false;
    };
    let mut open = vec![(argument, visible, 0)];
    // An explicit stack: input must not control recursion depth.
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
            paths.push([prefix, remove_path_blanks(syntax.bytes(at))].concat());
            continue;
        };
        let path = syntax.field(at, "path").map_or(Vec::new(), |path| {
            [remove_path_blanks(syntax.bytes(path)), b"::".to_vec()].concat()
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

/// Removes blanks from a path, except between words: `a :: b as c` becomes `a::b as c`.
fn remove_path_blanks(path: &[u8]) -> Vec<u8> {
    let words = text::collapse_blanks(path);
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

/// Returns whether braces are optional: `=> { x }` equals `=> x`, and `|a| { x }` equals `|a| x`.
fn has_optional_braces(syntax: &SyntaxTree<'_>, id: SyntaxNodeId, parent: &str) -> bool {
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

fn is_optional_brace(syntax: &SyntaxTree<'_>, brace: SyntaxNodeId) -> bool {
    let block = syntax.nodes[brace].parent;
    has_optional_braces(syntax, block, syntax.parent_kind(block))
}

/// Returns whether a statement diverges, so that the `;` after it is insignificant.
fn is_jump(syntax: &SyntaxTree<'_>, statement: SyntaxNodeId) -> bool {
    syntax.only(statement).is_some_and(|only| {
        matches!(
            syntax.kind(only),
            "return_expression" | "break_expression" | "continue_expression"
        )
    })
}

/// Normalizes a lone `;`, which counts only where it discards the value of a block.
fn empty_statement_form<'t>(syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    let has_value = syntax.nodes[id].previous.is_some_and(|before| {
        syntax.kind(before) == "expression_statement" && !syntax.has(before, ";")
    });
    let mut after = syntax.next_sibling(id).filter(|_| has_value);
    while let Some(next) = after.filter(|&next| syntax.kind(next) == "empty_statement") {
        after = syntax.next_sibling(next);
    }
    let is_last = after.is_none_or(|next| syntax.kind(next) == "}");
    if has_value && is_last {
        NodeForm::Whole
    } else {
        NodeForm::Nothing
    }
}

fn is_leading_bar(syntax: &SyntaxTree<'_>, id: SyntaxNodeId, parent: &str) -> bool {
    matches!(parent, "or_pattern" | "match_pattern") && syntax.nodes[id].parent + 1 == id
}

/// Returns whether an or-pattern has a single alternative. Counts all children but bars, because
/// `_` is an anonymous token.
fn is_lone_pattern(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    let mut children = syntax.children(id).filter(|&it| syntax.kind(it) != "|");
    children.next().is_some() && children.next().is_none()
}

/// Returns whether parentheses are directly inside others.
fn is_nested_parenthesis(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    syntax.parent_kind(syntax.nodes[id].parent) == "parenthesized_expression"
}

/// Returns whether the node belongs to `-> ()`, which is the default return type.
fn is_unit_return(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
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
