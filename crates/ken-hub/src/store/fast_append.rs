//! Fast append: inserts events that are new to the workspace in one statement, which is its own
//! transaction.
//!
//! Most pushed events are new. Their projections are computed as if the database were empty, and
//! the statement itself checks that nothing about them is stored. If it finds something, it writes
//! nothing, and the caller falls back to the full append ([`WorkspaceTx::append`]), which has the
//! same result.
//!
//! [`WorkspaceTx::append`]: crate::database::WorkspaceTx::append

use std::collections::BTreeSet;

use ken_core::ledger::event::{Event, EventBody, RecordedEvent};
use ken_core::ledger::state::redaction_target;
use ken_core::ledger::workspace::concerns_workspace;
use ken_core::values::id::EntryId;
use sqlx::Row as _;

use super::StoreError;
use super::append::{AppendReceipt, INLINE_MAX, cursor, plan_effects, run_blocking_work};
use super::copies::{LogChange, ResolvedChange};
use super::preload::{EntryHistories, PreloadQuery, PreloadedRows};
use super::project::ProjectionUpdate;
use super::write::{EventArrival, LogColumns, WRITE_FAST, bind_rows};
use crate::config::DefaultQuotas;
use crate::database::audit::{NewAuditRecord, bind_record};
use crate::database::{
    DatabaseError, EventPusher, HubDatabase, is_connection_lost, is_unique_violation, millis,
};
use crate::ids::{OrganizationId, WorkspaceId};

/// Options of a fast append.
#[derive(Debug, Default)]
pub struct FastAppendOptions<'a> {
    /// Default limits per workspace; an organization's own row overrides them.
    pub quotas: Option<&'a DefaultQuotas>,
    /// True if the events contain proposals that must be compared with retracted claims.
    pub check_retractions: bool,
    /// Stored with every event.
    pub pusher: Option<EventPusher>,
    /// Record for the audit log.
    pub audit_record: Option<NewAuditRecord>,
}

/// New events and their projections, computed without stored state.
struct FastAppendPlan {
    resolved: ResolvedChange,
    projection: ProjectionUpdate,
}

impl HubDatabase {
    /// Appends and commits events that are new to the workspace. Returns `None`, without any
    /// change, if the full append is required.
    pub async fn fast_append(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        copies: Vec<RecordedEvent>,
        options: FastAppendOptions<'_>,
    ) -> Result<Option<AppendReceipt>, StoreError> {
        let must_fail = options.check_retractions && self.retractions().contains(workspace);
        if must_fail || !are_self_contained(copies.iter().map(|it| &it.event)) {
            return Ok(None);
        }
        let plan = if copies.len() <= INLINE_MAX {
            FastAppendPlan::plan(copies)?
        } else {
            run_blocking_work(move || FastAppendPlan::plan(copies)).await?
        };
        let Some(plan) = plan else {
            return Ok(None);
        };
        let last = self.write_fast_append(organization, workspace, &plan, options);
        let last = match last.await? {
            Some(last) if last >= 0 => last,
            // Negative means that only possible retractions prevented the append. That flag of the
            // workspace is never reset, so later pushes need not try.
            Some(_) => {
                self.retractions().remember(workspace);
                return Ok(None);
            }
            None => return Ok(None),
        };
        let end = plan.resolved.new.last().map(|copy| copy.event.id);
        let count = i64::try_from(plan.resolved.new.len()).unwrap_or(i64::MAX);
        Ok(end.map(|end| AppendReceipt {
            cursor: cursor(last + count, end),
            outcomes: plan.resolved.outcomes,
        }))
    }

    /// Executes the statement. Returns the log position before the events, a negative number if
    /// only retractions prevent the append, or `None` if the full append is required.
    async fn write_fast_append(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        plan: &FastAppendPlan,
        options: FastAppendOptions<'_>,
    ) -> Result<Option<i64>, StoreError> {
        let now = self.clock().now();
        let arrival = EventArrival::new(options.pusher.as_ref(), now);
        let new = plan.resolved.new.iter().map(|copy| (copy, &arrival));
        let log = LogColumns::after(0, new);
        let limit = |read: fn(&DefaultQuotas) -> u64| {
            let limit = options.quotas.map(read);
            limit.map(|it| i64::try_from(it).unwrap_or(i64::MAX))
        };
        let mut lease = self.pool().acquire_live().await?;
        let statement = bind_rows(WRITE_FAST, workspace.0, &log, &plan.projection)
            .bind(organization.0)
            .bind(log.bytes)
            .bind(millis(now))
            .bind(options.check_retractions)
            .bind(limit(|it| it.events))
            .bind(limit(|it| it.bytes));
        let written = bind_record(statement, options.audit_record.as_ref(), now)
            .fetch_one(lease.connection())
            .await;
        match written {
            // sqlx reads until the server reports that it is ready, which it does after the commit.
            Ok(row) => {
                lease.release();
                Ok(row.try_get(0)?)
            }
            // The connection broke while the server may have committed. Retrying is left to the
            // client; it is safe, because appending is idempotent.
            Err(error) if is_connection_lost(&error) => Err(DatabaseError::Uncertain(error).into()),
            Err(error) => {
                // After an error reported by the server the implicit transaction has ended, so the
                // connection is clean.
                if error.as_database_error().is_some() {
                    lease.release();
                }
                // A row exists after all, despite the statement's own check. The full append copes.
                if is_unique_violation(&error) {
                    Ok(None)
                } else {
                    Err(error.into())
                }
            }
        }
    }
}

/// Returns whether events concern only entries that they create themselves.
pub(crate) fn are_self_contained<'e>(mut events: impl Iterator<Item = &'e Event> + Clone) -> bool {
    let begun: BTreeSet<EntryId> = events
        .clone()
        .filter(|it| matches!(it.body, EventBody::Proposed(_)))
        .flat_map(Event::entries)
        .collect();
    let is_plain = |event: &Event| {
        event.entries().all(|it| begun.contains(&it))
            && !concerns_workspace(event)
            && redaction_target(event).is_none()
    };
    !begun.is_empty() && events.all(is_plain)
}

impl FastAppendPlan {
    /// Computes the projections; `None` if they are more than new rows.
    fn plan(copies: Vec<RecordedEvent>) -> Result<Option<Self>, StoreError> {
        let preload_query = PreloadQuery::for_events(&copies, &[]);
        let change = LogChange {
            incoming: copies,
            ..LogChange::default()
        };
        let effects = plan_effects(change, preload_query, PreloadedRows::default())?;
        if !effects.missing.is_empty() {
            return Ok(None);
        }
        let (resolved, projection) = effects.project(EntryHistories::new())?;
        let is_fresh = projection.only_adds() && resolved.only_adds();
        Ok(is_fresh.then_some(Self {
            resolved,
            projection,
        }))
    }
}
