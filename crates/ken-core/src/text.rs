//! Checked texts of an entry: statement, verification step, tag, condition, alias, note.
//!
//! Every type has one fallible door (`FromStr`) and a named limit. What a text *means* (secrets,
//! injection, sentence count) is not decided here.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::text_form::text_form;

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} has {bytes} bytes; at most {max} are allowed")]
    TooLong {
        what: &'static str,
        bytes: usize,
        max: usize,
    },
    #[error("{what} contains a control character")]
    Control { what: &'static str },
    #[error("tag `{0}`: write lowercase words joined by `/`, such as auth/jwt")]
    Tag(String),
    #[error("condition `{0}`: begin with file:, symbol:, text:, code:, config:, pkg: or fact:")]
    Condition(String),
    #[error("`{0}` cannot be a name: letters, digits, `.`, `_`, `-` and `/` only")]
    Alias(String),
}

macro_rules! plain_text {
    ($(#[$doc:meta])* $type:ident, $what:literal, $max:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Bytes the text may have.
            pub const BYTES_MAX: usize = $max;

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_form!($type, $what, $pattern);
    };
}

plain_text!(
    /// What the entry claims, as a generalised heuristic of one to three sentences.
    Statement, "Statement", 4096, r"^[\s\S]{1,4096}$"
);
plain_text!(
    /// One step that shows whether the claim still holds.
    Step, "Step", 1024, r"^[\s\S]{1,1024}$"
);
plain_text!(
    /// A short free text beside a decision: a reason, a title, a remark.
    Note, "Note", 2048, r"^[\s\S]{1,2048}$"
);
plain_text!(
    /// A hierarchical, free tag: `auth`, `auth/jwt`, `c++`.
    Tag, "Tag", 64, r"^[^\s/A-Z]+(/[^\s/A-Z]+)*$"
);
plain_text!(
    /// One condition an entry rests on, optionally negated: `not file:src/legacy/**`.
    Condition, "Condition", 1024, r"^(not )?(file|symbol|text|code|config|pkg|fact):.+$"
);
plain_text!(
    /// A name somebody else gave the entry, such as `norm.commit.001`.
    Alias, "Alias", 128, r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
);

impl FromStr for Statement {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        prose(text, "the statement", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Step {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        prose(text, "a verification step", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Note {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        prose(text, "the note", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Tag {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let text = line(text, "a tag", Self::BYTES_MAX)?;
        let word = |w: &str| !w.is_empty() && w.chars().all(|c| !c.is_whitespace());
        if text.chars().any(char::is_uppercase) || !text.split('/').all(word) {
            return Err(TextError::Tag(text));
        }
        Ok(Self(text))
    }
}

impl FromStr for Condition {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        const SCHEMES: [&str; 7] = ["file", "symbol", "text", "code", "config", "pkg", "fact"];
        let text = line(text, "a condition", Self::BYTES_MAX)?;
        let positive = text.strip_prefix("not ").unwrap_or(&text);
        match positive.split_once(':') {
            Some((scheme, rest)) if SCHEMES.contains(&scheme) && !rest.trim().is_empty() => {
                Ok(Self(text))
            }
            Some(_) | None => Err(TextError::Condition(text)),
        }
    }
}

impl FromStr for Alias {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let text = line(text, "a name", Self::BYTES_MAX)?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-/".contains(&b);
        let starts = text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric());
        if !starts || !text.bytes().all(allowed) || text.contains("..") {
            return Err(TextError::Alias(text));
        }
        Ok(Self(text))
    }
}

impl Tag {
    /// Returns whether this tag lies at or below `parent`: `auth` covers `auth/jwt`.
    pub fn is_under(&self, parent: &Self) -> bool {
        self.0
            .strip_prefix(&parent.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Text that may span lines: trimmed, `\r\n` taken for `\n`, no other control characters.
fn prose(text: &str, what: &'static str, max: usize) -> Result<String, TextError> {
    let text = text.trim().replace("\r\n", "\n");
    checked(text, what, max, |c| {
        c.is_control() && c != '\n' && c != '\t'
    })
}

/// Text on one line.
fn line(text: &str, what: &'static str, max: usize) -> Result<String, TextError> {
    checked(text.trim().to_owned(), what, max, char::is_control)
}

fn checked(
    text: String,
    what: &'static str,
    max: usize,
    forbidden: impl Fn(char) -> bool,
) -> Result<String, TextError> {
    if text.is_empty() {
        return Err(TextError::Empty { what });
    }
    if max < text.len() {
        return Err(TextError::TooLong {
            what,
            bytes: text.len(),
            max,
        });
    }
    if text.chars().any(forbidden) {
        return Err(TextError::Control { what });
    }
    Ok(text)
}

impl Statement {
    /// Sentences a statement may have.
    pub const SENTENCES_MAX: usize = 3;

    /// Counts sentences: a `.`, `!` or `?` followed by space and a capital, or the end.
    ///
    /// Conservative on purpose, so that "e.g. Foo" or "v1.2" does not turn one sentence into two.
    pub fn sentences(&self) -> usize {
        const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "no."];
        let words: Vec<&str> = self.0.split_whitespace().collect();
        let breaks = words.windows(2).filter(|pair| {
            let ends = pair[0].ends_with(['.', '!', '?']);
            let known = ABBREVIATIONS.contains(&pair[0].to_lowercase().as_str());
            ends && !known && pair[1].chars().next().is_some_and(char::is_uppercase)
        });
        breaks.count() + 1
    }
}

/// Characters a [`Statement::title`] may have.
pub const TITLE_CHARS_MAX: usize = 100;

impl Statement {
    /// Returns the first sentence or line, short enough for a list.
    pub fn title(&self) -> String {
        let line = self.0.lines().next().unwrap_or_default();
        let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
        shortened(sentence.trim_end_matches('.'), TITLE_CHARS_MAX)
    }
}

/// Returns `text`, or as much of it as `max` characters hold with `…` at the end.
pub fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Returns the word an enum of ours is written as, with spaces.
pub fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Returns a line of a program's output without colours and whatever else a terminal would act on.
pub fn unstyled(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // `ESC [ … letter`
            for part in chars.by_ref() {
                if part.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if !c.is_control() || c == '\t' {
            out.push(c);
        }
    }
    out
}

/// Returns `text` with what a terminal would act on, or a reader not see, written out.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let acts = c.is_control() && c != '\n' && c != '\t';
        if acts || is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters that turn the direction of text round, or take no room at all. Joiners, which some
/// scripts and emoji are written with, are not among them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns the words two texts are compared by: case-folded, punctuation and stop words left out.
pub fn comparison_words(text: &str) -> Vec<String> {
    const STOP: [&str; 24] = [
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its",
        "of", "on", "or", "that", "the", "this", "to", "was", "when", "with",
    ];
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !STOP.contains(&word.as_str()))
        .collect()
}

/// Returns an ASCII name of at most [`SLUG_CHARS_MAX`] characters for a file about `text`.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let dash = usize::from(!out.is_empty());
        if SLUG_CHARS_MAX < out.len() + dash + word.len() {
            if out.is_empty() {
                out.push_str(&word[..SLUG_CHARS_MAX].to_ascii_lowercase());
            }
            break;
        }
        out.push_str(&"-"[..dash]);
        out.push_str(&word.to_ascii_lowercase());
    }
    if out.is_empty() {
        "entry".to_owned()
    } else {
        out
    }
}

/// Characters of a [`slug`].
pub const SLUG_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_fallible_door() {
        assert!("".parse::<Statement>().is_err());
        assert!("x\u{0}".parse::<Statement>().is_err());
        assert_eq!(" a\r\nb ".parse::<Statement>().unwrap().as_str(), "a\nb");
        let long = "x".repeat(Statement::BYTES_MAX);
        assert!(long.parse::<Statement>().is_ok());
        assert!(format!("{long}x").parse::<Statement>().is_err());
    }

    #[test]
    fn ent_29_tags_are_hierarchical_and_free() {
        for good in [
            "auth",
            "auth/jwt",
            "database/prisma/migrations",
            "c++",
            "c#",
            "größe",
        ] {
            assert!(good.parse::<Tag>().is_ok(), "{good}");
        }
        for bad in ["", "Auth", "a//b", "/a", "a/", "a b"] {
            assert!(bad.parse::<Tag>().is_err(), "{bad}");
        }
        let tag = |t: &str| t.parse::<Tag>().unwrap();
        assert!(tag("auth/jwt").is_under(&tag("auth")));
        assert!(tag("auth").is_under(&tag("auth")));
        assert!(!tag("authority").is_under(&tag("auth")));
    }

    #[test]
    fn ent_27_ent_28_conditions_may_be_negated() {
        assert!("not file:src/legacy/**".parse::<Condition>().is_ok());
        assert!("pkg:cargo/tokio@>=1.40".parse::<Condition>().is_ok());
        for bad in ["NOT x", "file:", "weather:rain", "not "] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn ent_04_sentences_are_counted_conservatively() {
        let count = |t: &str| t.parse::<Statement>().unwrap().sentences();
        assert_eq!(count("Charging twice is safe"), 1);
        assert_eq!(count("Use v1.2 of it, e.g. Foo. Then stop."), 2);
        assert_eq!(count("One. Two! Three? Four."), 4);
    }

    #[test]
    fn slugs_are_short_ascii() {
        assert_eq!(slug("Charging twice is safe!"), "charging-twice-is-safe");
        assert_eq!(slug("Größe über alles"), "gr-e-ber-alles");
        assert_eq!(slug("日本語"), "entry");
        assert!(slug(&"word ".repeat(30)).len() <= SLUG_CHARS_MAX);
        assert_eq!(slug(&"x".repeat(90)).len(), SLUG_CHARS_MAX);
    }
}
