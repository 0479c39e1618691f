//! The short way into the log: events of which nothing was ever seen here, in one message that is a transaction by itself.
//!
//! Most of what is pushed is that. Everything is worked out before the database is asked, as if it knew nothing of it;
//! whether that is so is asked with the rows. Where it is not, nothing was written and the events go the long way
//! ([`Tenant::append`]), which comes to the same.
//!
//! [`Tenant::append`]: crate::database::Tenant::append

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ken_core::event::{Body, Event, Recorded};
use ken_core::id::EntryId;
use ken_core::state::blanks;
use ken_core::workspace::concerns_workspace;
use sqlx::Row as _;

use super::StoreError;
use super::append::{Appended, INLINE_MAX, blocking, cursor, effects};
use super::known::{Asked, Histories, Known};
use super::project::Projection;
use super::settle::{Change, Settled};
use super::write::{LogColumns, WRITE_FRESH, bound};
use crate::database::{Database, DatabaseError, Line, is_dead, is_twice, millis, without_nul};
use crate::identity::{OrganisationId, WorkspaceId};
use crate::serve::settings::Quotas;
use crate::world::uuid_at;

/// On what terms events may go the short way.
#[derive(Debug, Default)]
pub struct Terms<'a> {
    /// What the workspace may hold, where its organisation's row says nothing else.
    pub quotas: Option<&'a Quotas>,
    /// Whether somebody proposes who may not say again what people took back here.
    pub heeds_retractions: bool,
    /// What is noted in the audit log.
    pub note: Option<Line>,
}

/// Workspaces that are remembered at most.
const REMEMBERED_MAX: usize = 10_000;

/// The workspaces this process knows to have taken something back: whoever must heed that is not sent the short way in vain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retractions(Arc<Mutex<BTreeSet<WorkspaceId>>>);

impl Retractions {
    fn known(&self) -> MutexGuard<'_, BTreeSet<WorkspaceId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, workspace: WorkspaceId) {
        let mut known = self.known();
        if REMEMBERED_MAX <= known.len() {
            known.clear();
        }
        known.insert(workspace);
    }
}

/// Events with what follows from them, where nothing else is known.
struct Fresh {
    settled: Settled,
    projection: Projection,
}

impl Database {
    /// Appends events of which nothing was ever seen in the workspace, and keeps that; returns nothing, and changes nothing,
    /// where they have to go the long way.
    pub async fn append_fresh(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        copies: Vec<Recorded>,
        terms: Terms<'_>,
    ) -> Result<Option<Appended>, StoreError> {
        let in_vain = terms.heeds_retractions && self.retractions().known().contains(&workspace);
        if in_vain || !begin_entries(copies.iter().map(|it| &it.event)) {
            return Ok(None);
        }
        let fresh = match copies.len() <= INLINE_MAX {
            true => Fresh::of(copies)?,
            false => blocking(move || Fresh::of(copies)).await?,
        };
        let Some(fresh) = fresh else {
            return Ok(None);
        };
        let last = self.write_fresh(organisation, workspace, &fresh, terms);
        let last = match last.await? {
            Some(last) if 0 <= last => last,
            Some(_) => {
                self.retractions().remember(workspace);
                return Ok(None);
            }
            None => return Ok(None),
        };
        let end = fresh.settled.new.last().map(|copy| copy.event.id);
        let count = i64::try_from(fresh.settled.new.len()).unwrap_or(i64::MAX);
        Ok(end.map(|end| Appended {
            cursor: cursor(last + count, end),
            outcomes: fresh.settled.outcomes,
        }))
    }

    /// Writes what has a place; returns the place before it, less than 0 where only retractions are in the way.
    async fn write_fresh(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        fresh: &Fresh,
        terms: Terms<'_>,
    ) -> Result<Option<i64>, StoreError> {
        let now = self.world().now();
        let log = LogColumns::behind(0, &fresh.settled.new);
        let most = |of: fn(&Quotas) -> u64| {
            let most = terms.quotas.map(of);
            most.map(|it| i64::try_from(it).unwrap_or(i64::MAX))
        };
        let note = terms.note.as_ref();
        let mut taken = self.pool().take_alive().await?;
        let written = bound(WRITE_FRESH, workspace.0, &log, &fresh.projection)
            .bind(organisation.0)
            .bind(log.bytes)
            .bind(millis(now))
            .bind(terms.heeds_retractions)
            .bind(most(|it| it.events))
            .bind(most(|it| it.bytes))
            .bind(note.map(|_| uuid_at(now)))
            .bind(note.map(|it| without_nul(&it.by)))
            .bind(note.map(|it| it.role.name()))
            .bind(note.map(|it| it.act.name()))
            .bind(note.map(|it| without_nul(&it.subject)))
            .fetch_one(taken.connection())
            .await;
        match written {
            // The library reads on until the server is ready for more, which it is when all is kept.
            Ok(row) => {
                taken.give_back();
                Ok(row.try_get(0)?)
            }
            Err(error) if is_dead(&error) => Err(DatabaseError::Uncertain(error).into()),
            Err(error) => {
                // What the server refused is over, and nothing is left open.
                if error.as_database_error().is_some() {
                    taken.give_back();
                }
                match is_twice(&error) {
                    true => Ok(None),
                    false => Err(error.into()),
                }
            }
        }
    }
}

/// Returns whether events are about nothing but entries they begin themselves.
pub(crate) fn begin_entries<'e>(mut events: impl Iterator<Item = &'e Event> + Clone) -> bool {
    let begun: BTreeSet<EntryId> = events
        .clone()
        .filter(|it| matches!(it.body, Body::Proposed(_)))
        .flat_map(Event::entries)
        .collect();
    let is_plain = |event: &Event| {
        event.entries().all(|it| begun.contains(&it))
            && !concerns_workspace(event)
            && blanks(event).is_none()
    };
    !begun.is_empty() && events.all(is_plain)
}

impl Fresh {
    /// Works out what follows; nothing where it is more than rows that were not there.
    fn of(copies: Vec<Recorded>) -> Result<Option<Self>, StoreError> {
        let asked = Asked::by(&copies, &[]);
        let change = Change {
            incoming: copies,
            ..Change::default()
        };
        let effects = effects(change, asked, Known::default())?;
        if !effects.missing.is_empty() {
            return Ok(None);
        }
        let (settled, projection) = effects.project(Histories::new())?;
        let is_fresh = projection.only_adds() && settled.only_adds();
        Ok(is_fresh.then_some(Self {
            settled,
            projection,
        }))
    }
}
