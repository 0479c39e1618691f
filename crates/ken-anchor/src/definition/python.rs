//! Symbols of Python.

use super::{Definition, Opens, Place, named};
use crate::syntax::{Id, Syntax};

pub(super) fn definitions(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    match syntax.kind(id) {
        "function_definition" => decorated(syntax, id, Opens::Body),
        "class_definition" => decorated(syntax, id, Opens::Members),
        "assignment" if place == Place::Outside => assigned(syntax, id).into_iter().collect(),
        "type_alias_statement" if place == Place::Outside => {
            alias(syntax, id).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Decorators belong to what they decorate.
fn decorated(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Vec<Definition> {
    let around = syntax.nodes[id].parent;
    let whole = match syntax.kind(around) {
        "decorated_definition" => around,
        _ => id,
    };
    let name = syntax.field(id, "name");
    name.map(|name| named(syntax, name, whole, opens))
        .into_iter()
        .collect()
}

/// A variable of a module or a class.
fn assigned(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    let left = syntax.field(id, "left")?;
    let around = syntax.nodes[id].parent;
    let is_plain = syntax.kind(left) == "identifier";
    let is_statement = syntax.kind(around) == "expression_statement";
    (is_plain && is_statement).then(|| named(syntax, left, around, Opens::Nothing))
}

fn alias(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    let left = syntax.field(id, "left")?;
    let name = (left..syntax.nodes[left].next).find(|&at| syntax.kind(at) == "identifier")?;
    Some(named(syntax, name, id, Opens::Nothing))
}
