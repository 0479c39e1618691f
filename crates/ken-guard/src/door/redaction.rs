//! Secrets replaced before anything is written: in what a tool reported always, elsewhere where the author asks for it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ken_core::decide::Draft;
use ken_core::event::{Body, Proposed};
use ken_core::kind::Kind;
use ken_core::text::Note;
use serde_json::Value;

use super::{FOREIGN, Guard, mode_below, said_by};
use crate::{Policy, TextMode, redact};

/// Returns a text that is to be shown or logged, without the secrets somebody typed into it.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let redacted = redact(&Policy::default(), text, TextMode::Prose);
    if redacted.replaced.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(redacted.text)
}

/// A reason that its redaction makes longer than a reason may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reason is too long to be redacted")]
pub struct TooLong;

impl Guard {
    /// Returns a reason as it may be written, without its secrets where the author asked for that.
    pub fn cleaned(&self, reason: &Note) -> Result<Note, TooLong> {
        if !self.redacts {
            return Ok(reason.clone());
        }
        let redacted = redact(&self.policy, reason.as_str(), TextMode::Prose);
        redacted.text.parse().map_err(|_| TooLong)
    }

    /// Replaces secrets of a draft, which says `told`, in both; returns what they are recognised by.
    pub(super) fn redact_draft(&self, draft: &mut Draft, told: &mut Value) -> BTreeSet<String> {
        let everywhere = self.redacts || is_report(&draft.body);
        let replacing = Replacing::below(&self.policy, everywhere, told);
        if !replacing.changed {
            return BTreeSet::new();
        }
        // A marker may be longer than what it replaces; what does not fit any more is refused as it was.
        let Some(body) = draft.body.reread(told) else {
            *told = said_by(&draft.body);
            return BTreeSet::new();
        };
        draft.body = body;
        replacing.prints
    }

    /// Replaces secrets below `told`, where the author asked for it; returns whether any was.
    pub(super) fn redact_told(&self, told: &mut Value) -> bool {
        Replacing::below(&self.policy, self.redacts, told).changed
    }
}

/// What got in a tool's way is told in the tool's words, the generated line included.
fn is_report(body: &Body) -> bool {
    let friction = |it: &Proposed| it.kind == Kind::Friction;
    matches!(body, Body::FrictionRecorded(_)) || matches!(body, Body::Proposed(it) if friction(it))
}

struct Replacing<'a> {
    policy: &'a Policy,
    everywhere: bool,
    prints: BTreeSet<String>,
    changed: bool,
}

impl<'a> Replacing<'a> {
    /// Replaces secrets below `told`: what a tool reported, or everywhere.
    fn below(policy: &'a Policy, everywhere: bool, told: &mut Value) -> Self {
        let mut replacing = Self {
            policy,
            everywhere,
            prints: BTreeSet::new(),
            changed: false,
        };
        replacing.walk(told, TextMode::Prose, false);
        replacing
    }

    /// Replaces below `value`; `foreign` says that it is what a tool reported.
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
                    let foreign = foreign || FOREIGN.contains(&key.as_str());
                    self.walk(item, mode_below(key, mode), foreign);
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
