//! Feedback on whether an entry helped. It affects confidence, not validity.

use crate::ledger::entry::Entry;
use crate::ledger::event::{EventBody, Feedback, FeedbackGiven, RecordedEvent};
use crate::trust::run::exposure::ExposureSet;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::time::Timestamp;

use super::{Draft, Refusal, draft_about, ensure_writable};

/// Amount one feedback adds to alpha or beta, in thousandths: as much as the smallest run outcome.
pub const FEEDBACK_WEIGHT_MILLI: u32 = 500;

/// Refuses feedback from an agent that was not shown the entry. People are trusted to have read it.
pub fn check_was_shown(by: &Actor, sight: &ExposureSet, entry: EntryId) -> Result<(), Refusal> {
    if by.is_human() || sight.contains(entry) {
        Ok(())
    } else {
        Err(Refusal::NotShown {
            entry,
            by: by.clone(),
        })
    }
}

/// Returns whether the latest feedback of `by` in the run that began at `since` is already
/// `verdict`. Repeated feedback counts once.
///
/// Without a run, all earlier feedback is considered. `history` is the entry's events in order.
pub fn is_repeated_feedback(
    history: &[RecordedEvent],
    by: &Actor,
    verdict: Feedback,
    since: Option<Timestamp>,
) -> bool {
    let own = history.iter().filter(|recorded| recorded.event.by == *by);
    let mut given = own.filter_map(|recorded| {
        let data = recorded.event.get::<FeedbackGiven>()?;
        Some((recorded.event.at.wall, data.verdict))
    });
    // Only the latest counts: changing one's mind and back again is new feedback.
    let last = given.next_back();
    last.is_some_and(|(at, last)| last == verdict && since.is_none_or(|since| since <= at))
}

/// Records whether an entry helped.
pub fn give_feedback(entry: &Entry, verdict: Feedback) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let weight_milli = FEEDBACK_WEIGHT_MILLI;
    let body = FeedbackGiven {
        verdict,
        weight_milli,
    };
    Ok(draft_about(entry, EventBody::FeedbackGiven(body)))
}
