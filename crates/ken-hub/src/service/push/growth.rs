//! Limits of an entry's growth by pushed events.
//!
//! Each event about an entry adds to one of its lists, such as citations, confirmations or
//! versions, and folding the entry takes time for all of them. So the number of events per entry is
//! limited, and that of citations further. Events that take text away are always admitted.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::{Event, EventBody};
use ken_core::values::id::{EntryId, EventId};

use super::{ScanVerdict, ScreenedLine};
use crate::service::{ServiceError, WorkspaceSession};
use crate::store::EntryEventCount;

/// Maximum number of citations per entry, counted in citing events.
pub const CITATIONS_MAX: u64 = 500;

/// Maximum number of events per entry.
pub const ENTRY_EVENTS_MAX: u64 = 5_000;

/// Returns whether new events of the lines alone exceed a limit of an entry.
pub(super) fn exceeds_limits(lines: &[ScreenedLine]) -> bool {
    let mut counts = BTreeMap::new();
    lines
        .iter()
        .filter_map(ScreenedLine::event)
        .any(|copy| count_event(&mut counts, &copy.event).is_some())
}

impl WorkspaceSession {
    /// Refuses the lines that would exceed a limit of an entry.
    pub(super) async fn limit_growth(
        &mut self,
        lines: &mut [ScreenedLine],
    ) -> Result<(), ServiceError> {
        let events = || {
            lines
                .iter()
                .filter_map(ScreenedLine::event)
                .map(|it| &it.event)
        };
        let entries: BTreeSet<EntryId> = events().flat_map(Event::entries).collect();
        let entries: Vec<EntryId> = entries.into_iter().collect();
        let ids: Vec<EventId> = events().map(|it| it.id).collect();
        let mut counts = self.tx.count_entry_events(&entries).await?;
        let known = self.tx.events_by_id(&ids).await?;
        for line in lines {
            let ScreenedLine::Event(copy, verdict) = line else {
                continue;
            };
            // A copy of a stored event adds nothing.
            if known.contains_key(&copy.event.id) {
                continue;
            }
            if let Some(reason) = count_event(&mut counts, &copy.event) {
                *verdict = ScanVerdict::Refused(reason.into());
            }
        }
        Ok(())
    }
}

/// Counts an event for each of its entries. Returns the reason if it exceeds a limit; it is not
/// counted then.
fn count_event(counts: &mut BTreeMap<EntryId, EntryEventCount>, event: &Event) -> Option<String> {
    if matches!(
        event.body,
        EventBody::EventBlanked(_) | EventBody::Retracted(_) | EventBody::OriginRevoked(_)
    ) {
        return None;
    }
    let is_citation = matches!(event.body, EventBody::Cited(_));
    for entry in event.entries() {
        let count = counts.get(&entry).copied().unwrap_or_default();
        if is_citation && count.citations >= CITATIONS_MAX {
            return Some(format!(
                "{entry} has reached the limit of {CITATIONS_MAX} citations"
            ));
        }
        if count.events >= ENTRY_EVENTS_MAX {
            return Some(format!(
                "{entry} has reached the limit of {ENTRY_EVENTS_MAX} events; supersede it with a new entry"
            ));
        }
    }
    for entry in event.entries() {
        let count = counts.entry(entry).or_default();
        count.events += 1;
        count.citations += u64::from(is_citation);
    }
    None
}
