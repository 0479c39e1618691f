//! Text embeddings: maps text to vectors whose cosine measures similarity.
//!
//! One port, [`Embedder`], and several [`Backend`]s that implement it. Properties of a model (its
//! id, dimension and thresholds) are data: an [`EmbeddingModel`]. Callers store the id with every
//! vector, because vectors of different models are not comparable.
//!
//! The crate does not store, search or rank. The built-in backend never opens a socket or file. The
//! two configurable backends, each behind a feature, open only the resource they are configured
//! with: `transformer` the files of a folder, `http` a connection to an endpoint. With both
//! features, `fetch_model` downloads a folder from a model hub.
//!
//! Invariant: the built-in model maps the same text to the same bytes on every machine. A
//! transformer is reproducible up to rounding, an endpoint not at all; neither shares an id with
//! another model.

mod backend;
mod choice;
#[cfg(feature = "http")]
mod http;
#[cfg(all(feature = "http", feature = "transformer"))]
mod hub;
mod model;
mod static_table;
mod tokens;
#[cfg(feature = "transformer")]
mod transformer;
mod vector;
mod wordpiece;

pub use backend::Backend;
pub use choice::{ModelChoice, ModelChoiceError};
#[cfg(feature = "http")]
pub use http::{
    EmbeddingEndpoint, EmbeddingEndpointError, EndpointDialect, HttpEmbedder, ProbeError,
};
#[cfg(all(feature = "http", feature = "transformer"))]
pub use hub::{DEFAULT_HUB, FetchError, FetchOutcome, fetch_model};
pub use model::{
    EmbedError, Embedder, EmbeddingModel, GrowingThreshold, MeasuredSums, ModelThresholds,
    TEXT_BYTES_MAX, WeightsDigest,
};
pub use static_table::StaticTable;
pub use tokens::{count_tokens, rarity};
#[cfg(feature = "transformer")]
pub use transformer::{FolderError, TransformerEmbedder};
pub use vector::{Vector, VectorTable};
pub use wordpiece::WordPiece;
