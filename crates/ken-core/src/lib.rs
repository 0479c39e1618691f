//! Pure domain model: ids, events, entries, the fold over events and the decisions that create
//! them.
//!
//! This crate reads no file, clock, random number or environment variable. Callers pass time, ids
//! and randomness as values, so the same events produce the same state on every machine.
//!
//! The folders form layers. A module imports only from its own folder and from folders above it in
//! this list (`cargo xtask purity` checks it):
//!
//! 1. [`values`]: ids, text, anchors, citations, conditions, time.
//! 2. [`ledger`]: events, the fold over them, and the resulting entries.
//! 3. [`trust`]: runs, confidence, impact, similarity, contradictions, promotion.
//! 4. [`retrieval`]: scoring, ranking, the selection to show, briefings.
//! 5. [`health`]: health rules, drift, maintenance, gates.
//! 6. [`decide`]: each operation becomes events or a refusal.
//! 7. [`federation`]: publications of other organizations, and one's own.
//! 8. [`json`]: the views that programs read.

pub mod decide;
pub mod federation;
pub mod health;
pub mod json;
pub mod ledger;
pub mod retrieval;
pub mod trust;
pub mod values;
