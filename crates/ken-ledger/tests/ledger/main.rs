//! The ledger on real disks: without git, with a simulated git, and with real git.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod append;
mod bytes;
mod check;
mod crash;
mod git;
mod recover;
mod replace;
#[path = "../../src/sample.rs"]
mod sample;
mod sim;
mod support;
