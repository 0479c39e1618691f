//! The index from outside: the story, refreshes, damage, and equality with a rebuild.

#![cfg(test)]

mod branch;

mod damage;
mod incremental;
mod meanwhile;
mod refresh;
mod search;
mod story;
