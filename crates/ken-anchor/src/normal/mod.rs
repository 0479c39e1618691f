//! Normalization of syntax: the bytes fingerprints are computed from.
//!
//! The tree is serialized as open, leaf and close records. Formatters make changes to the tree that
//! do not change the meaning (trailing commas, quotes, parentheses); the [`NodeForm`] of a node
//! undoes them. A change is undone only if both spellings are equivalent in every program. When in
//! doubt two spellings differ: a claim about changed code must not pass as valid.

mod other;
mod python;
mod rust;
mod script;
mod text;

use std::borrow::Cow;

use crate::language::Language;
use crate::syntax::{GAP, SyntaxNodeId, SyntaxTree, kind_hash};

/// Normalized form of a node.
#[derive(Debug)]
pub(crate) enum NodeForm<'t> {
    /// Unchanged: its kind around its children, or its text.
    Whole,
    /// Under another kind, because both kinds are equivalent.
    Renamed(&'static str),
    /// Only its children.
    Inside,
    /// Omitted.
    Nothing,
    /// As these leaves, without its children.
    Leaves(Vec<(&'static str, Cow<'t, [u8]>)>),
}

/// Normalized syntax of a file.
#[derive(Debug)]
pub(crate) struct NormalizedSyntax {
    pub(crate) bytes: Vec<u8>,
    /// Position in `bytes` where each node begins and ends, and the number of leaves before it.
    pub(crate) begins: Vec<OutputPosition>,
    pub(crate) ends: Vec<OutputPosition>,
}

/// A position in the normalized bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputPosition {
    pub(crate) byte: usize,
    pub(crate) leaves: u32,
}

const OPEN: u8 = 1;
const LEAF: u8 = 2;
const CLOSE: u8 = 3;

/// Kind written for all anonymous tokens.
const TOKEN: u32 = 0;

/// Normalizes the syntax of a whole file.
pub(crate) fn normalize(language: Language, syntax: &SyntaxTree<'_>) -> NormalizedSyntax {
    let count = syntax.nodes.len();
    let mut writer = SyntaxWriter {
        joins_breaks: normalizes_breaks(language),
        // A leaf adds nine bytes to its text, so twice the source is a good estimate.
        bytes: Vec::with_capacity(syntax.source.len() * 2),
        leaves: 0,
    };
    let mut begins = vec![OutputPosition::default(); count];
    let mut ends = vec![OutputPosition::default(); count];
    let mut open: Vec<(SyntaxNodeId, bool)> = Vec::new();
    let mut id = 0;
    while id < count {
        // Nodes are in pre-order: close all that end before this one.
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
                // Descendants of an omitted or flattened node take its range.
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
    NormalizedSyntax {
        bytes: writer.bytes,
        begins,
        ends,
    }
}

struct SyntaxWriter {
    /// True if `\r\n` is equivalent to `\n` everywhere.
    joins_breaks: bool,
    bytes: Vec<u8>,
    leaves: u32,
}

impl SyntaxWriter {
    fn mark(&self) -> OutputPosition {
        OutputPosition {
            byte: self.bytes.len(),
            leaves: self.leaves,
        }
    }

    /// Writes a node. Returns `None` to skip its children, otherwise whether a close record follows
    /// them.
    fn node(
        &mut self,
        language: Language,
        syntax: &SyntaxTree<'_>,
        id: SyntaxNodeId,
    ) -> Option<bool> {
        match node_form(language, syntax, id) {
            NodeForm::Whole if syntax.is_leaf(id) => {
                self.token(syntax, id);
                None
            }
            NodeForm::Whole => {
                self.open(syntax.nodes[id].kind_hash);
                Some(true)
            }
            NodeForm::Renamed(kind) => {
                self.open(kind_hash(kind));
                Some(true)
            }
            NodeForm::Inside => Some(false),
            NodeForm::Nothing => None,
            NodeForm::Leaves(leaves) => {
                for (kind, text) in leaves {
                    self.leaf(kind_hash(kind), &text);
                }
                None
            }
        }
    }

    fn token(&mut self, syntax: &SyntaxTree<'_>, id: SyntaxNodeId) {
        let node = &syntax.nodes[id];
        let text = syntax.bytes(id);
        if node.named || node.kind == GAP {
            self.leaf(node.kind_hash, text);
        } else if !text.trim_ascii().is_empty() {
            // Python's grammar has `not  in` as one token.
            self.leaf(TOKEN, &text::collapse_blanks(text));
        }
    }

    fn open(&mut self, kind: u32) {
        self.bytes.push(OPEN);
        self.bytes.extend_from_slice(&kind.to_le_bytes());
    }

    /// Writes a leaf. The length comes first, so that no text can imitate the end of another.
    fn leaf(&mut self, kind: u32, text: &[u8]) {
        let text = if self.joins_breaks {
            text::normalize_breaks(text)
        } else {
            Cow::Borrowed(text)
        };
        // Parsed files have at most 512 KiB, so the length always fits.
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

/// Returns whether a language reads `\r\n` as `\n` even inside strings, so that checkouts on
/// different systems have equal fingerprints.
fn normalizes_breaks(language: Language) -> bool {
    matches!(
        language,
        Language::Rust
            | Language::Python
            | Language::TypeScript
            | Language::Tsx
            | Language::JavaScript
    )
}

fn node_form<'t>(language: Language, syntax: &SyntaxTree<'t>, id: SyntaxNodeId) -> NodeForm<'t> {
    // One rule for all languages; `TUPLES` lists the exceptions.
    if syntax.kind(id) == "," && is_trailing_comma(syntax, id) {
        return NodeForm::Nothing;
    }
    match language {
        Language::Rust => rust::node_form(syntax, id),
        Language::Python => python::node_form(syntax, id),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            script::node_form(syntax, id)
        }
        Language::Go => other::go(syntax, id),
        Language::C | Language::Cpp => other::c(syntax, id),
        Language::Bash => other::bash(syntax, id),
        Language::Toml => other::toml(syntax, id),
        Language::Yaml => other::yaml(syntax, id),
        Language::Markdown => other::markdown(syntax, id),
        Language::Java | Language::CSharp | Language::Ruby | Language::Php | Language::Json => {
            NodeForm::Whole
        }
        #[cfg(feature = "more-languages")]
        Language::Kotlin | Language::Swift => NodeForm::Whole,
    }
}

/// Returns whether a comma before a closing bracket is insignificant.
fn is_trailing_comma(syntax: &SyntaxTree<'_>, id: SyntaxNodeId) -> bool {
    /// With one element, the comma makes these a tuple.
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
    let is_last = if next < syntax.nodes[parent].next {
        is_closing(syntax.kind(next)) && syntax.nodes[next].next == syntax.nodes[parent].next
    } else {
        true
    };
    if !is_last {
        return false;
    }
    // `[a,,]` has a hole that `[a,]` does not have.
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
    has_element && (commas > 0 || !TUPLES.contains(&syntax.kind(parent)))
}

fn is_closing(kind: &str) -> bool {
    matches!(kind, ")" | "]" | "}" | ">" | "|" | "|]")
}
