//! What got in the way, as an entry: a generated line, and the context word for word beside it.

use ken_core::actor::Actor;
use ken_core::content::{Content, Detail, Friction, FrictionType};
use ken_core::decide::Proposal;
use ken_core::event::Origin;
use ken_core::kind::Kind;
use serde_json::Value;

use crate::error::Error;

/// Members of the context that go into the generated line.
const MEMBERS_MAX: usize = 3;
/// Characters of each that do.
const MEMBER_CHARS_MAX: usize = 60;

/// Returns the entry that records what got in the way.
pub fn proposal(friction: FrictionType, context: Value, by: &Actor) -> Result<Proposal, Error> {
    let statement = summary(friction, &context).parse();
    let statement = statement.map_err(|error| Error::Usage(format!("{error}")))?;
    let mut content = Content::new(statement);
    content.detail = Some(Detail::Friction(Friction { friction, context }));
    let proposal = Proposal::new(Kind::Friction, content, Vec::new(), Origin::of(by));
    Ok(proposal)
}

/// Returns a short line about what happened; the context itself is kept beside it.
fn summary(friction: FrictionType, context: &Value) -> String {
    let what = match friction {
        FrictionType::ToolError => "A tool failed",
        FrictionType::Redo => "Work was done again",
        FrictionType::ValidationFail => "A validation did not pass",
    };
    let shown = |key: &str, value: &Value| -> Option<String> {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = value
            .chars()
            .filter(|c| !c.is_control())
            .take(MEMBER_CHARS_MAX)
            .collect();
        Some(format!("{key} {short}"))
    };
    let members = context.as_object().into_iter().flatten();
    let members: Vec<String> = members
        .filter_map(|(key, value)| shown(key, value))
        .take(MEMBERS_MAX)
        .collect();
    if members.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {}", members.join(", "))
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
        assert_eq!(summary(FrictionType::ToolError, &context), expected);
        assert_eq!(
            summary(FrictionType::Redo, &Value::Null),
            "Work was done again"
        );
    }
}
