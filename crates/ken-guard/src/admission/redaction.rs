//! Redaction before a write: always in tool reports, elsewhere if the author asks for it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ken_core::decide::Draft;
use ken_core::ledger::event::{EventBody, Proposed};
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Note;
use serde_json::Value;

use super::{FOREIGN_DATA_KEYS, Guard, body_json, mode_for_key};
use crate::{GuardPolicy, TextMode, redact};

/// Returns a text for display or logging without its secrets.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let redacted = redact(&GuardPolicy::default(), text, TextMode::Prose);
    if redacted.replaced.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(redacted.text)
}

/// A reason that exceeds the length limit after redaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reason is too long after redaction")]
pub struct ReasonTooLong;

impl Guard {
    /// Returns a reason in the form to write, redacted if the author asked for that.
    pub fn cleaned(&self, reason: &Note) -> Result<Note, ReasonTooLong> {
        if !self.redacts {
            return Ok(reason.clone());
        }
        let redacted = redact(&self.policy, reason.as_str(), TextMode::Prose);
        // Parsed again, because markers may exceed the length limit.
        redacted.text.parse().map_err(|_| ReasonTooLong)
    }

    /// Replaces secrets in a draft and in `data`, its JSON; returns their fingerprints.
    pub(super) fn redact_draft(&self, draft: &mut Draft, data: &mut Value) -> BTreeSet<String> {
        let everywhere = self.redacts || is_tool_report(&draft.body);
        let replacing = SecretReplacer::below(&self.policy, everywhere, data);
        if !replacing.changed {
            return BTreeSet::new();
        }
        // A marker may be longer than the secret. If the text no longer fits, the original is
        // scanned and rejected.
        let Some(body) = draft.body.reread(data) else {
            *data = body_json(&draft.body);
            return BTreeSet::new();
        };
        draft.body = body;
        replacing.prints
    }

    /// Replaces secrets in `data` if the author asked for it; returns whether any was replaced.
    pub(super) fn redact_value(&self, data: &mut Value) -> bool {
        SecretReplacer::below(&self.policy, self.redacts, data).changed
    }
}

/// Returns whether the body quotes a tool's output, including the generated statement.
fn is_tool_report(body: &EventBody) -> bool {
    let friction = |it: &Proposed| it.kind == EntryKind::Friction;
    matches!(body, EventBody::FrictionRecorded(_))
        || matches!(body, EventBody::Proposed(it) if friction(it))
}

/// A walk over JSON that replaces secrets.
struct SecretReplacer<'a> {
    policy: &'a GuardPolicy,
    everywhere: bool,
    prints: BTreeSet<String>,
    changed: bool,
}

impl<'a> SecretReplacer<'a> {
    /// Replaces secrets in the third-party parts of `data`, or everywhere.
    fn below(policy: &'a GuardPolicy, everywhere: bool, data: &mut Value) -> Self {
        let mut replacing = Self {
            policy,
            everywhere,
            prints: BTreeSet::new(),
            changed: false,
        };
        replacing.walk(data, TextMode::Prose, false);
        replacing
    }

    /// Replaces secrets in `value`; `foreign` marks third-party data.
    fn walk(&mut self, value: &mut Value, mode: TextMode, foreign: bool) {
        match value {
            Value::String(text) if foreign || self.everywhere => self.replace(text, mode),
            Value::Array(items) => {
                for item in items {
                    self.walk(item, mode, foreign);
                }
            }
            Value::Object(members) => {
                for (key, item) in members {
                    // Third-party data is redacted even without consent: its author did not choose
                    // these words.
                    let foreign = foreign || FOREIGN_DATA_KEYS.contains(&key.as_str());
                    self.walk(item, mode_for_key(key, mode), foreign);
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replace(&mut self, text: &mut String, mode: TextMode) {
        let redacted = redact(self.policy, text, mode);
        if redacted.replaced.is_empty() {
            return;
        }
        let prints = redacted.replaced.into_iter().filter_map(|(_, print)| print);
        self.prints
            .extend(prints.map(|print| print.as_str().to_owned()));
        *text = redacted.text;
        self.changed = true;
    }
}
