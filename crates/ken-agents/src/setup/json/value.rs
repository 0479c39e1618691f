//! JSON values to write, with their members in a readable order.
//!
//! `serde_json` sorts object members; configuration files read better in their usual order.

/// A JSON value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum JsonText {
    Text(String),
    Number(u64),
    Bool(bool),
    List(Vec<JsonText>),
    Object(Vec<(String, JsonText)>),
}

/// Creates a string.
pub(in super::super) fn json_string(text: impl Into<String>) -> JsonText {
    JsonText::Text(text.into())
}

/// Creates an object.
pub(in super::super) fn json_object<const N: usize>(members: [(&str, JsonText); N]) -> JsonText {
    let owned = members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    JsonText::Object(owned.collect())
}

/// Creates an array.
pub(in super::super) fn json_array<const N: usize>(items: [JsonText; N]) -> JsonText {
    JsonText::List(items.into())
}

/// The formatting of a value.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct JsonLayout<'a> {
    pub(in super::super) newline: &'a str,
    /// The indentation unit.
    pub(in super::super) unit: &'a str,
    /// True if everything goes on one line.
    pub(in super::super) is_inline: bool,
}

impl JsonText {
    /// Converts to a `serde_json` value, for comparison.
    pub(in super::super) fn value(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::from(*number),
            Self::Bool(it) => Value::Bool(*it),
            Self::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Self::Object(members) => {
                let pairs = members
                    .iter()
                    .map(|(key, value)| (key.clone(), value.value()));
                Value::Object(pairs.collect())
            }
        }
    }

    /// Renders the value as a complete file.
    pub(in super::super) fn file(&self, newline: &str) -> String {
        let layout = JsonLayout {
            newline,
            unit: "  ",
            is_inline: false,
        };
        self.written(layout, "") + newline
    }

    /// Renders the value; every line but the first starts with `indent`.
    pub(in super::super) fn written(&self, layout: JsonLayout<'_>, indent: &str) -> String {
        let deeper = format!("{indent}{}", layout.unit);
        let is_flat = |items: &[Self]| items.iter().all(|it| !it.has_items());
        match self {
            Self::Text(text) => quote(text),
            Self::Number(number) => number.to_string(),
            Self::Bool(it) => it.to_string(),
            Self::List(items) => {
                let rendered = items.iter().map(|it| it.written(layout, &deeper));
                let rendered: Vec<String> = rendered.collect();
                // Lists of plain values, such as command arguments, stay on one line.
                let is_inline = layout.is_inline || is_flat(items);
                render_brackets(["[", "]"], &rendered, is_inline, layout, indent)
            }
            Self::Object(members) => {
                let rendered = members.iter().map(|(key, value)| {
                    let value = value.written(layout, &deeper);
                    format!("{}: {value}", quote(key))
                });
                let rendered: Vec<String> = rendered.collect();
                let is_inline = layout.is_inline;
                render_brackets(["{", "}"], &rendered, is_inline, layout, indent)
            }
        }
    }

    fn has_items(&self) -> bool {
        match self {
            Self::Text(_) | Self::Number(_) | Self::Bool(_) => false,
            Self::List(_) | Self::Object(_) => true,
        }
    }
}

fn render_brackets(
    [open, close]: [&str; 2],
    items: &[String],
    is_inline: bool,
    layout: JsonLayout<'_>,
    indent: &str,
) -> String {
    // An empty list or object is `[]` or `{}`, never two lines.
    if is_inline || items.is_empty() {
        return format!("{open}{}{close}", items.join(", "));
    }
    let newline = layout.newline;
    let line = format!("{newline}{indent}{}", layout.unit);
    let joined = items.join(&format!(",{line}"));
    format!("{open}{line}{joined}{newline}{indent}{close}")
}

/// Returns a text as a quoted and escaped JSON string.
pub(in super::super) fn quote(text: &str) -> String {
    // `serde_json` does the escaping.
    serde_json::Value::from(text).to_string()
}
