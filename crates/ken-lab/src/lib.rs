//! An experiment: whether knowledge that agents repeat to each other confirms itself.
//!
//! A simulated codebase has facts that agents may find and mistakes they may make ([`world`]). What they find
//! becomes entries of the real core, runs are closed by the real core ([`simulation`]), and beside Ken other
//! policies live over the same entries ([`policy`]). Nothing here reads a clock, and all chance follows from a
//! seed ([`dice`]).
//!
//! `docs/lab.md` has what came out.

pub mod accumulation;
pub mod dice;
pub mod experiment;
pub mod grid;
pub mod measure;
pub mod memory;
pub mod policy;
pub mod simulation;
pub mod statistics;
pub mod world;
