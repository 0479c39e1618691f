//! Ken's use cases, one function a verb: load, ask the core, append, project.
//!
//! Nothing here prints, parses arguments or reads the environment: paths, time, randomness and
//! the acting person come in through [`World`] and [`Engine::open`]; what happened goes out as
//! plain data for the command line, MCP and HTTP alike.
//!
//! Reading order: [`engine`] holds the ledger and its index together, [`entries`] the verbs,
//! [`lookup`] the questions, [`search`] and [`brief`] what answers them, [`model`] which model helps, [`judge`] who is asked where Ken cannot tell, [`validity`] whether code bears entries out,
//! [`runs`] who was shown what and what follows from it, [`attend`] what is said and noted at the moments of a conversation, [`sync`] what people
//! edit by hand, [`remote`] what is exchanged with a hub, [`upkeep`] packing, blanking and recovery, [`init`] coming and going, [`root_files`] files of others that Ken writes to.

pub mod attend;
pub mod audit;
pub mod brief;
mod config;
pub mod contradictions;
pub mod digest;
pub mod distil;
pub mod drift;
pub mod engine;
pub mod entries;
pub mod error;
pub mod export;
mod files;
pub mod friction;
mod gates;
mod git;
pub mod guard;
pub mod health;
pub mod init;
pub mod judge;
pub mod lift;
pub mod lookup;
pub mod maintenance;
pub mod model;
pub mod norms;
pub mod notice;
pub mod pairs;
pub mod promotion;
pub mod remote;
pub mod root_files;
pub mod runs;
pub mod scoring;
pub mod search;
pub mod sync;
pub mod together;
pub mod upkeep;
pub mod usage;
pub mod validity;
pub mod verify;
pub mod view;
pub mod world;

/// Sends JSON to an address that a user's own configuration names.
#[cfg(feature = "http")]
pub mod calling {
    pub use ken_index::{CallError, Caller, EndpointError, KeyStyle, Limits, Plain, Target};
}

pub use engine::Engine;
pub use error::{Error, Kind};
pub use ken_ledger::{GitEnv, check, recover, replace};
pub use world::World;
