//! Anchors and conditions: symbols of source files, their fingerprints, and checks against a file
//! tree.
//!
//! This crate performs no I/O. It parses bytes it receives and reads the files of a version through
//! [`FileTree`], which other crates implement for work trees and commits.

mod compare;
pub mod condition;
mod definition;
mod diff;
mod fingerprint;
mod highlight;
mod kept;
mod language;
mod lines;
mod nearest;
mod normal;
mod outline;
mod pattern;
mod renamed;
mod resolve;
mod syntax;
mod tree;

pub use compare::{
    AnchorComparison, LostSymbol, MOVED_NAMESAKE_WEIGHT_MIN, MOVED_WEIGHT_MIN, MOVED_WORDS_MIN,
    MovedSymbol, compare_anchor, compare_symbol, find_moved,
};
pub use diff::diff;
pub use fingerprint::{Fingerprint, FingerprintError, FingerprintMethod};
pub use highlight::{HIGHLIGHT_MS_MAX, HighlightedRange, HighlightedText, TokenClass, highlight};
pub use language::Language;
pub use lines::{FILE_BYTES_MAX, ensure_text};
pub use outline::{NAME_BYTES_MAX, NESTING_MAX, Outline, PARSED_BYTES_MAX, Symbol, outline};
pub use pattern::{TextPattern, find_code_lines, validate_code_pattern};
pub use renamed::find_renamed;
pub use resolve::{ResolveError, ResolvedAnchor, resolve, resolve_symbol};
pub use tree::{FileTree, FileTreeError};
