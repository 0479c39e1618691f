//! The gateway against hostile names, addresses and servers, on loopback only.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod escapes;
mod manners;
mod responses;
mod world;
