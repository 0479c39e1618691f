//! Rows of the requirement matrix that the core alone can show.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod contradictions;
mod drift;
mod lifecycle;
mod pairs;
mod requirements;
mod sources;
mod stage;
