//! Knowledge spoken over the Model Context Protocol: five tools, three resources, three prompts.
//!
//! Nothing here knows an engine, a repository or a database. Whoever keeps knowledge implements [`Knowledge`] with
//! the types of [`port`] and [`ask`]; [`Server`] speaks the protocol for it, in every revision `rmcp` knows, over
//! whatever transport it is handed to. [`stdio`] is the one an agent starts as a program,
//! [`http`] the one behind a gate.

pub mod ask;
pub mod http;
pub mod port;
mod prompts;
mod resources;
mod server;
pub mod stdio;
mod tools;
pub mod words;

/// What ends a server.
pub use tokio_util::sync::CancellationToken;

pub use port::{Answered, Caller, Knowledge, Proven, Reply, Trouble};
pub use server::Server;
pub use tools::TOOLS;
