//! Use cases of Ken, one function per operation: load state, decide in `ken-core`, append events,
//! update projections.
//!
//! Nothing here prints, parses arguments or reads the environment. Paths, time, randomness and the
//! actor come in through [`Runtime`] and [`Engine::open`]. Results are plain data, shared by the
//! command line, MCP and HTTP.
//!
//! An operation is a free function in the file of its topic. The methods of [`Engine`] only call
//! these functions; `engine::facade` lists them all.
//!
//! Reading order:
//!
//! - [`engine`]: ledger and index; [`entries`]: operations on entries; [`undo`]: their
//!   reversal; [`lookup`]: reading them
//! - [`forage`]: passages of documentation on this machine and of allowed hosts
//! - [`search`], [`briefing`]: retrieval; [`conversations`]: what nobody recorded;
//!   [`model`]: the embedding model; [`llm`]: the LLM
//! - [`validity`], [`verify`]: checks against the code
//! - [`runs`]: exposures and outcomes; [`hooks`]: agent hooks; [`live`]: changes to watch for
//! - [`sync`]: edits of entry files; [`remote`]: push and pull; [`federation`]: publications and
//!   peers
//! - [`ledger_maintenance`]: packing, redaction, recovery; [`people`]: ids instead of names
//! - [`init`]: `ken init` and `ken self uninstall`; [`root_files`]: files of other tools

pub mod audit;
pub mod briefing;
mod citations;
pub mod co_occurrence;
mod config;
pub mod contradictions;
pub mod conversations;
mod deleted_segments;
pub mod distill;
pub mod drift;
pub mod duplicates;
pub mod engine;
pub mod entries;
pub mod error;
pub mod export;
pub mod federation;
mod files;
pub mod forage;
pub mod friction;
mod gates;
mod git;
pub mod guard;
pub mod health;
pub mod hooks;
pub mod impact;
pub mod import;
pub mod init;
pub mod ledger_maintenance;
pub mod live;
pub mod llm;
pub mod lookup;
pub mod maintenance;
pub mod model;
pub mod norms;
pub mod notice;
mod overlays;
pub mod people;
pub mod promotion;
pub mod remote;
pub mod root_files;
pub mod runs;
pub mod runtime;
pub mod scoring;
pub mod search;
pub mod sync;
pub mod undo;
pub mod usage;
pub mod validity;
pub mod verify;
pub mod view;

pub use engine::Engine;
pub use error::{EngineError, ErrorKind};
pub use ken_anchor::{HighlightedText, TokenClass, highlight};
pub use ken_ledger::{GitEnv, SegmentName, check, recover, replace};
pub use runtime::Runtime;
