//! Definition table of JavaScript and TypeScript.

use super::{InnerScope, NodeContext, SymbolDefinition, define_named, extend_to_preceding};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

/// Maximum length in bytes of an assignment target that can be a name.
const PATH_BYTES_MAX: usize = 200;

pub(super) fn find_definitions(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    let found = match syntax.kind(id) {
        "function_declaration"
        | "generator_function_declaration"
        | "function_expression"
        | "generator_function"
        | "method_definition" => define_declaration(syntax, id, InnerScope::Body),
        "class_declaration"
        | "abstract_class_declaration"
        | "class"
        | "interface_declaration"
        | "internal_module"
        | "module" => define_declaration(syntax, id, InnerScope::Members),
        "enum_declaration"
        | "type_alias_declaration"
        | "function_signature"
        | "method_signature"
        | "abstract_method_signature" => define_declaration(syntax, id, InnerScope::Nothing),
        "public_field_definition" | "field_definition" => define_field(syntax, id),
        "variable_declarator" => define_variable(syntax, id, place),
        "assignment_expression" => define_assignment(syntax, id, place),
        "pair" => define_pair(syntax, id, place),
        "export_statement" => define_default_export(syntax, id),
        _ => None,
    };
    found.into_iter().collect()
}

/// Defines a declaration named by its `name` field, with its `export` and decorators.
fn define_declaration(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Option<SymbolDefinition> {
    let name = syntax.field(id, "name")?;
    let definition = SymbolDefinition {
        name: key_text(syntax, name),
        ..define_named(syntax, name, enclosing_export(syntax, id), opens)
    };
    Some(extend_to_preceding(syntax, definition, "decorator"))
}

/// Returns the outermost `export` around a declaration, or the declaration itself.
fn enclosing_export(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> SyntaxNodeId {
    let mut whole = id;
    while let Some(parent) = syntax.parent(whole) {
        if !matches!(
            syntax.kind(parent),
            "export_statement" | "ambient_declaration"
        ) {
            break;
        }
        whole = parent;
    }
    whole
}

fn define_field(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    let name = syntax
        .field(id, "name")
        .or_else(|| syntax.field(id, "property"))?;
    let opens = match syntax.field(id, "value") {
        Some(value) if is_function(syntax, value) => InnerScope::Body,
        Some(_) | None => InnerScope::Nothing,
    };
    let definition = SymbolDefinition {
        name: key_text(syntax, name),
        ..define_named(syntax, name, id, opens)
    };
    Some(extend_to_preceding(syntax, definition, "decorator"))
}

fn define_variable(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Option<SymbolDefinition> {
    let name = syntax.field(id, "name")?;
    let holds_function = syntax
        .field(id, "value")
        .is_some_and(|it| is_function(syntax, it));
    // Destructuring declares several names at once; local values are not symbols.
    if syntax.kind(name) != "identifier" || (place == NodeContext::InBody && !holds_function) {
        return None;
    }
    let declaration = syntax.nodes[id].parent;
    let whole = if syntax.only(declaration) == Some(id) {
        enclosing_export(syntax, declaration)
    } else {
        id
    };
    let opens = if holds_function {
        InnerScope::Body
    } else {
        InnerScope::Members
    };
    Some(define_named(syntax, name, whole, opens))
}

/// Defines an assignment: `exports.f = function () {}` defines `f`, `A.prototype.f = …` defines
/// `A.f`.
///
/// Values other than functions count only in statements outside functions.
fn define_assignment(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Option<SymbolDefinition> {
    let left = syntax.field(id, "left")?;
    let right = syntax.field(id, "right")?;
    let around = syntax.nodes[id].parent;
    let is_statement = syntax.kind(around) == "expression_statement";
    let opens = if is_function(syntax, right) {
        InnerScope::Body
    } else if place == NodeContext::Outside && is_statement {
        InnerScope::Members
    } else {
        return None;
    };
    let whole = if is_statement { around } else { id };
    Some(SymbolDefinition {
        name: assigned_name(syntax, left)?,
        ..define_named(syntax, left, whole, opens)
    })
}

fn assigned_name(syntax: &SyntaxTree<'_>, left: SyntaxNodeId) -> Option<String> {
    let bytes = syntax.bytes(left);
    if bytes.len() > PATH_BYTES_MAX
        || !matches!(syntax.kind(left), "identifier" | "member_expression")
    {
        return None;
    }
    // A call or computed member on the way, as in `a().b`, is not a name.
    let is_path = bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b"_$.#".contains(b));
    let path = syntax.text(left);
    let start = ["module.exports.", "exports.", "this."];
    let name = start
        .iter()
        .find_map(|start| path.strip_prefix(start))
        .unwrap_or(&path);
    is_path.then(|| name.replace(".prototype.", "."))
}

/// Defines a property: a function anywhere, an object only outside functions.
fn define_pair(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Option<SymbolDefinition> {
    let key = syntax.field(id, "key")?;
    let value = syntax.field(id, "value")?;
    if !matches!(
        syntax.kind(key),
        "property_identifier" | "string" | "identifier"
    ) {
        return None;
    }
    let opens = match syntax.kind(value) {
        _ if is_function(syntax, value) => InnerScope::Body,
        "object" if place == NodeContext::Outside => InnerScope::Members,
        _ => return None,
    };
    Some(SymbolDefinition {
        name: key_text(syntax, key),
        ..define_named(syntax, key, id, opens)
    })
}

/// Defines an unnamed default export as `default`.
fn define_default_export(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    if !syntax.has(id, "default") {
        return None;
    }
    let inner = syntax
        .field(id, "value")
        .or_else(|| syntax.field(id, "declaration"))?;
    let has_name = syntax.field(inner, "name").is_some() || syntax.kind(inner) == "identifier";
    let opens = match syntax.kind(inner) {
        "class" | "class_declaration" | "abstract_class_declaration" | "object" => {
            InnerScope::Members
        }
        _ => InnerScope::Body,
    };
    (!has_name).then(|| SymbolDefinition {
        name: "default".to_owned(),
        name_node: None,
        first: id,
        last: id,
        opens,
    })
}

fn is_function(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    matches!(
        syntax.kind(id),
        "arrow_function" | "function_expression" | "generator_function" | "function"
    )
}

/// Returns the text of a property key without quotes.
fn key_text(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> String {
    let text = syntax.text(id);
    match syntax.kind(id) {
        "string" => text.trim_matches(['"', '\'']).to_owned(),
        "computed_property_name" => {
            match text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                Some(inside) => format!("[{}]", inside.trim()),
                None => text,
            }
        }
        _ => text,
    }
}
