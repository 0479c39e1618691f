//! Symbols of languages built around classes, and of Bash.

use super::{Definition, Opens, Place, by_field, named};
use crate::syntax::{Id, Syntax};

pub(super) fn java(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "enum_constant" => by_field(syntax, id, Opens::Members),
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            by_field(syntax, id, Opens::Body)
        }
        "annotation_type_element_declaration" => by_field(syntax, id, Opens::Nothing),
        "field_declaration" | "constant_declaration" => declarators(syntax, id, id),
        _ => Vec::new(),
    }
}

/// Namespaces are left out: they say where a file belongs, and the anchor's path says that already.
pub(super) fn csharp(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "struct_declaration" => by_field(syntax, id, Opens::Members),
        "method_declaration" | "constructor_declaration" | "local_function_statement" => {
            by_field(syntax, id, Opens::Body)
        }
        "destructor_declaration" => tilde(syntax, id),
        "property_declaration"
        | "event_declaration"
        | "delegate_declaration"
        | "enum_member_declaration" => by_field(syntax, id, Opens::Nothing),
        "field_declaration" | "event_field_declaration" => {
            let inner = syntax.child(id, "variable_declaration");
            inner.map_or(Vec::new(), |inner| declarators(syntax, inner, id))
        }
        "indexer_declaration" => called(id, "this"),
        "operator_declaration" => {
            let operator = syntax.field(id, "operator");
            operator.map_or(Vec::new(), |operator| {
                called(id, &format!("operator{}", syntax.text(operator)))
            })
        }
        _ => Vec::new(),
    }
}

/// The name of a destructor is that of its class, so the sign before it has to tell them apart.
fn tilde(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    let name = syntax.field(id, "name");
    name.map_or(Vec::new(), |name| {
        called(id, &format!("~{}", syntax.text(name)))
    })
}

/// A definition whose name no node spells.
fn called(id: Id, name: &str) -> Vec<Definition> {
    vec![Definition {
        name: name.to_owned(),
        name_node: None,
        first: id,
        last: id,
        opens: Opens::Body,
    }]
}

/// Every variable of a declaration stands for the whole declaration.
fn declarators(syntax: &Syntax<'_>, id: Id, whole: Id) -> Vec<Definition> {
    syntax
        .named(id)
        .filter(|&child| syntax.kind(child) == "variable_declarator")
        .filter_map(|child| syntax.field(child, "name"))
        .map(|name| named(syntax, name, whole, Opens::Nothing))
        .collect()
}

pub(super) fn ruby(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "class" | "module" => by_field(syntax, id, Opens::Members),
        "method" | "singleton_method" => by_field(syntax, id, Opens::Body),
        "alias" => by_field(syntax, id, Opens::Nothing),
        "assignment" if place == Place::Outside => {
            let left = syntax.field(id, "left");
            left.filter(|&left| syntax.kind(left) == "constant")
                .map(|left| named(syntax, left, id, Opens::Members))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Namespaces are left out, as in C#.
pub(super) fn php(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => by_field(syntax, id, Opens::Members),
        "function_definition" | "method_declaration" => by_field(syntax, id, Opens::Body),
        "enum_case" => by_field(syntax, id, Opens::Nothing),
        "property_element" => {
            let variable = syntax.field(id, "name");
            let name = variable.and_then(|variable| syntax.child(variable, "name"));
            let whole = syntax.nodes[id].parent;
            name.map(|name| named(syntax, name, whole, Opens::Nothing))
                .into_iter()
                .collect()
        }
        "const_element" => {
            let whole = syntax.nodes[id].parent;
            let name = syntax.child(id, "name");
            name.map(|name| named(syntax, name, whole, Opens::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn bash(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "function_definition" => by_field(syntax, id, Opens::Body),
        "variable_assignment" if place == Place::Outside && stands_alone(syntax, id) => {
            by_field(syntax, id, Opens::Nothing)
        }
        _ => Vec::new(),
    }
}

/// Whether an assignment is one of the script and not for one command only, as in `A=1 make`.
fn stands_alone(syntax: &Syntax<'_>, id: Id) -> bool {
    syntax.parent_kind(id) != "command"
}

#[cfg(feature = "more-languages")]
pub(super) fn kotlin(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "class_declaration" | "object_declaration" | "enum_entry" => {
            first_name(syntax, id, Opens::Members)
        }
        "function_declaration" => first_name(syntax, id, Opens::Body),
        "type_alias" => first_name(syntax, id, Opens::Nothing),
        "property_declaration" if place == Place::Outside => {
            let variable = syntax.child(id, "variable_declaration");
            let name = variable.and_then(|variable| syntax.child(variable, "identifier"));
            name.map(|name| named(syntax, name, id, Opens::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(feature = "more-languages")]
pub(super) fn swift(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "class_declaration" | "protocol_declaration" => first_name(syntax, id, Opens::Members),
        "function_declaration" | "init_declaration" => first_name(syntax, id, Opens::Body),
        "protocol_function_declaration" | "typealias_declaration" | "enum_entry" => {
            first_name(syntax, id, Opens::Nothing)
        }
        "property_declaration" if place == Place::Outside => {
            let pattern = syntax.field(id, "name");
            let name = pattern.and_then(|it| syntax.child(it, "simple_identifier"));
            name.map(|name| named(syntax, name, id, Opens::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(feature = "more-languages")]
fn first_name(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let is_name =
        |kind: &str| matches!(kind, "identifier" | "simple_identifier" | "type_identifier");
    let name = syntax.field(id, "name").or_else(|| {
        syntax
            .children(id)
            .find(|&child| is_name(syntax.kind(child)))
    });
    name.map(|name| named(syntax, name, id, opens))
        .into_iter()
        .collect()
}
