//! What the tests of several crates share: random histories, a second fold, the laws.
//!
//! Never part of a shipped binary.

pub mod any_event;
pub mod build;
pub mod http;
pub mod hub_story;
pub mod laws;
pub mod memory_hub;
pub mod memory_store;
pub mod postgres;
pub mod reference;
pub mod served;
pub mod story;
pub mod test_env;
