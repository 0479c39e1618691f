//! Whether an entry helped: it counts for how far it helps, not for its truth.

use ken_core::decide;
use ken_core::event::Feedback;
use ken_core::id::EntryId;

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
    let open = desk.open_run_of(reader).await?;
    let since = open.as_ref().map(|it| it.opened);
    let run = match open {
        Some(run) => Some(run),
        None => desk.implicit_sight(reader).await?,
    };
    let by = &reader.agent;
    let sight = run.map(|it| it.sight(by)).unwrap_or_default();
    decide::may_judge(by, &sight, id).map_err(|it| Failure::Conflict(it.to_string()))?;
    let history = desk.tenant.history(id).await?;
    let is_new = !decide::is_said_already(&history, by, verdict, since);
    if is_new {
        let draft = decide::feedback(&entry, verdict)?;
        desk.record(vec![(None, draft)], by).await?;
    }
    Ok(FeedbackNoted {
        id,
        verdict,
        is_new,
    })
}
