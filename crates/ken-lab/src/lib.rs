//! Simulation experiment: does knowledge that agents repeat to each other confirm itself?
//!
//! A simulated codebase has facts that agents may find and mistakes they may make ([`world`]).
//! Findings become entries of the real core, which also closes the runs ([`simulation`]). Ken is
//! compared with other policies over the same entries ([`policy`]). Nothing reads a clock, and all
//! randomness follows from a seed ([`dice`]). [`poisoning`] is an experiment of its own.
//!
//! `docs/explanation/lab.md` reports the results.

pub mod accumulation;
pub mod confirmation;
pub mod dice;
pub mod experiment;
pub mod grid;
pub mod measure;
pub mod memory;
pub mod poisoning;
pub mod policy;
pub mod simulation;
pub mod statistics;
pub mod world;
