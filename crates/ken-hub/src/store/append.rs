//! Append: adds events to the log and updates the projections, in the caller's transaction.

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::EventDelta;
use ken_core::values::id::EventId;
use ken_remote::wire::LogCursor;

use super::copies::LogChange;
use super::preload::PreloadQuery;
use super::project::LogChangeEffects;
use super::search_index::LostTexts;
use super::{StoreError, uuids};
use crate::database::WorkspaceTx;

/// Number of events that are folded on the async worker thread: about a millisecond of work.
pub(super) const INLINE_MAX: usize = 8;

/// Result of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendReceipt {
    /// Outcome per copy, in the order of the copies.
    pub outcomes: Vec<CopyOutcome>,
    /// End of the log.
    pub cursor: LogCursor,
}

/// Outcome of appending one copy of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// The event was not in the log.
    New,
    /// The log has the event, and this copy adds nothing.
    Known,
    /// This copy replaced a worse one.
    Better,
}

impl WorkspaceTx {
    /// Appends events. Events that are already in the log change nothing.
    ///
    /// Concurrent appends to the same workspace wait until this transaction ends, so positions in
    /// the log follow the order of commits.
    pub async fn append(
        &mut self,
        copies: Vec<RecordedEvent>,
    ) -> Result<AppendReceipt, StoreError> {
        let change = LogChange {
            incoming: copies,
            ..LogChange::default()
        };
        self.apply_change(change).await
    }

    /// Applies a change like every store. A hub's log only gains events; `removed` exists for
    /// comparisons with other stores.
    pub async fn apply(&mut self, delta: EventDelta<'_>) -> Result<AppendReceipt, StoreError> {
        if !delta.blanked.is_empty() {
            self.remember_redactions(delta.blanked).await?;
        }
        let change = LogChange {
            incoming: delta.added.to_vec(),
            redacted: delta.blanked.to_vec(),
            dropped: delta.removed.to_vec(),
        };
        self.apply_change(change).await
    }

    async fn apply_change(&mut self, change: LogChange) -> Result<AppendReceipt, StoreError> {
        let others = [&change.redacted[..], &change.dropped].concat();
        let preload_query = PreloadQuery::for_events(&change.incoming, &others);
        let rows = self.preload_rows(&preload_query).await?;
        let head = rows.head;
        let forced = !change.redacted.is_empty();
        let effects = if change.incoming.len() <= INLINE_MAX {
            plan_effects(change, preload_query, rows)?
        } else {
            run_blocking_work(move || plan_effects(change, preload_query, rows)).await?
        };
        // The preload covers the entries that the incoming events name. A replaced copy may concern
        // others, whose histories are requested only now.
        let more = if effects.missing.is_empty() {
            super::preload::EntryHistories::new()
        } else {
            self.histories(&effects.missing.clone()).await?
        };
        let (resolved, projection) = if effects.weight() <= INLINE_MAX && more.is_empty() {
            effects.project(more)?
        } else {
            run_blocking_work(move || effects.project(more)).await?
        };
        let mut end = head;
        let lost = LostTexts::of(&resolved)?;
        if !lost.is_empty() {
            self.lock_search_index().await?;
        }
        if !resolved.new.is_empty() || !resolved.only_adds() {
            end = self.write(head, &resolved, &projection).await?;
        }
        if !lost.is_empty() {
            self.forget_texts(&lost).await?;
        }
        if forced || !resolved.redactions.is_empty() {
            self.forget_answers().await?;
        }
        // Changed events move to the end of the log, after the new ones.
        let moved = resolved.changed.last().map(|(_, now)| now.event.id);
        let last = moved.or(resolved.new.last().map(|copy| copy.event.id));
        Ok(AppendReceipt {
            outcomes: resolved.outcomes,
            cursor: match last {
                Some(last) => cursor(end, last),
                None => self.log_end().await?,
            },
        })
    }

    /// Deletes the responses stored for idempotency keys of the organization: any of them may
    /// contain the text that is redacted.
    async fn forget_answers(&mut self) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query("SELECT ken.forget_answers($1)")
            .bind(organization.0)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Stores ids of events that are redacted whatever the log says.
    async fn remember_redactions(&mut self, ids: &[EventId]) -> Result<(), StoreError> {
        let key = self.key();
        sqlx::query(
            "INSERT INTO ken.remembered (workspace_id, event)
             SELECT $1, * FROM unnest($2::uuid[]) ON CONFLICT DO NOTHING",
        )
        .bind(key)
        .bind(uuids(ids))
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

/// Resolves a change and determines the entries it affects.
pub(super) fn plan_effects(
    change: LogChange,
    preload_query: PreloadQuery,
    mut rows: super::preload::PreloadedRows,
) -> Result<LogChangeEffects, StoreError> {
    let prior_log = std::mem::take(&mut rows.prior_log);
    let resolved = change.resolve(prior_log)?;
    LogChangeEffects::plan(resolved, preload_query, rows)
}

/// Runs CPU-bound work on the blocking thread pool.
pub(super) async fn run_blocking_work<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    crate::blocking::run_blocking(work).await?
}

/// Returns the cursor after the event `last` at position `seq`.
pub(super) fn cursor(seq: i64, last: EventId) -> LogCursor {
    LogCursor {
        seq: seq.cast_unsigned(),
        last: Some(last),
    }
}
