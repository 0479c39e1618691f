//! What knowledge rests on: symbols of source files and their fingerprints, conditions about a tree of files.
//!
//! Reads bytes it is given and opens nothing: the files of a version come in through [`Tree`], which a work
//! tree and a commit implement elsewhere.

mod compare;
pub mod condition;
mod definition;
mod diff;
mod fingerprint;
mod kept;
mod language;
mod lines;
mod nearest;
mod normal;
mod outline;
mod pattern;
mod resolve;
mod syntax;
mod tree;

pub use compare::{
    Found, Lost, MOVED_NAMESAKE_WEIGHT_MIN, MOVED_WEIGHT_MIN, MOVED_WORDS_MIN, Verdict, compare,
    compare_symbol, find_moved,
};
pub use diff::diff;
pub use fingerprint::{Fingerprint, FingerprintError, Method};
pub use language::Language;
pub use lines::FILE_BYTES_MAX;
pub use outline::{NAME_BYTES_MAX, NESTING_MAX, Outline, PARSED_BYTES_MAX, Symbol, outline};
pub use pattern::{TextPattern, check_code, code_lines};
pub use resolve::{Resolved, Unresolved, resolve, resolve_symbol};
pub use tree::{Tree, TreeError};
