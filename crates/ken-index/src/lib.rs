//! Ken's derived index: events and what follows from them, in SQLite.
//!
//! Never the truth: a missing, damaged, older or newer database is thrown away and filled again
//! from the segments, without being asked. It opens one file, its own; what a segment says comes
//! in through a closure.
//!
//! Invariant: after [`Index::refresh`] the index equals one built from nothing out of the listed
//! segments, and holds no text of an event that is blanked.
//!
//! Reading order: [`Index`] opens and answers, `refresh` compares segments with what is held,
//! `change` applies the difference, `bulk` fills an empty database, `rows` knows the columns, `search`
//! finds what may answer a query.

mod bulk;
mod change;
mod database;
mod error;
mod fold;
mod gather;
mod grounds;
mod held;
mod index;
mod listing;
mod missed;
mod parsed;
mod recent;
mod refresh;
mod rows;
mod scan;
mod search;
mod segment;

#[cfg(feature = "http")]
pub use ken_embed::{
    CallError, Caller, Dialect, Endpoint, EndpointError, Http, KeyStyle, Limits, Plain, ProbeError,
    Target,
};
pub use ken_embed::{
    Choice, ChoiceError, EmbedError, Embedder, Known, Model, Rung, Thresholds, Vector, count_tokens,
};
#[cfg(all(feature = "http", feature = "transformer"))]
pub use ken_embed::{FetchError, Fetched, HUB, fetch};

pub use error::{IndexError, RefreshError};
pub use held::Held;
pub use index::Index;
pub use ken_core::answer::{Candidate, Least};
pub use missed::Missed;
pub use parsed::FileStat;
pub use refresh::{Rebuilt, Refreshed, Torn};
pub use search::Query;
pub use segment::{Appended, SegmentStat};
