//! Which nodes define a symbol, how it is called and what belongs to it.
//!
//! One table a language, since a grammar's own tag query says too little for anchors (nothing of constants,
//! of qualifiers, of what belongs to a definition) and searching with it costs as much as parsing.
//! Tests hold the tables to the queries: what a query calls a definition is in the outline.

mod c;
mod class;
mod data;
mod go;
mod python;
mod rust;
mod script;

use crate::language::Language;
use crate::syntax::{Id, Syntax};

/// A symbol as one node defines it.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Its name, without what is around it.
    pub(crate) name: String,
    /// The node that spells the name and nothing else.
    pub(crate) name_node: Option<Id>,
    /// The nodes that belong to it: from `first` to `last`, which stand side by side.
    pub(crate) first: Id,
    pub(crate) last: Id,
    pub(crate) opens: Opens,
}

/// What a definition means for those inside it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// Nothing inside has a name of its own.
    Nothing,
    /// Those inside are its members.
    Members,
    /// Those inside are local to it: its variables are not outlined.
    Body,
    /// Those inside are members of something called differently, under which they may also be found.
    MembersOf { name: String, also: Vec<String> },
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Outside,
    /// Somewhere in the body of a function.
    InBody,
}

/// Returns what a node defines; most nodes define nothing.
pub(crate) fn definitions(
    language: Language,
    syntax: &Syntax<'_>,
    id: Id,
    place: Place,
) -> Vec<Definition> {
    if !syntax.nodes[id].named || syntax.is_leaf(id) {
        return Vec::new();
    }
    match language {
        Language::Rust => rust::definitions(syntax, id),
        Language::Python => python::definitions(syntax, id, place),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            script::definitions(syntax, id, place)
        }
        Language::Go => go::definitions(syntax, id, place),
        Language::C | Language::Cpp => c::definitions(syntax, id, place),
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

/// Returns a definition named by one node, which reaches over `whole`.
fn named(syntax: &Syntax<'_>, name: Id, whole: Id, opens: Opens) -> Definition {
    Definition {
        name: syntax.text(name),
        name_node: Some(name),
        first: whole,
        last: whole,
        opens,
    }
}

/// Returns the definition whose name is in a field of its node.
fn by_field(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let name = syntax.field(id, "name");
    name.map(|name| named(syntax, name, id, opens))
        .into_iter()
        .collect()
}

/// Moves the start of a definition to the first of the nodes of `kind` before it.
fn with_preceding(syntax: &Syntax<'_>, mut definition: Definition, kind: &str) -> Definition {
    while let Some(previous) = syntax.nodes[definition.first].previous {
        if syntax.kind(previous) != kind {
            break;
        }
        definition.first = previous;
    }
    definition
}
