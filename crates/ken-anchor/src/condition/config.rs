//! `config:PATH#KEY=VALUE`: a key of a TOML, JSON or YAML file has a value.

use ken_core::condition::{ConfigFormat, Key};
use serde_json::Value;

use super::outcome::Outcome;
use super::text::{CONFIG_BYTES_MAX, text_of};
use super::{Evidence, value};

pub(super) fn evaluate(evidence: &Evidence<'_>, path: &str, key: &Key, wanted: &str) -> Outcome {
    let text = match text_of(evidence.tree, path, CONFIG_BYTES_MAX) {
        Ok(Some(text)) => text,
        Ok(None) => return Outcome::broken(format!("`{path}` is not there")),
        Err(why) => return Outcome::unverifiable(why),
    };
    let documents = match read(path, &text) {
        Ok(documents) => documents,
        Err(why) => return Outcome::unverifiable(format!("cannot read `{path}`: {why}")),
    };
    let Some(found) = documents.iter().find_map(|document| lookup(document, key)) else {
        return Outcome::broken(format!("`{path}` has no key `{key}`"));
    };
    let line = line_of(&text, key);
    match same(found, wanted) {
        None => Outcome::unverifiable(format!("`{key}` in `{path}` holds no single value")),
        Some(true) => Outcome::holds(format!("`{key}` in `{path}` is {found}")).at(path, line),
        Some(false) => {
            let found = ken_core::text::shortened(&found.to_string(), VALUE_CHARS_MAX);
            Outcome::broken(format!("`{key}` in `{path}` is {found}")).at(path, line)
        }
    }
}

/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 80;

fn read(path: &str, text: &str) -> Result<Vec<Value>, String> {
    match ConfigFormat::of(path) {
        Some(ConfigFormat::Json) => value::json(text).map(|value| vec![value]),
        Some(ConfigFormat::Toml) => value::toml(text).map(|value| vec![value]),
        Some(ConfigFormat::Yaml) => value::yaml(text),
        None => Err("it is neither TOML, JSON nor YAML".to_owned()),
    }
}

fn lookup<'a>(document: &'a Value, key: &Key) -> Option<&'a Value> {
    key.parts()
        .iter()
        .try_fold(document, |value, part| match value {
            Value::Object(table) => table.get(part),
            Value::Array(list) => list.get(part.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

/// Returns whether a value is what was written: as text, a number or a truth. In quotes, only as text.
fn same(found: &Value, wanted: &str) -> Option<bool> {
    let quoted = wanted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match found {
        Value::String(text) => Some(text == wanted || quoted == Some(text)),
        Value::Bool(truth) => Some(wanted == if *truth { "true" } else { "false" }),
        Value::Null => Some(wanted == "null"),
        Value::Number(number) => {
            let equal = number.to_string() == wanted
                || wanted
                    .parse::<f64>()
                    .is_ok_and(|wanted| number.as_f64() == Some(wanted));
            Some(equal)
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns about where a key stands: each of its names is looked for below the one before.
fn line_of(text: &str, key: &Key) -> u32 {
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
