//! The use cases, one function a verb, each over one transaction that sees one workspace.
//!
//! They decide with the same core as a repository does and answer in the same words. What differs is said: a hub has
//! no code to look at, so what rests on code is unverifiable here. Whoever asks has a role, and a use case that needs
//! more refuses before it reads anything. What an agent is about to be shown is written down in the same transaction
//! ([`Reader`]); what is written goes through one door ([`Desk`]).

mod brief;
mod desk;
mod failure;
mod feedback;
mod global;
mod health;
mod held;
mod keeping;
mod lift;
mod lookup;
mod outcomes;
mod promotion;
mod push;
pub mod raw;
mod reader;
mod recording;
mod runs;
mod search;
mod verify;

pub use brief::{Briefed, Briefing, brief, norms};
pub use desk::{Desk, House};
pub use failure::Failure;
pub use feedback::{FeedbackNoted, feedback};
pub use global::Beside;
pub use held::{
    APPROVAL_WHERE, HELD_WHERE, SET_APART_WHERE, SetApart, WayOut, discard, discard_set_apart,
    held, lift_quarantine, release, set_apart,
};
pub use ken_core::surface::Portion;
pub use lift::{lift, lift_of};
pub use lookup::{Listing, Told, entry, history, list};
pub use outcomes::{Outcomes, Period, PeriodError, Slice, added_up, outcomes};
pub use promotion::{Approving, Candidate, Queue, Waiting, approve, queue, reject};
pub use push::{Looked, Opinion, Sent, Taken, look, take};
pub use reader::{Reader, check_session, reader};
pub use recording::{Recorded, Recording, record};
pub use runs::{
    Agents, NewRun, Observation, close, note, observe, open, open_runs, past_runs, run,
};
pub use search::{Found, Question, search, search_kept, served_by};
pub use verify::{Verified, verify};
