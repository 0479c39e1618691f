//! Model Context Protocol server for knowledge: five tools, three resources, three prompts.
//!
//! This crate knows no engine, repository or database. A backend implements [`KnowledgeBackend`]
//! with the types of `backend` and `arguments`. [`McpServer`] speaks the protocol for it, in
//! every revision that `rmcp` supports and over any transport. [`stdio`] is the transport of an
//! agent that starts Ken as a program, [`http`] the one behind access checks.

pub mod ask;
pub mod http;
pub mod port;
mod prompts;
mod resources;
mod server;
pub mod stdio;
mod tools;
pub mod words;

/// Cancels a running server.
pub use tokio_util::sync::CancellationToken;

pub use port::{KnowledgeBackend, McpCaller, ProvenIdentity, ToolError, ToolReply, ToolResult};
pub use server::McpServer;
pub use tools::{HUB_TOOLS, TOOLS};
