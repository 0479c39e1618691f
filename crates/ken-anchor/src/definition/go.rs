//! Definition table of Go.

use super::{InnerScope, NodeContext, SymbolDefinition, define_by_name_field, define_named};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn find_definitions(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "function_declaration" => define_by_name_field(syntax, id, InnerScope::Body),
        "method_declaration" => define_method(syntax, id).into_iter().collect(),
        "type_spec" | "type_alias" => define_specs(syntax, id, InnerScope::Members),
        "const_spec" | "var_spec" if place == NodeContext::Outside => {
            define_specs(syntax, id, InnerScope::Nothing)
        }
        "method_elem" | "method_spec" => define_by_name_field(syntax, id, InnerScope::Nothing),
        _ => Vec::new(),
    }
}

/// Defines a method: `func (l *Ledger) Charge()` is `Ledger.Charge`.
fn define_method(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Option<SymbolDefinition> {
    let name = syntax.field(id, "name")?;
    let receiver = syntax.field(id, "receiver")?;
    // The receiver may be a pointer or generic; its first type name is the base type.
    let range = receiver..syntax.nodes[receiver].next;
    let base = range
        .into_iter()
        .find(|&at| syntax.kind(at) == "type_identifier");
    let text = syntax.text(name);
    Some(SymbolDefinition {
        name: base.map_or(text.clone(), |base| format!("{}.{text}", syntax.text(base))),
        ..define_named(syntax, name, id, InnerScope::Body)
    })
}

/// Defines the names of a specification. A single one spans its declaration, keyword included.
fn define_specs(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let declaration = syntax.nodes[id].parent;
    let whole = if syntax.only(declaration) == Some(id) && !syntax.has(declaration, "(") {
        declaration
    } else {
        id
    };
    let names = syntax
        .children(id)
        .filter(|&child| syntax.nodes[child].field == Some("name") && syntax.nodes[child].named);
    let mut found: Vec<_> = names
        .map(|name| define_named(syntax, name, whole, InnerScope::Nothing))
        .collect();
    // The blank identifier cannot be referred to.
    found.retain(|definition| definition.name != "_");
    if let [only] = found.as_mut_slice() {
        only.opens = opens;
    }
    found
}
