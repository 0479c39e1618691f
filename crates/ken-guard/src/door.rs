//! The door itself: every draft passes it before it becomes an event, in a repository and at a hub.
//!
//! Three things decide, and what they decide is recorded: what the rules find in the text, what the entry is worth before
//! anybody used it (`worth`), and where it comes from. Poisoned advice has no signature, so the last one holds where
//! patterns cannot: what comes from outside this workspace, and norms that no person wrote, wait for a person.

mod redaction;
mod scanning;
mod worth;
mod written;

use ken_core::actor::Actor;
use ken_core::decide::{Draft, Refusal};
use ken_core::event::{
    Admission, AdmissionVerdict, ArchiveReason, Body, Overlay, Proposed, ScanStatus, Subject,
};
use ken_core::kind::Memory;
use ken_core::run::Noted;
use ken_core::status::Status as EntryStatus;
use serde::Deserialize as _;
use serde_json::Value;

use crate::admission::{Reach, Weighed, Weights, weigh};
use crate::axis::Axis;
use crate::policy::Policy;
use crate::verdict::{Field, Finding, Verdict, admit};
use crate::{RULE_SET, TextMode};

pub use redaction::{TooLong, without_secrets};
pub use scanning::{ScanFinding, Scanned};
pub use written::{Rescanned, Written};

/// Keys below which everything is somebody else's data, keys included.
const FOREIGN: [&str; 2] = ["context", "value"];

/// The key of what is meant to be shared: no evidence, no anchor, no command.
const STATEMENT: &str = "statement";

/// What this user's guard goes by.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    pub policy: Policy,
    /// What each signal of a new entry counts for.
    pub weights: Weights,
    /// Whether secrets are written as `[REDACTED:type]` instead of being refused.
    pub redacts: bool,
}

/// Why a draft may not be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Turned {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{}", refused_because(.0))]
    Guarded(Vec<Finding>),
    #[error("too little speaks for this entry (0.{milli:03} of 1)")]
    Worthless { milli: u16 },
    /// Only lines that come from elsewhere can be.
    #[error("the event is about other entries than its data")]
    Misfiled,
    #[error(
        "the event says of itself that it was quarantined, which would hide what somebody else wrote"
    )]
    Hiding,
}

impl Guard {
    /// Looks at a draft; returns it as it may be written, with what was decided about it.
    pub fn admit(&self, mut draft: Draft, by: &Actor) -> Result<(Draft, Admission), Turned> {
        norms_are_peoples(&draft, by)?;
        approvals_are_peoples(&draft, by)?;
        let mut told = said_by(&draft.body);
        let redacted = self.redact_draft(&mut draft, &mut told);
        let (mut admission, findings) = self.judge(&told, by)?;
        admission.redacted = redacted;
        let held = admission.verdict == AdmissionVerdict::Quarantined;
        if held && !by.is_human() && !matches!(draft.body, Body::Proposed(_)) {
            // It would keep what somebody else wrote from being shown.
            return Err(Turned::Guarded(findings));
        }
        if let Body::Proposed(proposed) = &draft.body {
            self.weigh(proposed, &mut admission)?;
            if let Some(why) = waits_for_a_person(proposed, by) {
                admission.verdict = AdmissionVerdict::Quarantined;
                admission.held_for.get_or_insert(why.to_owned());
            }
        }
        Ok((draft, admission))
    }

    /// Looks at a note about a run; returns it as it may be kept, without its secrets where the author asked for that.
    pub fn admit_note(&self, noted: Noted) -> Result<Noted, Turned> {
        let value = |noted: &Noted| serde_json::to_value(noted).expect("notes are plain data");
        let mut told = value(&noted);
        let noted = match self.redact_told(&mut told) {
            true => {
                // Where the marker does not fit, the note is scanned, and refused, as it was.
                let noted = Noted::deserialize(&told).unwrap_or(noted);
                told = value(&noted);
                noted
            }
            false => noted,
        };
        self.judge(&told, &noted.by)?;
        Ok(noted)
    }

    /// Asks the rules about every text in `told`, which `by` says.
    pub fn admit_text(&self, told: &Value, by: &Actor) -> Result<Admission, Turned> {
        Ok(self.judge(told, by)?.0)
    }

    /// Like [`Self::admit_text`], with what was found.
    fn judge(&self, told: &Value, by: &Actor) -> Result<(Admission, Vec<Finding>), Turned> {
        let verdict = self.verdict(told, by);
        let findings = verdict.findings().iter();
        let mut admission = Admission {
            scan: scan_status(verdict.scan()),
            findings: findings.map(|finding| finding.rule.to_owned()).collect(),
            ..Admission::clean(RULE_SET)
        };
        match verdict {
            Verdict::Admit { findings, .. } => Ok((admission, findings)),
            Verdict::Quarantine { why, findings, .. } => {
                admission.verdict = AdmissionVerdict::Quarantined;
                admission.held_for = Some(why);
                Ok((admission, findings))
            }
            Verdict::Reject { findings, .. } => Err(Turned::Guarded(findings)),
        }
    }

    /// Returns what the rules say about every text in `told`, and about who says it.
    fn verdict(&self, told: &Value, by: &Actor) -> Verdict {
        let texts = texts_of(told, by);
        let fields: Vec<Field<'_>> = texts.iter().map(Text::as_field).collect();
        admit(&self.policy, &fields)
    }

    /// Weighs a new entry by its seven signals.
    fn weigh(&self, proposed: &Proposed, admission: &mut Admission) -> Result<(), Turned> {
        let score = worth::signals(proposed, admission.scan).score(&self.weights);
        let reach = if proposed.origin.is_foreign() {
            Reach::Foreign
        } else {
            Reach::Own
        };
        let milli = worth::milli(score);
        match weigh(score, reach) {
            Weighed::Admit => Ok(()),
            Weighed::Demote => {
                admission.score_milli = Some(milli);
                admission.verdict = AdmissionVerdict::Quarantined;
                let why = format!("too little speaks for it (0.{milli:03})");
                admission.held_for.get_or_insert(why);
                Ok(())
            }
            Weighed::Reject => Err(Turned::Worthless { milli }),
        }
    }
}

/// Returns everything the data of a draft says. Only lines that were read may have a body that tells nothing, and one that
/// cannot be looked at must not pass.
fn said_by(body: &Body) -> Value {
    body.to_json()
        .expect("a draft is of a type this build writes")
}

/// Says what the rules refused, and in which field; never the text itself.
#[must_use]
pub fn refused_because(findings: &[Finding]) -> String {
    let Some(gravest) = findings.first() else {
        return "the guard refused `a field`: something in it may not be written".to_owned();
    };
    let what = match gravest.axis {
        Axis::Credential | Axis::CredentialLeakage => "it seems to hold a secret",
        Axis::Sanitisation => "it says what belongs to one organisation or one line of code",
        Axis::Exfiltration => "it gives advice that sends data away",
        Axis::Injection => "it speaks to a model",
        Axis::UnsafeCode => "it gives advice that destroys",
        Axis::Hidden => "it holds what no reader can see",
        Axis::Unscanned => "it is too long to look into",
    };
    let kind = gravest.kind.replace('-', " ");
    format!("the guard refused `{}`: {what} ({kind})", gravest.field)
}

/// Returns why a new entry is kept from agents until a person has looked, whatever it says.
fn waits_for_a_person(proposed: &Proposed, by: &Actor) -> Option<&'static str> {
    if !proposed.promoted_from.is_empty() {
        return Some("it was promoted from another memory");
    }
    if proposed.origin.is_foreign() {
        return Some("it comes from outside this workspace");
    }
    let norm = proposed.kind.memory() == Memory::Procedural;
    (norm && !by.is_human()).then_some("a norm needs a person")
}

/// What binds everybody is worded, laid aside and brought back by people.
fn norms_are_peoples(draft: &Draft, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() || !is_about_norm(draft) {
        return Ok(());
    }
    match peoples(&draft.body) {
        Some(what) => Err(Refusal::PersonNeeded {
            what,
            by: by.clone(),
        }),
        None => Ok(()),
    }
}

/// Nobody but a person approves anything.
fn approvals_are_peoples(draft: &Draft, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() || !matches!(draft.body, Body::ApprovalGranted(_)) {
        return Ok(());
    }
    let (what, by) = ("approving", by.clone());
    Err(Refusal::PersonNeeded { what, by })
}

/// Returns whether a draft concerns what binds everybody.
pub fn is_about_norm(draft: &Draft) -> bool {
    draft.about.iter().any(|subject| match subject {
        Subject::Entry(id) => id.prefix().memory() == Memory::Procedural,
        Subject::Other(_) => false,
    })
}

/// Returns what an event does to a norm that is for people to do.
fn peoples(body: &Body) -> Option<&'static str> {
    if let Body::Archived(data) = body {
        return (data.because != ArchiveReason::Decay).then_some("laying a norm aside");
    }
    if let Body::OverlaySet(data) = body {
        let hides = matches!(data.overlay, Overlay::Mute | Overlay::Invalidate);
        return hides.then_some("hiding a norm");
    }
    if let Body::StatusChanged(data) = body {
        let hides = matches!(data.to, EntryStatus::Rejected | EntryStatus::Stale);
        return hides.then_some("rejecting a norm");
    }
    let kinds: [(bool, &'static str); 7] = [
        (matches!(body, Body::Revised(_)), "rewording a norm"),
        (matches!(body, Body::Merged(_)), "merging into a norm"),
        (matches!(body, Body::Superseded(_)), "superseding a norm"),
        (matches!(body, Body::Retracted(_)), "retracting a norm"),
        (matches!(body, Body::Restored(_)), "bringing a norm back"),
        (
            matches!(body, Body::ContradictionResolved(_)),
            "settling a contradiction with a norm",
        ),
        (
            matches!(body, Body::PairDismissed(_)),
            "dismissing a pair with a norm",
        ),
    ];
    kinds.iter().find(|(is, _)| *is).map(|(_, what)| *what)
}

/// A text of a draft, with the name of the field it stands in.
#[derive(Debug)]
struct Text {
    name: String,
    text: String,
    mode: TextMode,
}

impl Text {
    fn as_field(&self) -> Field<'_> {
        Field {
            name: &self.name,
            text: &self.text,
            mode: self.mode,
        }
    }
}

/// Gathers every string of `told`, and who says it.
fn texts_of(told: &Value, by: &Actor) -> Vec<Text> {
    let mut texts = vec![Text {
        name: "by".to_owned(),
        text: by.to_string(),
        mode: TextMode::Prose,
    }];
    collect(&mut texts, "", told, TextMode::Prose);
    texts
}

fn collect(texts: &mut Vec<Text>, name: &str, value: &Value, mode: TextMode) {
    match value {
        Value::String(text) => texts.push(Text {
            name: name.to_owned(),
            text: text.clone(),
            mode,
        }),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(texts, &format!("{name}[{i}]"), item, mode);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                if mode == TextMode::Code {
                    // A verdict repeats field names, so a stranger's key is text, not a name.
                    texts.push(Text {
                        name: name.to_owned(),
                        text: key.clone(),
                        mode,
                    });
                    collect(texts, name, item, mode);
                } else {
                    collect(texts, key, item, mode_below(key, mode));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How text below `key` is read.
fn mode_below(key: &str, mode: TextMode) -> TextMode {
    if FOREIGN.contains(&key) {
        TextMode::Code
    } else if key == STATEMENT {
        TextMode::Statement
    } else {
        mode
    }
}

fn scan_status(scan: crate::ScanStatus) -> ScanStatus {
    match scan {
        crate::ScanStatus::Safe => ScanStatus::Safe,
        crate::ScanStatus::Low => ScanStatus::Low,
        crate::ScanStatus::Medium => ScanStatus::Medium,
        crate::ScanStatus::High => ScanStatus::High,
        crate::ScanStatus::Critical => ScanStatus::Critical,
    }
}
