//! The checkout that chores and measurements work on, shared by `xtask` and `ken-bench`.

pub mod repository;
