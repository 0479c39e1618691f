//! Friction entries: a generated statement plus the verbatim context.

use ken_core::decide::Proposal;
use ken_core::ledger::event::{FrictionRecorded, Origin, RecordedEvent};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::values::actor::Actor;
use ken_core::values::content::{Content, FrictionDetail, FrictionType, KindDetail};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Date;
use ken_guard::{GuardPolicy, TextMode, redact};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of context members in the statement.
const MEMBERS_MAX: usize = 3;
/// Maximum characters of each member.
const MEMBER_CHARS_MAX: usize = 60;

impl Engine {
    /// Creates the proposal of a friction entry.
    pub fn friction_proposal(
        &self,
        friction: FrictionType,
        context: Value,
        by: &Actor,
    ) -> Result<Proposal, EngineError> {
        let parsed = friction_statement(&self.guard.policy, friction, &context).parse();
        let statement = parsed.map_err(|error| EngineError::Usage(format!("{error}")))?;
        let mut content = Content::new(statement);
        content.detail = Some(KindDetail::Friction(FrictionDetail { friction, context }));
        let proposal = Proposal::new(
            EntryKind::Friction,
            content,
            Vec::new(),
            Origin::from_actor(by),
        );
        Ok(proposal)
    }
}

/// Returns the beginning of a text without its secrets.
///
/// Cut first, half of a secret would be left that the guard does not recognize any more.
pub(crate) fn shorten(policy: &GuardPolicy, text: &str, chars_max: usize) -> String {
    let clean = redact(policy, text, TextMode::Code).text;
    clean.chars().take(chars_max).collect()
}

/// Returns type and day of all recorded friction: the live entries, and the events of a type that
/// this version reads but no longer writes.
pub(crate) fn records(engine: &Engine) -> Result<Vec<(FrictionType, Date)>, EngineError> {
    let entries = engine.index.list(&EntryFilter {
        kind: Some(EntryKind::Friction),
        ..EntryFilter::default()
    })?;
    let mut records: Vec<(FrictionType, Date)> = Vec::with_capacity(entries.len());
    for entry in &entries {
        let detail = entry.content.as_ref().and_then(|it| it.detail.as_ref());
        if let Some(KindDetail::Friction(detail)) = detail {
            records.push((detail.friction, entry.history.first.wall.date()));
        }
    }
    for RecordedEvent { event, .. } in engine.index.of_type::<FrictionRecorded>()? {
        if let Some(data) = event.get::<FrictionRecorded>() {
            records.push((data.friction, event.at.wall.date()));
        }
    }
    Ok(records)
}

/// Returns a short statement; the entry stores the full context separately.
fn friction_statement(policy: &GuardPolicy, friction: FrictionType, context: &Value) -> String {
    let event = match friction {
        FrictionType::ToolError => "A tool failed",
        FrictionType::Redo => "Work was done again",
        FrictionType::ValidationFail => "A validation did not pass",
    };
    let shown = |key: &str, value: &Value| -> Option<String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            // Nested values make the statement long; the context keeps them.
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Tool output may contain terminal escape sequences.
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let short = shorten(policy, &line, MEMBER_CHARS_MAX);
        Some(format!("{key} {short}"))
    };
    let members = context.as_object().into_iter().flatten();
    let members: Vec<String> = members
        .filter_map(|(key, value)| shown(key, value))
        .take(MEMBERS_MAX)
        .collect();
    if members.is_empty() {
        event.to_owned()
    } else {
        format!("{event}: {}", members.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_a_few_plain_members_and_never_grows() {
        let context = serde_json::json!({
            "a": "x\u{7}\ny", "b": 2, "c": ["hidden"], "d": "z".repeat(100), "e": "left out"
        });
        let expected = format!("A tool failed: a x y, b 2, d {}", "z".repeat(60));
        let policy = GuardPolicy::default();
        assert_eq!(
            friction_statement(&policy, FrictionType::ToolError, &context),
            expected
        );
        assert_eq!(
            friction_statement(&policy, FrictionType::Redo, &Value::Null),
            "Work was done again"
        );
    }

    #[test]
    fn no_half_of_a_secret_is_left_where_a_text_is_cut() {
        let policy = GuardPolicy::default();
        let secrets = ken_guard::sample::samples_of_every_rule(11).into_iter();
        for secret in secrets.filter(|it| it.rule == "azure-devops-token") {
            let found = shorten(&policy, &secret.text, MEMBER_CHARS_MAX);
            assert_eq!(found, "[REDACTED:azure-devops-token]");
        }
    }
}
