//! Definition tables: which syntax nodes define a symbol, its name and its extent.
//!
//! One table per language. A grammar's own tag query lacks constants, qualifiers and the extent of
//! a definition, and running it costs as much as parsing. Tests compare the tables with the
//! queries: every definition of a query is in the outline.

mod c;
mod class;
mod data;
mod go;
mod python;
mod rust;
mod script;

use crate::language::Language;
use crate::syntax::{SyntaxNodeId, SyntaxTree};

/// A symbol defined by one node.
#[derive(Debug)]
pub(crate) struct SymbolDefinition {
    /// Unqualified name.
    pub(crate) name: String,
    /// The node that contains exactly the name.
    pub(crate) name_node: Option<SyntaxNodeId>,
    /// First and last of the sibling nodes that belong to the definition.
    pub(crate) first: SyntaxNodeId,
    pub(crate) last: SyntaxNodeId,
    pub(crate) opens: InnerScope,
}

/// The effect of a definition on the symbols inside it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InnerScope {
    /// No symbols inside.
    Nothing,
    /// Symbols inside are its members.
    Members,
    /// Symbols inside are local; its variables are not outlined.
    Body,
    /// Symbols inside are members of another type, and have aliases under `also`.
    MembersOf { name: String, also: Vec<String> },
}

/// Position of a node relative to function bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeContext {
    Outside,
    /// Inside the body of a function, at any depth.
    InBody,
}

/// Returns the symbols a node defines; most nodes define none.
pub(crate) fn find_definitions(
    language: Language,
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    // Tokens and leaves are most of the nodes and never define a symbol.
    if !syntax.nodes[id].named || syntax.is_leaf(id) {
        return Vec::new();
    }
    match language {
        Language::Rust => rust::find_definitions(syntax, id),
        Language::Python => python::find_definitions(syntax, id, place),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            script::find_definitions(syntax, id, place)
        }
        Language::Go => go::find_definitions(syntax, id, place),
        Language::C | Language::Cpp => c::find_definitions(syntax, id, place),
        Language::Java => class::java(syntax, id),
        Language::CSharp => class::csharp(syntax, id),
        Language::Ruby => class::ruby(syntax, id, place),
        Language::Php => class::php(syntax, id),
        Language::Bash => class::bash(syntax, id, place),
        Language::Toml => data::toml(syntax, id),
        Language::Yaml => data::yaml(syntax, id),
        Language::Json => data::json(syntax, id),
        Language::Markdown => data::markdown(syntax, id),
        #[cfg(feature = "more-languages")]
        Language::Kotlin => class::kotlin(syntax, id, place),
        #[cfg(feature = "more-languages")]
        Language::Swift => class::swift(syntax, id, place),
    }
}

/// Builds a definition that spans `whole` and is named by the node `name`.
fn define_named(
    syntax: &SyntaxTree<'_>,
    name: SyntaxNodeId,
    whole: SyntaxNodeId,
    opens: InnerScope,
) -> SymbolDefinition {
    SymbolDefinition {
        name: syntax.text(name),
        name_node: Some(name),
        first: whole,
        last: whole,
        opens,
    }
}

/// Builds a definition from the `name` field of its node.
fn define_by_name_field(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let name = syntax.field(id, "name");
    name.map(|name| define_named(syntax, name, id, opens))
        .into_iter()
        .collect()
}

/// Extends a definition to the siblings of `kind` directly before it.
fn extend_to_preceding(
    syntax: &SyntaxTree<'_>,
    mut definition: SymbolDefinition,
    kind: &str,
) -> SymbolDefinition {
    while let Some(previous) = syntax.nodes[definition.first].previous {
        if syntax.kind(previous) != kind {
            break;
        }
        definition.first = previous;
    }
    definition
}
