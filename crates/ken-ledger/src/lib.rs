//! The ledger on disk: segments and packs in the worktree, the journal in the git directory, and
//! recovery from crashes, git operations and manual edits.
//!
//! The crate stores lines and interprets only their envelope; state, policy and views are in other
//! crates. All file access goes through [`Dir`], all git access through [`GitView`]; time and
//! randomness are arguments.
//!
//! Invariant: an event that [`Ledger::append`] acknowledged is in the journal (in git) or in a
//! synced segment (outside git), and a file that git may have seen is never written again.
//!
//! Reading order: `location` finds the ledger, [`layout`] names its files, [`segment`] and
//! [`pack`] read them, [`journal`] is the durable copy; `writer`, `repair`, `replace` and `recover`
//! change them.

pub mod check;
pub mod cut;
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

mod local;
mod repair;
mod repair_plan;
mod seal;
mod state;
mod writer;

#[cfg(test)]
mod sample;

pub use disk::{Dir, DiskError, RealDir, Stat, restrict_to_owner};
pub use git::{GitError, GitView};
pub use layout::{SegmentName, SegmentStat};
pub use ledger::{Ledger, LedgerParts, ReadError, SegmentText};
pub use notice::LedgerNotice;
pub use place::{GitDirs, GitEnv, LedgerLocation, discover};
pub use writer::{AppendError, AppendReport, SEGMENT_BYTES_MAX, SegmentWrite};
