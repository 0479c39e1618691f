//! Ken's ledger on disk: segments and packs in the tree, the journal beside git, and the way
//! back from what git, people and power cuts do to them.
//!
//! It stores lines and never interprets them beyond their envelope: state, policy and views are
//! other crates' work. All file access goes through [`Dir`], git through [`GitView`], and time
//! and randomness come in as arguments.
//!
//! Invariant: an event that [`Ledger::append`] acknowledged is in the journal (in git) or in a
//! synced segment (outside git), and no file that git may have seen is ever written again.
//!
//! Reading order: [`place`] finds the ledger, [`layout`] names its files, [`segment`] and [`pack`]
//! read them, [`journal`] is the durable copy, `writer`, `heal`, `replace` and `recover` act.

pub mod check;
pub mod disk;
pub mod git;
pub mod journal;
pub mod layout;
pub mod ledger;
pub mod notice;
pub mod pack;
pub mod place;
pub mod recover;
pub mod replace;
pub mod segment;

mod heal;
mod local;
mod mend;
mod seal;
mod state;
mod writer;

#[cfg(test)]
mod sample;

pub use disk::{Dir, DiskError, RealDir, Stat};
pub use git::{GitError, GitView};
pub use layout::{SegmentName, SegmentStat};
pub use ledger::{Ledger, Parts, ReadError, SegmentText};
pub use notice::Notice;
pub use place::{GitDirs, GitEnv, Place, discover};
pub use writer::{AppendError, Appended, SEGMENT_BYTES_MAX, Written};
