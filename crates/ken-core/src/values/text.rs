//! Validated text types of an entry: statement, verification step, tag, condition, alias, note.
//!
//! Each type is created only by `FromStr` and has a size limit. Checks of the meaning (secrets,
//! injection, sentence count) are made elsewhere.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::values::text_form::text_form;

/// The reason a text is invalid.
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
    #[error("condition `{0}`: start with file:, symbol:, text:, code:, config:, pkg: or fact:")]
    Condition(String),
    #[error("`{0}` is not a valid name: use only letters, digits, `.`, `_`, `-` and `/`")]
    Alias(String),
}

macro_rules! plain_text {
    ($(#[$doc:meta])* $type:ident, $what:literal, $max:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Maximum length in bytes.
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
    /// The claim of an entry: a general rule in one to three sentences.
    Statement, "Statement", 4096, r"^[\s\S]{1,4096}$"
);
plain_text!(
    /// Further explanation of a claim, for people and agents that read the whole entry.
    Body, "Body", 16_384, r"^[\s\S]+$"
);
plain_text!(
    /// One step that verifies the claim.
    Step, "Step", 1024, r"^[\s\S]{1,1024}$"
);
plain_text!(
    /// A short free text: a reason, a title, a remark.
    Note, "Note", 2048, r"^[\s\S]{1,2048}$"
);
plain_text!(
    /// A hierarchical, free tag: `auth`, `auth/jwt`, `c++`.
    Tag, "Tag", 64, r"^[^\s/A-Z]+(/[^\s/A-Z]+)*$"
);
plain_text!(
    /// One condition of an entry, optionally negated: `not file:src/legacy/**`.
    Condition, "Condition", 1024, r"^(not )?(file|symbol|text|code|config|pkg|fact):.+$"
);
plain_text!(
    /// An external name of the entry, such as `norm.commit.001`.
    Alias, "Alias", 128, r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
);

impl FromStr for Statement {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse_multiline(text, "the statement", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Body {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse_multiline(text, "the body", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Step {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse_multiline(text, "a verification step", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Note {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse_multiline(text, "the note", Self::BYTES_MAX).map(Self)
    }
}

impl FromStr for Tag {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let tag = parse_single_line(text, "a tag", Self::BYTES_MAX)?;
        let is_word = |w: &str| !w.is_empty() && w.chars().all(|c| !c.is_whitespace());
        // Lowercase only, so that `Auth` and `auth` cannot become two tags.
        if tag.chars().any(char::is_uppercase) || !tag.split('/').all(is_word) {
            return Err(TextError::Tag(tag));
        }
        Ok(Self(tag))
    }
}

impl FromStr for Condition {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        const SCHEMES: [&str; 7] = ["file", "symbol", "text", "code", "config", "pkg", "fact"];
        // Checks only the scheme: a newer build may have written a form this build cannot parse.
        let text = parse_single_line(text, "a condition", Self::BYTES_MAX)?;
        let text = match text.strip_prefix("NOT ") {
            Some(positive) => format!("not {positive}"),
            None => text,
        };
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
        let alias = parse_single_line(text, "a name", Self::BYTES_MAX)?;
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-/".contains(&b);
        let starts_well = alias
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric());
        // An alias contains `/`, so `..` could turn it into a path outside a folder.
        if !starts_well || !alias.bytes().all(is_allowed) || alias.contains("..") {
            return Err(TextError::Alias(alias));
        }
        Ok(Self(alias))
    }
}

impl Tag {
    /// Returns whether this tag equals `parent` or is below it: `auth/jwt` is under `auth`.
    pub fn is_under(&self, parent: &Self) -> bool {
        self.0
            .strip_prefix(&parent.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Validates text that may span lines: trims it, converts `\r\n` to `\n` and rejects other control
/// characters.
fn parse_multiline(text: &str, what: &'static str, max: usize) -> Result<String, TextError> {
    // One line ending, so that editing an entry file on Windows is not a change.
    let normalized = text.trim().replace("\r\n", "\n");
    check_text(normalized, what, max, |c| {
        c.is_control() && c != '\n' && c != '\t'
    })
}

/// Validates text on one line.
fn parse_single_line(text: &str, what: &'static str, max: usize) -> Result<String, TextError> {
    check_text(text.trim().to_owned(), what, max, char::is_control)
}

fn check_text(
    text: String,
    what: &'static str,
    max: usize,
    forbidden: impl Fn(char) -> bool,
) -> Result<String, TextError> {
    if text.is_empty() {
        return Err(TextError::Empty { what });
    }
    if text.len() > max {
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
    /// Maximum number of sentences in a statement.
    pub const SENTENCES_MAX: usize = 3;

    /// Counts sentences: a `.`, `!` or `?` followed by a space and a capital letter, or the end.
    ///
    /// Conservative, so that "e.g. Foo" or "v1.2" does not turn one sentence into two.
    pub fn sentence_count(&self) -> usize {
        sentence_starts(&self.0).len() + 1
    }
}

/// A claim as given: a statement, and a body for the part that does not fit into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimText {
    pub statement: Statement,
    pub body: Option<Body>,
}

impl FromStr for ClaimText {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let text = text.trim().replace("\r\n", "\n");
        let starts = sentence_starts(&text);
        let (statement, rest) = text.split_at(statement_end(&text, &starts));
        let rest = rest.trim();
        Ok(Self {
            statement: statement.parse()?,
            body: (!rest.is_empty()).then(|| rest.parse()).transpose()?,
        })
    }
}

/// Returns the end of the statement in `text`: everything if it fits, else up to three sentences of
/// the first paragraph.
fn statement_end(text: &str, starts: &[usize]) -> usize {
    let fits = |end: &usize| *end <= Statement::BYTES_MAX;
    if fits(&text.len()) && starts.len() < Statement::SENTENCES_MAX {
        return text.len();
    }
    let paragraph = text.find("\n\n").unwrap_or(text.len());
    let sentences = starts.get(Statement::SENTENCES_MAX - 1).copied();
    let end = paragraph.min(sentences.unwrap_or(text.len()));
    if fits(&end) {
        return end;
    }
    let sentence = starts.iter().copied().rfind(fits);
    // A single sentence that is too long is cut at a word.
    let words = || text.char_indices().filter(|(_, c)| c.is_whitespace());
    let word = || words().map(|(at, _)| at).take_while(fits).last();
    sentence
        .or_else(word)
        .unwrap_or_else(|| text.floor_char_boundary(Statement::BYTES_MAX))
}

/// Returns the positions at which a sentence starts, without the first one.
fn sentence_starts(text: &str) -> Vec<usize> {
    const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "no."];
    let mut starts = Vec::new();
    let mut before = "";
    for word in text.split_whitespace() {
        let ends = before.ends_with(['.', '!', '?']);
        // Compared with the final dot, as written in the list.
        let known = ABBREVIATIONS.contains(&before.to_lowercase().as_str());
        if ends && !known && word.chars().next().is_some_and(char::is_uppercase) {
            // Every word is a slice of the text.
            starts.push(word.as_ptr() as usize - text.as_ptr() as usize);
        }
        before = word;
    }
    starts
}

/// Maximum number of characters in a [`Statement::title`].
pub const TITLE_CHARS_MAX: usize = 100;

impl Statement {
    /// Returns the first sentence or line, truncated for lists.
    pub fn title(&self) -> String {
        let line = self.0.lines().next().unwrap_or_default();
        let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
        truncate(sentence.trim_end_matches('.'), TITLE_CHARS_MAX)
    }
}

/// Truncates `text` to `max` characters, with `…` at the end if it is longer.
pub fn truncate(text: &str, max: usize) -> String {
    // Counts characters, not bytes: slicing bytes could split one.
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Returns the serialized name of an enum value, with spaces instead of underscores.
pub fn enum_label(value: &impl Serialize) -> String {
    // Through serde, so that text and JSON cannot use different words.
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Removes terminal escape sequences and control characters from a line of program output.
pub fn strip_terminal_codes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A CSI sequence: `ESC [ … letter`.
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

/// Joins the words of a text that may contain line breaks by single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text with letters that look like Latin ones replaced by these, and without accents and
/// invisible characters, so that a claim cannot pass for another one to a comparison.
pub fn fold_look_alikes(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let visible = text.chars().filter(|c| !is_invisible(*c));
    // Full-width and mathematical letters become plain ones, accents become marks of their own.
    let parts = visible.nfkd().filter(|c| !is_combining_mark(*c));
    parts.map(latin_look_alike).collect()
}

/// Returns the Latin letter that a Cyrillic or Greek letter looks like; other characters stay.
fn latin_look_alike(c: char) -> char {
    const LOOK_ALIKES: [(&str, &str); 2] = [
        (
            "аеорсухіјѕһԁԛԝкмтнАВЕКМНОРСТХЅІЈУ",
            "aeopcyxijshdqwkmthABEKMHOPCTXSIJY",
        ),
        ("αορνικτυχεΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aopviktuxeABEZHIKMNOPTYX"),
    ];
    let found = LOOK_ALIKES.iter().find_map(|(from, to)| {
        let position = from.chars().position(|it| it == c)?;
        to.chars().nth(position)
    });
    found.unwrap_or(c)
}

/// Escapes control and invisible characters, so that text cannot manipulate a terminal or hide
/// content from a reader.
pub fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether a character cannot be seen, or acts on the reader's screen instead of being
/// shown. Newline and tab are excluded.
pub fn is_invisible(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_hidden(c)
}

/// Returns whether a character changes the text direction or has no width. Joiners are excluded,
/// because some scripts and emoji need them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns the words that texts are compared by: in lowercase, without punctuation and stop words.
pub fn comparison_words(text: &str) -> Vec<String> {
    // Shorter than the stop words of search: comparison must keep words that change a claim.
    const STOP: [&str; 24] = [
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its",
        "of", "on", "or", "that", "the", "this", "to", "was", "when", "with",
    ];
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !STOP.contains(&word.as_str()))
        .collect()
}

/// Returns an ASCII file name of at most [`SLUG_CHARS_MAX`] characters for `text`.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let dash = usize::from(!out.is_empty());
        if out.len() + dash + word.len() > SLUG_CHARS_MAX {
            if out.is_empty() {
                // Words are ASCII, so the cut cannot split a character.
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

/// Maximum number of characters in a [`slug`].
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
    fn a_long_text_becomes_a_statement_and_a_body() {
        let split = |text: &str| {
            let claim: ClaimText = text.parse().unwrap();
            let body = claim.body.map(|body| body.to_string());
            (claim.statement.to_string(), body)
        };
        let short = "Retry once. Then give up.";
        assert_eq!(split(short), (short.to_owned(), None));
        let four = "Retry once. Then give up. See e.g. Stripe. Never loop.";
        let expected = (
            "Retry once. Then give up. See e.g. Stripe.".to_owned(),
            Some("Never loop.".to_owned()),
        );
        assert_eq!(split(four), expected);
        let paragraphs = "Retry once.\n\nOne. Two. Three. Four.";
        let expected = (
            "Retry once.".to_owned(),
            Some("One. Two. Three. Four.".to_owned()),
        );
        assert_eq!(split(paragraphs), expected);
        let words = "word ".repeat(1200);
        let (statement, body) = split(&words);
        assert!(statement.len() <= Statement::BYTES_MAX && statement.ends_with("word"));
        let body = body.unwrap();
        assert_eq!(format!("{statement} {body}"), words.trim());
        let unbroken = "ä".repeat(3000);
        assert_eq!(split(&unbroken).0.len(), Statement::BYTES_MAX);
        assert!(
            "x. ".repeat(9000).parse::<ClaimText>().is_err(),
            "more than a body holds"
        );
    }

    #[test]
    fn tags_are_hierarchical_and_free() {
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
    fn conditions_may_be_negated() {
        assert!("not file:src/legacy/**".parse::<Condition>().is_ok());
        let shouted: Condition = "NOT fact:monorepo".parse().unwrap();
        assert_eq!(shouted.as_str(), "not fact:monorepo");
        assert!("pkg:cargo/tokio@>=1.40".parse::<Condition>().is_ok());
        for bad in ["NOT x", "not x", "file:", "weather:rain", "not "] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sentences_are_counted_conservatively() {
        let count = |t: &str| t.parse::<Statement>().unwrap().sentence_count();
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
