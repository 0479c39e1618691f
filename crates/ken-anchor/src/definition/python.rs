//! Definition table of Python.

use super::{InnerScope, NodeContext, SymbolDefinition, define_named};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn find_definitions(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "function_definition" => define_decorated(syntax, id, InnerScope::Body),
        "class_definition" => define_decorated(syntax, id, InnerScope::Members),
        "assignment" if place == NodeContext::Outside => {
            define_assignment(syntax, id).into_iter().collect()
        }
        "type_alias_statement" if place == NodeContext::Outside => {
            define_type_alias(syntax, id).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Defines a function or class together with its decorators.
fn define_decorated(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let around = syntax.nodes[id].parent;
    let whole = match syntax.kind(around) {
        "decorated_definition" => around,
        _ => id,
    };
    let name = syntax.field(id, "name");
    name.map(|name| define_named(syntax, name, whole, opens))
        .into_iter()
        .collect()
}

/// Defines a variable of a module or class.
fn define_assignment(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    let left = syntax.field(id, "left")?;
    let around = syntax.nodes[id].parent;
    let is_plain = syntax.kind(left) == "identifier";
    // `a = b = 1` nests assignments; only the outer one is a statement.
    let is_statement = syntax.kind(around) == "expression_statement";
    (is_plain && is_statement).then(|| define_named(syntax, left, around, InnerScope::Nothing))
}

fn define_type_alias(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    let left = syntax.field(id, "left")?;
    let name = (left..syntax.nodes[left].next).find(|&at| syntax.kind(at) == "identifier")?;
    Some(define_named(syntax, name, id, InnerScope::Nothing))
}
