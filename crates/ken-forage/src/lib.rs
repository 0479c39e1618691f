//! Passages of documentation that answer a question: extraction and ranking, without a model.
//!
//! [`read_blocks`] splits a document into blocks with their headings and lines: Markdown, HTML,
//! plain text, and the comments of source files that document public items. [`PassageIndex`] ranks
//! windows of one to three sentences. Every passage is verbatim text of its document.
//!
//! This crate performs no I/O, and everything it reads is untrusted: text that a reader of the
//! rendered document would not see is left out, and every limit is a named constant.

mod document;
mod extract;
mod passage;
mod rank;

pub use document::{BLOCKS_MAX, DocumentBlock, DocumentFormat, document_format, read_blocks};
pub use extract::html::is_page_opted_out;
pub use passage::{PASSAGE_CHARS_MAX, Passage, PassageSource, split_passages};
pub use rank::{PassageIndex, RankedPassage};
