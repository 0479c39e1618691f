//! SQLite index derived from the event ledger.
//!
//! The index is never the source of truth. A missing, damaged, older or newer database is deleted
//! and rebuilt from the segments automatically. The crate opens only its own database file; the
//! caller passes a closure that reads segments.
//!
//! Invariant: after [`Index::refresh`] the index equals one built from scratch out of the listed
//! segments, and it stores no text of a redacted event.
//!
//! Reading order: [`Index`] opens the database and implements the store, `refresh` compares
//! segments with the indexed ones, `change` applies the difference, `bulk` fills an empty database,
//! `rows` maps events and entries to columns, `search` finds candidates for a query.

mod bulk;
mod change;
pub mod conversations;
mod cut;
mod database;
mod error;
mod fold;
mod gather;
mod grounds;
mod held;
mod index;
mod listing;
mod missed;
mod pages;
mod parsed;
mod recent;
mod refresh;
mod rows;
mod scan;
mod scanned;
mod search;
mod segment;

pub use ken_embed::{
    Backend, EmbedError, Embedder, EmbeddingModel, ModelChoice, ModelChoiceError, ModelThresholds,
    Vector, VectorTable, WeightsDigest, count_tokens, rarity,
};
#[cfg(all(feature = "http", feature = "transformer"))]
pub use ken_embed::{DEFAULT_HUB, FetchError, FetchOutcome, fetch_model};
#[cfg(feature = "http")]
pub use ken_embed::{EmbeddingEndpoint, EndpointDialect, HttpEmbedder, ProbeError};

pub use cut::ShortSegment;
pub use error::{IndexError, RefreshError};
pub use held::VectorStatus;
pub use index::{Index, LocalOverlays};
pub use ken_core::retrieval::ranking::{MatchThreshold, SearchCandidate};
pub use missed::UnansweredQuery;
pub use parsed::FileStat;
pub use refresh::{RebuildReason, RefreshReport, TornSegment};
pub use scanned::ScanDigest;
pub use search::{CandidateQuery, FoundCandidates};
pub use segment::{ListedSegment, SegmentAppend};
