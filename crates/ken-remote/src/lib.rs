//! What a repository and a hub say to each other, and the repository's end of it.
//!
//! Does not read a ledger or keep state: whoever synchronises decides what is said.
//!
//! - [`wire`]: the messages;
//! - [`hub`]: the port through which a repository sees a hub, and what may go wrong there;
//! - [`address`], [`name`], [`token`]: where a hub is, what things are called there, and what it knows its callers by;
//! - `client` (a feature): the port over HTTP.

pub mod address;
#[cfg(feature = "client")]
pub mod client;
pub mod hub;
pub mod name;
pub mod token;
pub mod wire;

pub use address::{Address, AddressError, Plain};
#[cfg(feature = "client")]
pub use client::Client;
pub use hub::{Hub, HubError};
pub use name::{Name, NameError};
pub use token::{Token, TokenError};
