//! What of a statement is compared: its words, names in code, numbers and negations, taken once.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::comparison_words;

/// Words that deny what follows them.
const NEGATIONS: [&str; 24] = [
    "not",
    "no",
    "never",
    "without",
    "cannot",
    "dont",
    "nor",
    "neither",
    "none",
    "nothing",
    "non",
    "avoid",
    "avoids",
    "disallow",
    "disallows",
    "forbid",
    "forbids",
    "prohibit",
    "prohibits",
    "refrain",
    "refuse",
    "stop",
    "wrong",
    "mistaken",
];

/// Numbers that are written out. "One" and "once" are left out: they hardly ever count anything.
const WRITTEN: [(&str, &str); 11] = [
    ("two", "2"),
    ("twice", "2"),
    ("three", "3"),
    ("thrice", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
];

/// Endings a word may lose, longest first.
const ENDINGS: [&str; 10] = [
    "ations", "ation", "ings", "ing", "ies", "ed", "es", "ly", "s", "e",
];

/// Words that change nothing about a claim.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// Bytes a stem keeps at least.
const STEM_BYTES_MIN: usize = 3;

/// One statement, taken apart for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Every word in order, case-folded.
    pub(super) tokens: Vec<String>,
    /// The words [`comparison_words`] leaves.
    pub(super) words: BTreeSet<String>,
    /// Their order, which tells equal texts from shuffled ones.
    pub(super) sequence: Vec<String>,
    /// Stems of the words that neither bind nor deny.
    pub(super) stems: BTreeSet<String>,
    /// How often each stem occurs, of all words.
    pub(super) counts: BTreeMap<String, usize>,
    /// Names in code, in the order of their first mention.
    pub(super) identifiers: Vec<String>,
    pub(super) numbers: BTreeSet<String>,
    /// The text as it must be equal for two entries to be one unasked; see [`normal`].
    normal: Vec<String>,
    /// Operators in the order they stand.
    pub(super) symbols: Vec<String>,
    pub(super) negations: usize,
    /// Negations of the first sentence, which says what the claim is.
    pub(super) leading_negations: usize,
    /// All tokens with a space on either side of each, to look phrases up in.
    phrase: String,
}

impl Claim {
    /// Takes a statement apart.
    pub fn of(statement: &str) -> Self {
        let tokens = tokens(statement);
        let sequence = comparison_words(statement);
        let content = sequence.iter().filter(|word| !is_negation(word));
        let mut counts = BTreeMap::new();
        for token in &tokens {
            *counts.entry(stem(token)).or_insert(0) += 1;
        }
        let denied = |tokens: &[String]| tokens.iter().filter(|it| is_negation(it)).count();
        Self {
            words: sequence.iter().cloned().collect(),
            stems: content.map(|word| stem(word)).collect(),
            counts,
            identifiers: identifiers(statement),
            normal: normal(statement),
            numbers: numbers(statement, &tokens),
            symbols: symbols(statement),
            negations: denied(&tokens),
            leading_negations: denied(&self::tokens(first_sentence(statement))),
            phrase: format!(" {} ", tokens.join(" ")),
            sequence,
            tokens,
        }
    }

    /// Returns the words in order, as [`comparison_words`] gives them.
    pub fn words(&self) -> &[String] {
        &self.sequence
    }

    /// Returns the stems of the words that neither bind nor deny.
    pub fn stems(&self) -> &BTreeSet<String> {
        &self.stems
    }

    /// Returns whether both say the same letter for letter and in the same order; case outside of code, punctuation
    /// of sentences and spaces aside.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.normal == other.normal
    }

    /// Like [`Self::equals`], articles aside.
    pub(super) fn equals_but_for_articles(&self, other: &Self) -> bool {
        let bare = |claim: &'_ Self| -> Vec<String> {
            let words = claim.normal.iter();
            let words = words.filter(|word| !ARTICLES.contains(&word.as_str()));
            words.cloned().collect()
        };
        bare(self) == bare(other)
    }

    /// Returns whether both name the same code, letter for letter, and not in the same order: names changed places.
    pub(super) fn is_permuted(&self, other: &Self) -> bool {
        let names = |claim: &'_ Self| claim.identifiers.iter().cloned().collect::<BTreeSet<_>>();
        self.identifiers != other.identifiers && names(self) == names(other)
    }

    /// Returns where `identifier` is first mentioned, as code or in plain words.
    pub(super) fn mention(&self, identifier: &str) -> Option<usize> {
        let spoken = tokens(identifier).join(" ");
        if spoken.is_empty() {
            return self.identifiers.iter().position(|it| it == identifier);
        }
        self.phrase.find(&format!(" {spoken} "))
    }

    /// Returns the stem of the first word that neither binds nor denies.
    pub(super) fn opening(&self) -> Option<String> {
        let carries = |token: &&String| self.words.contains(*token) && !is_negation(token);
        self.tokens.iter().find(carries).map(|token| stem(token))
    }

    /// Returns the words that are names in code here or in `other`, each time they are mentioned.
    pub(super) fn names(&self, other: &Self) -> Vec<&String> {
        let names = self.identifiers.iter().chain(&other.identifiers);
        let names: BTreeSet<String> = names.flat_map(|name| tokens(name)).collect();
        let tokens = self.tokens.iter();
        tokens.filter(|token| names.contains(*token)).collect()
    }

    /// Returns the next words after `marker` that carry meaning, if it stands there exactly once.
    pub(super) fn after(&self, marker: &str) -> Option<Vec<String>> {
        let mut places = self.tokens.iter().enumerate();
        let (place, _) = places.find(|(_, token)| *token == marker)?;
        if places.any(|(_, token)| token == marker) {
            return None;
        }
        let rest = self.tokens[place + 1..].iter();
        let rest = rest.filter(|token| self.words.contains(*token));
        Some(rest.take(2).map(|token| stem(token)).collect())
    }
}

/// Returns the words of a text, case-folded; an apostrophe belongs to its word.
fn tokens(text: &str) -> Vec<String> {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let text = text.replace('’', "'");
    let words = text.split(|c: char| !part_of_word(c));
    let words = words.map(|word| word.trim_matches('\'').to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns whether a word denies what follows it.
pub(crate) fn is_negation(word: &str) -> bool {
    word.ends_with("n't") || NEGATIONS.contains(&word)
}

/// Cuts the ending off a word, so that "uses" and "using" are one.
pub(crate) fn stem(word: &str) -> String {
    let stems = ENDINGS.iter().filter_map(|it| word.strip_suffix(it));
    let mut stems = stems.filter(|it| STEM_BYTES_MIN <= it.len());
    stems.next().unwrap_or(word).to_owned()
}

fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '!', '?', ':', ';']);
    let mut ends = ends.map(|(place, _)| place + 1);
    let end = ends.find(|end| text[*end..].starts_with(char::is_whitespace));
    &text[..end.unwrap_or(text.len())]
}

/// Returns the words of a text with everything that can make a difference: signs, case in code, order. Only
/// what ends or wraps a word of a sentence is left out, and case outside of code.
fn normal(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            words.push(without_call(part.trim()).to_owned());
            continue;
        }
        let bare = part.split_whitespace().map(|word| {
            let word = word.trim_start_matches(['"', '\'', '(', '“', '‘']);
            word.trim_end_matches([',', '.', ';', ':', '!', '?', '"', '\'', ')', '”', '’'])
        });
        let bare = bare.filter(|word| !word.is_empty());
        words.extend(bare.map(str::to_lowercase));
    }
    words
}

/// Returns what is written between backticks or looks like a name in code, each once.
fn identifiers(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && found.iter().all(|it| it != name) {
            found.push(name.to_owned());
        }
    };
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            add(without_call(part.trim()));
            continue;
        }
        for word in part.split_whitespace() {
            let word = word.trim_matches(|c: char| ",;:!?\"'[]{}<>".contains(c));
            let word = word.trim_start_matches('(').trim_end_matches('.');
            let name = word.split_once('(').map_or(word, |(name, _)| name);
            let is_called = name != word && name.starts_with(char::is_alphabetic);
            let name = name.trim_end_matches(')');
            if is_called || is_code(name) {
                add(name);
            }
        }
    }
    found
}

fn without_call(name: &str) -> &str {
    let calls = ["()", "(...)", "(…)"];
    let bare = calls.iter().find_map(|call| name.strip_suffix(call));
    bare.unwrap_or(name)
}

/// Returns whether a word outside backticks is a name: `a_b`, `a::b`, `ab.cd`, `aB`.
fn is_code(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let inner = |test: fn(char, char) -> bool| letters.windows(2).any(|it| test(it[0], it[1]));
    let parts: Vec<&str> = word.split('.').collect();
    let is_path = 1 < parts.len()
        && parts.iter().all(|it| 1 < it.chars().count())
        && parts.iter().any(|it| it.contains(char::is_alphabetic));
    let is_joined = inner(|a, b| a.is_alphanumeric() && b == '_');
    let is_camel = inner(|a, b| a.is_lowercase() && b.is_uppercase());
    is_path || is_joined || is_camel || word.contains("::")
}

/// Returns every number, with its sign and its fraction; those written out as digits.
fn numbers(text: &str, tokens: &[String]) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let mut found = BTreeSet::new();
    for run in text.split(|c: char| !is_part(c)) {
        let run = run.trim_end_matches(['.', '-']).trim_start_matches('.');
        let signed = run.starts_with('-') && !run[1..].contains('-');
        if signed {
            found.insert(run.to_owned());
        } else {
            let parts = run.split('-').filter(|it| !it.is_empty());
            found.extend(parts.map(str::to_owned));
        }
    }
    let written = |token: &String| WRITTEN.iter().find(|(word, _)| word == token);
    found.extend(tokens.iter().filter_map(written).map(|it| it.1.to_owned()));
    found
}

/// Returns runs of operator signs; an exclamation mark counts where it stands before something.
fn symbols(text: &str) -> Vec<String> {
    let is_sign = |c: char| "=<>+%&|^!".contains(c);
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    for c in text.chars().chain([' ']) {
        if is_sign(c) {
            run.push(c);
            continue;
        }
        let denies = run.trim_matches('!').is_empty() && !c.is_alphanumeric();
        if !run.is_empty() && !denies {
            found.push(run.clone());
        }
        run.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_code_are_found_with_and_without_backticks() {
        let claim = Claim::of("Call `run()` or std::fs::read, e.g. in parse_all(x) of readFile.");
        assert_eq!(
            claim.identifiers,
            ["run", "std::fs::read", "parse_all", "readFile"]
        );
    }

    #[test]
    fn numbers_keep_sign_and_fraction() {
        let of = |text: &str| Claim::of(text).numbers.into_iter().collect::<Vec<_>>();
        assert_eq!(of("Retry twice within 2.5 s."), ["2", "2.5"]);
        assert_eq!(of("Returns -1, not 1-3"), ["-1", "1", "3"]);
        assert!(of("No number at all.").is_empty());
    }

    #[test]
    fn negations_are_counted_by_sentence() {
        let claim = Claim::of("Don't use it. It can't and won't work");
        assert_eq!((claim.negations, claim.leading_negations), (3, 1));
    }

    #[test]
    fn operators_are_no_punctuation() {
        assert_eq!(Claim::of("Use `!=` and `==`!").symbols, ["!=", "=="]);
        assert!(Claim::of("Charging twice is safe!").symbols.is_empty());
    }
}
