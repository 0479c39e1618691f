//! A repository's side of a hub: laws over random histories, and what git and people do in between.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod clone;
mod configuration;
mod doubt;
mod exchange;
mod laws;
mod losses;
