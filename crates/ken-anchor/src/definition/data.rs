//! Keys of TOML, YAML and JSON, headings of Markdown.

use super::{Definition, Opens, named};
use crate::syntax::{Id, Syntax};

pub(super) fn json(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.kind(id) {
        "pair" => keyed(syntax, id),
        _ => Vec::new(),
    }
}

pub(super) fn yaml(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    match syntax.kind(id) {
        "block_mapping_pair" | "flow_pair" => keyed(syntax, id),
        _ => Vec::new(),
    }
}

fn keyed(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    let key = syntax.field(id, "key");
    key.map(|key| Definition {
        name: unquoted(&syntax.text(key)),
        ..named(syntax, key, id, Opens::Members)
    })
    .into_iter()
    .collect()
}

pub(super) fn toml(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    if !matches!(syntax.kind(id), "table" | "table_array_element" | "pair") {
        return Vec::new();
    }
    let is_key = |kind: &str| matches!(kind, "bare_key" | "quoted_key" | "dotted_key");
    let key = syntax
        .children(id)
        .find(|&child| is_key(syntax.kind(child)));
    key.map(|key| Definition {
        name: dotted(syntax, key),
        ..named(syntax, key, id, Opens::Members)
    })
    .into_iter()
    .collect()
}

/// Returns `a.b` for `a . "b"`.
fn dotted(syntax: &Syntax<'_>, key: Id) -> String {
    let parts = (key..syntax.nodes[key].next)
        .filter(|&at| matches!(syntax.kind(at), "bare_key" | "quoted_key"))
        .map(|at| unquoted(&syntax.text(at)));
    parts.collect::<Vec<_>>().join(".")
}

fn unquoted(text: &str) -> String {
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

/// A section reaches from its heading to the next one that is not below it.
pub(super) fn markdown(syntax: &Syntax<'_>, id: Id) -> Vec<Definition> {
    let (heading, last) = match syntax.kind(id) {
        "section" => (syntax.child(id, "atx_heading"), id),
        // The grammar makes no sections of headings that are underlined.
        "setext_heading" => (Some(id), end_of_underlined(syntax, id)),
        _ => return Vec::new(),
    };
    let content = heading.and_then(|heading| syntax.field(heading, "heading_content"));
    let Some(content) = content else {
        return Vec::new();
    };
    let words = syntax.text(content);
    let name = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        return Vec::new();
    }
    vec![Definition {
        name,
        last,
        ..named(syntax, content, id, Opens::Members)
    }]
}

fn end_of_underlined(syntax: &Syntax<'_>, heading: Id) -> Id {
    let mut last = heading;
    while let Some(next) = syntax.following(last) {
        if syntax.kind(next) == "setext_heading" {
            break;
        }
        last = next;
    }
    last
}
