//! Resolution of copies: decides which copy of each event the log keeps.
//!
//! The log stores one copy per event: the best one seen, redacted if an authorized event or the
//! hub's own record demands it. The result equals that of
//! [`EventSet`](ken_core::ledger::state::EventSet), which keeps all copies, but needs only the
//! stored copy.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::redaction_target;
use ken_core::values::id::EventId;

use super::StoreError;
use super::append::CopyOutcome;

/// A change of the log.
#[derive(Debug, Default)]
pub(super) struct LogChange {
    pub(super) incoming: Vec<RecordedEvent>,
    /// Events to redact from now on, whatever the log says.
    pub(super) redacted: Vec<EventId>,
    /// Events to remove. A hub's log never loses events; stores that it is compared with in tests
    /// do.
    pub(super) dropped: Vec<EventId>,
}

/// An event in the log.
#[derive(Clone, Debug)]
pub(super) struct StoredEvent {
    pub(super) seq: i64,
    pub(super) line: String,
}

/// State of the log before a change, as far as the change needs it.
#[derive(Debug, Default)]
pub(super) struct PriorLogState {
    pub(super) events: BTreeMap<EventId, StoredEvent>,
    pub(super) redacted: BTreeSet<EventId>,
}

/// An event that is replaced or removed from its position in the log.
#[derive(Debug)]
pub(super) struct DisplacedEvent {
    pub(super) seq: i64,
    /// The copy that was stored.
    pub(super) copy: RecordedEvent,
}

/// A change with every copy resolved.
#[derive(Debug, Default)]
pub(super) struct ResolvedChange {
    /// Outcome per incoming copy.
    pub(super) outcomes: Vec<CopyOutcome>,
    /// Events that are new to the log, in the order they came.
    pub(super) new: Vec<RecordedEvent>,
    /// Events whose stored copy is replaced.
    pub(super) changed: Vec<(DisplacedEvent, RecordedEvent)>,
    pub(super) removed: Vec<DisplacedEvent>,
    /// Targets of redactions, each with the redacting event.
    pub(super) redactions: BTreeSet<(EventId, EventId)>,
}

impl ResolvedChange {
    /// Returns whether the change adds events and leaves all stored copies as they are.
    pub(super) fn only_adds(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty() && self.redactions.is_empty()
    }
}

impl LogChange {
    /// Resolves the copies of a change.
    pub(super) fn resolve(self, prior_log: PriorLogState) -> Result<ResolvedChange, StoreError> {
        let mut slots = CopySlots {
            prior_log,
            by_id: BTreeMap::new(),
            order: Vec::new(),
        };
        let mut resolved = ResolvedChange::default();
        slots.prior_log.redacted.extend(self.redacted.iter());
        for copy in self.incoming {
            if let Some(target) = redaction_target(&copy.event) {
                resolved.redactions.insert((target, copy.event.id));
                slots.prior_log.redacted.insert(target);
            }
            resolved.outcomes.push(slots.add_copy(copy)?);
        }
        let targets: Vec<EventId> = resolved
            .redactions
            .iter()
            .map(|(target, _)| *target)
            .collect();
        // Opening the slot is enough: closing it redacts the stored copy of a target that is not
        // part of the incoming copies.
        for id in targets.iter().chain(&self.redacted) {
            slots.slot(*id)?;
        }
        for id in &self.dropped {
            slots.slot(*id)?.best = None;
        }
        slots.finish(&mut resolved)?;
        Ok(resolved)
    }
}

struct CopySlots {
    prior_log: PriorLogState,
    by_id: BTreeMap<EventId, CopySlot>,
    /// Ids in the order of their first use, which becomes their order in the log.
    order: Vec<EventId>,
}

#[derive(Default)]
struct CopySlot {
    stored: Option<StoredEvent>,
    /// Best copy seen so far; initially the stored one.
    best: Option<RecordedEvent>,
}

impl CopySlots {
    fn slot(&mut self, id: EventId) -> Result<&mut CopySlot, StoreError> {
        if !self.by_id.contains_key(&id) {
            let stored = self.prior_log.events.remove(&id);
            let best = stored
                .as_ref()
                .map(|stored| parse(&stored.line))
                .transpose()?;
            self.order.push(id);
            self.by_id.insert(id, CopySlot { stored, best });
        }
        Ok(self.by_id.entry(id).or_default())
    }

    fn add_copy(&mut self, copy: RecordedEvent) -> Result<CopyOutcome, StoreError> {
        let id = copy.event.id;
        let is_redacted = self.prior_log.redacted.contains(&id);
        // Most known copies are identical to the stored line. Comparing lines saves parsing the
        // stored one.
        if let Some(stored) = self.prior_log.events.get(&id)
            && stored.line == copy.line()
        {
            let stored = self.prior_log.events.remove(&id);
            let best = Some(copy);
            self.order.push(id);
            self.by_id.insert(id, CopySlot { stored, best });
            return Ok(CopyOutcome::Known);
        }
        let slot = self.slot(id)?;
        let Some(previous) = slot.best.take() else {
            slot.best = Some(copy);
            return Ok(CopyOutcome::New);
        };
        let line = previous.line().to_owned();
        let best = previous.preferred_copy(copy);
        // A complete copy of a redacted event is better, but the log stores its redacted form and
        // does not change. Redactions themselves are never redacted.
        let same = best.line() == line
            || (is_redacted
                && redaction_target(&best.event).is_none()
                && best.redacted().line() == line);
        slot.best = Some(best);
        Ok(if same {
            CopyOutcome::Known
        } else {
            CopyOutcome::Better
        })
    }

    fn finish(mut self, resolved: &mut ResolvedChange) -> Result<(), StoreError> {
        for id in self.order {
            let Some(slot) = self.by_id.remove(&id) else {
                continue;
            };
            let is_redacted = self.prior_log.redacted.contains(&id);
            let now = slot.best.map(|best| {
                let blank = is_redacted && redaction_target(&best.event).is_none();
                if blank { best.redacted() } else { best }
            });
            match (slot.stored, now) {
                (None, None) => {}
                (None, Some(now)) => resolved.new.push(now),
                (Some(stored), Some(now)) if stored.line == now.line() => {}
                (Some(stored), Some(now)) => {
                    resolved.changed.push((DisplacedEvent::new(&stored)?, now));
                }
                (Some(stored), None) => resolved.removed.push(DisplacedEvent::new(&stored)?),
            }
        }
        Ok(())
    }
}

impl DisplacedEvent {
    fn new(stored: &StoredEvent) -> Result<Self, StoreError> {
        Ok(Self {
            seq: stored.seq,
            copy: parse(&stored.line)?,
        })
    }
}

/// Parses a stored line.
pub(super) fn parse(line: &str) -> Result<RecordedEvent, StoreError> {
    RecordedEvent::parse(line.as_bytes()).map_err(StoreError::damaged)
}
