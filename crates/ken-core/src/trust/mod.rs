//! Evidence for and against entries: runs, confidence, impact, similarity, contradictions.
//!
//! An entry gains trust from independent confirmation and measured outcomes, never from being
//! repeated by an agent that was shown it.

pub mod authority;
pub mod bisection;
pub mod contradiction;
pub mod facts;
pub mod handoff;
pub mod impact;
pub mod outcome;
pub mod posterior;
pub mod promotion;
pub mod rediscovery;
pub mod review;
pub mod run;
pub mod similarity;
