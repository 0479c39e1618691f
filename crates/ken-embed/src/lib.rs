//! Turns text into vectors whose angle says how alike two texts are.
//!
//! One port, [`Embedder`], and the [`Rung`]s that stand behind it. What belongs to a model (its id,
//! its dimension, how far its answers are to be trusted) is data: a [`Model`]. Callers keep the id
//! beside every vector they store, because vectors of two models have nothing to say to each other.
//!
//! Does not store, search or rank, and never opens a socket or a file.
//!
//! Invariant: the same text and the same model id give the same bytes on every machine.

mod model;
mod rung;
mod static_table;
mod tokens;
mod vector;
mod wordpiece;

pub use model::{EmbedError, Embedder, Model, TEXT_BYTES_MAX, Thresholds};
pub use rung::Rung;
pub use static_table::StaticTable;
pub use tokens::count_tokens;
pub use vector::Vector;
pub use wordpiece::WordPiece;
