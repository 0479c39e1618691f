//! TOML, JSON and YAML read into one kind of value.
//!
//! YAML comes as a stream of events from `saphyr-parser`, so that the limits are ours: how deep it may
//! nest, how many values it may have, and that an alias stands for nothing but itself.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// How deep a YAML file may nest; JSON and TOML are held to about as much by their readers.
const DEPTH_MAX: usize = 64;
/// Values a YAML file may have.
const VALUES_MAX: usize = 4_000_000;

/// Reads JSON; comments and a comma too many are let pass, as `tsconfig.json` is full of them.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let strict = serde_json::from_str(text);
    strict.or_else(|error| {
        serde_json::from_str(&without_comments(text)).map_err(|_| error.to_string())
    })
}

pub(super) fn toml(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// Reads the documents of a YAML file.
pub(super) fn yaml(text: &str) -> Result<Vec<Value>, String> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        builder.take(event)?;
    }
    Ok(builder.documents)
}

/// Blanks comments, and commas nothing follows.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => string(&mut rest, &mut out),
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            (c, _) => out.push(c),
        }
    }
    out
}

/// Copies a string that has begun, to its closing quote.
fn string(rest: &mut impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    let mut escaped = false;
    for c in rest {
        out.push(c);
        match c {
            '"' if !escaped => break,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
}

#[derive(Default)]
struct Builder {
    documents: Vec<Value>,
    open: Vec<Open>,
    values: usize,
}

/// A list or table that has not ended.
enum Open {
    List(Vec<Value>),
    Table {
        done: Map<String, Value>,
        key: Option<String>,
    },
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, _, _) => self.add(scalar(&text, style)),
            Event::Alias(id) => self.add(Value::String(format!("*{id}"))),
            Event::SequenceStart(..) => self.start(Open::List(Vec::new())),
            Event::MappingStart(..) => self.start(Open::Table {
                done: Map::new(),
                key: None,
            }),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(list)) => self.add(Value::Array(list)),
                Some(Open::Table { done, .. }) => self.add(Value::Object(done)),
                None => Ok(()),
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn start(&mut self, open: Open) -> Result<(), String> {
        if DEPTH_MAX <= self.open.len() {
            return Err(format!("it nests deeper than {DEPTH_MAX} levels"));
        }
        self.open.push(open);
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        self.values += 1;
        if VALUES_MAX < self.values {
            return Err(format!("it has more than {VALUES_MAX} values"));
        }
        match self.open.last_mut() {
            None => self.documents.push(value),
            Some(Open::List(list)) => list.push(value),
            Some(Open::Table { done, key }) => match key.take() {
                None => *key = Some(key_text(value)),
                Some(key) => drop(done.insert(key, value)),
            },
        }
        Ok(())
    }
}

fn key_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    }
}

/// Gives a plain scalar the type YAML 1.2's core schema gives it.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = text.parse::<i64>().ok().map(Number::from);
    whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_three_formats_give_one_kind_of_value() {
        let expected = json!({"a": {"b": [1, "x", true]}, "c": 1.5});
        assert_eq!(
            json(r#"{"a": {"b": [1, "x", true]}, "c": 1.5}"#),
            Ok(expected.clone())
        );
        assert_eq!(
            toml("c = 1.5\n[a]\nb = [1, 'x', true]"),
            Ok(expected.clone())
        );
        assert_eq!(
            yaml("a:\n  b: [1, \"x\", true]\nc: 1.5\n"),
            Ok(vec![expected])
        );
    }

    #[test]
    fn json_with_comments_is_read() {
        let text = "{ // a\n \"a\": \"//x\\\"\", /* b */ \"b\": [1, 2,],\n}";
        assert_eq!(json(text), Ok(json!({"a": "//x\"", "b": [1, 2]})));
        assert!(json("{ nope }").is_err());
    }

    #[test]
    fn yaml_scalars_have_the_types_of_the_core_schema() {
        let text = "[~, yes, 'true', 1.20, 0o7, 1e3, -4, null, .5, 1_000]";
        let expected = json!([
            null, "yes", "true", 1.2, "0o7", 1000.0, -4, null, 0.5, "1_000"
        ]);
        assert_eq!(yaml(text), Ok(vec![expected]));
    }

    #[test]
    fn hostile_files_are_refused_and_not_followed() {
        assert!(yaml(&"[".repeat(100_000)).is_err());
        assert!(yaml(&"a: ".repeat(100_000)).is_err());
        assert!(yaml(&"- ".repeat(100_000)).is_err());
        assert!(json(&"[".repeat(100_000)).is_err());
        assert!(toml(&format!("a = {}", "[".repeat(100_000))).is_err());
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
        assert_eq!(yaml(bomb).unwrap()[0]["d"], json!(["*3", "*3"]));
    }
}
