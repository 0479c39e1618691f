//! Rows of the requirement matrix that need only the core.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod contradictions;
mod drift;
mod forage;
mod health;
mod health_work;
mod lifecycle;
mod maintenance;
mod pairs;
mod promotion;
mod rediscovery;
mod requirements;
mod runs;
mod settings;
mod sources;
mod stage;
