//! The index through its public interface: store contract, refreshes, damage, and equality with a
//! rebuild.

#![cfg(test)]

mod branch;

mod damage;
mod incremental;
mod meanwhile;
mod pages;
mod refresh;
mod search;
mod story;
