//! Definition tables of TOML, YAML and JSON keys and of Markdown headings.

use super::{InnerScope, SymbolDefinition, define_named};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn json(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "pair" => define_key(syntax, id),
        _ => Vec::new(),
    }
}

pub(super) fn yaml(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "block_mapping_pair" | "flow_pair" => define_key(syntax, id),
        _ => Vec::new(),
    }
}

fn define_key(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    let key = syntax.field(id, "key");
    key.map(|key| SymbolDefinition {
        name: strip_quotes(&syntax.text(key)),
        ..define_named(syntax, key, id, InnerScope::Members)
    })
    .into_iter()
    .collect()
}

pub(super) fn toml(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    if !matches!(syntax.kind(id), "table" | "table_array_element" | "pair") {
        return Vec::new();
    }
    let is_key = |kind: &str| matches!(kind, "bare_key" | "quoted_key" | "dotted_key");
    let key = syntax
        .children(id)
        .find(|&child| is_key(syntax.kind(child)));
    key.map(|key| SymbolDefinition {
        name: join_dotted_key(syntax, key),
        ..define_named(syntax, key, id, InnerScope::Members)
    })
    .into_iter()
    .collect()
}

/// Joins a dotted key without blanks and quotes: `a . "b"` becomes `a.b`.
fn join_dotted_key(syntax: &SyntaxTree<'_>, key: SyntaxNodeId) -> String {
    let parts = (key..syntax.nodes[key].next)
        .filter(|&at| matches!(syntax.kind(at), "bare_key" | "quoted_key"))
        .map(|at| strip_quotes(&syntax.text(at)));
    parts.collect::<Vec<_>>().join(".")
}

fn strip_quotes(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        let inside = text
            .strip_prefix(quote)
            .and_then(|text| text.strip_suffix(quote));
        if let Some(inside) = inside {
            return inside.to_owned();
        }
    }
    text.to_owned()
}

/// Defines a section, which extends to the next heading of the same or a higher level.
pub(super) fn markdown(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    let (heading, last) = match syntax.kind(id) {
        "section" => (syntax.child(id, "atx_heading"), id),
        // The grammar creates no section nodes for underlined headings.
        "setext_heading" => (Some(id), find_section_end(syntax, id)),
        _ => return Vec::new(),
    };
    let content = heading.and_then(|heading| syntax.field(heading, "heading_content"));
    let Some(content) = content else {
        return Vec::new();
    };
    let words = syntax.text(content);
    // Heading names are matched as one line with single blanks.
    let name = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        return Vec::new();
    }
    vec![SymbolDefinition {
        name,
        last,
        ..define_named(syntax, content, id, InnerScope::Members)
    }]
}

fn find_section_end(syntax: &SyntaxTree<'_>, heading: SyntaxNodeId) -> SyntaxNodeId {
    let mut last = heading;
    while let Some(next) = syntax.next_sibling(last) {
        if syntax.kind(next) == "setext_heading" {
            break;
        }
        last = next;
    }
    last
}
