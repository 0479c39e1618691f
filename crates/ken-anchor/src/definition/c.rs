//! Symbols of C and C++.

use super::{Definition, Opens, Place, by_field, named};
use crate::syntax::{Id, Syntax};

pub(super) fn definitions(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "function_definition" => declared(syntax, id, Opens::Body),
        "declaration" if place == Place::Outside => declared(syntax, id, Opens::Nothing),
        "field_declaration" | "type_definition" => declared(syntax, id, Opens::Nothing),
        "struct_specifier" | "union_specifier" | "class_specifier" => record(syntax, id),
        "enum_specifier" if syntax.field(id, "body").is_some() => {
            by_field(syntax, id, Opens::Nothing)
        }
        "namespace_definition" => by_field(syntax, id, Opens::Members),
        "preproc_def" | "preproc_function_def" => by_field(syntax, id, Opens::Nothing),
        "alias_declaration" | "concept_definition" => templated(syntax, id, Opens::Nothing),
        _ => Vec::new(),
    }
}

/// A type that is only mentioned has no body, and its members are elsewhere.
fn record(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.field(id, "body") {
        Some(_) => templated(syntax, id, Opens::Members),
        None => Vec::new(),
    }
}

fn templated(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let name = syntax.field(id, "name");
    let whole = template(syntax, id);
    name.map(|name| named(syntax, name, whole, opens))
        .into_iter()
        .collect()
}

/// Returns the `template <…>` around a declaration, or the declaration.
fn template(syntax: &Syntax<'_>, id: Id) -> Id {
    let mut whole = id;
    while syntax.parent_kind(whole) == "template_declaration" {
        whole = syntax.nodes[whole].parent;
    }
    whole
}

/// One definition for each name a declaration declares.
fn declared(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let whole = template(syntax, id);
    let declarators = syntax
        .children(id)
        .filter(|&child| syntax.nodes[child].field == Some("declarator"));
    let mut found: Vec<_> = declarators
        .filter_map(|declarator| declared_name(syntax, declarator))
        .map(|name| named(syntax, name, whole, Opens::Nothing))
        .collect();
    for definition in &mut found {
        definition.name = plain_name(&definition.name);
    }
    if let [only] = found.as_mut_slice() {
        only.opens = opens;
    }
    found
}

/// Returns `Ledger::charge` for `Ledger<T> :: charge`; the signs of an operator stay.
fn plain_name(name: &str) -> String {
    let (path, operator) = match name.find("operator") {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in path.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && !c.is_whitespace() => plain.push(c),
            _ => {}
        }
    }
    plain.extend(operator.chars().filter(|c| !c.is_whitespace()));
    plain
}

/// Returns the name inside `*name[3]`, `(*name)(int)` or `Type::name(int)`.
fn declared_name(syntax: &Syntax<'_>, declarator: Id) -> Option<Id> {
    let mut at = declarator;
    loop {
        match syntax.kind(at) {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "operator_cast"
            | "primitive_type" => return Some(at),
            _ => {}
        }
        at = syntax.field(at, "declarator").or_else(|| {
            syntax
                .named(at)
                .find(|&child| is_declarator(syntax.kind(child)))
        })?;
    }
}

fn is_declarator(kind: &str) -> bool {
    kind.ends_with("_declarator") || kind.ends_with("identifier") || kind == "operator_name"
}
