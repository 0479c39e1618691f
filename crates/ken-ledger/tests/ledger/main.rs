//! The ledger on real disks: plain, beside a git that does what it is told, and with real git.
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
