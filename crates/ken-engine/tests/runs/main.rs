//! Runs from opening to the ledger: confirming and non-confirming findings, and attempts to cheat.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod closing;
mod exposure;
mod house;
