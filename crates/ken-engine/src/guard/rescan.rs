//! What today's rules say about lines that are in the ledger already: after a merge, and after new rules.

use std::fmt;

use ken_core::event::{Body, Event};
use ken_core::id::{EntryId, EventId};
use ken_guard::{RULE_SET, ScanStatus, Verdict};

use super::Guard;
use crate::engine::Engine;
use crate::error::Error;

/// A line that today's rules would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescanned {
    pub event: EventId,
    pub entry: Option<EntryId>,
    /// The rule set that let it in, where one did.
    pub let_in_by: Option<String>,
    /// What was found first, and in which field.
    pub kind: &'static str,
    pub field: String,
    pub scan: ScanStatus,
}

impl fmt::Display for Rescanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.kind.replace('-', " ");
        let Self { event, field, .. } = self;
        write!(
            f,
            "event {event} would be refused today: {what} in `{field}`"
        )?;
        if let Some(rules) = &self.let_in_by {
            write!(f, ", which {rules} let in")?;
        }
        write!(f, "; `ken blank {event}` removes it")
    }
}

impl Engine {
    /// Scans every event: what a line says about the rules that looked at it is a claim.
    pub fn rescan(&self) -> Result<Vec<Rescanned>, Error> {
        let mut found = Vec::new();
        self.index.each_event(&mut |event| {
            found.extend(self.guard.refuses_now(event));
        })?;
        Ok(found)
    }
}

impl Guard {
    /// Returns what is wrong with an event that is written already, if it would not be written today.
    pub(crate) fn refuses_now(&self, event: &Event) -> Option<Rescanned> {
        if matches!(event.body, Body::Blanked { .. } | Body::Unknown { .. }) {
            return None;
        }
        let verdict = self.verdict(&event.body.to_json()?, &event.by);
        let Verdict::Reject { scan, findings } = verdict else {
            return None;
        };
        let gravest = findings.first()?;
        let let_in_by = event.admission.as_ref().map(|it| it.rules.clone());
        Some(Rescanned {
            event: event.id,
            entry: event.entries().next(),
            let_in_by: let_in_by.filter(|rules| rules != RULE_SET),
            kind: gravest.kind,
            field: gravest.field.clone(),
            scan,
        })
    }
}
