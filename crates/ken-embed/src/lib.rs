//! Turns text into vectors whose angle says how alike two texts are.
//!
//! One port, [`Embedder`], and the [`Rung`]s that stand behind it. What belongs to a model (its id,
//! its dimension, how far its answers are to be trusted) is data: a [`Model`]. Callers keep the id
//! beside every vector they store, because vectors of two models have nothing to say to each other.
//!
//! Does not store, search or rank. What is always there never opens a socket or a file. The two rungs that
//! need a configuration, each behind a feature, open what it names and nothing else: `transformer` the
//! files of a folder, `http` a connection to an endpoint. With both, `fetch` gets a folder from a model hub.
//!
//! Invariant: the same text and the built-in model give the same bytes on every machine. A transformer
//! gives the same to rounding, an endpoint whatever it gives; neither shares an id with another model.

mod choice;
#[cfg(feature = "http")]
mod http;
#[cfg(all(feature = "http", feature = "transformer"))]
mod hub;
mod model;
mod rung;
mod static_table;
mod tokens;
#[cfg(feature = "transformer")]
mod transformer;
mod vector;
mod wordpiece;

pub use choice::{Choice, ChoiceError};
#[cfg(feature = "http")]
pub use http::{
    CallError, Caller, Dialect, Endpoint, EndpointError, Http, KeyStyle, Limits, Plain, ProbeError,
    Reach, Target, agent, is_unknown_name, reason,
};
#[cfg(all(feature = "http", feature = "transformer"))]
pub use hub::{FetchError, Fetched, HUB, fetch};
pub use model::{EmbedError, Embedder, Known, Model, TEXT_BYTES_MAX, Thresholds};
pub use rung::Rung;
pub use static_table::StaticTable;
pub use tokens::count_tokens;
#[cfg(feature = "transformer")]
pub use transformer::{FolderError, Transformer};
pub use vector::Vector;
pub use wordpiece::WordPiece;
