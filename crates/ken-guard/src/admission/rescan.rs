//! Check of existing lines: in the ledger after a merge or a change of rules, and on a hub, which
//! receives lines from any client.

use std::collections::BTreeSet;
use std::fmt;

use ken_core::decide::Draft;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    AdmissionVerdict, ApprovalGranted, ContradictionFlagged, ContradictionResolved, Event,
    EventBody, KnowledgeDistilled, Linked, Merged, PairDismissed, Proposed, RecordedEvent,
    RunEffects, Superseded,
};
use ken_core::values::actor::ActorRole;
use ken_core::values::id::{EntryId, EventId, Salt};
use serde_json::{Map, Value};

use super::{
    Guard, WriteRejection, ensure_person_for_approval, ensure_person_for_norm, review_reason,
};
use crate::{GuardVerdict, RULE_SET, ScanLevel};

/// Hex digits of the digest that replaces redacted data.
const DIGEST_HEX: usize = 32;

/// Maximum number of hex digits of a secret's fingerprint.
const FINGERPRINT_HEX_MAX: usize = 64;

/// Maximum bytes of a signature; those of Ed25519 and P-256 keys have a few hundred.
const SIGNATURE_BYTES_MAX: usize = 4096;

/// A stored line that the current rules would reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescanFinding {
    pub event: EventId,
    pub entry: Option<EntryId>,
    /// The rule set that admitted it, if another one did.
    pub let_in_by: Option<String>,
    /// The most severe finding and its field.
    pub kind: &'static str,
    pub field: String,
    pub scan: ScanLevel,
}

/// Decision about a received line. The admission it carries is only a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceiveVerdict {
    /// Accepted as is; if it claims to be quarantined, it is.
    Taken,
    /// It claims to be admitted but must be quarantined, for this reason.
    Held(String),
    Turned(WriteRejection),
}

impl fmt::Display for RescanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description = self.kind.replace('-', " ");
        let Self { event, field, .. } = self;
        write!(
            f,
            "event {event} would be refused today: {description} in `{field}`"
        )?;
        if let Some(rules) = &self.let_in_by {
            write!(f, ", admitted by {rules}")?;
        }
        write!(
            f,
            "; remove it with `ken ledger redact {event} --reason REASON`"
        )
    }
}

impl Guard {
    /// Returns whether the content of an entry would be rejected today.
    pub fn refuses_entry(&self, entry: &Entry) -> bool {
        let (Some(content), Some(created)) = (&entry.content, &entry.created) else {
            return false;
        };
        let data = serde_json::to_value(content).expect("content is plain data");
        matches!(
            self.verdict(&data, &created.by),
            GuardVerdict::Reject { .. }
        )
    }

    /// Returns a digest under which the result of [`refuses_entry`](Self::refuses_entry) can be
    /// stored: it changes with the content, the author and the rules.
    ///
    /// Returns `None` if the user lists names or secrets of their own, which the digest does not
    /// cover.
    pub fn scan_digest(&self, entry: &Entry) -> Option<[u8; 16]> {
        let (Some(content), Some(created)) = (&entry.content, &entry.created) else {
            return None;
        };
        if !self.policy.is_empty() {
            return None;
        }
        let scanned = (RULE_SET, content, &created.by);
        let text = serde_json::to_vec(&scanned).expect("content is plain data");
        let digest = blake3::hash(&text);
        digest.as_bytes()[..16].try_into().ok()
    }

    /// Returns the finding for a stored event that would be rejected today.
    pub fn refuses_now(&self, event: &Event) -> Option<RescanFinding> {
        if matches!(
            event.body,
            EventBody::Blanked { .. } | EventBody::Unknown { .. }
        ) {
            return None;
        }
        // Bodies that this build cannot interpret were excluded above: their text is unknown here.
        let verdict = self.verdict(&event.body.to_json()?, &event.by);
        let GuardVerdict::Reject { scan, findings } = verdict else {
            return None;
        };
        let gravest = findings.first()?;
        let let_in_by = event.admission.as_ref().map(|it| it.rules.clone());
        Some(RescanFinding {
            event: event.id,
            entry: event.entries().next(),
            // The current rule set as the admitting one would be misleading: it rejects the line.
            let_in_by: let_in_by.filter(|rules| rules != RULE_SET),
            kind: gravest.kind,
            field: gravest.field.clone(),
            scan,
        })
    }

    /// Decides about a received line as if its author wrote it now.
    pub fn receive(&self, copy: &RecordedEvent) -> ReceiveVerdict {
        match self.received(copy) {
            Ok(None) => ReceiveVerdict::Taken,
            // Its author has already quarantined it.
            Ok(Some(_)) if copy.event.is_quarantined() => ReceiveVerdict::Taken,
            Ok(Some(why)) => ReceiveVerdict::Held(why),
            Err(turned) => ReceiveVerdict::Turned(turned),
        }
    }

    /// Returns the reason for a quarantine, if any.
    fn received(&self, copy: &RecordedEvent) -> Result<Option<String>, WriteRejection> {
        let Event {
            by, about, body, ..
        } = &copy.event;
        let draft = Draft {
            about: about.clone(),
            body: body.clone(),
        };
        ensure_person_for_norm(&draft, by)?;
        ensure_person_for_approval(&draft, by)?;
        // Permissions depend on the subjects, so data about other entries would bypass them.
        if !subjects_match_data(&copy.event) {
            return Err(WriteRejection::SubjectMismatch);
        }
        // An agent could use the claim to suppress events of others; people and CI are trusted.
        let may_hold = matches!(by.role(), ActorRole::Human | ActorRole::Ci);
        if copy.event.is_quarantined() && !may_hold && !matches!(body, EventBody::Proposed(_)) {
            // The claim would hide an entry that another author wrote.
            return Err(WriteRejection::QuarantineClaim);
        }
        // The raw line is scanned instead of the body, because it may have members unknown to this
        // build.
        let (mut admission, findings) = self.judge(&scannable_texts(copy.line()), by)?;
        let quarantined = admission.verdict == AdmissionVerdict::Quarantined;
        let EventBody::Proposed(proposed) = body else {
            return if quarantined && !by.is_human() {
                Err(WriteRejection::Guarded(findings))
            } else {
                Ok(admission.held_for)
            };
        };
        self.weigh(proposed, &mut admission, copy.event.at.wall)?;
        let waits = review_reason(proposed, by).map(ToOwned::to_owned);
        Ok(admission.held_for.or(waits))
    }
}

/// Returns whether an event's subjects include the entries in its data; the subjects decide who may
/// write it.
fn subjects_match_data(event: &Event) -> bool {
    let about: BTreeSet<EntryId> = event.entries().collect();
    if let Some(it) = event.get::<Proposed>() {
        // The id of a new entry follows from its event, so it cannot name an existing entry.
        let own = EntryId::created_by(event.id, it.kind);
        return about == BTreeSet::from([own]);
    }
    entries_named_in_data(event)
        .iter()
        .all(|id| about.contains(id))
}

/// Returns the entries that an event names in its data and changes.
fn entries_named_in_data(event: &Event) -> Vec<EntryId> {
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

/// Returns every text of a line, including member names, even if this build does not know their
/// meaning.
///
/// Ids, clock, checksums, salts and keyed fingerprints carry no text and look like secrets, so they
/// are skipped. A value of another form in their place is scanned like any text.
fn scannable_texts(line: &str) -> Value {
    // A parsed line is always a JSON object.
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
            "signature" => !is_signature(value),
            _ => true,
        });
        if let Some(Value::Object(admission)) = data.get_mut("admission")
            && let Some(Value::Array(prints)) = admission.get_mut("redacted")
        {
            prints.retain(|print| !is_fingerprint(print));
        }
    }
    let mut names = BTreeSet::new();
    // Member names are attacker-controlled too: a secret may be a key.
    collect_member_names(&mut names, &envelope);
    let names = names.into_iter().collect::<Vec<_>>();
    Value::Array(vec![Value::from(names), Value::Object(envelope)])
}

fn collect_member_names(names: &mut BTreeSet<String>, members: &Map<String, Value>) {
    for (name, value) in members {
        names.insert(name.clone());
        collect_nested_names(names, value);
    }
}

fn collect_nested_names(names: &mut BTreeSet<String>, value: &Value) {
    match value {
        Value::Object(members) => collect_member_names(names, members),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_nested_names(names, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a value is a digest of redacted data.
fn is_digest(value: &Value) -> bool {
    let hex = value.as_str().and_then(|text| text.strip_prefix("b3:"));
    hex.is_some_and(|hex| hex.len() == DIGEST_HEX && is_hex(hex))
}

fn is_salt(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.parse::<Salt>().is_ok())
}

/// Returns whether a value has the form of an SSH signature: marks around lines of base64.
fn is_signature(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default().trim_end();
    let inner = text.strip_prefix("-----BEGIN SSH SIGNATURE-----\n");
    let inner = inner.and_then(|it| it.strip_suffix("\n-----END SSH SIGNATURE-----"));
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\n".contains(&byte);
    text.len() <= SIGNATURE_BYTES_MAX && inner.is_some_and(|it| it.bytes().all(is_base64))
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
        let words = |digest: &str| {
            scannable_texts(&format!(r#"{{"data":{{"blanked":"{digest}"}}}}"#)).to_string()
        };
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
