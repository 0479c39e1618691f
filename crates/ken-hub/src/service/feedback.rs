//! Whether an entry helped: it counts for how far it helps, not for its truth.

use ken_core::decide;
use ken_core::event::{Feedback, FeedbackGiven};
use ken_core::id::EntryId;
use ken_core::time::Timestamp;

use super::{Desk, Failure, Reader};
use crate::identity::Role;

/// What was taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackNoted {
    pub id: EntryId,
    pub verdict: Feedback,
    /// Whether it was new; asked again, somebody says so once.
    pub is_new: bool,
}

/// Takes down whether an entry helped whoever was shown it; of people that is believed.
pub async fn feedback(
    desk: &mut Desk,
    reader: &Reader,
    wanted: &str,
    verdict: Feedback,
) -> Result<FeedbackNoted, Failure> {
    desk.needs(Role::Agent, "giving feedback")?;
    desk.check_author(&reader.agent)?;
    desk.lock().await?;
    let entry = desk.find(wanted).await?;
    let id = entry.id;
    let run = desk.open_run_of(reader).await?;
    if !reader.agent.is_human() {
        let run = match &run {
            Some(run) => Some(run.clone()),
            None => desk.implicit_sight(reader).await?,
        };
        let sight = run.map(|it| it.sight(&reader.agent)).unwrap_or_default();
        if !sight.everything && !sight.entries.contains(&id) {
            return Err(Failure::Conflict(format!(
                "{} was not shown {id}; read it first in the same run or session: only who had an entry can say whether it helped",
                reader.agent
            )));
        }
    }
    let since = run.map(|it| it.opened);
    let last = desk.last_verdict(id, reader).await?;
    let is_new = last.is_none_or(|(at, last)| last != verdict || Some(at) < since);
    if is_new {
        let draft = decide::feedback(&entry, verdict)?;
        desk.record(vec![(None, draft)], &reader.agent).await?;
    }
    Ok(FeedbackNoted {
        id,
        verdict,
        is_new,
    })
}

impl Desk {
    /// Returns what the agent said last about an entry, and when.
    async fn last_verdict(
        &mut self,
        id: EntryId,
        reader: &Reader,
    ) -> Result<Option<(Timestamp, Feedback)>, Failure> {
        let history = self.tenant.history(id).await?;
        let own = history.iter().filter(|it| it.event.by == reader.agent);
        let mut given = own.filter_map(|it| {
            let given = it.event.get::<FeedbackGiven>()?;
            Some((it.event.at.wall, given.verdict))
        });
        Ok(given.next_back())
    }
}
