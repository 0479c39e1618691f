//! Retrieval: scores candidates, ranks hits, selects those to show, and assembles briefings.
//!
//! The repository and the hub use the same functions, so a query gets the same answer from both.

pub mod agent_texts;
pub mod brief;
pub mod code_names;
pub mod ranking;
pub mod score;
pub mod surface;
pub mod unasked;
pub mod unrecorded;
pub mod words;
