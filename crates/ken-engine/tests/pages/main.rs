//! What pages ask of a repository: knowledge about one file, and whether something changed.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod decisions;
mod file_knowledge;
mod history;
mod live;
mod repository;
