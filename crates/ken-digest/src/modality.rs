//! Whether a sentence tells what to do, what not to do, or what is the case.

use ken_core::content::Polarity;
use serde::Serialize;

use crate::words::{
    self, ADVISING, AGAINST, BEFORE_AGAINST, DISCOURAGING, FORBIDDING, OBLIGING, OPENERS, VERBS,
    each, is_one,
};

/// How a claim binds whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Must,
    MustNot,
    Should,
    ShouldNot,
    /// Nothing is asked: something is said to be so.
    Fact,
}

impl Modality {
    /// Returns how a sentence binds; what stands between backticks says nothing about it.
    pub(crate) fn of(sentence: &str) -> Self {
        let text = spoken(sentence);
        let has = |phrases: &str| words::has(&text, phrases);
        let commands = is_instruction(sentence);
        if has(FORBIDDING) || commands_against(sentence) {
            return Self::MustNot;
        }
        if text.starts_with(" avoid ") || has("should not, shouldn't, discouraged, not recommended")
        {
            return Self::ShouldNot;
        }
        if has(OBLIGING) {
            return Self::Must;
        }
        if has("avoid") && !commands {
            return Self::ShouldNot;
        }
        if has(ADVISING) || commands || has(DISCOURAGING) {
            return Self::Should;
        }
        Self::Fact
    }

    /// Returns which way a claim points.
    pub fn polarity(self) -> Option<Polarity> {
        match self {
            Self::Must | Self::Should => Some(Polarity::Positive),
            Self::MustNot | Self::ShouldNot => Some(Polarity::Negative),
            Self::Fact => None,
        }
    }

    /// Returns whether something is asked of the reader.
    pub fn asks(self) -> bool {
        match self {
            Self::Must | Self::MustNot | Self::Should | Self::ShouldNot => true,
            Self::Fact => false,
        }
    }
}

/// Returns whether the sentence begins by telling somebody to do something.
pub(crate) fn is_instruction(sentence: &str) -> bool {
    let text = spoken(sentence);
    // "When x, use y" and "Before committing: run z" tell what to do behind their condition.
    let condition = [
        "when ", "if ", "before ", "after ", "for ", "in ", "on ", "to ", "once ",
    ];
    let trimmed = text.trim_start();
    let starts: Vec<&str> = match condition.iter().any(|it| trimmed.starts_with(it)) {
        true => sentence.splitn(2, [',', ':']).collect(),
        false => vec![sentence],
    };
    starts.iter().any(|part| begins_with_verb(&spoken(part)))
}

fn begins_with_verb(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .skip_while(|word| is_one(word, OPENERS));
    let Some(first) = words.next() else {
        return false;
    };
    let forbids = matches!(first, "never" | "always" | "don't" | "avoid")
        || first == "do" && words.next().is_some_and(|it| it == "not");
    forbids || is_one(first, VERBS)
}

/// Returns whether a word that forbids is said to the reader: "Never do x", not "it never does x".
fn commands_against(sentence: &str) -> bool {
    let outside = sentence.replace('’', "'").to_lowercase();
    let outside: Vec<&str> = outside.split('`').collect();
    let code_left_out = |(place, part): (usize, &str)| {
        if place % 2 == 0 {
            part.to_owned()
        } else {
            "code".to_owned()
        }
    };
    let text: String = outside.into_iter().enumerate().map(code_left_out).collect();
    each(AGAINST).any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let (before, behind) = (text[..at].trim_end(), &text[at + word.len()..]);
            let stands_alone = !text[..at].ends_with(char::is_alphanumeric)
                && !behind.starts_with(char::is_alphanumeric);
            let last = before
                .rsplit(char::is_whitespace)
                .next()
                .unwrap_or_default();
            let opens = before.is_empty()
                || before.ends_with([',', ';', ':', '(', '—', '–', '-', '.', '!', '*', '>']);
            stands_alone && (opens || is_one(last, BEFORE_AGAINST))
        })
    })
}

/// Returns the words outside backticks in lower case, each between two spaces.
pub(crate) fn spoken(sentence: &str) -> String {
    let mut out = String::from(" ");
    for (place, part) in sentence.split('`').enumerate() {
        if place % 2 == 1 {
            out.push_str("code ");
            continue;
        }
        let part = part.replace('’', "'");
        for word in part.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '-' | '_')) {
            let word = word.trim_matches(['\'', '-']);
            if !word.is_empty() {
                out.push_str(&word.to_lowercase());
                out.push(' ');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_bind_as_they_read() {
        use Modality::*;
        for (text, expected) in [
            ("Never commit secrets.", MustNot),
            ("CI runs some of them; it never runs the live ones.", Fact),
            (
                "For patterns that do not use it, the library is a wrapper.",
                Fact,
            ),
            (
                "If you don't install it, you will need to run it by hand.",
                Must,
            ),
            ("Keep it short, and never log tokens.", MustNot),
            ("Do not edit generated files by hand.", MustNot),
            ("All tests must pass before merging.", Must),
            ("Use pnpm for installing packages.", Should),
            ("When you change the schema, run `make gen`.", Should),
            ("Avoid `unwrap` in library code.", ShouldNot),
            ("Functions should not be longer than 50 lines.", ShouldNot),
            ("The parser lives in `src/parse.rs`.", Fact),
            ("`never` is a type.", Fact),
            ("The process cannot be restarted from outside.", Fact),
            ("Prefer composition over inheritance.", Should),
        ] {
            assert_eq!(Modality::of(text), expected, "{text}");
        }
    }
}
