//! The one door: every draft's text passes the guard before it becomes an event.

use ken_core::actor::Actor;
use ken_core::decide::Draft;
use ken_core::event::{Admission, AdmissionVerdict, ScanStatus};
use ken_guard::{Field, Policy, RULE_SET, TextMode, Verdict, admit};
use serde_json::Value;

use crate::error::Error;

/// Keys below which everything is somebody else's data, keys included.
const FOREIGN: [&str; 2] = ["context", "value"];

/// The key of what is meant to be shared: no evidence, no anchor, no command.
const STATEMENT: &str = "statement";

/// Asks the guard about every text in `draft`; returns what it decided, to be recorded.
pub(crate) fn admitted(policy: &Policy, draft: &Draft, by: &Actor) -> Result<Admission, Error> {
    admitted_text(policy, &draft.body.to_json().unwrap_or_default(), by)
}

/// Asks the guard about every text in `told`, which `by` says.
pub(crate) fn admitted_text(policy: &Policy, told: &Value, by: &Actor) -> Result<Admission, Error> {
    let mut texts = vec![("by".to_owned(), by.to_string(), TextMode::Prose)];
    collect(&mut texts, "", told, TextMode::Prose);
    let fields: Vec<Field<'_>> = texts
        .iter()
        .map(|(name, text, mode)| Field {
            name,
            text,
            mode: *mode,
        })
        .collect();
    let verdict = admit(policy, &fields);
    let record = |verdict_word, scan, findings: &[ken_guard::Finding]| Admission {
        scan: scan_status(scan),
        rules: RULE_SET.to_owned(),
        verdict: verdict_word,
        findings: findings
            .iter()
            .map(|finding| finding.rule.to_owned())
            .collect(),
    };
    match verdict {
        Verdict::Admit { scan, findings } => {
            Ok(record(AdmissionVerdict::Admitted, scan, &findings))
        }
        Verdict::Quarantine { scan, findings, .. } => {
            Ok(record(AdmissionVerdict::Quarantined, scan, &findings))
        }
        Verdict::Reject { findings, .. } => Err(Error::Guarded(findings)),
    }
}

/// Gathers every string of `value` with the name of the field it stands in.
fn collect(texts: &mut Vec<(String, String, TextMode)>, name: &str, value: &Value, mode: TextMode) {
    match value {
        Value::String(text) => texts.push((name.to_owned(), text.clone(), mode)),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(texts, &format!("{name}[{i}]"), item, mode);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                if mode == TextMode::Code {
                    // A verdict repeats field names, so a stranger's key is text, not a name.
                    texts.push((name.to_owned(), key.clone(), mode));
                    collect(texts, name, item, mode);
                } else if FOREIGN.contains(&key.as_str()) {
                    collect(texts, key, item, TextMode::Code);
                } else if key == STATEMENT {
                    collect(texts, key, item, TextMode::Statement);
                } else {
                    collect(texts, key, item, mode);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn scan_status(scan: ken_guard::ScanStatus) -> ScanStatus {
    match scan {
        ken_guard::ScanStatus::Safe => ScanStatus::Safe,
        ken_guard::ScanStatus::Low => ScanStatus::Low,
        ken_guard::ScanStatus::Medium => ScanStatus::Medium,
        ken_guard::ScanStatus::High => ScanStatus::High,
        ken_guard::ScanStatus::Critical => ScanStatus::Critical,
    }
}
