//! What today's rules say about lines somebody has written already: in the ledger, after a merge or new rules, and at a
//! hub, to which anybody's lines come.

use std::collections::BTreeSet;
use std::fmt;

use ken_core::actor::Role;
use ken_core::decide::Draft;
use ken_core::event::{
    AdmissionVerdict, ApprovalGranted, Body, ContradictionFlagged, ContradictionResolved, Event,
    KnowledgeDistilled, Linked, Merged, PairDismissed, Proposed, Recorded, RunEffects, Superseded,
};
use ken_core::id::{EntryId, EventId, Salt};
use serde_json::{Map, Value};

use super::{Guard, Turned, approvals_are_peoples, norms_are_peoples, waits_for_a_person};
use crate::{RULE_SET, ScanStatus, Verdict};

/// Digits of the digest that stands for blanked data.
const DIGEST_HEX: usize = 32;

/// Digits a fingerprint of a secret has at most.
const FINGERPRINT_HEX_MAX: usize = 64;

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
        if !is_filed_rightly(&copy.event) {
            return Err(Turned::Misfiled);
        }
        let may_hold = matches!(by.role(), Role::Human | Role::Ci);
        if copy.event.is_quarantined() && !may_hold && !matches!(body, Body::Proposed(_)) {
            // It would keep what somebody else wrote from being shown.
            return Err(Turned::Hiding);
        }
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

/// Returns whether an event is about the entries its data is about: who may write it is decided by those.
fn is_filed_rightly(event: &Event) -> bool {
    let about: BTreeSet<EntryId> = event.entries().collect();
    if let Some(it) = event.get::<Proposed>() {
        let own = EntryId::created_by(event.id, it.kind);
        return about == BTreeSet::from([own]);
    }
    named_by(event).iter().all(|id| about.contains(id))
}

/// Returns the entries that an event names in its data and changes.
fn named_by(event: &Event) -> Vec<EntryId> {
    if let Some(it) = event.get::<Merged>() {
        return it.sources.iter().copied().chain([it.target]).collect();
    }
    if let Some(it) = event.get::<RunEffects>() {
        return it.effects.iter().map(|effect| effect.entry).collect();
    }
    let superseded = event.get::<Superseded>().map(|it| [it.old, it.new]);
    let dismissed = event.get::<PairDismissed>().map(|it| [it.first, it.second]);
    let flagged = event.get::<ContradictionFlagged>();
    let flagged = flagged.map(|it| [it.first, it.second]);
    let resolved = event.get::<ContradictionResolved>();
    let resolved = resolved.map(|it| [it.first, it.second]);
    let pair = superseded.or(dismissed).or(flagged).or(resolved);
    let approved = event.get::<ApprovalGranted>().map(|it| it.entry);
    let distilled = event.get::<KnowledgeDistilled>().map(|it| it.entry);
    let linked = event.get::<Linked>().map(|it| it.to);
    let pair = pair.into_iter().flatten();
    pair.chain(approved)
        .chain(distilled)
        .chain(linked)
        .collect()
}

/// Returns everything a line says in words, names of members included, whether or not this build knows what it means.
///
/// Ids, clock, sums, salts and what was made from a secret with the author's key say nothing, and look like secrets; where
/// they have another form than those have, they are words like others.
fn texts_in(line: &str) -> Value {
    let Ok(Value::Object(mut envelope)) = serde_json::from_str(line) else {
        return Value::Null;
    };
    for name in ["at", "by", "id", "sum", "v"] {
        envelope.remove(name);
    }
    if let Some(Value::Object(data)) = envelope.get_mut("data") {
        data.retain(|name, value| match name.as_str() {
            "blanked" => !is_digest(value),
            "salt" => !is_salt(value),
            _ => true,
        });
        if let Some(Value::Object(admission)) = data.get_mut("admission")
            && let Some(Value::Array(prints)) = admission.get_mut("redacted")
        {
            prints.retain(|print| !is_fingerprint(print));
        }
    }
    let mut names = BTreeSet::new();
    gather_names(&mut names, &envelope);
    let names = names.into_iter().collect::<Vec<_>>();
    Value::Array(vec![Value::from(names), Value::Object(envelope)])
}

fn gather_names(names: &mut BTreeSet<String>, members: &Map<String, Value>) {
    for (name, value) in members {
        names.insert(name.clone());
        gather_names_below(names, value);
    }
}

fn gather_names_below(names: &mut BTreeSet<String>, value: &Value) {
    match value {
        Value::Object(members) => gather_names(names, members),
        Value::Array(items) => items.iter().for_each(|it| gather_names_below(names, it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a value is what stands for data that was blanked.
fn is_digest(value: &Value) -> bool {
    let hex = value.as_str().and_then(|text| text.strip_prefix("b3:"));
    hex.is_some_and(|hex| hex.len() == DIGEST_HEX && is_hex(hex))
}

fn is_salt(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.parse::<Salt>().is_ok())
}

fn is_fingerprint(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    !text.is_empty() && text.len() <= FINGERPRINT_HEX_MAX && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_left_out_of_the_words_and_nothing_else_in_its_place() {
        let words =
            |digest: &str| texts_in(&format!(r#"{{"data":{{"blanked":"{digest}"}}}}"#)).to_string();
        let digest = format!("b3:{}", "0a".repeat(16));
        assert!(!words(&digest).contains("0a0a"));
        for other in [
            "b3:hunter2x",
            "hunter2x",
            &digest.to_uppercase(),
            &digest[..34],
        ] {
            assert!(words(other).contains(other), "{other}");
        }
    }
}
