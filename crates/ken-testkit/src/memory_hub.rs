//! A hub in memory that speaks the real messages: what goes in and out is written as JSON and read back.
//!
//! It keeps the laws of a log (one place an event, numbers that only grow, orders obeyed at once, cursors that know an older
//! backup; [`hub_story`](crate::hub_story::hub_story) tells them to every hub) and nothing of a hub's policy but what a test gives it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::state::blanks;
use ken_remote::wire::{
    Answered, Cursor, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, Pulled, Push, Pushed, Verdict,
};
use ken_remote::{Hub, HubError};
use serde_json::value::RawValue;

/// What a test's hub says of an event instead of taking it.
pub type Judge = fn(&Recorded) -> Option<(Verdict, &'static str)>;

/// One workspace.
#[derive(Debug)]
pub struct MemoryHub {
    /// Events by their number, which begins at 1 and is given again to none.
    log: BTreeMap<u64, Recorded>,
    places: BTreeMap<EventId, u64>,
    /// Where events stood before a better copy came: still places of this log.
    moved: BTreeSet<(u64, EventId)>,
    blanked: BTreeSet<EventId>,
    head: u64,
    judge: Judge,
    /// Events a page holds at most, whatever is asked for.
    pub page_max: usize,
    /// Requests until the connection breaks; none breaks it.
    pub breaks_after: Option<usize>,
    /// Events of each push that arrived.
    pub pushes: Vec<usize>,
    /// Where each page that was asked for began.
    pub pulls: Vec<u64>,
}

impl Default for MemoryHub {
    fn default() -> Self {
        Self {
            log: BTreeMap::new(),
            places: BTreeMap::new(),
            moved: BTreeSet::new(),
            blanked: BTreeSet::new(),
            head: 0,
            judge: |_| None,
            page_max: usize::MAX,
            breaks_after: None,
            pushes: Vec::new(),
            pulls: Vec::new(),
        }
    }
}

impl MemoryHub {
    /// Lets `judge` decide about events that are not known yet.
    pub fn judging(&mut self, judge: Judge) {
        self.judge = judge;
    }

    /// Returns the events it holds, in the order of their numbers.
    pub fn events(&self) -> Vec<Recorded> {
        self.log.values().cloned().collect()
    }

    /// Goes back to how it was after its first `events` numbers, as a restored backup does.
    pub fn restore(&mut self, events: u64) {
        self.log.retain(|seq, _| *seq <= events);
        self.places = self
            .log
            .iter()
            .map(|(seq, it)| (it.event.id, *seq))
            .collect();
        self.moved.retain(|(seq, _)| *seq <= events);
        self.head = events;
        let orders = self.log.values().filter_map(|it| blanks(&it.event));
        self.blanked = orders.collect();
    }

    /// Puts a line behind the others as it is, as a hub would that nobody should trust.
    pub fn slip_in(&mut self, copy: Recorded) {
        self.place(copy);
    }

    fn place(&mut self, copy: Recorded) {
        if let Some(before) = self.places.remove(&copy.event.id) {
            self.log.remove(&before);
            self.moved.insert((before, copy.event.id));
        }
        self.head += 1;
        self.places.insert(copy.event.id, self.head);
        self.log.insert(self.head, copy);
    }

    fn take(&mut self, raw: &RawValue) -> Answered {
        let answered = |id, verdict, reason: Option<&str>| Answered {
            id,
            verdict,
            reason: reason.map(ToOwned::to_owned),
        };
        let Ok(copy) = Recorded::parse(raw.get().as_bytes()) else {
            return answered(None, Verdict::Refused, Some("it is no event"));
        };
        let id = copy.event.id;
        let held = self.places.get(&id).map(|seq| self.log[seq].clone());
        if let Some(held) = &held {
            let better = held.clone().better_copy(copy.clone());
            if better.line() == held.line() || self.blanked.contains(&id) {
                return answered(Some(id), Verdict::Known, None);
            }
        }
        if let Some((verdict, reason)) = (self.judge)(&copy) {
            return answered(Some(id), verdict, Some(reason));
        }
        let target = blanks(&copy.event);
        let is_blank = self.blanked.contains(&id) && target.is_none();
        self.place(if is_blank { copy.blanked() } else { copy });
        if let Some(target) = target {
            self.blanked.insert(target);
            // Its form changes, so it stands again behind the others: whoever read it already learns of it.
            let stored = self.places.get(&target).map(|seq| &self.log[seq]);
            if let Some(stored) = stored.filter(|it| !it.is_blanked()) {
                self.place(stored.blanked());
            }
        }
        answered(Some(id), Verdict::Admitted, None)
    }

    fn end(&self) -> Cursor {
        let last = self.log.last_key_value();
        last.map_or(Cursor::default(), |(seq, it)| Cursor {
            seq: *seq,
            last: Some(it.event.id),
        })
    }

    fn arrive(&mut self) -> Result<(), HubError> {
        match &mut self.breaks_after {
            Some(0) => Err(HubError::Unreachable {
                hub: "memory".to_owned(),
                why: "the connection broke",
            }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Hub for MemoryHub {
    fn push(&mut self, lines: &[&str]) -> Result<Pushed, HubError> {
        self.arrive()?;
        let push = Push::of(lines.iter().copied()).expect("JSON");
        let sent = serde_json::to_vec(&push).expect("plain data");
        assert!(
            sent.len() <= PUSH_BYTES_MAX,
            "{} bytes in one push",
            sent.len()
        );
        assert!(
            lines.len() <= PUSH_EVENTS_MAX,
            "{} events in one push",
            lines.len()
        );
        let push: Push = serde_json::from_slice(&sent).expect("what was just written");
        self.pushes.push(push.events.len());
        let events = push.events.iter().map(|raw| self.take(raw)).collect();
        let cursor = Some(self.end());
        let answer = serde_json::to_vec(&Pushed { events, cursor }).expect("plain data");
        Ok(serde_json::from_slice(&answer).expect("what was just written"))
    }

    fn pull(&mut self, after: Cursor, limit: u32) -> Result<Pulled, HubError> {
        self.arrive()?;
        self.pulls.push(after.seq);
        let after: Cursor = after.to_string().parse().expect("a cursor as printed");
        let stands = after.last.is_none_or(|id| {
            self.places.get(&id) == Some(&after.seq) || self.moved.contains(&(after.seq, id))
        });
        if !stands {
            let hub = "memory".to_owned();
            return Err(HubError::CursorUnknown { hub });
        }
        let limit = (limit as usize).min(self.page_max);
        let behind = || self.log.range(after.seq + 1..);
        let raw =
            |(_, it): (&u64, &Recorded)| RawValue::from_string(it.line().to_owned()).expect("JSON");
        let last = behind().take(limit).last();
        let page = Pulled {
            events: behind().take(limit).map(raw).collect(),
            cursor: last.map_or(after, |(seq, it)| Cursor {
                seq: *seq,
                last: Some(it.event.id),
            }),
            more: limit < behind().count(),
        };
        let answer = serde_json::to_vec(&page).expect("plain data");
        Ok(serde_json::from_slice(&answer).expect("what was just written"))
    }
}
