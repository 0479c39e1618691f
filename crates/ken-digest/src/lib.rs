//! Extraction of claims from documents and agent transcripts.
//!
//! Repositories already contain knowledge: `CLAUDE.md`, `AGENTS.md`, editor rules, agent memories,
//! decision records, contribution guides. [`source_kind`] recognizes such files by path and
//! [`extract_claims`] returns their claims. This crate performs no I/O.

mod block;
mod claim;
pub mod commit;
mod forms;
mod mention;
mod modality;
mod own;
mod reference;
mod sentence;
mod source;
mod topic;
pub mod transcript;
mod words;

pub use claim::{CLAIMS_MAX, DocumentClaim, extract_claims};
pub use mention::{Mention, MentionKind, paths_in_command, split_member};
pub use modality::Modality;
pub use reference::{DocumentReference, find_references};
pub use sentence::split_sentences;
pub use source::{SourceKind, source_kind};
