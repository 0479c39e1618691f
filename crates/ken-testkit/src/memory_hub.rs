//! In-memory hub that serializes real messages: requests and responses pass through JSON.
//!
//! It implements the log invariants (one position per event, growing sequence numbers, immediate
//! redaction, cursors that detect an older backup), which
//! `check_hub_conformance` tests on every hub.
//! Policy is limited to the rule a test sets.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::redaction_target;
use ken_core::values::id::EventId;
use ken_remote::wire::{
    EventVerdict, LogCursor, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, PullResponse, PushRequest,
    PushResponse, PushVerdict,
};
use ken_remote::{HubClient, HubError, HubToken};
use serde_json::value::RawValue;

/// Verdict of a test on an event instead of admitting it.
pub type PushRule = fn(&RecordedEvent) -> Option<(PushVerdict, &'static str)>;

/// One workspace of a hub.
#[derive(Debug)]
pub struct MemoryHub {
    /// Events by sequence number, which starts at 1 and is never reused.
    log: BTreeMap<u64, RecordedEvent>,
    places: BTreeMap<EventId, u64>,
    /// Former positions of events that were replaced by a better copy; still valid cursors.
    moved: BTreeSet<(u64, EventId)>,
    blanked: BTreeSet<EventId>,
    head: u64,
    judge: PushRule,
    /// Maximum events per page, regardless of the request.
    pub page_max: usize,
    /// Requests until the connection breaks; `None` never breaks it.
    pub breaks_after: Option<usize>,
    /// Number of events of each received push.
    pub pushes: Vec<usize>,
    /// Start of each requested page.
    pub pulls: Vec<u64>,
    /// Token that the client sends.
    pub token: Option<HubToken>,
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
            token: None,
        }
    }
}

impl MemoryHub {
    /// Sets the rule for events that are not known yet.
    pub fn set_rule(&mut self, judge: PushRule) {
        self.judge = judge;
    }

    /// Returns the events, by sequence number.
    pub fn events(&self) -> Vec<RecordedEvent> {
        self.log.values().cloned().collect()
    }

    /// Resets the log to its first `events` sequence numbers, like a restored backup.
    pub fn restore(&mut self, events: u64) {
        self.log.retain(|seq, _| *seq <= events);
        self.places = self
            .log
            .iter()
            .map(|(seq, it)| (it.event.id, *seq))
            .collect();
        self.moved.retain(|(seq, _)| *seq <= events);
        self.head = events;
        let orders = self
            .log
            .values()
            .filter_map(|it| redaction_target(&it.event));
        // Redactions after the backup are lost with it.
        self.blanked = orders.collect();
    }

    /// Appends an event without any check, like an untrustworthy hub.
    pub fn append_unchecked(&mut self, copy: RecordedEvent) {
        self.place(copy);
    }

    fn place(&mut self, copy: RecordedEvent) {
        if let Some(before) = self.places.remove(&copy.event.id) {
            self.log.remove(&before);
            self.moved.insert((before, copy.event.id));
        }
        self.head += 1;
        self.places.insert(copy.event.id, self.head);
        self.log.insert(self.head, copy);
    }

    fn take(&mut self, raw: &RawValue) -> EventVerdict {
        let answered = |id, verdict, reason: Option<&str>| EventVerdict {
            awaits: None,
            id,
            verdict,
            reason: reason.map(ToOwned::to_owned),
        };
        let Ok(copy) = RecordedEvent::parse(raw.get().as_bytes()) else {
            return answered(None, PushVerdict::Refused, Some("not a valid event"));
        };
        let id = copy.event.id;
        let stored = self.places.get(&id).map(|seq| self.log[seq].clone());
        if let Some(stored) = &stored {
            let better = stored.clone().preferred_copy(copy.clone());
            // A redacted event stays redacted, even if a full copy arrives later.
            if better.line() == stored.line() || self.blanked.contains(&id) {
                return answered(Some(id), PushVerdict::Known, None);
            }
        }
        if let Some((verdict, reason)) = (self.judge)(&copy) {
            return answered(Some(id), verdict, Some(reason));
        }
        let target = redaction_target(&copy.event);
        let is_blank = self.blanked.contains(&id) && target.is_none();
        self.place(if is_blank { copy.redacted() } else { copy });
        if let Some(target) = target {
            self.blanked.insert(target);
            // The redacted event moves to the end, so that clients that read it before see the
            // change.
            let stored = self.places.get(&target).map(|seq| &self.log[seq]);
            let is_open =
                |it: &&RecordedEvent| !it.is_redacted() && redaction_target(&it.event).is_none();
            if let Some(stored) = stored.filter(is_open) {
                self.place(stored.redacted());
            }
        }
        answered(Some(id), PushVerdict::Admitted, None)
    }

    fn end(&self) -> LogCursor {
        let last = self.log.last_key_value();
        last.map_or(LogCursor::default(), |(seq, it)| LogCursor {
            seq: *seq,
            last: Some(it.event.id),
        })
    }

    fn count_request(&mut self) -> Result<(), HubError> {
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

impl HubClient for MemoryHub {
    fn token(&self) -> Option<&HubToken> {
        self.token.as_ref()
    }

    fn push(&mut self, lines: &[&str]) -> Result<PushResponse, HubError> {
        self.count_request()?;
        let push = PushRequest::of(lines.iter().copied()).expect("JSON");
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
        // Parsing the serialized message covers its JSON form in every test.
        let push: PushRequest = serde_json::from_slice(&sent).expect("what was just written");
        self.pushes.push(push.events.len());
        let events = push.events.iter().map(|raw| self.take(raw)).collect();
        let cursor = Some(self.end());
        let answer = serde_json::to_vec(&PushResponse { events, cursor }).expect("plain data");
        Ok(serde_json::from_slice(&answer).expect("what was just written"))
    }

    fn pull(&mut self, after: LogCursor, limit: u32) -> Result<PullResponse, HubError> {
        self.count_request()?;
        self.pulls.push(after.seq);
        // Round-trips the text form, as a real request would.
        let after: LogCursor = after.to_string().parse().expect("a cursor as printed");
        // A cursor without an event is the start of the log and always valid.
        let stands = after.last.is_none_or(|id| {
            self.places.get(&id) == Some(&after.seq) || self.moved.contains(&(after.seq, id))
        });
        if !stands {
            let hub = "memory".to_owned();
            return Err(HubError::CursorUnknown { hub });
        }
        let limit = (limit as usize).min(self.page_max);
        let behind = || self.log.range(after.seq + 1..);
        let raw = |(_, it): (&u64, &RecordedEvent)| {
            RawValue::from_string(it.line().to_owned()).expect("JSON")
        };
        let last = behind().take(limit).last();
        let page = PullResponse {
            events: behind().take(limit).map(raw).collect(),
            cursor: last.map_or(after, |(seq, it)| LogCursor {
                seq: *seq,
                last: Some(it.event.id),
            }),
            more: behind().count() > limit,
        };
        let answer = serde_json::to_vec(&page).expect("plain data");
        Ok(serde_json::from_slice(&answer).expect("what was just written"))
    }
}
