//! MCP over HTTP: access control and hostile clients.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod client;
mod gate;
mod hostile;
mod server;
