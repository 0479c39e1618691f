//! A parsed file as a flat list of nodes, comments left out.
//!
//! Nodes stand in the order of the source, each before what is inside it, so every later step is a loop:
//! no function calls itself, and no input can be nested deeply enough to exhaust the stack.
//!
//! Invariant: every byte that is neither a comment nor whitespace is in some leaf, and inside strings
//! whitespace is too. Some grammars leave text between their nodes; it becomes leaves of kind [`GAP`].

use std::sync::OnceLock;

use tree_sitter::{Parser, Tree, TreeCursor};

use crate::language::Language;

/// The kind of text a grammar gives no node of its own.
pub(crate) const GAP: &str = "gap";

/// Where a node stands in the list.
pub(crate) type Id = usize;

/// One node of a syntax tree.
#[derive(Debug)]
pub(crate) struct Node<'t> {
    pub(crate) kind: &'t str,
    /// What stands for the kind in fingerprints.
    pub(crate) kind_hash: u32,
    pub(crate) field: Option<&'t str>,
    /// Whether the grammar gives it a name; tokens such as `(` have none.
    pub(crate) named: bool,
    pub(crate) parent: Id,
    /// The node before this one inside the same parent.
    pub(crate) previous: Option<Id>,
    /// The node after everything inside this one.
    pub(crate) next: Id,
    /// Bytes of the source.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Lines, counted from 1.
    pub(crate) first_line: u32,
    pub(crate) last_line: u32,
}

/// A file and its nodes.
#[derive(Debug)]
pub(crate) struct Syntax<'t> {
    pub(crate) source: &'t [u8],
    pub(crate) nodes: Vec<Node<'t>>,
}

/// Parses a file, whatever it holds; parts the grammar does not know become nodes of kind `ERROR`.
pub(crate) fn parse(language: Language, source: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    parser.parse(source, None)
}

impl<'t> Syntax<'t> {
    pub(crate) fn of(language: Language, tree: &'t Tree, source: &'t [u8]) -> Self {
        let mut builder = Builder {
            kinds: Kinds::of(language),
            source,
            nodes: Vec::with_capacity(tree.root_node().descendant_count()),
            open: Vec::new(),
            covered: 0,
            last: None,
        };
        builder.walk(&mut tree.walk());
        Self {
            source,
            nodes: builder.nodes,
        }
    }

    /// Returns what stands in the source, as bytes.
    pub(crate) fn bytes(&self, id: Id) -> &'t [u8] {
        let node = &self.nodes[id];
        &self.source[node.start..node.end]
    }

    /// Returns what stands in the source, whatever its encoding.
    pub(crate) fn text(&self, id: Id) -> String {
        String::from_utf8_lossy(self.bytes(id)).into_owned()
    }

    pub(crate) fn kind(&self, id: Id) -> &'t str {
        self.nodes[id].kind
    }

    pub(crate) fn is_leaf(&self, id: Id) -> bool {
        self.nodes[id].next == id + 1
    }

    /// Returns the node around this one, if there is one.
    pub(crate) fn parent(&self, id: Id) -> Option<Id> {
        (id != 0).then(|| self.nodes[id].parent)
    }

    /// Returns the kind of the node around this one, or nothing at the root.
    pub(crate) fn parent_kind(&self, id: Id) -> &'t str {
        self.parent(id).map_or("", |parent| self.kind(parent))
    }

    /// Returns the node after this one inside the same parent.
    pub(crate) fn following(&self, id: Id) -> Option<Id> {
        let next = self.nodes[id].next;
        let parent = self.parent(id)?;
        (next < self.nodes[parent].next).then_some(next)
    }

    /// Returns the kind of the node before this one inside the same parent, or nothing.
    pub(crate) fn previous_kind(&self, id: Id) -> &'t str {
        self.nodes[id]
            .previous
            .map_or("", |previous| self.kind(previous))
    }

    pub(crate) fn children(&self, id: Id) -> Children<'_, 't> {
        Children {
            syntax: self,
            at: id + 1,
            end: self.nodes[id].next,
        }
    }

    /// Returns the children that are more than tokens.
    pub(crate) fn named(&self, id: Id) -> impl Iterator<Item = Id> {
        self.children(id).filter(|&child| self.nodes[child].named)
    }

    /// Returns the only child that is more than a token, if there is exactly one.
    pub(crate) fn only(&self, id: Id) -> Option<Id> {
        let mut named = self.named(id);
        let only = named.next()?;
        named.next().is_none().then_some(only)
    }

    pub(crate) fn field(&self, id: Id, field: &str) -> Option<Id> {
        self.children(id)
            .find(|&child| self.nodes[child].field == Some(field))
    }

    pub(crate) fn child(&self, id: Id, kind: &str) -> Option<Id> {
        self.children(id).find(|&child| self.kind(child) == kind)
    }

    pub(crate) fn has(&self, id: Id, kind: &str) -> bool {
        self.child(id, kind).is_some()
    }
}

/// The nodes directly inside another.
#[derive(Clone, Debug)]
pub(crate) struct Children<'s, 't> {
    syntax: &'s Syntax<'t>,
    at: Id,
    end: Id,
}

impl Iterator for Children<'_, '_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        (self.at < self.end).then(|| {
            let id = self.at;
            self.at = self.syntax.nodes[id].next;
            id
        })
    }
}

struct Builder<'t> {
    kinds: &'static Kinds,
    source: &'t [u8],
    nodes: Vec<Node<'t>>,
    /// The nodes around the cursor, and whether whitespace counts in them.
    open: Vec<(Id, bool)>,
    /// All bytes before this one are in some leaf, or may be left out.
    covered: usize,
    /// The last node added inside the innermost open one.
    last: Option<Id>,
}

impl<'t> Builder<'t> {
    fn walk(&mut self, cursor: &mut TreeCursor<'t>) {
        loop {
            let descend = self.enter(cursor);
            if descend && cursor.goto_first_child() {
                continue;
            }
            if descend {
                self.leave();
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.leave();
            }
        }
    }

    /// Adds the node under the cursor. Returns whether it stays open for what is inside it.
    fn enter(&mut self, cursor: &TreeCursor<'t>) -> bool {
        let node = cursor.node();
        let (start, end) = (node.start_byte(), node.end_byte());
        self.fill(start);
        let kind = self.kinds.get(node.kind_id());
        if kind.is_comment {
            self.covered = self.covered.max(end);
            return false;
        }
        if node.child_count() == 0 {
            self.covered = self.covered.max(end);
        }
        let id = self.nodes.len();
        let (parent, around) = self.open.last().copied().unwrap_or((0, false));
        self.nodes.push(Node {
            kind: kind.name,
            kind_hash: kind.hash,
            field: cursor.field_id().and_then(|id| self.kinds.field(id.get())),
            named: node.is_named(),
            parent,
            previous: self.last.replace(id),
            next: id + 1,
            start,
            end,
            first_line: line(node.start_position().row),
            last_line: last_line(node.start_position().row, node.end_position()),
        });
        self.last = None;
        self.open.push((id, kind.is_verbatim.unwrap_or(around)));
        true
    }

    fn leave(&mut self) {
        let Some(&(id, _)) = self.open.last() else {
            return;
        };
        self.fill(self.nodes[id].end);
        self.open.pop();
        self.last = Some(id);
        self.nodes[id].next = self.nodes.len();
    }

    /// Makes a leaf of what stands between the last leaf and `to`, if it counts.
    fn fill(&mut self, to: usize) {
        let from = self.covered;
        let Some(&(parent, verbatim)) = self.open.last() else {
            return;
        };
        if to <= from {
            return;
        }
        self.covered = to;
        let gap = &self.source[from..to];
        let trimmed = gap.trim_ascii();
        if !verbatim && is_continuation(trimmed) {
            return;
        }
        if (trimmed.is_empty() && !verbatim) || gap.is_empty() {
            return;
        }
        let lead = gap.len() - gap.trim_ascii_start().len();
        let (start, end) = if verbatim {
            (from, to)
        } else {
            (from + lead, from + lead + trimmed.len())
        };
        let first_line = self.nodes[parent].first_line;
        let id = self.nodes.len();
        self.nodes.push(Node {
            kind: GAP,
            kind_hash: kind_hash(GAP),
            field: None,
            named: false,
            parent,
            previous: self.last.replace(id),
            next: id + 1,
            start,
            end,
            first_line,
            last_line: first_line,
        });
    }
}

/// Whether a gap holds nothing but backslashes that join lines.
fn is_continuation(gap: &[u8]) -> bool {
    gap.iter().all(|b| *b == b'\\' || b.is_ascii_whitespace())
}

fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

/// A node that ends at the start of a line ends with the line before.
fn last_line(first_row: usize, end: tree_sitter::Point) -> u32 {
    let row = if end.column == 0 {
        end.row.saturating_sub(1)
    } else {
        end.row
    };
    line(row.max(first_row))
}

fn is_comment(kind: &str) -> bool {
    matches!(
        kind,
        "comment"
            | "line_comment"
            | "block_comment"
            | "html_comment"
            | "multiline_comment"
            | "line_continuation"
    )
}

/// Whether whitespace between the children of such a node is a part of what the program says; nothing, if
/// the node around it decides.
fn is_verbatim(kind: &str) -> Option<bool> {
    const CODE: [&str; 5] = [
        "interpolation",
        "substitution",
        "interpolated_expression",
        "jsx_expression",
        "concatenated_string",
    ];
    const TEXT: [&str; 9] = [
        "code_fence_content",
        "indented_code_block",
        "string",
        "heredoc",
        "nowdoc",
        "char",
        "regex",
        "quote",
        "expansion",
    ];
    if CODE.iter().any(|code| kind.contains(code)) {
        return Some(false);
    }
    TEXT.iter().any(|text| kind.contains(text)).then_some(true)
}

/// What is known of a kind of node.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    hash: u32,
    is_comment: bool,
    is_verbatim: Option<bool>,
}

/// The kinds of a grammar.
#[derive(Debug)]
struct Kinds {
    known: Vec<Kind>,
    fields: Vec<Option<&'static str>>,
    error: Kind,
}

const LANGUAGES: usize = Language::ALL.len();

/// The grammars and kinds of each language, looked at once.
static GRAMMARS: [OnceLock<tree_sitter::Language>; LANGUAGES] =
    [const { OnceLock::new() }; LANGUAGES];
static KINDS: [OnceLock<Kinds>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

impl Kinds {
    fn of(language: Language) -> &'static Self {
        KINDS[language as usize].get_or_init(|| {
            let grammar = GRAMMARS[language as usize].get_or_init(|| language.grammar());
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let names = (0..count).map(|id| grammar.node_kind_for_id(id).unwrap_or("ERROR"));
            let fields = u16::try_from(grammar.field_count()).unwrap_or(u16::MAX);
            Self {
                known: names.map(Kind::of).collect(),
                fields: (0..=fields)
                    .map(|id| grammar.field_name_for_id(id))
                    .collect(),
                error: Kind::of("ERROR"),
            }
        })
    }

    fn field(&self, id: u16) -> Option<&'static str> {
        self.fields.get(usize::from(id)).copied().flatten()
    }

    fn get(&self, id: u16) -> Kind {
        // The kind of errors has a number far beyond all others.
        *self.known.get(usize::from(id)).unwrap_or(&self.error)
    }
}

impl Kind {
    fn of(name: &'static str) -> Self {
        Self {
            name,
            hash: kind_hash(name),
            is_comment: is_comment(name),
            is_verbatim: is_verbatim(name),
        }
    }
}

/// Returns 32 bits that stand for a kind (FNV-1a); a grammar has a few hundred kinds.
pub(crate) const fn kind_hash(kind: &str) -> u32 {
    let bytes = kind.as_bytes();
    let mut hash = 0x811c_9dc5;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}
