//! Modality of sentences: instruction, prohibition or statement of fact.

use ken_core::values::content::Polarity;
use serde::Serialize;

use crate::words::{
    self, ADVISING, BEFORE_IMPERATIVES, DISCOURAGING, FORBIDDING, FORBIDDING_IMPERATIVES,
    INSTRUCTION_VERBS, OBLIGING, OPENERS, is_listed, split_phrases,
};

/// Obligation that a claim puts on its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Must,
    MustNot,
    Should,
    ShouldNot,
    /// No instruction: a statement of fact.
    Fact,
}

impl Modality {
    /// Classifies a sentence, ignoring text between backticks.
    pub(crate) fn of(sentence: &str) -> Self {
        let text = normalize_words(sentence);
        let has = |phrases: &str| words::contains_phrase(&text, phrases);
        let commands = is_instruction(sentence);
        // Prohibitions first: "must not" also contains "must".
        if has(FORBIDDING) || forbids_reader(sentence) {
            return Self::MustNot;
        }
        if text.starts_with(" avoid ") || has("should not, shouldn't, discouraged, not recommended")
        {
            return Self::ShouldNot;
        }
        if has(OBLIGING) {
            return Self::Must;
        }
        // "Use x to avoid y" recommends x and is no advice against it.
        if has("avoid") && !commands {
            return Self::ShouldNot;
        }
        if has(ADVISING) || commands || has(DISCOURAGING) {
            return Self::Should;
        }
        Self::Fact
    }

    /// Returns the polarity of a claim, or `None` for a fact.
    pub fn polarity(self) -> Option<Polarity> {
        match self {
            Self::Must | Self::Should => Some(Polarity::Positive),
            Self::MustNot | Self::ShouldNot => Some(Polarity::Negative),
            Self::Fact => None,
        }
    }

    /// Returns whether the claim asks something of the reader.
    pub fn asks(self) -> bool {
        match self {
            Self::Must | Self::MustNot | Self::Should | Self::ShouldNot => true,
            Self::Fact => false,
        }
    }
}

/// Returns whether the sentence begins with an instruction.
pub(crate) fn is_instruction(sentence: &str) -> bool {
    let text = normalize_words(sentence);
    // "When x, use y" and "Before committing: run z" have the instruction after the condition.
    let condition = [
        "when ", "if ", "before ", "after ", "for ", "in ", "on ", "to ", "once ",
    ];
    let trimmed = text.trim_start();
    let starts: Vec<&str> = if condition.iter().any(|it| trimmed.starts_with(it)) {
        sentence.splitn(2, [',', ':']).collect()
    } else {
        vec![sentence]
    };
    starts
        .iter()
        .any(|part| begins_with_verb(&normalize_words(part)))
}

fn begins_with_verb(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .skip_while(|word| is_listed(word, OPENERS));
    let Some(first) = words.next() else {
        return false;
    };
    let forbids = matches!(first, "never" | "always" | "don't" | "avoid")
        || first == "do" && words.next().is_some_and(|it| it == "not");
    forbids || is_listed(first, INSTRUCTION_VERBS)
}

/// Returns whether a forbidding word addresses the reader: "Never do x", not "it never does x".
fn forbids_reader(sentence: &str) -> bool {
    let lowered = sentence.replace('’', "'").to_lowercase();
    let without_code = |(place, part): (usize, &str)| {
        if place % 2 == 0 {
            part.to_owned()
        } else {
            "code".to_owned()
        }
    };
    // Punctuation stays, unlike in `normalize_words`: it shows where a clause begins.
    let text: String = lowered.split('`').enumerate().map(without_code).collect();
    split_phrases(FORBIDDING_IMPERATIVES).any(|word| {
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
            stands_alone && (opens || is_listed(last, BEFORE_IMPERATIVES))
        })
    })
}

/// Returns the lowercase words outside backticks, each between two spaces.
///
/// Code becomes the word `code`, so that phrases do not match across it.
pub(crate) fn normalize_words(sentence: &str) -> String {
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
