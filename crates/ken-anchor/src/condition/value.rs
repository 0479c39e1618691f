//! Parsers that turn TOML, JSON and YAML into one value type.
//!
//! YAML arrives as a stream of events from `saphyr-parser`, so that Ken sets the limits: nesting,
//! number of values, and no expansion of aliases.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Maximum nesting of a YAML file; the JSON and TOML parsers have similar limits.
const DEPTH_MAX: usize = 64;
/// Maximum number of values in a YAML file.
const VALUES_MAX: usize = 4_000_000;

/// Parses JSON. Accepts comments and trailing commas, which are common in `tsconfig.parse_json`.
pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    // The strict parser first: it is faster, and its error has positions in the original text.
    let strict = serde_json::from_str(text);
    strict.or_else(|error| {
        serde_json::from_str(&strip_json_comments(text)).map_err(|_| error.to_string())
    })
}

pub(super) fn parse_toml(text: &str) -> Result<Value, String> {
    // `message` omits the excerpt of the file that `Display` prints.
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// Parses the documents of a YAML file.
pub(super) fn parse_yaml(text: &str) -> Result<Vec<Value>, String> {
    let mut builder = YamlBuilder::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        builder.take(event)?;
    }
    Ok(builder.documents)
}

/// Removes comments and trailing commas.
fn strip_json_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => copy_string(&mut rest, &mut out),
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                // Starts after the `*`, so that `/*/` is not a complete comment.
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

/// Copies a string up to its closing quote; the opening quote has been consumed.
fn copy_string(rest: &mut impl Iterator<Item = char>, out: &mut String) {
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

/// Builds values from YAML events.
#[derive(Default)]
struct YamlBuilder {
    documents: Vec<Value>,
    open: Vec<OpenCollection>,
    values: usize,
}

/// A list or table whose end event has not arrived.
enum OpenCollection {
    List(Vec<Value>),
    Table {
        done: Map<String, Value>,
        key: Option<String>,
    },
}

impl YamlBuilder {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, _, _) => self.add(parse_scalar(&text, style)),
            // Expanding aliases would let a few lines grow exponentially ("billion laughs").
            Event::Alias(id) => self.add(Value::String(format!("*{id}"))),
            Event::SequenceStart(..) => self.start(OpenCollection::List(Vec::new())),
            Event::MappingStart(..) => self.start(OpenCollection::Table {
                done: Map::new(),
                key: None,
            }),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(OpenCollection::List(list)) => self.add(Value::Array(list)),
                Some(OpenCollection::Table { done, .. }) => self.add(Value::Object(done)),
                // The parser balances start and end events.
                None => Ok(()),
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn start(&mut self, open: OpenCollection) -> Result<(), String> {
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("it nests deeper than {DEPTH_MAX} levels"));
        }
        self.open.push(open);
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(format!("it has more than {VALUES_MAX} values"));
        }
        match self.open.last_mut() {
            None => self.documents.push(value),
            Some(OpenCollection::List(list)) => list.push(value),
            // YAML sends keys and values as alternating events.
            Some(OpenCollection::Table { done, key }) => match key.take() {
                None => *key = Some(key_to_text(value)),
                Some(key) => drop(done.insert(key, value)),
            },
        }
        Ok(())
    }
}

fn key_to_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    }
}

/// Converts a plain scalar to its type in the core schema of YAML 1.2.
fn parse_scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => parse_number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // `f64` would also parse `inf` and `nan`, which the core schema spells `.inf` and `.nan`.
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
            parse_json(r#"{"a": {"b": [1, "x", true]}, "c": 1.5}"#),
            Ok(expected.clone())
        );
        assert_eq!(
            parse_toml("c = 1.5\n[a]\nb = [1, 'x', true]"),
            Ok(expected.clone())
        );
        assert_eq!(
            parse_yaml("a:\n  b: [1, \"x\", true]\nc: 1.5\n"),
            Ok(vec![expected])
        );
    }

    #[test]
    fn json_with_comments_is_read() {
        let text = "{ // a\n \"a\": \"//x\\\"\", /* b */ \"b\": [1, 2,],\n}";
        assert_eq!(parse_json(text), Ok(json!({"a": "//x\"", "b": [1, 2]})));
        assert!(parse_json("{ nope }").is_err());
    }

    #[test]
    fn yaml_scalars_have_the_types_of_the_core_schema() {
        let text = "[~, yes, 'true', 1.20, 0o7, 1e3, -4, null, .5, 1_000]";
        let expected = json!([
            null, "yes", "true", 1.2, "0o7", 1000.0, -4, null, 0.5, "1_000"
        ]);
        assert_eq!(parse_yaml(text), Ok(vec![expected]));
    }

    #[test]
    fn hostile_files_are_refused_and_not_followed() {
        assert!(parse_yaml(&"[".repeat(100_000)).is_err());
        assert!(parse_yaml(&"a: ".repeat(100_000)).is_err());
        assert!(parse_yaml(&"- ".repeat(100_000)).is_err());
        assert!(parse_json(&"[".repeat(100_000)).is_err());
        assert!(parse_toml(&format!("a = {}", "[".repeat(100_000))).is_err());
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
        assert_eq!(parse_yaml(bomb).unwrap()[0]["d"], json!(["*3", "*3"]));
    }
}
