//! Read operations on entries: details, lists and history.

use ken_core::json::EntityRelationship;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent as Event;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;

use super::{EntryReader, ServiceError, WorkspaceSession};
use crate::ids::Role;
use crate::store::EntryPosition;

/// Maximum number of events returned per history.
const HISTORY_MAX: usize = 1_000;

/// An event of a history, with its pusher and the time it was received, if they are known.
#[derive(Clone, Debug)]
pub struct HistoryEvent {
    pub event: Event,
    pub arrival: Option<(String, Timestamp)>,
}

/// Details of one entry.
#[derive(Clone, Debug)]
pub struct EntryWithConflicts {
    pub entry: Entry,
    /// Entries that contradict this one.
    pub conflicts: Vec<EntryId>,
    /// Relationships that start or end at it, if it is an entity.
    pub relationships: Vec<EntityRelationship>,
    /// True if its author or origin is revoked.
    pub is_revoked: bool,
    pub now: Timestamp,
}

/// A page of entries, newest first.
#[derive(Clone, Debug)]
pub struct EntryListing {
    pub entries: Vec<Entry>,
    /// Start of the next page; `None` on the last page.
    pub next: Option<EntryPosition>,
}

/// Returns the details of an entry and records the exposure. `wanted` is an id, an unambiguous id
/// prefix or an alias.
///
/// Quarantined entries are shown to curators only.
pub async fn show_entry(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    wanted: &str,
) -> Result<EntryWithConflicts, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    let mut entry = session.find(wanted).await?;
    session.ensure_visible(&entry)?;
    session.personal_overlays().await?.apply(&mut entry);
    let workspace = session.workspace().await?;
    let conflicts = session.load_opponents(&entry, &workspace).await?;
    let relationships = session.load_relationships(&entry).await?;
    session
        .record_exposures(&reader_context, &[entry.id], ExposureChannel::Show)
        .await?;
    Ok(EntryWithConflicts {
        relationships,
        conflicts: conflicts.into_iter().collect(),
        is_revoked: workspace.is_revoked(&entry),
        now: session.now,
        entry,
    })
}

impl WorkspaceSession {
    /// Returns the relationships that start or end at `entry`; none if it is not an entity.
    async fn load_relationships(
        &mut self,
        entry: &Entry,
    ) -> Result<Vec<EntityRelationship>, ServiceError> {
        if entry.kind() != Some(EntryKind::Entity) {
            return Ok(Vec::new());
        }
        let filter = EntryFilter {
            kind: Some(EntryKind::Relationship),
            ..EntryFilter::default()
        };
        let stated = self.tx.list(&filter, None, None).await?;
        Ok(EntityRelationship::of(entry.id, &stated))
    }
}

/// Returns an entry's latest thousand events in canonical order and records the exposure.
pub async fn history(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    wanted: &str,
) -> Result<Vec<HistoryEvent>, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    let entry = session.find(wanted).await?;
    session.ensure_visible(&entry)?;
    // The statements are in the history, so reading it primes the agent as much as reading the
    // entry.
    session
        .record_exposures(&reader_context, &[entry.id], ExposureChannel::Show)
        .await?;
    let mut history = session.tx.history(entry.id).await?;
    let excess = history.len().saturating_sub(HISTORY_MAX);
    let events = history.split_off(excess);
    let ids: Vec<EventId> = events.iter().map(|copy| copy.event.id).collect();
    let mut arrivals = session.tx.arrivals(&ids).await?;
    let with_arrival = |event: Event| HistoryEvent {
        arrival: arrivals.remove(&event.event.id),
        event,
    };
    Ok(events.into_iter().map(with_arrival).collect())
}

/// Lists entries, newest first, and records the exposures.
pub async fn list_entries(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    filter: &EntryFilter,
    after: Option<&EntryPosition>,
    limit: u32,
) -> Result<EntryListing, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    // One entry more than the page holds tells whether there is a next page, without a count query.
    let limit_plus_one = Some(limit.saturating_add(1));
    let mut entries = session.tx.list(filter, after, limit_plus_one).await?;
    let is_cut = u32::try_from(entries.len()).unwrap_or(u32::MAX) > limit;
    entries.truncate(limit as usize);
    let next = entries.last().filter(|_| is_cut).map(EntryPosition::after);
    // The cursor is computed before quarantined entries are removed, so a page may be short but
    // paging never stops early.
    entries.retain(|it| session.ensure_visible(it).is_ok());
    let overlays = session.personal_overlays().await?;
    entries.iter_mut().for_each(|it| overlays.apply(it));
    let ids: Vec<EntryId> = entries.iter().map(|it| it.id).collect();
    session
        .record_exposures(&reader_context, &ids, ExposureChannel::Pull)
        .await?;
    Ok(EntryListing { entries, next })
}

impl WorkspaceSession {
    /// Loads an entry by its full id.
    pub(super) async fn load_entry(&mut self, id: EntryId) -> Result<Entry, ServiceError> {
        let found = self.tx.entry(id).await?;
        found.ok_or_else(|| entry_not_found(&id.to_string()))
    }

    /// Finds the only entry whose id starts with `wanted` or whose alias equals it.
    pub(super) async fn find(&mut self, wanted: &str) -> Result<Entry, ServiceError> {
        // Context blocks print ids in brackets, and agents copy them that way.
        let wanted = wanted.trim().trim_start_matches('[').trim_end_matches(']');
        if wanted.is_empty() {
            return Err(ServiceError::invalid_request("an entry id is required"));
        }
        let mut candidates = self.tx.find_ids(wanted).await?;
        match candidates.len() {
            0 => Err(entry_not_found(wanted)),
            1 => self.load_entry(candidates.remove(0)).await,
            _ => Err(ServiceError::Ambiguous {
                wanted: wanted.to_owned(),
                candidates,
            }),
        }
    }

    /// Refuses quarantined entries to callers below curator.
    pub(super) fn ensure_visible(&self, entry: &Entry) -> Result<(), ServiceError> {
        if entry.quarantine.is_empty() || self.caller.role >= Role::Curator {
            Ok(())
        } else {
            Err(ServiceError::Quarantined(entry.id))
        }
    }
}

fn entry_not_found(wanted: &str) -> ServiceError {
    let (what, wanted) = ("entry", wanted.to_owned());
    ServiceError::NotFound { what, wanted }
}
