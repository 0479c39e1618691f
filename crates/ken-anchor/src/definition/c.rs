//! Definition table of C and C++.

use super::{InnerScope, NodeContext, SymbolDefinition, define_by_name_field, define_named};
use crate::syntax::{SyntaxNodeId, SyntaxTree};

pub(super) fn find_definitions(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    place: NodeContext,
) -> Vec<SymbolDefinition> {
    match syntax.kind(id) {
        "function_definition" => define_declarators(syntax, id, InnerScope::Body),
        // A declaration in a body is a local variable.
        "declaration" if place == NodeContext::Outside => {
            define_declarators(syntax, id, InnerScope::Nothing)
        }
        "field_declaration" | "type_definition" => {
            define_declarators(syntax, id, InnerScope::Nothing)
        }
        "struct_specifier" | "union_specifier" | "class_specifier" => define_record(syntax, id),
        "enum_specifier" if syntax.field(id, "body").is_some() => {
            define_by_name_field(syntax, id, InnerScope::Nothing)
        }
        "namespace_definition" => define_by_name_field(syntax, id, InnerScope::Members),
        "preproc_def" | "preproc_function_def" => {
            define_by_name_field(syntax, id, InnerScope::Nothing)
        }
        "alias_declaration" | "concept_definition" => {
            define_templated(syntax, id, InnerScope::Nothing)
        }
        _ => Vec::new(),
    }
}

/// Defines a record. A type that is only mentioned has no body and defines nothing.
fn define_record(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> Vec<SymbolDefinition> {
    match syntax.field(id, "body") {
        Some(_) => define_templated(syntax, id, InnerScope::Members),
        None => Vec::new(),
    }
}

fn define_templated(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let name = syntax.field(id, "name");
    let whole = enclosing_template(syntax, id);
    name.map(|name| define_named(syntax, name, whole, opens))
        .into_iter()
        .collect()
}

/// Returns the outermost `enclosing_template <…>` around a declaration, or the declaration itself.
fn enclosing_template(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> SyntaxNodeId {
    let mut whole = id;
    while syntax.parent_kind(whole) == "template_declaration" {
        whole = syntax.nodes[whole].parent;
    }
    whole
}

/// Returns one definition per declared name.
fn define_declarators(
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    opens: InnerScope,
) -> Vec<SymbolDefinition> {
    let whole = enclosing_template(syntax, id);
    let declarators = syntax
        .children(id)
        .filter(|&child| syntax.nodes[child].field == Some("declarator"));
    let mut found: Vec<_> = declarators
        .filter_map(|declarator| find_declared_name(syntax, declarator))
        .map(|name| define_named(syntax, name, whole, InnerScope::Nothing))
        .collect();
    for definition in &mut found {
        definition.name = strip_template_arguments(&definition.name);
    }
    // With several names it is unclear which one owns the body, so none opens a scope.
    if let [only] = found.as_mut_slice() {
        only.opens = opens;
    }
    found
}

/// Strips template arguments and blanks: `Ledger<T> :: charge` becomes `Ledger::charge`. The
/// characters of an operator stay.
fn strip_template_arguments(name: &str) -> String {
    // `operator<` would otherwise open a template argument list.
    let (path, operator) = match name.find("operator") {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in path.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && !c.is_whitespace() => plain.push(c),
            _ => {}
        }
    }
    plain.extend(operator.chars().filter(|c| !c.is_whitespace()));
    plain
}

/// Returns the name node inside `*name[3]`, `(*name)(int)` or `Type::name(int)`.
fn find_declared_name(syntax: &SyntaxTree<'_>, declarator: SyntaxNodeId) -> Option<SyntaxNodeId> {
    let mut at = declarator;
    loop {
        match syntax.kind(at) {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "operator_cast"
            | "primitive_type" => return Some(at),
            _ => {}
        }
        // Some declarators, such as references and parentheses, have no `declarator` field.
        at = syntax.field(at, "declarator").or_else(|| {
            syntax
                .named(at)
                .find(|&child| is_declarator(syntax.kind(child)))
        })?;
    }
}

fn is_declarator(kind: &str) -> bool {
    kind.ends_with("_declarator") || kind.ends_with("identifier") || kind == "operator_name"
}
