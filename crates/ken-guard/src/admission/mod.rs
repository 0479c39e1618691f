//! Admission of writes: every draft passes it before it becomes an event, in a repository and on a
//! hub.
//!
//! Three criteria decide, and the decision is recorded: the findings of the rules, the quality
//! score of a new entry (`quality_signals`), and its origin. Poisoned advice has no signature, so
//! origin protects where patterns cannot: entries from outside this workspace, and norms not
//! written by a person, await human review.

mod redaction;
mod rescan;
mod scanning;
mod signals;

use ken_core::decide::{Draft, Refusal};
use ken_core::ledger::event::{
    Admission, AdmissionVerdict, ArchiveReason, EventBody, EventSubject, Overlay, Proposed,
    ScanStatus,
};
use ken_core::trust::run::RunRecord;
use ken_core::values::actor::Actor;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

use crate::axis::ScanAxis;
use crate::policy::GuardPolicy;
use crate::quality::{QualityVerdict, QualityWeights, WorkspaceOrigin, decide_by_score};
use crate::verdict::{GuardFinding, GuardVerdict, ScannedField, admit};
use crate::{RULE_SET, TextMode};

pub use redaction::{ReasonTooLong, without_secrets};
pub use rescan::{ReceiveVerdict, RescanFinding};
pub use scanning::{ScanFinding, ScanReport};

/// Keys whose values, including nested keys, are third-party data.
const FOREIGN_DATA_KEYS: [&str; 2] = ["context", "value"];

/// Key of the text meant to be shared; it contains no citations, anchors or commands.
const STATEMENT_KEY: &str = "statement";

/// Keys of the texts that explain a statement and travel with it.
const EXPLANATION_KEYS: [&str; 10] = [
    "body",
    "verify",
    "question",
    "answer",
    "constraints",
    "name",
    "rel",
    "tags",
    "aliases",
    "note",
];

/// The guard with one user's configuration.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    pub policy: GuardPolicy,
    /// Weight of each quality signal of a new entry.
    pub weights: QualityWeights,
    /// Replaces secrets with `[REDACTED:type]` instead of rejecting the write.
    pub redacts: bool,
}

/// Reason a draft is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteRejection {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{}", describe_rejection(.0))]
    Guarded(Vec<GuardFinding>),
    #[error("the quality score of this entry is too low (0.{milli:03} of 1)")]
    Worthless { milli: u16 },
    /// Possible only for received lines.
    #[error("the subjects of the event do not match its data")]
    SubjectMismatch,
    #[error("the event claims to be quarantined, which would hide an entry of another author")]
    QuarantineClaim,
}

impl Guard {
    /// Checks a draft that is written at `now`; returns it in the form to write, with its
    /// admission.
    pub fn admit(
        &self,
        mut draft: Draft,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(Draft, Admission), WriteRejection> {
        // Policy checks come first: they are cheap and do not depend on the text.
        ensure_person_for_norm(&draft, by)?;
        ensure_person_for_approval(&draft, by)?;
        let mut data = body_json(&draft.body);
        // Redacted before the scan, so that replaced secrets do not cause a rejection.
        let redacted = self.redact_draft(&mut draft, &mut data);
        let (mut admission, findings) = self.judge(&data, by)?;
        admission.redacted = redacted;
        let quarantined = admission.verdict == AdmissionVerdict::Quarantined;
        if quarantined && !by.is_human() && !matches!(draft.body, EventBody::Proposed(_)) {
            // A quarantined revision would hide an entry that another author wrote.
            return Err(WriteRejection::Guarded(findings));
        }
        // Only new entries are scored; a later event changes an entry that was already admitted.
        if let EventBody::Proposed(proposed) = &draft.body {
            self.weigh(proposed, &mut admission, now)?;
            if let Some(why) = review_reason(proposed, by) {
                admission.verdict = AdmissionVerdict::Quarantined;
                // A finding is the more specific reason and takes precedence.
                admission.held_for.get_or_insert(why.to_owned());
            }
        }
        Ok((draft, admission))
    }

    /// Checks a note about a run; returns it in the form to store, redacted if the author asked for
    /// that.
    pub fn admit_note(&self, noted: RunRecord) -> Result<RunRecord, WriteRejection> {
        let value = |noted: &RunRecord| serde_json::to_value(noted).expect("notes are plain data");
        let mut data = value(&noted);
        let noted = if self.redact_value(&mut data) {
            // If the marker exceeds the length limit, the original note is scanned and rejected.
            let redacted = RunRecord::deserialize(&data).unwrap_or(noted);
            data = value(&redacted);
            redacted
        } else {
            noted
        };
        self.judge(&data, &noted.by)?;
        Ok(noted)
    }

    /// Applies the rules to every text in `data` by the author `by`.
    pub fn admit_text(&self, data: &Value, by: &Actor) -> Result<Admission, WriteRejection> {
        Ok(self.judge(data, by)?.0)
    }

    /// Works like [`Self::admit_text`] and also returns the findings.
    fn judge(
        &self,
        data: &Value,
        by: &Actor,
    ) -> Result<(Admission, Vec<GuardFinding>), WriteRejection> {
        let verdict = self.verdict(data, by);
        let findings = verdict.findings().iter();
        let mut admission = Admission {
            scan: to_event_scan_status(verdict.scan()),
            // Names of rules only, because the event must not repeat the matched text.
            findings: findings.map(|finding| finding.rule.to_owned()).collect(),
            ..Admission::clean(RULE_SET)
        };
        match verdict {
            GuardVerdict::Admit { findings, .. } => Ok((admission, findings)),
            GuardVerdict::Quarantine { why, findings, .. } => {
                admission.verdict = AdmissionVerdict::Quarantined;
                admission.held_for = Some(why);
                Ok((admission, findings))
            }
            GuardVerdict::Reject { findings, .. } => Err(WriteRejection::Guarded(findings)),
        }
    }

    /// Scans every text in `data`, and the author's name.
    fn verdict(&self, data: &Value, by: &Actor) -> GuardVerdict {
        let texts = collect_texts(data, by);
        let fields: Vec<ScannedField<'_>> = texts.iter().map(DraftText::as_field).collect();
        admit(&self.policy, &fields)
    }

    /// Scores a new entry by its seven signals.
    fn weigh(
        &self,
        proposed: &Proposed,
        admission: &mut Admission,
        now: Timestamp,
    ) -> Result<(), WriteRejection> {
        let signals = signals::compute_signals(proposed, admission.scan, now);
        let score = signals.score(&self.weights);
        let reach = if proposed.origin.is_foreign() {
            WorkspaceOrigin::Foreign
        } else {
            WorkspaceOrigin::Own
        };
        let milli = signals::to_milli(score);
        match decide_by_score(score, reach) {
            QualityVerdict::Admit => Ok(()),
            QualityVerdict::Demote => {
                // Recorded as an integer, so that the event does not depend on floating-point
                // formatting.
                admission.score_milli = Some(milli);
                admission.verdict = AdmissionVerdict::Quarantined;
                let why = format!("its quality score is low (0.{milli:03})");
                admission.held_for.get_or_insert(why);
                Ok(())
            }
            QualityVerdict::Reject => Err(WriteRejection::Worthless { milli }),
        }
    }
}

/// Returns the data of a draft as JSON. Only parsed lines can have a body without JSON, and a body
/// that cannot be scanned must not pass.
fn body_json(body: &EventBody) -> Value {
    body.to_json()
        .expect("a draft is of a type this build writes")
}

/// Describes a rejection with its reason and field, never with the text itself.
#[must_use]
pub fn describe_rejection(findings: &[GuardFinding]) -> String {
    let Some(gravest) = findings.first() else {
        return "the guard refused a field: its content is not allowed".to_owned();
    };
    let reason = match gravest.axis {
        ScanAxis::Credential | ScanAxis::CredentialLeakage => "it seems to contain a secret",
        ScanAxis::Sanitization => "it names details of one organization or one line of code",
        ScanAxis::Exfiltration => "it recommends sending data to another system",
        ScanAxis::Injection => "it contains instructions to a model",
        ScanAxis::UnsafeCode => "it recommends a destructive command",
        ScanAxis::Hidden => "it contains invisible text",
        ScanAxis::Unscanned => "it is too long to scan",
    };
    let kind = gravest.kind.replace('-', " ");
    format!("the guard refused `{}`: {reason} ({kind})", gravest.field)
}

/// Returns the reason a new entry requires human review regardless of its text.
fn review_reason(proposed: &Proposed, by: &Actor) -> Option<&'static str> {
    // A promotion makes an entry visible to more agents.
    if !proposed.promoted_from.is_empty() {
        return Some("it was promoted from another memory");
    }
    if proposed.origin.is_foreign() {
        return Some("it comes from outside this workspace");
    }
    // Norms bind every agent, so an agent must not create one for the others.
    let norm = proposed.kind.memory() == Memory::Procedural;
    (norm && !by.is_human()).then_some("a norm needs a person's approval")
}

/// Allows only people to edit, archive and restore norms.
fn ensure_person_for_norm(draft: &Draft, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() || !is_about_norm(draft) {
        return Ok(());
    }
    match person_only_action(&draft.body) {
        Some(what) => Err(Refusal::PersonNeeded {
            what,
            by: by.clone(),
        }),
        None => Ok(()),
    }
}

/// Allows only people to approve.
fn ensure_person_for_approval(draft: &Draft, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() || !matches!(draft.body, EventBody::ApprovalGranted(_)) {
        return Ok(());
    }
    let (what, by) = ("approving an entry", by.clone());
    Err(Refusal::PersonNeeded { what, by })
}

/// Returns whether a draft concerns a norm.
pub fn is_about_norm(draft: &Draft) -> bool {
    draft.about.iter().any(|subject| match subject {
        EventSubject::Entry(id) => id.prefix().memory() == Memory::Procedural,
        EventSubject::Other(_) => false,
    })
}

/// Returns the name of the person-only action that an event performs on a norm.
fn person_only_action(body: &EventBody) -> Option<&'static str> {
    if let EventBody::Archived(data) = body {
        // Archiving by decay is automatic, not a decision of the actor.
        return (data.because != ArchiveReason::Decay).then_some("archiving a norm");
    }
    if let EventBody::OverlaySet(data) = body {
        let hides = matches!(data.overlay, Overlay::Mute | Overlay::Invalidate);
        return hides.then_some("hiding a norm");
    }
    if let EventBody::StatusChanged(data) = body {
        let hides = matches!(data.to, EntryStatus::Rejected | EntryStatus::Stale);
        return hides.then_some("rejecting a norm");
    }
    let kinds: [(bool, &'static str); 7] = [
        (matches!(body, EventBody::Revised(_)), "editing a norm"),
        (matches!(body, EventBody::Merged(_)), "merging into a norm"),
        (
            matches!(body, EventBody::Superseded(_)),
            "superseding a norm",
        ),
        (matches!(body, EventBody::Retracted(_)), "retracting a norm"),
        (matches!(body, EventBody::Restored(_)), "restoring a norm"),
        (
            matches!(body, EventBody::ContradictionResolved(_)),
            "resolving a contradiction with a norm",
        ),
        (
            matches!(body, EventBody::PairDismissed(_)),
            "dismissing a pair with a norm",
        ),
    ];
    kinds.iter().find(|(is, _)| *is).map(|(_, what)| *what)
}

/// A text of a draft with its field name.
#[derive(Debug)]
struct DraftText {
    name: String,
    text: String,
    mode: TextMode,
}

impl DraftText {
    fn as_field(&self) -> ScannedField<'_> {
        ScannedField {
            name: &self.name,
            text: &self.text,
            mode: self.mode,
        }
    }
}

/// Collects every string of `data`, and the author's name.
fn collect_texts(data: &Value, by: &Actor) -> Vec<DraftText> {
    // The author's name is free text, too.
    let mut texts = vec![DraftText {
        name: "by".to_owned(),
        text: by.to_string(),
        mode: TextMode::Prose,
    }];
    collect_strings(&mut texts, "", data, TextMode::Prose);
    // Friction repeats the output of tools and never leaves the repository without a person.
    let is_raw = data.get("kind").and_then(Value::as_str) == Some(EntryKind::Friction.name());
    for text in texts.iter_mut().filter(|it| is_raw && it.mode.is_shared()) {
        text.mode = TextMode::Prose;
    }
    texts
}

fn collect_strings(texts: &mut Vec<DraftText>, name: &str, value: &Value, mode: TextMode) {
    match value {
        Value::String(text) => texts.push(DraftText {
            name: name.to_owned(),
            text: text.clone(),
            mode,
        }),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect_strings(texts, &format!("{name}[{i}]"), item, mode);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                if mode == TextMode::Code {
                    // A verdict repeats field names, so a third-party key is treated as text, not
                    // as a name.
                    texts.push(DraftText {
                        name: name.to_owned(),
                        text: key.clone(),
                        mode,
                    });
                    collect_strings(texts, name, item, mode);
                } else {
                    collect_strings(texts, key, item, mode_for_key(key, mode));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the mode for text below `key`.
fn mode_for_key(key: &str, mode: TextMode) -> TextMode {
    if FOREIGN_DATA_KEYS.contains(&key) {
        TextMode::Code
    } else if key == STATEMENT_KEY {
        TextMode::Statement
    } else if EXPLANATION_KEYS.contains(&key) {
        TextMode::Explanation
    } else {
        mode
    }
}

/// Converts to the type stored in events.
fn to_event_scan_status(scan: crate::ScanLevel) -> ScanStatus {
    match scan {
        crate::ScanLevel::Safe => ScanStatus::Safe,
        crate::ScanLevel::Low => ScanStatus::Low,
        crate::ScanLevel::Medium => ScanStatus::Medium,
        crate::ScanLevel::High => ScanStatus::High,
        crate::ScanLevel::Critical => ScanStatus::Critical,
    }
}
