//! The gate before the protocol, and clients that mean no good.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod client;
mod gate;
mod hostile;
mod server;
