//! Syntax tree of a file as a flat list of nodes, without comments.
//!
//! Nodes are in source order, each before its descendants, so every later step is a loop: no
//! function recurses, and no input can nest deeply enough to overflow the stack.
//!
//! Invariant: every byte that is neither a comment nor whitespace belongs to some leaf; inside
//! strings, whitespace does too. Some grammars leave text between their nodes; it becomes leaves of
//! kind [`GAP`].

use std::sync::OnceLock;

use tree_sitter::{Parser, Tree, TreeCursor};

use crate::language::Language;

/// Kind of leaves for text that the grammar has no node for.
pub(crate) const GAP: &str = "gap";

/// Index of a node in the list.
pub(crate) type SyntaxNodeId = usize;

/// One node of a syntax tree.
#[derive(Debug)]
pub(crate) struct SyntaxNode<'t> {
    pub(crate) kind: &'t str,
    /// Hash of the kind, used in fingerprints.
    pub(crate) kind_hash: u32,
    pub(crate) field: Option<&'t str>,
    /// True if the grammar names the node; tokens such as `(` are anonymous.
    pub(crate) named: bool,
    pub(crate) parent: SyntaxNodeId,
    /// Previous sibling.
    pub(crate) previous: Option<SyntaxNodeId>,
    /// Index after the last descendant.
    pub(crate) next: SyntaxNodeId,
    /// Byte range in the source.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Lines, counted from 1.
    pub(crate) first_line: u32,
    pub(crate) last_line: u32,
}

/// The nodes of a parsed file.
#[derive(Debug)]
pub(crate) struct SyntaxTree<'t> {
    pub(crate) source: &'t [u8],
    pub(crate) nodes: Vec<SyntaxNode<'t>>,
}

/// Parses a file. Parts that do not match the grammar become nodes of kind `ERROR_KEYS`.
pub(crate) fn parse_tree(language: Language, source: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    parser.parse(source, None)
}

impl<'t> SyntaxTree<'t> {
    pub(crate) fn of(language: Language, tree: &'t Tree, source: &'t [u8]) -> Self {
        let mut builder = SyntaxBuilder {
            kinds: GrammarKinds::of(language),
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

    /// Returns the source bytes of a node.
    pub(crate) fn bytes(&self, id: SyntaxNodeId) -> &'t [u8] {
        let node = &self.nodes[id];
        &self.source[node.start..node.end]
    }

    /// Returns the source text of a node, with invalid UTF-8 replaced.
    pub(crate) fn text(&self, id: SyntaxNodeId) -> String {
        String::from_utf8_lossy(self.bytes(id)).into_owned()
    }

    pub(crate) fn kind(&self, id: SyntaxNodeId) -> &'t str {
        self.nodes[id].kind
    }

    pub(crate) fn is_leaf(&self, id: SyntaxNodeId) -> bool {
        self.nodes[id].next == id + 1
    }

    /// Returns the parent, or `None` at the root.
    pub(crate) fn parent(&self, id: SyntaxNodeId) -> Option<SyntaxNodeId> {
        // The root stores itself as its parent.
        (id != 0).then(|| self.nodes[id].parent)
    }

    /// Returns the kind of the parent, or an empty string at the root.
    pub(crate) fn parent_kind(&self, id: SyntaxNodeId) -> &'t str {
        self.parent(id).map_or("", |parent| self.kind(parent))
    }

    /// Returns the next sibling.
    pub(crate) fn next_sibling(&self, id: SyntaxNodeId) -> Option<SyntaxNodeId> {
        let next = self.nodes[id].next;
        let parent = self.parent(id)?;
        (next < self.nodes[parent].next).then_some(next)
    }

    /// Returns the kind of the previous sibling, or an empty string.
    pub(crate) fn previous_kind(&self, id: SyntaxNodeId) -> &'t str {
        self.nodes[id]
            .previous
            .map_or("", |previous| self.kind(previous))
    }

    pub(crate) fn children(&self, id: SyntaxNodeId) -> ChildNodes<'_, 't> {
        ChildNodes {
            syntax: self,
            at: id + 1,
            end: self.nodes[id].next,
        }
    }

    /// Returns the named children.
    pub(crate) fn named(&self, id: SyntaxNodeId) -> impl Iterator<Item = SyntaxNodeId> {
        self.children(id).filter(|&child| self.nodes[child].named)
    }

    /// Returns the only named child, if there is exactly one.
    pub(crate) fn only(&self, id: SyntaxNodeId) -> Option<SyntaxNodeId> {
        let mut named = self.named(id);
        let only = named.next()?;
        named.next().is_none().then_some(only)
    }

    pub(crate) fn field(&self, id: SyntaxNodeId, field: &str) -> Option<SyntaxNodeId> {
        self.children(id)
            .find(|&child| self.nodes[child].field == Some(field))
    }

    pub(crate) fn child(&self, id: SyntaxNodeId, kind: &str) -> Option<SyntaxNodeId> {
        self.children(id).find(|&child| self.kind(child) == kind)
    }

    pub(crate) fn has(&self, id: SyntaxNodeId, kind: &str) -> bool {
        self.child(id, kind).is_some()
    }
}

/// Iterator over the children of a node.
#[derive(Clone, Debug)]
pub(crate) struct ChildNodes<'s, 't> {
    syntax: &'s SyntaxTree<'t>,
    at: SyntaxNodeId,
    end: SyntaxNodeId,
}

impl Iterator for ChildNodes<'_, '_> {
    type Item = SyntaxNodeId;

    fn next(&mut self) -> Option<SyntaxNodeId> {
        (self.at < self.end).then(|| {
            let id = self.at;
            self.at = self.syntax.nodes[id].next;
            id
        })
    }
}

struct SyntaxBuilder<'t> {
    kinds: &'static GrammarKinds,
    source: &'t [u8],
    nodes: Vec<SyntaxNode<'t>>,
    /// Ancestors of the cursor, each with whether whitespace inside it is significant.
    open: Vec<(SyntaxNodeId, bool)>,
    /// All bytes before this offset are in some leaf or insignificant.
    covered: usize,
    /// The last child added to the innermost open node.
    last: Option<SyntaxNodeId>,
}

impl<'t> SyntaxBuilder<'t> {
    fn walk(&mut self, cursor: &mut TreeCursor<'t>) {
        loop {
            // Walks with an explicit cursor instead of recursion; see the module documentation.
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

    /// Adds the node under the cursor. Returns whether it stays open for its children.
    fn enter(&mut self, cursor: &TreeCursor<'t>) -> bool {
        let node = cursor.node();
        let (start, end) = (node.start_byte(), node.end_byte());
        // Text before this node must become a leaf first, to keep source order.
        self.fill(start);
        let kind = self.kinds.get(node.kind_id());
        // Comments are covered without a leaf: they never reach a fingerprint.
        if kind.is_comment {
            self.covered = self.covered.max(end);
            return false;
        }
        // Only leaves cover their bytes; text between the children of an inner node may be a gap.
        if node.child_count() == 0 {
            self.covered = self.covered.max(end);
        }
        let id = self.nodes.len();
        let (parent, around) = self.open.last().copied().unwrap_or((0, false));
        self.nodes.push(SyntaxNode {
            kind: kind.name,
            kind_hash: kind.hash,
            field: cursor.field_id().and_then(|id| self.kinds.field(id.get())),
            named: node.is_named(),
            parent,
            previous: self.last.replace(id),
            next: id + 1,
            start,
            end,
            first_line: line_number(node.start_position().row),
            last_line: last_line_number(node.start_position().row, node.end_position()),
        });
        // The new node has no children yet; `leave` restores it as the last sibling.
        self.last = None;
        // Whether whitespace counts is inherited unless the kind decides it.
        self.open.push((id, kind.is_verbatim.unwrap_or(around)));
        true
    }

    fn leave(&mut self) {
        let Some(&(id, _)) = self.open.last() else {
            return;
        };
        // The rest of the node belongs to it, so fill before closing it.
        self.fill(self.nodes[id].end);
        self.open.pop();
        self.last = Some(id);
        self.nodes[id].next = self.nodes.len();
    }

    /// Adds a leaf for the text between the last leaf and `to`, if it is significant.
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
        // Outside strings, a backslash at the end of a line is layout.
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
        // An approximation: definitions start and end at nodes of the grammar, whose lines are
        // exact.
        let first_line = self.nodes[parent].first_line;
        let id = self.nodes.len();
        self.nodes.push(SyntaxNode {
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

/// Returns whether a gap holds only blanks and backslashes that join lines.
fn is_continuation(gap: &[u8]) -> bool {
    gap.iter().all(|b| *b == b'\\' || b.is_ascii_whitespace())
}

fn line_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns the last line of a node. A node that ends at the start of a line ends with the line
/// before.
fn last_line_number(first_row: usize, end: tree_sitter::Point) -> u32 {
    let row = if end.column == 0 {
        end.row.saturating_sub(1)
    } else {
        end.row
    };
    line_number(row.max(first_row))
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

/// Returns whether whitespace between the children of such a node is significant, or `None` if it
/// inherits that from its parent.
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
    // Code inside strings comes first: `string_interpolation` also contains `string`.
    if CODE.iter().any(|code| kind.contains(code)) {
        return Some(false);
    }
    TEXT.iter().any(|text| kind.contains(text)).then_some(true)
}

/// Properties of a node kind.
#[derive(Clone, Copy, Debug)]
struct NodeKind {
    name: &'static str,
    hash: u32,
    is_comment: bool,
    is_verbatim: Option<bool>,
}

/// The node kinds and fields of a grammar.
#[derive(Debug)]
struct GrammarKinds {
    known: Vec<NodeKind>,
    fields: Vec<Option<&'static str>>,
    error: NodeKind,
}

const LANGUAGES: usize = Language::ALL.len();

/// Grammars and kinds per language, loaded once: looking names up by id takes a C call per node.
static GRAMMARS: [OnceLock<tree_sitter::Language>; LANGUAGES] =
    [const { OnceLock::new() }; LANGUAGES];
static KINDS: [OnceLock<GrammarKinds>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

impl GrammarKinds {
    fn of(language: Language) -> &'static Self {
        KINDS[language as usize].get_or_init(|| {
            let grammar = GRAMMARS[language as usize].get_or_init(|| language.grammar());
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let names = (0..count).map(|id| grammar.node_kind_for_id(id).unwrap_or("ERROR"));
            let fields = u16::try_from(grammar.field_count()).unwrap_or(u16::MAX);
            Self {
                known: names.map(NodeKind::of).collect(),
                // Field ids start at 1; id 0 has no name.
                fields: (0..=fields)
                    .map(|id| grammar.field_name_for_id(id))
                    .collect(),
                error: NodeKind::of("ERROR"),
            }
        })
    }

    fn field(&self, id: u16) -> Option<&'static str> {
        self.fields.get(usize::from(id)).copied().flatten()
    }

    fn get(&self, id: u16) -> NodeKind {
        // Error nodes have an id far beyond the table (65535).
        *self.known.get(usize::from(id)).unwrap_or(&self.error)
    }
}

impl NodeKind {
    fn of(name: &'static str) -> Self {
        Self {
            name,
            hash: kind_hash(name),
            is_comment: is_comment(name),
            is_verbatim: is_verbatim(name),
        }
    }
}

/// Returns the FNV-1a hash of a kind. A grammar has a few hundred kinds, so 32 bits suffice.
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
