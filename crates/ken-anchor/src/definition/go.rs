//! Symbols of Go.

use super::{Definition, Opens, Place, by_field, named};
use crate::syntax::{Id, Syntax};

pub(super) fn definitions(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "function_declaration" => by_field(syntax, id, Opens::Body),
        "method_declaration" => method(syntax, id).into_iter().collect(),
        "type_spec" | "type_alias" => specified(syntax, id, Opens::Members),
        "const_spec" | "var_spec" if place == Place::Outside => {
            specified(syntax, id, Opens::Nothing)
        }
        "method_elem" | "method_spec" => by_field(syntax, id, Opens::Nothing),
        _ => Vec::new(),
    }
}

/// `func (l *Ledger) Charge()` is `Ledger.Charge`.
fn method(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    let name = syntax.field(id, "name")?;
    let receiver = syntax.field(id, "receiver")?;
    let range = receiver..syntax.nodes[receiver].next;
    let base = range
        .into_iter()
        .find(|&at| syntax.kind(at) == "type_identifier");
    let text = syntax.text(name);
    Some(Definition {
        name: base.map_or(text.clone(), |base| format!("{}.{text}", syntax.text(base))),
        ..named(syntax, name, id, Opens::Body)
    })
}

/// A specification alone in its declaration is the declaration; one `const` may name several.
fn specified(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let declaration = syntax.nodes[id].parent;
    let whole = match syntax.only(declaration) == Some(id) && !syntax.has(declaration, "(") {
        true => declaration,
        false => id,
    };
    let names = syntax
        .children(id)
        .filter(|&child| syntax.nodes[child].field == Some("name") && syntax.nodes[child].named);
    let mut found: Vec<_> = names
        .map(|name| named(syntax, name, whole, Opens::Nothing))
        .collect();
    found.retain(|definition| definition.name != "_");
    if let [only] = found.as_mut_slice() {
        only.opens = opens;
    }
    found
}
