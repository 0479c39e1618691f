//! Shared test support: random histories, a reference fold, fold laws, test servers.
//!
//! Never part of a shipped binary.

pub mod any_event;
pub mod attacks;
pub mod build;
pub mod http;
pub mod hub_story;
pub mod laws;
pub mod memory_hub;
pub mod memory_store;
pub mod path_server;
pub mod postgres;
pub mod reference;
pub mod reference_page;
pub mod served;
pub mod story;
pub mod test_env;
