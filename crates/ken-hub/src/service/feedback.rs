//! Feedback on entries: it changes an entry's confidence, not its truth.

use ken_core::decide;
use ken_core::ledger::event::Feedback;
use ken_core::values::id::EntryId;

use super::{EntryReader, ServiceError, WorkspaceSession};
use crate::database::audit::AuditAction;
use crate::ids::Role;

/// Result of giving feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackOutcome {
    pub id: EntryId,
    pub verdict: Feedback,
    /// False if the actor gave the same feedback before; repetitions do not count.
    pub is_new: bool,
}

/// Records whether an entry helped the reader. Agents need to have been shown the entry; people are
/// believed.
pub async fn give_feedback(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    wanted: &str,
    verdict: Feedback,
) -> Result<FeedbackOutcome, ServiceError> {
    session.require_role(Role::Agent, "giving feedback")?;
    session.ensure_may_write_as(&reader.agent)?;
    session.lock().await?;
    let entry = session.find(wanted).await?;
    let id = entry.id;
    // Exposures are looked up in the reader's open run, or in the implicit run that records reads
    // outside any run.
    let open = session.load_reader_run(reader).await?;
    let since = open.as_ref().map(|it| it.opened);
    let run = match open {
        Some(run) => Some(run),
        None => session.load_implicit_run(reader).await?,
    };
    let by = &reader.agent;
    let sight = run.map(|it| it.exposures(by)).unwrap_or_default();
    decide::check_was_shown(by, &sight, id).map_err(|it| ServiceError::Conflict(it.to_string()))?;
    // The lock taken above makes this check reliable: without it, two identical requests could both
    // count.
    let history = session.tx.history(id).await?;
    let is_new = !decide::is_repeated_feedback(&history, by, verdict, since);
    if is_new {
        let draft = decide::give_feedback(&entry, verdict)?;
        let record = (AuditAction::EventsRecorded, &*id.to_string());
        session
            .append_drafts(vec![(None, draft)], by, record)
            .await?;
    }
    Ok(FeedbackOutcome {
        id,
        verdict,
        is_new,
    })
}
