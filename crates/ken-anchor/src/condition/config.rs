//! `config:PATH#KEY=VALUE` conditions: a key of a TOML, JSON or YAML file has a value.

use ken_core::values::condition::{ConfigFormat, ConfigKey};
use serde_json::Value;

use super::outcome::ConditionOutcome;
use super::text::{CONFIG_BYTES_MAX, read_text};
use super::{ConditionEvaluator, value};

pub(super) fn evaluate(
    evidence: &ConditionEvaluator<'_>,
    path: &str,
    key: &ConfigKey,
    wanted: &str,
) -> ConditionOutcome {
    let text = match read_text(evidence.tree, path, CONFIG_BYTES_MAX) {
        Ok(Some(text)) => text,
        Ok(None) => return ConditionOutcome::broken(format!("`{path}` does not exist")),
        Err(why) => return ConditionOutcome::unverifiable(why),
    };
    let documents = match parse_documents(path, &text) {
        Ok(documents) => documents,
        Err(why) => return ConditionOutcome::unverifiable(format!("cannot read `{path}`: {why}")),
    };
    // Of several YAML documents, the first one with the key decides.
    let Some(found) = documents
        .iter()
        .find_map(|document| find_value(document, key))
    else {
        return ConditionOutcome::broken(format!("`{path}` has no key `{key}`"));
    };
    let line = find_key_line(&text, key);
    match value_equals(found, wanted) {
        None => {
            ConditionOutcome::unverifiable(format!("`{key}` in `{path}` is not a single value"))
        }
        Some(true) => {
            ConditionOutcome::holds(format!("`{key}` in `{path}` is {found}")).at(path, line)
        }
        Some(false) => {
            let found = ken_core::values::text::truncate(&found.to_string(), VALUE_CHARS_MAX);
            ConditionOutcome::broken(format!("`{key}` in `{path}` is {found}")).at(path, line)
        }
    }
}

/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 80;

fn parse_documents(path: &str, text: &str) -> Result<Vec<Value>, String> {
    match ConfigFormat::from_path(path) {
        Some(ConfigFormat::Json) => value::parse_json(text).map(|value| vec![value]),
        Some(ConfigFormat::Toml) => value::parse_toml(text).map(|value| vec![value]),
        Some(ConfigFormat::Yaml) => value::parse_yaml(text),
        None => Err("it is neither TOML, JSON nor YAML".to_owned()),
    }
}

fn find_value<'a>(document: &'a Value, key: &ConfigKey) -> Option<&'a Value> {
    key.parts()
        .iter()
        .try_fold(document, |value, part| match value {
            Value::Object(table) => table.get(part),
            Value::Array(list) => list.get(part.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

/// Returns whether a value equals the written one: as text, number or boolean; in quotes, only as
/// text. Returns `None` for lists and tables.
fn value_equals(found: &Value, wanted: &str) -> Option<bool> {
    let quoted = wanted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match found {
        Value::String(text) => Some(text == wanted || quoted == Some(text)),
        Value::Bool(truth) => Some(wanted == if *truth { "true" } else { "false" }),
        Value::Null => Some(wanted == "null"),
        Value::Number(number) => {
            // `1.50` and `1.5` are equal numbers with different spellings.
            let equal = number.to_string() == wanted
                || wanted
                    .parse::<f64>()
                    .is_ok_and(|wanted| number.as_f64() == Some(wanted));
            Some(equal)
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the approximate line of a key: each part is searched below the previous one.
fn find_key_line(text: &str, key: &ConfigKey) -> u32 {
    // The parsed value has no positions; a text search suffices for a location hint.
    let mut lines = text.lines().zip(1..).peekable();
    let mut found = 1;
    for part in key
        .parts()
        .iter()
        .filter(|part| part.parse::<usize>().is_err())
    {
        while let Some((line, at)) = lines.peek() {
            if line.contains(part.as_str()) {
                found = *at;
                break;
            }
            lines.next();
        }
    }
    found
}
