//! Protocol between a repository and a hub, and its client side.
//!
//! This crate reads no ledger and keeps no state; the caller decides which events to exchange.
//!
//! - [`wire`]: the messages;
//! - [`hub`]: the interface of a repository to a hub, and its errors;
//! - [`address`], [`name`], [`token`]: hub addresses, names and access tokens;
//! - [`publication`]: the files of a publication, in a folder or on a web server;
//! - `client` and `device` (a feature): the interface over HTTP, and the sign-in of a device.

pub mod address;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod device;
pub mod hub;
pub mod name;
pub mod publication;
pub mod token;
pub mod wire;

pub use address::{HubAddress, HubAddressError, PlaintextPolicy};
#[cfg(feature = "client")]
pub use client::HttpHubClient;
pub use hub::{HubClient, HubError};
pub use name::{HubName, HubNameError};
pub use token::{HubToken, HubTokenError};
