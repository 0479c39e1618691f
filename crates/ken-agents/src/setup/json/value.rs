//! Values as they are written: members in the order somebody would read them in.

/// A value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Json {
    Text(String),
    Number(u64),
    Bool(bool),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Returns a text.
pub(in super::super) fn text(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

/// Returns an object.
pub(in super::super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    let members = members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Json::Object(members.collect())
}

/// Returns an array.
pub(in super::super) fn list<const N: usize>(items: [Json; N]) -> Json {
    Json::List(items.into())
}

/// How a value is laid out.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Layout<'a> {
    pub(in super::super) newline: &'a str,
    /// One step.
    pub(in super::super) unit: &'a str,
    /// Everything on one line.
    pub(in super::super) is_inline: bool,
}

impl Json {
    /// Returns the value to compare by.
    pub(in super::super) fn value(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::from(*number),
            Self::Bool(it) => Value::Bool(*it),
            Self::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Self::Object(members) => {
                let members = members
                    .iter()
                    .map(|(key, value)| (key.clone(), value.value()));
                Value::Object(members.collect())
            }
        }
    }

    /// Returns the value as a file of its own.
    pub(in super::super) fn file(&self, newline: &str) -> String {
        let layout = Layout {
            newline,
            unit: "  ",
            is_inline: false,
        };
        self.written(layout, "") + newline
    }

    /// Writes the value; lines but the first begin with `indent`.
    pub(in super::super) fn written(&self, layout: Layout<'_>, indent: &str) -> String {
        let deeper = format!("{indent}{}", layout.unit);
        let is_flat = |items: &[Self]| items.iter().all(|it| !it.has_items());
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Bool(it) => it.to_string(),
            Self::List(items) => {
                let written = items.iter().map(|it| it.written(layout, &deeper));
                let written: Vec<String> = written.collect();
                let is_inline = layout.is_inline || is_flat(items);
                wrapped(["[", "]"], &written, is_inline, layout, indent)
            }
            Self::Object(members) => {
                let written = members.iter().map(|(key, value)| {
                    let value = value.written(layout, &deeper);
                    format!("{}: {value}", quoted(key))
                });
                let written: Vec<String> = written.collect();
                let is_inline = layout.is_inline;
                wrapped(["{", "}"], &written, is_inline, layout, indent)
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

fn wrapped(
    [open, close]: [&str; 2],
    items: &[String],
    is_inline: bool,
    layout: Layout<'_>,
    indent: &str,
) -> String {
    if is_inline || items.is_empty() {
        return format!("{open}{}{close}", items.join(", "));
    }
    let newline = layout.newline;
    let line = format!("{newline}{indent}{}", layout.unit);
    let items = items.join(&format!(",{line}"));
    format!("{open}{line}{items}{newline}{indent}{close}")
}

/// Returns a text in quotes.
pub(in super::super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
