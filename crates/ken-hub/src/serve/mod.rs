//! The process: limits, health, metrics, an orderly end.

pub mod limits;
pub mod metrics;
pub mod settings;
