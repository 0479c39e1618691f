//! Mentions of a person in text: names and addresses, whatever their case.

use serde_json::Value;

use super::actor::Actor;

/// Names and addresses of one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonNames(Vec<Vec<char>>);

impl PersonNames {
    /// Minimum length of a name in characters. A shorter one is found in other words.
    pub const CHARS_MIN: usize = 3;

    /// Creates the list; empty names are left out.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut folded: Vec<Vec<char>> = names
            .into_iter()
            .map(|it| it.trim().chars().map(fold).collect())
            .filter(|it: &Vec<char>| !it.is_empty())
            .collect();
        folded.sort();
        folded.dedup();
        // The longest first: an address contains the user name before its `@`.
        folded.sort_by_key(|it| std::cmp::Reverse(it.len()));
        Self(folded)
    }

    /// Returns whether a text mentions the person.
    pub fn are_in(&self, text: &str) -> bool {
        self.replace(text, "").is_some()
    }

    /// Returns whether a string or key anywhere in a JSON value mentions the person.
    pub fn are_in_json(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Array(all) => all.iter().any(|it| self.are_in_json(it)),
            Value::Object(all) => all
                .iter()
                .any(|(key, it)| self.are_in(key) || self.are_in_json(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns whether the texts of a JSON value mention the person, apart from actors in it: who
    /// cited, who is revoked. They name an author like the event's own `by` and are no text;
    /// redacting a revocation would let its source in again.
    pub fn are_in_text_of(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => text.parse::<Actor>().is_err() && self.are_in(text),
            Value::Array(all) => all.iter().any(|it| self.are_in_text_of(it)),
            Value::Object(all) => all
                .iter()
                .any(|(key, it)| self.are_in(key) || self.are_in_text_of(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the text with every mention replaced; `None` if there is none.
    pub fn replace(&self, text: &str, with: &str) -> Option<String> {
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::with_capacity(text.len());
        let (mut at, mut is_changed) = (0, false);
        while at < chars.len() {
            match self.0.iter().find(|name| is_mention(&chars, at, name)) {
                Some(name) => {
                    out.push_str(with);
                    at += name.len();
                    is_changed = true;
                }
                None => {
                    out.push(chars[at]);
                    at += 1;
                }
            }
        }
        is_changed.then_some(out)
    }
}

/// Returns whether `name` stands at `at`, not as a part of a longer word.
fn is_mention(text: &[char], at: usize, name: &[char]) -> bool {
    let end = at + name.len();
    let is_word = |at: usize| text.get(at).is_some_and(|it| it.is_alphanumeric());
    end <= text.len()
        && text[at..end]
            .iter()
            .zip(name)
            .all(|(one, other)| fold(*one) == *other)
        && !(at > 0 && is_word(at - 1) && is_word(at))
        && !(is_word(end - 1) && is_word(end))
}

/// Folds the case of one character; one whose lower case has several characters stays.
fn fold(it: char) -> char {
    let mut lower = it.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => it,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_their_case_but_not_inside_words() {
        let names = PersonNames::new(["Ada Lovelace", "ada@example.org", "zoë", ""]);
        for (text, replaced) in [
            ("Ask Ada Lovelace.", Some("Ask X.")),
            ("ADA LOVELACE'S code", Some("X'S code")),
            ("human:ada@example.org/x", Some("human:X/x")),
            ("mail <Ada@Example.org>", Some("mail <X>")),
            ("ZOË and zoë", Some("X and X")),
            ("zoës", None),
            ("nada@example.org", None),
            ("ada@example.orgs", None),
            ("Ada", None),
            ("", None),
        ] {
            assert_eq!(names.replace(text, "X").as_deref(), replaced, "{text}");
            assert_eq!(names.are_in(text), replaced.is_some(), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_keys_and_nested_values() {
        let names = PersonNames::new(["ada"]);
        assert!(names.are_in_json(&serde_json::json!({ "a": [{ "b": "by ada" }] })));
        assert!(names.are_in_json(&serde_json::json!({ "ada": 1 })));
        assert!(!names.are_in_json(&serde_json::json!({ "a": "adam", "b": 1 })));
    }
}
