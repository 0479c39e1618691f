//! Definition tables of class-based languages and Bash.

use super::{InnerScope, NodeContext, SymbolDefinition, define_by_name_field, define_named};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn java(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        // An enum constant may have a body with methods.
        | "enum_constant" => define_by_name_field(syntax, id, InnerScope::Members),
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            define_by_name_field(syntax, id, InnerScope::Body)
        }
        "annotation_type_element_declaration" => define_by_name_field(syntax, id, InnerScope::Nothing),
        "field_declaration" | "constant_declaration" => define_declarators(syntax, id, id),
        _ => Vec::new(),
    }
}

/// Defines C# symbols. Namespaces are omitted: the anchor's path already locates the file.
pub(super) fn csharp(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "struct_declaration" => define_by_name_field(syntax, id, InnerScope::Members),
        "method_declaration" | "constructor_declaration" | "local_function_statement" => {
            define_by_name_field(syntax, id, InnerScope::Body)
        }
        "destructor_declaration" => define_destructor(syntax, id),
        "property_declaration"
        | "event_declaration"
        | "delegate_declaration"
        | "enum_member_declaration" => define_by_name_field(syntax, id, InnerScope::Nothing),
        "field_declaration" | "event_field_declaration" => {
            let inner = syntax.child(id, "variable_declaration");
            inner.map_or(Vec::new(), |inner| define_declarators(syntax, inner, id))
        }
        // C# spells an indexer `this[…]`.
        "indexer_declaration" => define_unspelled(id, "this"),
        "operator_declaration" => {
            let operator = syntax.field(id, "operator");
            operator.map_or(Vec::new(), |operator| {
                define_unspelled(id, &format!("operator{}", syntax.text(operator)))
            })
        }
        _ => Vec::new(),
    }
}

/// Defines a destructor as `~Name`, to distinguish it from its class and constructor.
fn define_destructor(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    let name = syntax.field(id, "name");
    name.map_or(Vec::new(), |name| {
        define_unspelled(id, &format!("~{}", syntax.text(name)))
    })
}

/// Builds a definition whose name is not spelled by a single node.
fn define_unspelled(id: SyntaxNodeId, name: &str) -> Vec<SymbolDefinition> {
    vec![SymbolDefinition {
        name: name.to_owned(),
        name_node: None,
        first: id,
        last: id,
        opens: InnerScope::Body,
    }]
}

/// Returns one definition per variable; each spans the whole declaration.
fn define_declarators(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    whole: SyntaxNodeId,
) -> Vec<SymbolDefinition> {
    syntax
        .named(id)
        .filter(|&child| syntax.kind(child) == "variable_declarator")
        .filter_map(|child| syntax.field(child, "name"))
        .map(|name| define_named(syntax, name, whole, InnerScope::Nothing))
        .collect()
}

pub(super) fn ruby(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class" | "module" => define_by_name_field(syntax, id, InnerScope::Members),
        "method" | "singleton_method" => define_by_name_field(syntax, id, InnerScope::Body),
        "alias" => define_by_name_field(syntax, id, InnerScope::Nothing),
        "assignment" if place == NodeContext::Outside => {
            let left = syntax.field(id, "left");
            // Only constants are symbols; other assignments are local or instance variables.
            left.filter(|&left| syntax.kind(left) == "constant")
                // The block of `Point = Struct.new do … end` defines methods.
                .map(|left| define_named(syntax, left, id, InnerScope::Members))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Defines PHP symbols. Namespaces are omitted, as in C#.
pub(super) fn php(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => define_by_name_field(syntax, id, InnerScope::Members),
        "function_definition" | "method_declaration" => {
            define_by_name_field(syntax, id, InnerScope::Body)
        }
        "enum_case" => define_by_name_field(syntax, id, InnerScope::Nothing),
        "property_element" => {
            let variable = syntax.field(id, "name");
            let name = variable.and_then(|variable| syntax.child(variable, "name"));
            // Visibility and type are on the enclosing declaration.
            let whole = syntax.nodes[id].parent;
            name.map(|name| define_named(syntax, name, whole, InnerScope::Nothing))
                .into_iter()
                .collect()
        }
        "const_element" => {
            let whole = syntax.nodes[id].parent;
            let name = syntax.child(id, "name");
            name.map(|name| define_named(syntax, name, whole, InnerScope::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn bash(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "function_definition" => define_by_name_field(syntax, id, InnerScope::Body),
        "variable_assignment" if place == NodeContext::Outside && stands_alone(syntax, id) => {
            define_by_name_field(syntax, id, InnerScope::Nothing)
        }
        _ => Vec::new(),
    }
}

/// Returns whether an assignment applies to the script and not to a single command, as in
/// `A=1 make`.
fn stands_alone(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    syntax.parent_kind(id) != "command"
}

#[cfg(feature = "more-languages")]
pub(super) fn kotlin(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class_declaration" | "object_declaration" | "enum_entry" => {
            define_by_first_name(syntax, id, InnerScope::Members)
        }
        "function_declaration" => define_by_first_name(syntax, id, InnerScope::Body),
        "type_alias" => define_by_first_name(syntax, id, InnerScope::Nothing),
        "property_declaration" if place == NodeContext::Outside => {
            let variable = syntax.child(id, "variable_declaration");
            let name = variable.and_then(|variable| syntax.child(variable, "identifier"));
            name.map(|name| define_named(syntax, name, id, InnerScope::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(feature = "more-languages")]
pub(super) fn swift(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "class_declaration" | "protocol_declaration" => {
            define_by_first_name(syntax, id, InnerScope::Members)
        }
        "function_declaration" | "init_declaration" => {
            define_by_first_name(syntax, id, InnerScope::Body)
        }
        "protocol_function_declaration" | "typealias_declaration" | "enum_entry" => {
            define_by_first_name(syntax, id, InnerScope::Nothing)
        }
        "property_declaration" if place == NodeContext::Outside => {
            let pattern = syntax.field(id, "name");
            let name = pattern.and_then(|it| syntax.child(it, "simple_identifier"));
            name.map(|name| define_named(syntax, name, id, InnerScope::Nothing))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(feature = "more-languages")]
fn define_by_first_name(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let is_name =
        |kind: &str| matches!(kind, "identifier" | "simple_identifier" | "type_identifier");
    let name = syntax.field(id, "name").or_else(|| {
        syntax
            .children(id)
            .find(|&child| is_name(syntax.kind(child)))
    });
    name.map(|name| define_named(syntax, name, id, opens))
        .into_iter()
        .collect()
}
