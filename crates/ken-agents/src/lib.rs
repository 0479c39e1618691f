//! Adapters for coding agents: their hook protocols and their configuration files.
//!
//! This crate performs no I/O. It never opens a file, reads the environment or loads an entry:
//! every function maps input text to output text.

mod agent;
pub mod dialect;
mod hook_event;
pub mod setup;

pub use agent::CodingAgent;
pub use hook_event::HookEvent;
