//! Takes events into the log and brings everything that follows from them in step, in the caller's transaction.

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::store::Delta;
use ken_remote::wire::Cursor;

use super::known::Asked;
use super::project::Effects;
use super::settle::Change;
use super::{StoreError, uuids};
use crate::database::Tenant;

/// Events whose folding is left to the thread that waits for the database: about a millisecond of work.
pub(super) const INLINE_MAX: usize = 8;

/// What an append came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// What became of each copy, in the order they were given.
    pub outcomes: Vec<Outcome>,
    /// The end of the log.
    pub cursor: Cursor,
}

/// What became of one copy of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The log did not have the event.
    New,
    /// The log has it, and this copy says nothing new.
    Known,
    /// The log had a worse copy.
    Better,
}

impl Tenant {
    /// Appends events; one that is there already changes nothing.
    ///
    /// Whoever appends to the same workspace meanwhile waits until this transaction ends, so that places in the log
    /// follow the order of commits.
    pub async fn append(&mut self, copies: Vec<Recorded>) -> Result<Appended, StoreError> {
        let change = Change {
            incoming: copies,
            ..Change::default()
        };
        self.change(change).await
    }

    /// Applies a change as every store does; a log of a hub gains events and loses none.
    pub async fn apply(&mut self, delta: Delta<'_>) -> Result<Appended, StoreError> {
        if !delta.blanked.is_empty() {
            self.remember(delta.blanked).await?;
        }
        let change = Change {
            incoming: delta.added.to_vec(),
            remembered: delta.blanked.to_vec(),
            dropped: delta.removed.to_vec(),
        };
        self.change(change).await
    }

    async fn change(&mut self, change: Change) -> Result<Appended, StoreError> {
        let others = [&change.remembered[..], &change.dropped].concat();
        let asked = Asked::by(&change.incoming, &others);
        let known = self.known(&asked).await?;
        let head = known.head;
        let effects = match change.incoming.len() <= INLINE_MAX {
            true => effects(change, asked, known)?,
            false => blocking(move || effects(change, asked, known)).await?,
        };
        let more = match effects.missing.is_empty() {
            true => super::known::Histories::new(),
            false => self.histories(&effects.missing.clone()).await?,
        };
        let (settled, projection) = match effects.weight() <= INLINE_MAX && more.is_empty() {
            true => effects.project(more)?,
            false => blocking(move || effects.project(more)).await?,
        };
        let mut end = head;
        if !settled.new.is_empty() || !settled.only_adds() {
            end = self.write(head, &settled, &projection).await?;
        }
        let moved = settled.changed.last().map(|(_, now)| now.event.id);
        let last = moved.or(settled.new.last().map(|copy| copy.event.id));
        Ok(Appended {
            outcomes: settled.outcomes,
            cursor: match last {
                Some(last) => cursor(end, last),
                None => self.cursor().await?,
            },
        })
    }

    /// Keeps ids that are blanked whatever the log says.
    async fn remember(&mut self, ids: &[EventId]) -> Result<(), StoreError> {
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

/// Finds out what a change comes to and whom it concerns.
pub(super) fn effects(
    change: Change,
    asked: Asked,
    mut known: super::known::Known,
) -> Result<Effects, StoreError> {
    let before = std::mem::take(&mut known.before);
    let settled = change.settle(before)?;
    Effects::of(settled, asked, known)
}

/// Does work that takes long on a thread that nobody waits for.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    crate::away::away(work).await?
}

/// Returns the place behind the event `last`, which stands at `seq`.
pub(super) fn cursor(seq: i64, last: EventId) -> Cursor {
    Cursor {
        seq: seq.cast_unsigned(),
        last: Some(last),
    }
}
