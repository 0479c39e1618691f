//! The repository's side of a remote: properties over random histories, and losses in git and at
//! the hub.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod clone;
mod configuration;
mod doubt;
mod exchange;
mod laws;
mod losses;
