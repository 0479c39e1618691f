//! What today's rules say about lines somebody has written already: in the ledger, after a merge or new rules, and at a
//! hub, to which anybody's lines come.

use std::fmt;

use ken_core::decide::Draft;
use ken_core::event::{AdmissionVerdict, Body, Event, Recorded};
use ken_core::id::{EntryId, EventId};
use serde_json::Value;

use super::{Guard, Turned, approvals_are_peoples, norms_are_peoples, waits_for_a_person};
use crate::{RULE_SET, ScanStatus, Verdict};

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

/// What becomes of a line that comes from elsewhere. What it says about its own admission is a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// It may stand as it is; if it says that it was quarantined, it is.
    Taken,
    /// It says that it was admitted, and is to wait for a person, for this reason.
    Held(String),
    Turned(Turned),
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

impl Guard {
    /// Returns what is wrong with an event that is written already, if it would not be written today.
    pub fn refuses_now(&self, event: &Event) -> Option<Rescanned> {
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

    /// Decides about a line that comes from elsewhere as if it were written now, by whom it names.
    pub fn receive(&self, copy: &Recorded) -> Written {
        match self.received(copy) {
            Ok(None) => Written::Taken,
            Ok(Some(_)) if copy.event.is_quarantined() => Written::Taken,
            Ok(Some(why)) => Written::Held(why),
            Err(turned) => Written::Turned(turned),
        }
    }

    /// Returns why a line is to wait for a person, if it is.
    fn received(&self, copy: &Recorded) -> Result<Option<String>, Turned> {
        let Event {
            by, about, body, ..
        } = &copy.event;
        let draft = Draft {
            about: about.clone(),
            body: body.clone(),
        };
        norms_are_peoples(&draft, by)?;
        approvals_are_peoples(&draft, by)?;
        let (mut admission, findings) = self.judge(&texts_in(copy.line()), by)?;
        let held = admission.verdict == AdmissionVerdict::Quarantined;
        let Body::Proposed(proposed) = body else {
            return match held && !by.is_human() {
                true => Err(Turned::Guarded(findings)),
                false => Ok(admission.held_for),
            };
        };
        self.weigh(proposed, &mut admission)?;
        let waits = waits_for_a_person(proposed, by).map(ToOwned::to_owned);
        Ok(admission.held_for.or(waits))
    }
}

/// Returns everything a line says in words, whether or not this build knows what it means.
///
/// Ids, clock, sums, salts and what was made from a secret with the author's key say nothing, and look like secrets.
fn texts_in(line: &str) -> Value {
    let Ok(Value::Object(mut envelope)) = serde_json::from_str(line) else {
        return Value::Null;
    };
    for name in ["at", "by", "id", "sum", "v"] {
        envelope.remove(name);
    }
    if let Some(Value::Object(data)) = envelope.get_mut("data") {
        data.remove("salt");
        data.remove("blanked");
        if let Some(Value::Object(admission)) = data.get_mut("admission") {
            admission.remove("redacted");
        }
    }
    Value::Object(envelope)
}
