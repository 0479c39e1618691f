//! What each coding agent expects: how its hooks speak, and which of its files say what.
//!
//! Nothing here opens a file, asks the environment or knows an entry: texts come in, texts go out.

mod agent;
pub mod dialect;
mod moment;
pub mod setup;

pub use agent::Agent;
pub use moment::Moment;
