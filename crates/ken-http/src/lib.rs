//! HTTP client for addresses from the user's configuration.
//!
//! [`EndpointClient`] posts JSON to one endpoint. [`build_agent`] gives crates with their own
//! protocol the same connection: the system's certificate authorities, no redirects, a timeout.
//! [`FileHost`] downloads public files and is the only one that follows redirects.
//!
//! Invariant: a key never travels unencrypted to another machine. Neither a key nor text from a
//! server appears in a message or in `Debug` output.

mod agent;
mod client;
mod download;
mod origin;

pub use agent::{build_agent, describe_error, is_host_not_found, system_tls};
pub use client::{CallError, CallLimits, CallTarget, EndpointClient, KeyStyle};
pub use download::{DownloadError, FileHost};
pub use origin::{EndpointError, EndpointOrigin, PlaintextScope};
