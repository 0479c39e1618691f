//! Whether an entry helped, as somebody who had it says: it counts for how far the entry helps, not for its truth.

use crate::actor::Actor;
use crate::entry::Entry;
use crate::event::{Body, Feedback, FeedbackGiven, Recorded};
use crate::id::EntryId;
use crate::run::exposure::Sight;
use crate::time::Timestamp;

use super::{Draft, Refusal, about, writable};

/// What one word of feedback adds to alpha or beta, in thousandths: as much as the least outcome.
pub const FEEDBACK_WEIGHT_MILLI: u32 = 500;

/// Refuses the word of who did not have the entry; of people it is believed that they read what they judge.
pub fn may_judge(by: &Actor, sight: &Sight, entry: EntryId) -> Result<(), Refusal> {
    match by.is_human() || sight.has(entry) {
        true => Ok(()),
        false => Err(Refusal::NotShown {
            entry,
            by: by.clone(),
        }),
    }
}

/// Returns whether the last `by` said about an entry, `since` its run began, is `verdict`: asked again, somebody says so
/// once. Outside any run it counts whenever it was said. `history` has the entry's events in order.
pub fn is_said_already(
    history: &[Recorded],
    by: &Actor,
    verdict: Feedback,
    since: Option<Timestamp>,
) -> bool {
    let own = history.iter().filter(|it| it.event.by == *by);
    let mut given = own.filter_map(|it| {
        let given = it.event.get::<FeedbackGiven>()?;
        Some((it.event.at.wall, given.verdict))
    });
    let last = given.next_back();
    last.is_some_and(|(at, last)| last == verdict && since.is_none_or(|since| since <= at))
}

/// Records whether an entry helped.
pub fn feedback(entry: &Entry, verdict: Feedback) -> Result<Draft, Refusal> {
    writable(entry)?;
    let weight_milli = FEEDBACK_WEIGHT_MILLI;
    let body = FeedbackGiven {
        verdict,
        weight_milli,
    };
    Ok(about(entry, Body::FeedbackGiven(body)))
}
