//! What a repository and a hub say to each other ([`wire`]), and the repository's end of it.
//!
//! Does not read a ledger or keep state: whoever synchronises decides what is said.

pub mod wire;
