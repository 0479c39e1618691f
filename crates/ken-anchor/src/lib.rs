//! What knowledge rests on: symbols of source files and their fingerprints, conditions about a tree of files.
//!
//! Reads bytes it is given and opens nothing: the files of a version come in through [`Tree`], which a work
//! tree and a commit implement elsewhere.

pub mod condition;
mod tree;

pub use tree::{Tree, TreeError};
