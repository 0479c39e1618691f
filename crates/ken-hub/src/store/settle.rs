//! Which form of each event the log holds once more copies have come.
//!
//! One form of each event is stored: the better of all copies seen, blanked if an authorised order or the hub's memory
//! says so. Says the same as [`EventSet`](ken_core::state::EventSet), which holds all copies, from the stored form alone.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::state::blanks;

use super::StoreError;
use super::append::Outcome;

/// What comes to the log.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) incoming: Vec<Recorded>,
    /// Events to blank from now on, whatever the log says.
    pub(super) remembered: Vec<EventId>,
    /// Events that never happened; no log of a hub loses any, stores that are compared with it do.
    pub(super) dropped: Vec<EventId>,
}

/// An event as the log holds it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) seq: i64,
    pub(super) line: String,
}

/// What the log held before, as far as a change needs it.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) held: BTreeMap<EventId, Held>,
    pub(super) blanked: BTreeSet<EventId>,
}

/// An event that left its place in the log.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) seq: i64,
    /// As it was.
    pub(super) copy: Recorded,
}

/// What a change comes to.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// What became of each incoming copy.
    pub(super) outcomes: Vec<Outcome>,
    /// Events the log did not hold, in the order they came.
    pub(super) new: Vec<Recorded>,
    /// Events whose form changed.
    pub(super) changed: Vec<(Left, Recorded)>,
    pub(super) removed: Vec<Left>,
    /// Targets of orders to blank, each with the event that is the order.
    pub(super) orders: BTreeSet<(EventId, EventId)>,
}

impl Settled {
    /// Returns whether nothing of what was there is another now.
    pub(super) fn only_adds(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty() && self.orders.is_empty()
    }
}

impl Change {
    /// Finds out what the change comes to.
    pub(super) fn settle(self, before: Before) -> Result<Settled, StoreError> {
        let mut slots = Slots {
            before,
            by_id: BTreeMap::new(),
            order: Vec::new(),
        };
        let mut settled = Settled::default();
        slots.before.blanked.extend(self.remembered.iter());
        for copy in self.incoming {
            if let Some(target) = blanks(&copy.event) {
                settled.orders.insert((target, copy.event.id));
                slots.before.blanked.insert(target);
            }
            settled.outcomes.push(slots.take_in(copy)?);
        }
        let targets: Vec<EventId> = settled.orders.iter().map(|(target, _)| *target).collect();
        for id in targets.iter().chain(&self.remembered) {
            slots.slot(*id)?;
        }
        for id in &self.dropped {
            slots.slot(*id)?.best = None;
        }
        slots.finish(&mut settled)?;
        Ok(settled)
    }
}

struct Slots {
    before: Before,
    by_id: BTreeMap<EventId, Slot>,
    /// Ids in the order they were first looked at.
    order: Vec<EventId>,
}

#[derive(Default)]
struct Slot {
    held: Option<Held>,
    /// The best copy seen; the stored one to begin with.
    best: Option<Recorded>,
}

impl Slots {
    fn slot(&mut self, id: EventId) -> Result<&mut Slot, StoreError> {
        if !self.by_id.contains_key(&id) {
            let held = self.before.held.remove(&id);
            let best = held.as_ref().map(|held| parse(&held.line)).transpose()?;
            self.order.push(id);
            self.by_id.insert(id, Slot { held, best });
        }
        Ok(self.by_id.entry(id).or_default())
    }

    fn take_in(&mut self, copy: Recorded) -> Result<Outcome, StoreError> {
        let id = copy.event.id;
        let must = self.before.blanked.contains(&id);
        // Most copies that are known are known to the letter, and need not be read again.
        if let Some(held) = self.before.held.get(&id)
            && held.line == copy.line()
        {
            let held = self.before.held.remove(&id);
            let best = Some(copy);
            self.order.push(id);
            self.by_id.insert(id, Slot { held, best });
            return Ok(Outcome::Known);
        }
        let slot = self.slot(id)?;
        let Some(held) = slot.best.take() else {
            slot.best = Some(copy);
            return Ok(Outcome::New);
        };
        let line = held.line().to_owned();
        let best = held.better_copy(copy);
        let same = best.line() == line
            || (must && blanks(&best.event).is_none() && best.blanked().line() == line);
        slot.best = Some(best);
        Ok(if same {
            Outcome::Known
        } else {
            Outcome::Better
        })
    }

    fn finish(mut self, settled: &mut Settled) -> Result<(), StoreError> {
        for id in self.order {
            let Some(slot) = self.by_id.remove(&id) else {
                continue;
            };
            let must = self.before.blanked.contains(&id);
            let now = slot.best.map(|best| {
                let blank = must && blanks(&best.event).is_none();
                if blank { best.blanked() } else { best }
            });
            match (slot.held, now) {
                (None, None) => {}
                (None, Some(now)) => settled.new.push(now),
                (Some(held), Some(now)) if held.line == now.line() => {}
                (Some(held), Some(now)) => settled.changed.push((Left::new(&held)?, now)),
                (Some(held), None) => settled.removed.push(Left::new(&held)?),
            }
        }
        Ok(())
    }
}

impl Left {
    fn new(held: &Held) -> Result<Self, StoreError> {
        Ok(Self {
            seq: held.seq,
            copy: parse(&held.line)?,
        })
    }
}

/// Reads a stored line back.
pub(super) fn parse(line: &str) -> Result<Recorded, StoreError> {
    Recorded::parse(line.as_bytes()).map_err(StoreError::damaged)
}
