//! Words of a command line, and variables in them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$([A-Z][A-Z0-9_]*)").expect("the pattern is a constant"));

/// Stands for an id that no step created, in a run without writes.
pub(crate) const NO_ID: &str = "L-22222222";

/// Values of `$NAME`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    values: BTreeMap<String, String>,
    /// Whether an unset variable stands for [`NO_ID`] instead of being an error.
    pub(crate) unset_allowed: bool,
}

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.insert(name.to_owned(), value.into());
    }

    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let mut unset = None;
        let expanded = VARIABLE.replace_all(text, |found: &Captures<'_>| {
            match self.values.get(&found[1]) {
                Some(value) => value.clone(),
                None if self.unset_allowed => NO_ID.to_owned(),
                None => {
                    unset = Some(found[1].to_owned());
                    String::new()
                }
            }
        });
        match unset {
            Some(name) => Err(format!("`${name}` is not set")),
            None => Ok(expanded.into_owned()),
        }
    }

    /// Expands every string inside `value`.
    pub(crate) fn expand_json(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.expand(text)?),
            Value::Array(items) => {
                let items: Result<_, _> = items.iter().map(|item| self.expand_json(item)).collect();
                Value::Array(items?)
            }
            Value::Object(fields) => {
                let mut expanded = serde_json::Map::new();
                for (name, field) in fields {
                    expanded.insert(name.clone(), self.expand_json(field)?);
                }
                Value::Object(expanded)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }
}

/// Splits a line at blanks outside of '…' and "…"; a quotation mark has no escape.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(format!("a quotation is not closed: {line}"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_outside_of_quotations() {
        let words = split("ken add 'two words' --note \"it's\" ''").expect("closed");
        assert_eq!(words, ["ken", "add", "two words", "--note", "it's", ""]);
        assert!(split("ken 'open").is_err());
    }

    #[test]
    fn an_unset_variable_is_an_error_unless_nothing_was_written() {
        let mut variables = Variables::default();
        variables.set("ID", "L-7k2f");
        assert_eq!(variables.expand("show $ID"), Ok("show L-7k2f".to_owned()));
        assert!(variables.expand("show $OTHER").is_err());
        variables.unset_allowed = true;
        assert_eq!(variables.expand("$OTHER"), Ok(NO_ID.to_owned()));
    }
}
