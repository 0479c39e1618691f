//! Runs from their opening to the ledger: what confirms, what does not, and every way to be fooled.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod closing;
mod exposure;
mod house;
