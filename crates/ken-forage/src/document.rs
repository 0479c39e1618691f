//! Documents: formats, and the blocks that extraction returns.

use crate::extract;

/// Maximum number of blocks per document.
pub const BLOCKS_MAX: usize = 4_000;

/// Format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentFormat {
    Markdown,
    /// Plain text and reStructuredText.
    Text,
    Html,
    /// Doc comments of Rust.
    Rust,
    /// Docstrings of Python.
    Python,
    /// JSDoc comments of JavaScript and TypeScript.
    Script,
    /// Doc comments of Go.
    Go,
}

/// A paragraph, list item or table row with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentBlock {
    /// The headings above it, or the name of the documented item.
    pub heading: String,
    /// First line, counted from 1.
    pub line: u32,
    /// Text without markup; code spans keep their backticks.
    pub text: String,
    /// The code example that follows directly.
    pub code: Option<String>,
}

/// Returns the format of a file by its name; `None` if it has no documentation.
#[must_use]
pub fn document_format(path: &str) -> Option<DocumentFormat> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    Some(match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" | "mdx" => DocumentFormat::Markdown,
        "rst" | "txt" => DocumentFormat::Text,
        "html" | "htm" => DocumentFormat::Html,
        "rs" => DocumentFormat::Rust,
        "py" | "pyi" => DocumentFormat::Python,
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => DocumentFormat::Script,
        "go" => DocumentFormat::Go,
        // `README` and `CHANGELOG` without an extension; `METADATA` of a Python package.
        "" if matches!(stem, "README" | "CHANGELOG" | "CHANGES" | "METADATA") => {
            DocumentFormat::Markdown
        }
        _ => return None,
    })
}

/// Splits a document into blocks.
#[must_use]
pub fn read_blocks(format: DocumentFormat, text: &str) -> Vec<DocumentBlock> {
    let mut blocks = match format {
        DocumentFormat::Markdown => extract::markdown::blocks(text),
        DocumentFormat::Text => extract::plain::blocks(text),
        DocumentFormat::Html => extract::html::blocks(text),
        DocumentFormat::Rust => extract::rust::blocks(text),
        DocumentFormat::Python => extract::python::blocks(text),
        DocumentFormat::Script => extract::script::blocks(text),
        DocumentFormat::Go => extract::go::blocks(text),
    };
    blocks.truncate(BLOCKS_MAX);
    blocks
}
