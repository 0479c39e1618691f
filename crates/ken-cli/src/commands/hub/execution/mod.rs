//! Execution of commands with a file of their own, in builds with the `hub` feature.

pub(super) mod audit;
pub(super) mod backup;
pub(super) mod configuration;
pub(super) mod federation;
pub(super) mod people;
pub(super) mod person;
pub(super) mod retention;
