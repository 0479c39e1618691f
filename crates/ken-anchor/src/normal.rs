//! What a program says, without how it is laid out: the bytes that fingerprints are made of.
//!
//! The tree is written down as openings, leaves and closings. Each formatter has habits that change the tree
//! but not the meaning (trailing commas, quotes, parentheses); a [`Form`] for every node undoes them.
//! A habit is undone only where both spellings mean the same in every program: a claim about code that
//! changed must not pass as intact, so in doubt two spellings differ.

mod other;
mod python;
mod rust;
mod script;
mod text;

use std::borrow::Cow;

use crate::language::Language;
use crate::syntax::{GAP, Id, Syntax, kind_hash};

/// How a node is written down.
#[derive(Debug)]
pub(crate) enum Form<'t> {
    /// As it is: its kind around what is inside, or its text.
    Whole,
    /// Under another name, since two kinds of node mean the same.
    As(&'static str),
    /// Only what is inside it.
    Inside,
    /// Not at all.
    Nothing,
    /// As leaves, without a look at what is inside.
    Leaves(Vec<(&'static str, Cow<'t, [u8]>)>),
}

/// A file written down.
#[derive(Debug)]
pub(crate) struct Normal {
    pub(crate) bytes: Vec<u8>,
    /// Where each node begins and ends in `bytes`, and how many leaves stand before these places.
    pub(crate) begins: Vec<Mark>,
    pub(crate) ends: Vec<Mark>,
}

/// A place in what was written down.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) byte: usize,
    pub(crate) leaves: u32,
}

const OPEN: u8 = 1;
const LEAF: u8 = 2;
const CLOSE: u8 = 3;

/// Stands for the kind of all tokens without a name.
const TOKEN: u32 = 0;

/// Writes a whole file down.
pub(crate) fn normal(language: Language, syntax: &Syntax<'_>) -> Normal {
    let count = syntax.nodes.len();
    let mut writer = Writer {
        joins_breaks: joins_breaks(language),
        bytes: Vec::with_capacity(syntax.source.len() * 2),
        leaves: 0,
    };
    let mut begins = vec![Mark::default(); count];
    let mut ends = vec![Mark::default(); count];
    let mut open: Vec<(Id, bool)> = Vec::new();
    let mut id = 0;
    while id < count {
        while let Some((around, is_closed)) =
            open.pop_if(|(around, _)| syntax.nodes[*around].next <= id)
        {
            writer.close(is_closed);
            ends[around] = writer.mark();
        }
        begins[id] = writer.mark();
        let inside = writer.node(language, syntax, id);
        ends[id] = writer.mark();
        let next = syntax.nodes[id].next;
        match inside {
            Some(is_closed) => {
                open.push((id, is_closed));
                id += 1;
            }
            None => {
                // What is not looked into stands, for every node inside, where it stands for all.
                for inner in id + 1..next {
                    begins[inner] = begins[id];
                    ends[inner] = ends[id];
                }
                id = next;
            }
        }
    }
    while let Some((around, is_closed)) = open.pop() {
        writer.close(is_closed);
        ends[around] = writer.mark();
    }
    Normal {
        bytes: writer.bytes,
        begins,
        ends,
    }
}

struct Writer {
    /// Whether `\r\n` means `\n` everywhere.
    joins_breaks: bool,
    bytes: Vec<u8>,
    leaves: u32,
}

impl Writer {
    fn mark(&self) -> Mark {
        Mark {
            byte: self.bytes.len(),
            leaves: self.leaves,
        }
    }

    /// Writes a node. Returns whether to look inside it, and whether to close it then.
    fn node(&mut self, language: Language, syntax: &Syntax<'_>, id: Id) -> Option<bool> {
        match form(language, syntax, id) {
            Form::Whole if syntax.is_leaf(id) => {
                self.token(syntax, id);
                None
            }
            Form::Whole => {
                self.open(syntax.nodes[id].kind_hash);
                Some(true)
            }
            Form::As(kind) => {
                self.open(kind_hash(kind));
                Some(true)
            }
            Form::Inside => Some(false),
            Form::Nothing => None,
            Form::Leaves(leaves) => {
                for (kind, text) in leaves {
                    self.leaf(kind_hash(kind), &text);
                }
                None
            }
        }
    }

    fn token(&mut self, syntax: &Syntax<'_>, id: Id) {
        let node = &syntax.nodes[id];
        let text = syntax.bytes(id);
        if node.named || node.kind == GAP {
            self.leaf(node.kind_hash, text);
        } else if !text.trim_ascii().is_empty() {
            // `not  in` is one token to Python's grammar.
            self.leaf(TOKEN, &text::collapse(text));
        }
    }

    fn open(&mut self, kind: u32) {
        self.bytes.push(OPEN);
        self.bytes.extend_from_slice(&kind.to_le_bytes());
    }

    /// Lengths go first, so that no text can pass for the end of another.
    fn leaf(&mut self, kind: u32, text: &[u8]) {
        let text = match self.joins_breaks {
            true => text::with_plain_breaks(text),
            false => Cow::Borrowed(text),
        };
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.bytes.push(LEAF);
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&text);
        self.leaves += 1;
    }

    fn close(&mut self, is_closed: bool) {
        if is_closed {
            self.bytes.push(CLOSE);
        }
    }
}

/// Whether a language reads `\r\n` as `\n` even inside strings, so that a checkout on another system says
/// the same.
fn joins_breaks(language: Language) -> bool {
    matches!(
        language,
        Language::Rust
            | Language::Python
            | Language::TypeScript
            | Language::Tsx
            | Language::JavaScript
    )
}

fn form<'t>(language: Language, syntax: &Syntax<'t>, id: Id) -> Form<'t> {
    if syntax.kind(id) == "," && is_trailing_comma(syntax, id) {
        return Form::Nothing;
    }
    match language {
        Language::Rust => rust::form(syntax, id),
        Language::Python => python::form(syntax, id),
        Language::TypeScript | Language::Tsx | Language::JavaScript => script::form(syntax, id),
        Language::Go => other::go(syntax, id),
        Language::C | Language::Cpp => other::c(syntax, id),
        Language::Bash => other::bash(syntax, id),
        Language::Toml => other::toml(syntax, id),
        Language::Yaml => other::yaml(syntax, id),
        Language::Markdown => other::markdown(syntax, id),
        Language::Java | Language::CSharp | Language::Ruby | Language::Php | Language::Json => {
            Form::Whole
        }
        #[cfg(feature = "more-languages")]
        Language::Kotlin | Language::Swift => Form::Whole,
    }
}

/// Whether a comma stands before a closing bracket and says nothing.
fn is_trailing_comma(syntax: &Syntax<'_>, id: Id) -> bool {
    /// With one element and one comma these are tuples; without the comma they are not.
    const TUPLES: [&str; 10] = [
        "tuple_expression",
        "tuple_type",
        "tuple_pattern",
        "tuple",
        "expression_list",
        "pattern_list",
        "subscript",
        "type_parameter",
        "case_pattern",
        "macro_rule",
    ];
    let Some(parent) = syntax.parent(id) else {
        return false;
    };
    let next = syntax.nodes[id].next;
    let is_last = match next < syntax.nodes[parent].next {
        true => {
            is_closing(syntax.kind(next)) && syntax.nodes[next].next == syntax.nodes[parent].next
        }
        false => true,
    };
    if !is_last {
        return false;
    }
    // `[a,,]` has a hole that `[a,]` has not.
    let mut before = "";
    let mut commas = 0;
    for child in syntax.children(parent) {
        if child == id {
            break;
        }
        before = syntax.kind(child);
        commas += usize::from(before == ",");
    }
    let has_element = !matches!(before, "," | "" | "[" | "(" | "{");
    has_element && (0 < commas || !TUPLES.contains(&syntax.kind(parent)))
}

fn is_closing(kind: &str) -> bool {
    matches!(kind, ")" | "]" | "}" | ">" | "|" | "|]")
}
