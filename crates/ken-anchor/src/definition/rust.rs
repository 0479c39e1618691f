//! Definition table of Rust.

use super::{InnerScope, SymbolDefinition, define_by_name_field, extend_to_preceding};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn find_definitions(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    let mut found = match syntax.kind(id) {
        "function_item" => define_by_name_field(syntax, id, InnerScope::Body),
        "mod_item" | "trait_item" | "enum_item" => {
            define_by_name_field(syntax, id, InnerScope::Members)
        }
        "function_signature_item"
        | "struct_item"
        | "union_item"
        | "type_item"
        | "associated_type"
        | "const_item"
        | "static_item"
        | "macro_definition"
        | "enum_variant" => define_by_name_field(syntax, id, InnerScope::Nothing),
        "impl_item" => define_impl(syntax, id).into_iter().collect(),
        _ => return Vec::new(),
    };
    // `const _: () = …` has no name to refer to.
    found.retain(|definition| definition.name != "_");
    found
        .into_iter()
        .map(|definition| extend_to_preceding(syntax, definition, "attribute_item"))
        .collect()
}

/// Defines `impl Display for X` as a symbol of that name, whose members belong to `X`.
fn define_impl(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    let this = syntax.field(id, "type")?;
    let plain = base_name(syntax, this);
    let Some(of) = syntax.field(id, "trait") else {
        return Some(SymbolDefinition {
            name: format!("impl {plain}"),
            name_node: None,
            first: id,
            last: id,
            opens: InnerScope::MembersOf {
                name: plain,
                also: Vec::new(),
            },
        });
    };
    let base = base_name(syntax, of);
    let full = normalize_blanks(&syntax.text(of));
    // Members of two traits share `X::name`; the qualified aliases tell them apart.
    let mut also = vec![format!("<{plain} as {base}>")];
    if full != base {
        also.push(format!("<{plain} as {full}>"));
    }
    Some(SymbolDefinition {
        name: format!("impl {full} for {plain}"),
        name_node: None,
        first: id,
        last: id,
        opens: InnerScope::MembersOf { name: plain, also },
    })
}

/// Returns the last segment of a type's path: `Ledger` of `&'a mut pay::Ledger<'_>`.
fn base_name(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> String {
    let mut at = id;
    loop {
        let inner = match syntax.kind(at) {
            "generic_type" | "reference_type" | "pointer_type" => syntax.field(at, "type"),
            "scoped_type_identifier" => syntax.field(at, "name"),
            "dynamic_type" | "abstract_type" => syntax.field(at, "trait"),
            _ => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return normalize_blanks(&syntax.text(at)),
        }
    }
}

/// Normalizes blanks: one between words, none inside brackets, no comma before a closing one.
fn normalize_blanks(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if word.starts_with(['>', ')', ']']) {
            let open = line.trim_end_matches(',').len();
            line.truncate(open);
        } else if !line.is_empty() && !line.ends_with(['<', '(', '[', '&']) {
            line.push(' ');
        }
        line += word;
    }
    line
}
