//! Symbols of JavaScript and TypeScript.

use super::{Definition, Opens, Place, named, with_preceding};
use crate::syntax::{Id, Syntax};

/// Bytes of an assignment's left side that can be a name.
const PATH_BYTES_MAX: usize = 200;

pub(super) fn definitions(syntax: &Syntax<'_>, id: Id, place: Place) -> Vec<Definition> {
    let found = match syntax.kind(id) {
        "function_declaration"
        | "generator_function_declaration"
        | "function_expression"
        | "generator_function"
        | "method_definition" => titled(syntax, id, Opens::Body),
        "class_declaration"
        | "abstract_class_declaration"
        | "class"
        | "interface_declaration"
        | "internal_module"
        | "module" => titled(syntax, id, Opens::Members),
        "enum_declaration"
        | "type_alias_declaration"
        | "function_signature"
        | "method_signature"
        | "abstract_method_signature" => titled(syntax, id, Opens::Nothing),
        "public_field_definition" | "field_definition" => field(syntax, id),
        "variable_declarator" => variable(syntax, id, place),
        "assignment_expression" => assigned(syntax, id, place),
        "pair" => pair(syntax, id, place),
        "export_statement" => default_export(syntax, id),
        _ => None,
    };
    found.into_iter().collect()
}

/// A definition whose name is in a field, with the `export` and the decorators before it.
fn titled(syntax: &Syntax<'_>, id: Id, opens: Opens) -> Option<Definition> {
    let name = syntax.field(id, "name")?;
    let definition = Definition {
        name: key_text(syntax, name),
        ..named(syntax, name, exported(syntax, id), opens)
    };
    Some(with_preceding(syntax, definition, "decorator"))
}

/// Returns the `export` around a declaration, or the declaration.
fn exported(syntax: &Syntax<'_>, id: Id) -> Id {
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

fn field(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    let name = syntax
        .field(id, "name")
        .or_else(|| syntax.field(id, "property"))?;
    let opens = match syntax.field(id, "value") {
        Some(value) if is_function(syntax, value) => Opens::Body,
        Some(_) | None => Opens::Nothing,
    };
    let definition = Definition {
        name: key_text(syntax, name),
        ..named(syntax, name, id, opens)
    };
    Some(with_preceding(syntax, definition, "decorator"))
}

fn variable(syntax: &Syntax<'_>, id: Id, place: Place) -> Option<Definition> {
    let name = syntax.field(id, "name")?;
    let holds_function = syntax
        .field(id, "value")
        .is_some_and(|it| is_function(syntax, it));
    if syntax.kind(name) != "identifier" || (place == Place::InBody && !holds_function) {
        return None;
    }
    let declaration = syntax.nodes[id].parent;
    let whole = match syntax.only(declaration) == Some(id) {
        true => exported(syntax, declaration),
        false => id,
    };
    let opens = match holds_function {
        true => Opens::Body,
        false => Opens::Members,
    };
    Some(named(syntax, name, whole, opens))
}

/// `exports.f = function () {}` defines `f`, `A.prototype.f = …` defines `A.f`.
///
/// Other values count only as statements outside functions.
fn assigned(syntax: &Syntax<'_>, id: Id, place: Place) -> Option<Definition> {
    let left = syntax.field(id, "left")?;
    let right = syntax.field(id, "right")?;
    let around = syntax.nodes[id].parent;
    let is_statement = syntax.kind(around) == "expression_statement";
    let opens = match is_function(syntax, right) {
        true => Opens::Body,
        false if place == Place::Outside && is_statement => Opens::Members,
        false => return None,
    };
    let whole = match is_statement {
        true => around,
        false => id,
    };
    Some(Definition {
        name: assigned_name(syntax, left)?,
        ..named(syntax, left, whole, opens)
    })
}

fn assigned_name(syntax: &Syntax<'_>, left: Id) -> Option<String> {
    let bytes = syntax.bytes(left);
    if PATH_BYTES_MAX < bytes.len()
        || !matches!(syntax.kind(left), "identifier" | "member_expression")
    {
        return None;
    }
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

/// Functions in objects have names wherever they are, objects in objects only outside functions.
fn pair(syntax: &Syntax<'_>, id: Id, place: Place) -> Option<Definition> {
    let key = syntax.field(id, "key")?;
    let value = syntax.field(id, "value")?;
    if !matches!(
        syntax.kind(key),
        "property_identifier" | "string" | "identifier"
    ) {
        return None;
    }
    let opens = match syntax.kind(value) {
        _ if is_function(syntax, value) => Opens::Body,
        "object" if place == Place::Outside => Opens::Members,
        _ => return None,
    };
    Some(Definition {
        name: key_text(syntax, key),
        ..named(syntax, key, id, opens)
    })
}

/// What a module exports without a name is called `default`.
fn default_export(syntax: &Syntax<'_>, id: Id) -> Option<Definition> {
    if !syntax.has(id, "default") {
        return None;
    }
    let inner = syntax
        .field(id, "value")
        .or_else(|| syntax.field(id, "declaration"))?;
    let has_name = syntax.field(inner, "name").is_some() || syntax.kind(inner) == "identifier";
    let opens = match syntax.kind(inner) {
        "class" | "class_declaration" | "abstract_class_declaration" | "object" => Opens::Members,
        _ => Opens::Body,
    };
    (!has_name).then(|| Definition {
        name: "default".to_owned(),
        name_node: None,
        first: id,
        last: id,
        opens,
    })
}

fn is_function(syntax: &Syntax<'_>, id: Id) -> bool {
    matches!(
        syntax.kind(id),
        "arrow_function" | "function_expression" | "generator_function" | "function"
    )
}

/// Returns a name without the quotes it may stand in.
fn key_text(syntax: &Syntax<'_>, id: Id) -> String {
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
