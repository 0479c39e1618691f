//! Documents people keep for agents, taken apart into claims.
//!
//! A repository already holds knowledge: `CLAUDE.md`, `AGENTS.md`, rules of editors, memories of agents, decision
//! records, contribution guides. This crate says which files those are ([`source_kind`]) and what each of them claims
//! ([`claims`]). It reads text it is given and opens nothing.

mod block;
mod claim;
mod forms;
mod mention;
mod modality;
mod own;
mod sentence;
mod source;
mod topic;
pub mod transcript;
mod words;

pub use claim::{CLAIMS_MAX, Found, claims};
pub use mention::{Mention, MentionKind};
pub use modality::Modality;
pub use source::{SourceKind, source_kind};
