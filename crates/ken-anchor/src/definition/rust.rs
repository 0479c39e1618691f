//! Symbols of Rust.

use super::{Definition, Opens, by_field, with_preceding};
use crate::syntax::{Id, Syntax};

pub(super) fn definitions(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    let found = match syntax.kind(id) {
        "function_item" => by_field(syntax, id, Opens::Body),
        "mod_item" | "trait_item" | "enum_item" => by_field(syntax, id, Opens::Members),
        "function_signature_item"
        | "struct_item"
        | "union_item"
        | "type_item"
        | "associated_type"
        | "const_item"
        | "static_item"
        | "macro_definition"
        | "enum_variant" => by_field(syntax, id, Opens::Nothing),
        "impl_item" => implementation(syntax, id).into_iter().collect(),
        _ => return Vec::new(),
    };
    let mut found = found;
    for definition in &mut found {
        // `const _: () = …` has no name to be found by.
        if definition.name == "_" {
            return Vec::new();
        }
    }
    found
        .into_iter()
        .map(|definition| with_preceding(syntax, definition, "attribute_item"))
        .collect()
}

/// `impl Display for X` is a symbol of that name, and what is inside belongs to `X`.
fn implementation(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    let this = syntax.field(id, "type")?;
    let plain = base_name(syntax, this);
    let Some(of) = syntax.field(id, "trait") else {
        return Some(Definition {
            name: format!("impl {plain}"),
            name_node: None,
            first: id,
            last: id,
            opens: Opens::MembersOf {
                name: plain,
                also: Vec::new(),
            },
        });
    };
    let base = base_name(syntax, of);
    let full = spaced(&syntax.text(of));
    let mut also = vec![format!("<{plain} as {base}>")];
    if full != base {
        also.push(format!("<{plain} as {full}>"));
    }
    Some(Definition {
        name: format!("impl {full} for {plain}"),
        name_node: None,
        first: id,
        last: id,
        opens: Opens::MembersOf { name: plain, also },
    })
}

/// Returns the last word of a type's path: `Ledger` of `&'a mut pay::Ledger<'_>`.
fn base_name(syntax: &Syntax<'_>, id: Id) -> String {
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
            None => return spaced(&syntax.text(at)),
        }
    }
}

/// Returns text as it is written on one line: one space wherever there were blanks, none inside brackets,
/// no comma before one that closes.
fn spaced(text: &str) -> String {
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
