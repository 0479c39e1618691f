//! Markdown blocks with their headings and line numbers.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::mention::{Mention, find_mentions};

/// A self-contained block of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkdownBlock {
    pub(crate) kind: BlockKind,
    /// Inline text on one line; code in backticks.
    pub(crate) text: String,
    /// Link targets.
    pub(crate) links: Vec<String>,
    /// Code in the labels of links to other sites.
    pub(crate) foreign_code: Vec<String>,
    /// True if the text begins with a link, as in a list of pages.
    pub(crate) starts_with_link: bool,
    /// Enclosing headings, outermost first.
    pub(crate) headings: Vec<String>,
    /// The sentence that introduces a list: "Never commit:", or the column names of a table.
    pub(crate) lead: Option<String>,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) last_line: usize,
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Paragraph,
    Item,
    /// Cells of a table row, joined by ` | `.
    Row,
    /// A line of a shell code block.
    Shell,
}

/// Languages of code blocks that contain commands.
const SHELLS: [&str; 8] = [
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "fish",
    "terminal",
    "shell-session",
];

/// Returns whether a code block contains shell commands.
fn is_shell(kind: &CodeBlockKind<'_>) -> bool {
    match kind {
        CodeBlockKind::Indented => false,
        CodeBlockKind::Fenced(info) => {
            let language = info.split([' ', ',', '{']).next().unwrap_or_default();
            SHELLS.contains(&language.to_ascii_lowercase().as_str())
        }
    }
}

/// Splits a document into blocks.
pub(crate) fn parse_blocks(text: &str) -> Vec<MarkdownBlock> {
    let options = Options::ENABLE_GFM
        | Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut reader = BlockReader::new(text);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.take(event, range.start, range.end);
    }
    reader.flush();
    reader.blocks
}

/// The block being read.
struct OpenBlock {
    kind: BlockKind,
    text: String,
    links: Vec<String>,
    foreign_code: Vec<String>,
    /// Whether the text belongs to the label of a link to another site.
    in_foreign_link: bool,
    starts_with_link: bool,
    start: usize,
    end: usize,
}

/// The construct the current text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextContext {
    Text,
    Heading(HeadingLevel),
    /// A code block, and whether it is for a shell.
    Code {
        shell: bool,
    },
    /// The head of a table.
    Columns,
    /// Front matter, an image or a footnote, which contain no claims.
    Skipped,
}

/// Builds blocks from Markdown events.
struct BlockReader<'t> {
    /// Byte offset of each line.
    lines: Vec<usize>,
    source: &'t str,
    blocks: Vec<MarkdownBlock>,
    headings: Vec<(HeadingLevel, String)>,
    open: Option<OpenBlock>,
    within: TextContext,
    heading: String,
    /// Lead sentence of each open list.
    leads: Vec<Option<String>>,
    /// The last paragraph or item, if it ends with a colon.
    announced: Option<String>,
    /// Column names of the open table.
    columns: String,
}

impl<'t> BlockReader<'t> {
    fn new(source: &'t str) -> Self {
        let breaks = source.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            lines: std::iter::once(0).chain(breaks).collect(),
            source,
            blocks: Vec::new(),
            headings: Vec::new(),
            open: None,
            within: TextContext::Text,
            heading: String::new(),
            leads: Vec::new(),
            announced: None,
            columns: String::new(),
        }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    fn take(&mut self, event: Event<'_>, start: usize, end: usize) {
        match event {
            Event::Start(tag) => self.begin(tag, start, end),
            Event::End(tag) => self.finish(tag),
            Event::Text(text) => self.text(&text, start, end),
            Event::Code(text) => {
                self.text(&format!("`{}`", text.trim()), start, end);
                if let Some(open) = self.open.as_mut().filter(|it| it.in_foreign_link) {
                    open.foreign_code.push(text.trim().to_owned());
                }
            }
            Event::SoftBreak | Event::HardBreak => self.text(" ", start, end),
            Event::TaskListMarker(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>, start: usize, end: usize) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                // A lead sentence does not reach across a heading.
                self.announced = None;
                self.heading.clear();
                self.within = TextContext::Heading(level);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.within = TextContext::Code {
                    shell: is_shell(&kind),
                };
            }
            Tag::List(_) => {
                // Items of a nested list depend on their parent item, even if it has no colon.
                let is_item = |open: &OpenBlock| open.kind == BlockKind::Item;
                let below_item = self.open.as_ref().is_some_and(is_item);
                self.flush();
                let parent = self.blocks.last().filter(|_| below_item);
                let parent_text = parent.map(|block| block.text.clone());
                self.leads.push(self.announced.take().or(parent_text));
            }
            Tag::Item => {
                self.flush();
                self.start(BlockKind::Item, start, end);
            }
            Tag::Paragraph => {
                // The paragraph of a loose list item belongs to the item that was just opened.
                let continues = self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.text.trim().is_empty());
                if !continues {
                    self.flush();
                    let kind = if self.leads.is_empty() {
                        BlockKind::Paragraph
                    } else {
                        BlockKind::Item
                    };
                    self.start(kind, start, end);
                }
            }
            Tag::TableRow => {
                self.flush();
                self.start(BlockKind::Row, start, end);
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            // Column names are not claims, but may say that the cells below are to be avoided.
            Tag::TableHead => {
                self.columns.clear();
                self.within = TextContext::Columns;
            }
            Tag::Image { .. }
            | Tag::MetadataBlock(_)
            | Tag::FootnoteDefinition(_)
            | Tag::HtmlBlock => {
                self.within = TextContext::Skipped;
            }
            Tag::BlockQuote(_)
            | Tag::TableCell
            | Tag::Table(_)
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition => {}
        }
    }

    fn link(&mut self, target: &str) {
        if let Some(open) = &mut self.open {
            open.starts_with_link |= open.text.trim().is_empty();
            open.in_foreign_link = target.contains("://");
            open.links.push(target.to_owned());
        }
    }

    fn finish(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                // A heading closes all headings of its own or a deeper level.
                self.headings.retain(|(above, _)| *above < level);
                let heading = self.heading.trim().to_owned();
                self.headings.push((level, heading));
                self.within = TextContext::Text;
            }
            TagEnd::TableHead
            | TagEnd::CodeBlock
            | TagEnd::Image
            | TagEnd::MetadataBlock(_)
            | TagEnd::FootnoteDefinition
            | TagEnd::HtmlBlock => {
                self.within = TextContext::Text;
            }
            TagEnd::List(_) => {
                self.flush();
                self.leads.pop();
                self.announced = None;
            }
            TagEnd::Item | TagEnd::Paragraph | TagEnd::TableRow => self.flush(),
            TagEnd::Link => {
                if let Some(open) = &mut self.open {
                    open.in_foreign_link = false;
                }
            }
            TagEnd::TableCell => {
                if let Some(open) = &mut self.open {
                    open.text.push_str(" | ");
                }
            }
            TagEnd::BlockQuote(_)
            | TagEnd::Table
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition => {}
        }
    }

    fn start(&mut self, kind: BlockKind, start: usize, end: usize) {
        self.open = Some(OpenBlock {
            kind,
            text: String::new(),
            links: Vec::new(),
            foreign_code: Vec::new(),
            in_foreign_link: false,
            starts_with_link: false,
            start,
            end,
        });
    }

    fn text(&mut self, text: &str, start: usize, end: usize) {
        match self.within {
            TextContext::Skipped | TextContext::Code { shell: false } => {}
            TextContext::Heading(_) => self.heading.push_str(text),
            TextContext::Columns => {
                self.columns.push_str(text);
                self.columns.push(' ');
            }
            TextContext::Code { shell: true } => self.shell(text, start),
            TextContext::Text => {
                // Tight list items and text after a nested list come without a paragraph event.
                if self.open.is_none() {
                    let kind = if self.leads.is_empty() {
                        BlockKind::Paragraph
                    } else {
                        BlockKind::Item
                    };
                    self.start(kind, start, end);
                }
                let Some(open) = &mut self.open else { return };
                open.text.push_str(text);
                open.end = end;
            }
        }
    }

    /// Adds each line of a shell code block as a block.
    fn shell(&mut self, text: &str, start: usize) {
        let mut at = start;
        for line in text.split_inclusive('\n') {
            let number = self.line_of(at);
            at += line.len();
            let trimmed = line.trim();
            let command = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
            if !command.is_empty() {
                let block = self.block(BlockKind::Shell, command.to_owned(), (number, number));
                // Every line of the block has the same lead sentence.
                let lead = self.announced.clone();
                self.blocks.push(MarkdownBlock { lead, ..block });
            }
        }
    }

    /// Closes the open block and adds it unless it is empty.
    fn flush(&mut self) {
        let Some(open) = self.open.take() else { return };
        let text = open.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        self.announced = text.ends_with(':').then(|| text.clone());
        let end = open.end.min(self.source.len());
        let lines = (
            self.line_of(open.start),
            // `end` is exclusive and may lie on the next line.
            self.line_of(end.saturating_sub(1).max(open.start)),
        );
        let lead = match open.kind {
            BlockKind::Row => Some(self.columns.trim().to_owned()).filter(|it| !it.is_empty()),
            BlockKind::Paragraph | BlockKind::Item | BlockKind::Shell => {
                self.leads.last().cloned().flatten()
            }
        };
        let block = self.block(open.kind, text, lines);
        self.blocks.push(MarkdownBlock {
            links: open.links,
            foreign_code: open.foreign_code,
            starts_with_link: open.starts_with_link,
            lead,
            ..block
        });
    }

    /// Builds a block under the open headings.
    fn block(
        &self,
        kind: BlockKind,
        text: String,
        (line, last_line): (usize, usize),
    ) -> MarkdownBlock {
        MarkdownBlock {
            headings: self.headings.iter().map(|(_, text)| text.clone()).collect(),
            line,
            last_line,
            ..MarkdownBlock::bare(kind, text)
        }
    }
}

impl MarkdownBlock {
    /// Returns a block without headings, links and lead.
    pub(crate) fn bare(kind: BlockKind, text: String) -> Self {
        Self {
            kind,
            text,
            links: Vec::new(),
            foreign_code: Vec::new(),
            starts_with_link: false,
            headings: Vec::new(),
            lead: None,
            line: 1,
            last_line: 1,
        }
    }

    /// Returns the mentions in `text`, which is in this block, without those that a link to another
    /// site explains.
    pub(crate) fn find_mentions(&self, text: &str, links: &[String]) -> Vec<Mention> {
        let mut found = find_mentions(text, links);
        found.retain(|it| !self.foreign_code.contains(&it.text));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_falls_into_blocks_with_headings_and_lines() {
        let text = "---\ntitle: x\n---\n# Top\n\nA *paragraph* with `code`\nand [a link](docs/a.md).\n\n## Rules\n\nNever commit:\n\n- secrets\n- build output\n  - deep one\n\n```bash\n$ make test  # all of them\nmake lint\n```\n\n| path | what |\n|---|---|\n| `src` | code |\n";
        let blocks = parse_blocks(text);
        let actual: Vec<_> = blocks
            .iter()
            .map(|it| {
                (
                    it.kind,
                    it.text.as_str(),
                    it.line,
                    it.headings.len(),
                    it.lead.as_deref(),
                )
            })
            .collect();
        let announced = Some("Never commit:");
        assert_eq!(
            actual,
            [
                (
                    BlockKind::Paragraph,
                    "A paragraph with `code` and a link.",
                    6,
                    1,
                    None
                ),
                (BlockKind::Paragraph, "Never commit:", 11, 2, None),
                (BlockKind::Item, "secrets", 13, 2, announced),
                (BlockKind::Item, "build output", 14, 2, announced),
                (BlockKind::Item, "deep one", 15, 2, Some("build output")),
                (BlockKind::Shell, "make test  # all of them", 18, 2, None),
                (BlockKind::Shell, "make lint", 19, 2, None),
                (BlockKind::Row, "`src` | code |", 24, 2, Some("path what")),
            ]
        );
        assert_eq!(blocks[0].links, ["docs/a.md"]);
        assert_eq!(blocks[0].last_line, 7);
    }
}
