//! Federation over the pure protocol: acceptance by table, the laws by property.
//!
//! Signatures are modeled as keyed hashes here. The program's own tests use `ssh-keygen`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod acceptance;
mod competing;
mod decay;
mod export;
mod laws;
mod standing;
mod support;
mod trust;
