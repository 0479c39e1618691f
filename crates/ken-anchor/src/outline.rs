//! The symbols of a file, by name, place and fingerprint.
//!
//! A symbol's own name takes no part in its fingerprint, so one that was only renamed is found again; names
//! of what is inside it do. Several symbols may have one name (overloads, variants under `cfg`, methods of
//! two traits): the name means all of them together, `name[2]` the second of them.

use std::collections::BTreeMap;

use crate::definition::{Definition, Opens, Place, definitions};
use crate::fingerprint::{Fingerprint, Method};
use crate::language::Language;
use crate::lines::check;
use crate::normal::{Normal, normal};
use crate::syntax::{Id, Syntax, parse};

/// Bytes a symbol's name may have; longer ones cannot be written as anchors.
pub const NAME_BYTES_MAX: usize = 512;

/// Bytes of a file that is parsed. Larger ones are made by machines, and a hostile one would take a
/// grammar half a minute.
pub const PARSED_BYTES_MAX: usize = 512 * 1024;

/// Symbols inside symbols that are outlined. What is deeper belongs to those around it.
pub const NESTING_MAX: usize = 24;

/// Columns that lines of YAML may be indented by.
const YAML_INDENT_MAX: usize = 200;

/// One symbol of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its qualified name: `Ledger::charge`.
    pub name: String,
    /// Other names for it alone: `<Ledger as Display>::fmt`.
    pub also: Vec<String>,
    /// Where it stands, in bytes of the source.
    pub bytes: std::ops::Range<usize>,
    /// Its first and last line, counted from 1.
    pub first_line: u32,
    pub last_line: u32,
    pub fingerprint: Fingerprint,
    /// How much the fingerprint stands for: its leaves of syntax.
    pub weight: u32,
}

/// What a file defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    language: Option<Language>,
    symbols: Vec<Symbol>,
}

/// Finds the symbols of a file. One without a grammar, a binary and one too large have none.
pub fn outline(path: &str, source: &[u8]) -> Outline {
    let language = Language::of(path);
    let fits = |it: &Language| {
        source.len() <= PARSED_BYTES_MAX && check(source).is_ok() && !is_too_deep(*it, source)
    };
    let Some(language) = language.filter(fits) else {
        return Outline::default();
    };
    let symbols = match parse(language, source) {
        Some(tree) => symbols(language, &Syntax::of(language, &tree, source)),
        None => Vec::new(),
    };
    Outline {
        language: Some(language),
        symbols,
    }
}

/// Whether a file would stop the program: YAML's grammar gives up with an abort on deep indentation.
fn is_too_deep(language: Language, source: &[u8]) -> bool {
    let lead = |line: &[u8]| line.iter().take_while(|b| b" -?:\t".contains(b)).count();
    let mut lines = source.split(|b| *b == b'\n' || *b == b'\r');
    language == Language::Yaml && lines.any(|line| YAML_INDENT_MAX < lead(line))
}

impl Outline {
    pub(crate) fn new(language: Language, symbols: Vec<Symbol>) -> Self {
        Self {
            language: Some(language),
            symbols,
        }
    }

    /// Returns the language it was read as, if there is a grammar.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Returns all symbols, in the order of the source.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns the symbols a name means: by full name, by another name, by number, or, if all that end
    /// with it have one name, by its last parts.
    pub fn find(&self, name: &str) -> Vec<&Symbol> {
        let named = self.all(|symbol| symbol.name == name);
        if !named.is_empty() {
            return named;
        }
        let also = self.all(|symbol| symbol.also.iter().any(|also| also == name));
        if !also.is_empty() {
            return also;
        }
        if let Some((name, number)) = numbered(name) {
            let all = self.all(|symbol| symbol.name == name);
            return all.get(number - 1).copied().into_iter().collect();
        }
        let ending = self.ending(name);
        match ending.first() {
            Some(first) if ending.iter().all(|symbol| symbol.name == first.name) => ending,
            Some(_) | None => Vec::new(),
        }
    }

    /// Returns the symbols whose name ends with these parts.
    pub(crate) fn ending(&self, name: &str) -> Vec<&Symbol> {
        let separator = self.language.map_or(".", Language::separator);
        self.all(|symbol| {
            let before = symbol.name.strip_suffix(name);
            !name.is_empty() && before.is_some_and(|before| before.ends_with(separator))
        })
    }

    /// Returns every meaning of a name: each symbol, and those of one name together.
    pub(crate) fn meanings(&self) -> Vec<Vec<&Symbol>> {
        let mut named: BTreeMap<&str, Vec<&Symbol>> = BTreeMap::new();
        for symbol in &self.symbols {
            named.entry(&symbol.name).or_default().push(symbol);
        }
        let alone = self.symbols.iter().map(|symbol| vec![symbol]);
        let together = named.into_values().filter(|all| 1 < all.len());
        alone.chain(together).collect()
    }

    /// Returns what its names can mean, as fingerprints: where one of them is, code may have moved to.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        let meanings = self.meanings().into_iter();
        meanings.filter_map(|all| {
            let all: Vec<_> = all.iter().map(|symbol| symbol.fingerprint).collect();
            Fingerprint::combined(&all)
        })
    }

    /// Returns a name by which this symbol alone is found.
    pub fn exact_name(&self, symbol: &Symbol) -> String {
        let all = self.all(|other| other.name == symbol.name);
        match all.iter().position(|other| other.bytes == symbol.bytes) {
            Some(at) if 1 < all.len() => format!("{}[{}]", symbol.name, at + 1),
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

/// Reads `name[2]`.
fn numbered(name: &str) -> Option<(&str, usize)> {
    let (name, number) = name.strip_suffix(']')?.rsplit_once('[')?;
    let number = number.parse().ok()?;
    (0 < number).then_some((name, number))
}

/// What is around the node at hand.
struct Scope {
    end: Id,
    name: String,
    also: Vec<String>,
    place: Place,
}

fn symbols(language: Language, syntax: &Syntax<'_>) -> Vec<Symbol> {
    let normal = normal(language, syntax);
    let mut found = Vec::new();
    let mut scopes: Vec<Scope> = Vec::new();
    for id in 0..syntax.nodes.len() {
        while scopes.pop_if(|scope| scope.end <= id).is_some() {}
        if NESTING_MAX <= scopes.len() {
            continue;
        }
        let place = scopes.last().map_or(Place::Outside, |scope| scope.place);
        for definition in definitions(language, syntax, id, place) {
            let scope = inner_scope(language, syntax, id, &definition, scopes.last());
            found.extend(symbol(
                language,
                syntax,
                &normal,
                &definition,
                scopes.last(),
            ));
            scopes.extend(scope);
        }
    }
    found.sort_by_key(|symbol| (symbol.bytes.start, symbol.first_line));
    found
}

fn symbol(
    language: Language,
    syntax: &Syntax<'_>,
    normal: &Normal,
    definition: &Definition,
    around: Option<&Scope>,
) -> Option<Symbol> {
    let name = joined(language, around.map(|scope| &scope.name), &definition.name);
    if NAME_BYTES_MAX < name.len() || !is_writable(&definition.name) {
        return None;
    }
    let also = around.map_or(&[][..], |scope| &scope.also);
    let (first, last) = (
        &syntax.nodes[definition.first],
        &syntax.nodes[definition.last],
    );
    let (fingerprint, weight) = fingerprint(normal, definition);
    Some(Symbol {
        name,
        also: also
            .iter()
            .map(|also| joined(language, Some(also), &definition.name))
            .filter(|also| also.len() <= NAME_BYTES_MAX)
            .collect(),
        bytes: first.start..last.end,
        first_line: first.first_line,
        last_line: last.last_line,
        fingerprint,
        weight,
    })
}

/// Takes the fingerprint of a definition, its own name left out.
fn fingerprint(normal: &Normal, definition: &Definition) -> (Fingerprint, u32) {
    let (begin, end) = (
        normal.begins[definition.first],
        normal.ends[definition.last],
    );
    let leaves = end.leaves - begin.leaves;
    let name = definition
        .name_node
        .map(|name| (normal.begins[name], normal.ends[name]));
    match name {
        Some((from, to)) if begin.byte <= from.byte && to.byte <= end.byte => {
            let pieces = [
                &normal.bytes[begin.byte..from.byte],
                &normal.bytes[to.byte..end.byte],
            ];
            let taken = Fingerprint::of(Method::Syntax, pieces);
            (taken, leaves - (to.leaves - from.leaves))
        }
        Some(_) | None => {
            let taken = Fingerprint::of(Method::Syntax, [&normal.bytes[begin.byte..end.byte]]);
            (taken, leaves)
        }
    }
}

fn inner_scope(
    language: Language,
    syntax: &Syntax<'_>,
    id: Id,
    definition: &Definition,
    around: Option<&Scope>,
) -> Option<Scope> {
    let outer = around.map(|scope| &scope.name);
    let inside = around.is_some_and(|scope| scope.place == Place::InBody);
    let place = match definition.opens {
        Opens::Nothing => return None,
        Opens::Body => Place::InBody,
        Opens::Members | Opens::MembersOf { .. } if inside => Place::InBody,
        Opens::Members | Opens::MembersOf { .. } => Place::Outside,
    };
    let (name, also) = match &definition.opens {
        Opens::MembersOf { name, also } => (name, writable(also)),
        Opens::Nothing | Opens::Members | Opens::Body => (&definition.name, Vec::new()),
    };
    let name = joined(language, outer, name);
    // Those inside a name too long to be written go without it.
    (name.len() <= NAME_BYTES_MAX).then(|| Scope {
        end: syntax.nodes[id].next,
        name,
        also,
        place,
    })
}

/// Whether a name can stand in an anchor: as text on one line.
fn is_writable(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control)
}

fn writable(names: &[String]) -> Vec<String> {
    let names = names.iter().filter(|name| name.len() <= NAME_BYTES_MAX);
    names.cloned().collect()
}

fn joined(language: Language, outer: Option<&String>, name: &str) -> String {
    match outer {
        Some(outer) if !outer.is_empty() => format!("{outer}{}{name}", language.separator()),
        Some(_) | None => name.to_owned(),
    }
}
