//! Outline of a file: its symbols with name, location and fingerprint.
//!
//! A symbol's own name is excluded from its fingerprint, so a renamed symbol is found again; names
//! inside it are included. Several symbols may share a name (overloads, `cfg` variants, methods of
//! two traits): the name refers to all of them, `name[2]` to the second.

use std::collections::BTreeMap;

use crate::definition::{InnerScope, NodeContext, SymbolDefinition, find_definitions};
use crate::fingerprint::{Fingerprint, FingerprintMethod};
use crate::language::Language;
use crate::lines::ensure_text;
use crate::normal::{NormalizedSyntax, normalize};
use crate::syntax::{SyntaxNodeId, SyntaxTree, parse_tree};

/// Maximum length of a symbol name in bytes; longer names cannot be written as anchors.
pub const NAME_BYTES_MAX: usize = 512;

/// Maximum size of a file that is parsed. Larger files are generated, and a hostile one would
/// occupy a grammar for half a minute.
pub const PARSED_BYTES_MAX: usize = 512 * 1024;

/// Maximum nesting of symbols. Deeper symbols count as part of the enclosing one.
pub const NESTING_MAX: usize = 24;

/// Maximum indentation of a YAML line.
const YAML_INDENT_MAX: usize = 200;

/// One symbol of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Qualified name: `Ledger::charge`.
    pub name: String,
    /// Names that refer to this symbol alone: `<Ledger as Display>::fmt`.
    pub also: Vec<String>,
    /// Byte range in the source.
    pub bytes: std::ops::Range<usize>,
    /// First and last line, counted from 1.
    pub first_line: u32,
    pub last_line: u32,
    pub fingerprint: Fingerprint,
    /// Size of the fingerprinted code in leaves of the syntax tree.
    pub weight: u32,
}

/// The symbols of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    language: Option<Language>,
    symbols: Vec<Symbol>,
}

/// Finds the symbols of a file. A binary or oversized file, or one without a grammar, has none.
pub fn outline(path: &str, source: &[u8]) -> Outline {
    let language = Language::of(path);
    let Some(language) = language.filter(|it| is_parsable(*it, source)) else {
        return Outline::default();
    };
    let symbols = match parse_tree(language, source) {
        Some(tree) => symbols(language, &SyntaxTree::of(language, &tree, source)),
        None => Vec::new(),
    };
    Outline {
        language: Some(language),
        symbols,
    }
}

/// Returns whether a file is text that a grammar can parse within limits.
pub(crate) fn is_parsable(language: Language, source: &[u8]) -> bool {
    source.len() <= PARSED_BYTES_MAX
        && ensure_text(source).is_ok()
        && !is_too_deep(language, source)
}

/// Returns whether a file would abort the process: the YAML grammar aborts on deep indentation.
fn is_too_deep(language: Language, source: &[u8]) -> bool {
    // `- - - x` and `? : x` nest without leading blanks, so indicators count as indentation.
    let lead = |line: &[u8]| line.iter().take_while(|b| b" -?:\t".contains(b)).count();
    let mut lines = source.split(|b| *b == b'\n' || *b == b'\r');
    language == Language::Yaml && lines.any(|line| lead(line) > YAML_INDENT_MAX)
}

impl Outline {
    pub(crate) fn new(language: Language, symbols: Vec<Symbol>) -> Self {
        Self {
            language: Some(language),
            symbols,
        }
    }

    /// Returns the language the file was parsed as, or `None` without a grammar.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Returns all symbols, in source order.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns the symbols a name refers to: by full name, alias, ordinal, or, if all matches have
    /// one full name, by its last parts.
    pub fn find(&self, name: &str) -> Vec<&Symbol> {
        // The most specific form wins, so adding a symbol elsewhere does not redirect an exact
        // name.
        let named = self.all(|symbol| symbol.name == name);
        if !named.is_empty() {
            return named;
        }
        let also = self.all(|symbol| symbol.also.iter().any(|also| also == name));
        if !also.is_empty() {
            return also;
        }
        if let Some((name, number)) = parse_ordinal(name) {
            let all = self.all(|symbol| symbol.name == name);
            // Parsed ordinals are at least 1.
            return all.get(number - 1).copied().into_iter().collect();
        }
        let ending = self.ending(name);
        match ending.first() {
            Some(first) if ending.iter().all(|symbol| symbol.name == first.name) => ending,
            Some(_) | None => Vec::new(),
        }
    }

    /// Returns the symbols whose qualified name ends with these parts.
    pub(crate) fn ending(&self, name: &str) -> Vec<&Symbol> {
        let separator = self.language.map_or(".", Language::separator);
        self.all(|symbol| {
            let before = symbol.name.strip_suffix(name);
            !name.is_empty() && before.is_some_and(|before| before.ends_with(separator))
        })
    }

    /// Returns all groups a name can refer to: each symbol, and all symbols of one name.
    pub(crate) fn meanings(&self) -> Vec<Vec<&Symbol>> {
        let mut named: BTreeMap<&str, Vec<&Symbol>> = BTreeMap::new();
        for symbol in &self.symbols {
            named.entry(&symbol.name).or_default().push(symbol);
        }
        let alone = self.symbols.iter().map(|symbol| vec![symbol]);
        let together = named.into_values().filter(|all| all.len() > 1);
        alone.chain(together).collect()
    }

    /// Returns the fingerprints of all groups a name can refer to. A lost symbol may have moved to
    /// this file if its fingerprint is among them.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        let meanings = self.meanings().into_iter();
        meanings.filter_map(|symbols| {
            let fingerprints: Vec<_> = symbols.iter().map(|symbol| symbol.fingerprint).collect();
            Fingerprint::combined(&fingerprints)
        })
    }

    /// Returns a name that refers to this symbol alone.
    pub fn exact_name(&self, symbol: &Symbol) -> String {
        let all = self.all(|other| other.name == symbol.name);
        match all.iter().position(|other| other.bytes == symbol.bytes) {
            Some(at) if all.len() > 1 => format!("{}[{}]", symbol.name, at + 1),
            Some(_) | None => symbol.name.clone(),
        }
    }

    fn all(&self, wanted: impl Fn(&Symbol) -> bool) -> Vec<&Symbol> {
        self.symbols
            .iter()
            .filter(|symbol| wanted(symbol))
            .collect()
    }
}

/// Parses `name[2]`; ordinals start at 1.
fn parse_ordinal(name: &str) -> Option<(&str, usize)> {
    let (name, number) = name.strip_suffix(']')?.rsplit_once('[')?;
    let number = number.parse().ok()?;
    (number > 0).then_some((name, number))
}

/// A definition around the current node.
struct EnclosingScope {
    end: SyntaxNodeId,
    name: String,
    also: Vec<String>,
    place: NodeContext,
}

fn symbols(language: Language, syntax: &SyntaxTree<'_>) -> Vec<Symbol> {
    let normal = normalize(language, syntax);
    let mut found = Vec::new();
    let mut scopes: Vec<EnclosingScope> = Vec::new();
    for id in 0..syntax.nodes.len() {
        // Nodes are in pre-order: a scope ends at the first node after its last descendant.
        while scopes.pop_if(|scope| scope.end <= id).is_some() {}
        if scopes.len() >= NESTING_MAX {
            continue;
        }
        let place = scopes
            .last()
            .map_or(NodeContext::Outside, |scope| scope.place);
        for definition in find_definitions(language, syntax, id, place) {
            // Built before it is pushed: a definition is not inside its own scope.
            let scope = build_inner_scope(language, syntax, id, &definition, scopes.last());
            found.extend(build_symbol(
                language,
                syntax,
                &normal,
                &definition,
                scopes.last(),
            ));
            scopes.extend(scope);
        }
    }
    // Exported and decorated definitions start before the node that defines them.
    found.sort_by_key(|symbol| (symbol.bytes.start, symbol.first_line));
    found
}

fn build_symbol(
    language: Language,
    syntax: &SyntaxTree<'_>,
    normal: &NormalizedSyntax,
    definition: &SymbolDefinition,
    around: Option<&EnclosingScope>,
) -> Option<Symbol> {
    let name = join_name(language, around.map(|scope| &scope.name), &definition.name);
    if name.len() > NAME_BYTES_MAX || !is_anchor_name(&definition.name) {
        return None;
    }
    let also = around.map_or(&[][..], |scope| &scope.also);
    let (first, last) = (
        &syntax.nodes[definition.first],
        &syntax.nodes[definition.last],
    );
    let (fingerprint, weight) = fingerprint_definition(normal, definition);
    Some(Symbol {
        name,
        also: also
            .iter()
            .map(|also| join_name(language, Some(also), &definition.name))
            .filter(|also| also.len() <= NAME_BYTES_MAX)
            .collect(),
        bytes: first.start..last.end,
        first_line: first.first_line,
        last_line: last.last_line,
        fingerprint,
        weight,
    })
}

/// Returns the fingerprint and weight of a definition, without its own name.
fn fingerprint_definition(
    normal: &NormalizedSyntax,
    definition: &SymbolDefinition,
) -> (Fingerprint, u32) {
    let (begin, end) = (
        normal.begins[definition.first],
        normal.ends[definition.last],
    );
    let leaves = end.leaves - begin.leaves;
    let name = definition
        .name_node
        .map(|name| (normal.begins[name], normal.ends[name]));
    match name {
        // A name inside a node written as leaves has the range of that node, which may exceed the
        // definition.
        Some((from, to)) if begin.byte <= from.byte && to.byte <= end.byte => {
            let pieces = [
                &normal.bytes[begin.byte..from.byte],
                &normal.bytes[to.byte..end.byte],
            ];
            let taken = Fingerprint::of(FingerprintMethod::Syntax, pieces);
            (taken, leaves - (to.leaves - from.leaves))
        }
        Some(_) | None => {
            let taken = Fingerprint::of(
                FingerprintMethod::Syntax,
                [&normal.bytes[begin.byte..end.byte]],
            );
            (taken, leaves)
        }
    }
}

fn build_inner_scope(
    language: Language,
    syntax: &SyntaxTree<'_>,
    id: SyntaxNodeId,
    definition: &SymbolDefinition,
    around: Option<&EnclosingScope>,
) -> Option<EnclosingScope> {
    let outer = around.map(|scope| &scope.name);
    let inside = around.is_some_and(|scope| scope.place == NodeContext::InBody);
    let place = match definition.opens {
        InnerScope::Nothing => return None,
        InnerScope::Body => NodeContext::InBody,
        // A class inside a function is local to the function, and so are its members.
        InnerScope::Members | InnerScope::MembersOf { .. } if inside => NodeContext::InBody,
        InnerScope::Members | InnerScope::MembersOf { .. } => NodeContext::Outside,
    };
    let (name, also) = match &definition.opens {
        InnerScope::MembersOf { name, also } => (name, drop_long_names(also)),
        InnerScope::Nothing | InnerScope::Members | InnerScope::Body => {
            (&definition.name, Vec::new())
        }
    };
    let name = join_name(language, outer, name);
    // Members of a scope with an oversized name are named without it.
    (name.len() <= NAME_BYTES_MAX).then(|| EnclosingScope {
        end: syntax.nodes[id].next,
        name,
        also,
        place,
    })
}

/// Returns whether an anchor can contain the name: non-empty, trimmed, on one line.
fn is_anchor_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control)
}

fn drop_long_names(names: &[String]) -> Vec<String> {
    let names = names.iter().filter(|name| name.len() <= NAME_BYTES_MAX);
    names.cloned().collect()
}

fn join_name(language: Language, outer: Option<&String>, name: &str) -> String {
    match outer {
        Some(outer) if !outer.is_empty() => format!("{outer}{}{name}", language.separator()),
        Some(_) | None => name.to_owned(),
    }
}
