//! Tokenized statement: the words, code names, numbers and negations that comparisons read.

use std::collections::{BTreeMap, BTreeSet};

use super::sketch::StatementSketch;
use crate::values::text::comparison_words;

/// Words that negate the words after them.
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

/// Number words. "One" and "once" are missing because they hardly ever count anything.
const NUMBER_WORDS: [(&str, &str); 11] = [
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

/// Suffixes that the stemmer removes, longest first.
const SUFFIXES: [&str; 10] = [
    "ations", "ation", "ings", "ing", "ies", "ed", "es", "ly", "s", "e",
];

/// Words that do not change a claim.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// Minimum length of a stem, in bytes.
const STEM_BYTES_MIN: usize = 3;

/// One statement, analyzed once for many comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizedStatement {
    /// All words in order, in lower case.
    pub(super) tokens: Vec<String>,
    /// The words of [`comparison_words`], as a set.
    pub(super) words: BTreeSet<String>,
    /// The words of [`comparison_words`] in order, which distinguishes reordered texts.
    pub(super) sequence: Vec<String>,
    /// Stems of the content words, without stop words and negations.
    pub(super) stems: BTreeSet<String>,
    /// Occurrences of each stem, over all words.
    pub(super) counts: BTreeMap<String, usize>,
    /// Code names, in the order of their first mention.
    pub(super) identifiers: Vec<String>,
    pub(super) numbers: BTreeSet<String>,
    /// The normalized text that must be equal for an automatic merge; see [`normalize`].
    normal: Vec<String>,
    /// Operators, in order.
    pub(super) symbols: Vec<String>,
    pub(super) negations: usize,
    /// Negations in the first sentence, which states the claim.
    pub(super) leading_negations: usize,
    /// All tokens joined and surrounded by spaces, for phrase lookup.
    phrase: String,
    sketch: StatementSketch,
}

impl TokenizedStatement {
    /// Analyzes a statement.
    pub fn parse(statement: &str) -> Self {
        let tokens = tokenize(statement);
        let sequence = comparison_words(statement);
        let mut counts = BTreeMap::new();
        for token in &tokens {
            *counts.entry(stem(token)).or_insert(0) += 1;
        }
        let denied = |tokens: &[String]| tokens.iter().filter(|it| is_negation(it)).count();
        let stems = content_stems(&sequence);
        let identifiers = find_identifiers(statement);
        let normal = normalize(statement);
        let sketch = new_sketch(&stems, &tokens, &identifiers, &normal);
        Self {
            words: sequence.iter().cloned().collect(),
            stems,
            counts,
            identifiers,
            normal,
            numbers: find_numbers(statement, &tokens),
            symbols: find_operators(statement),
            negations: denied(&tokens),
            leading_negations: denied(&tokenize(first_sentence(statement))),
            phrase: format!(" {} ", tokens.join(" ")),
            sequence,
            tokens,
            sketch,
        }
    }

    /// Returns the compact form.
    pub fn sketch(&self) -> &StatementSketch {
        &self.sketch
    }

    /// Returns the words of [`comparison_words`], in order.
    pub fn words(&self) -> &[String] {
        &self.sequence
    }

    /// Returns the stems of the content words.
    pub fn stems(&self) -> &BTreeSet<String> {
        &self.stems
    }

    /// Returns whether both have the same words in the same order.
    ///
    /// Ignores spaces, sentence punctuation, and case outside of code.
    pub(super) fn has_equal_text(&self, other: &Self) -> bool {
        self.normal == other.normal
    }

    /// Like [`Self::has_equal_text`], but also ignores articles.
    pub(super) fn has_equal_text_without_articles(&self, other: &Self) -> bool {
        without_articles(&self.normal).eq(without_articles(&other.normal))
    }

    /// Returns whether both have the same words in the same places but one: "the default is vi" and
    /// "the default is emacs".
    pub(super) fn differs_in_one_word(&self, other: &Self) -> bool {
        let pairs = self.sequence.iter().zip(&other.sequence);
        self.sequence.len() == other.sequence.len() && pairs.filter(|(a, b)| a != b).count() == 1
    }

    /// Returns whether both have the same code names in a different order.
    pub(super) fn is_permuted(&self, other: &Self) -> bool {
        let names = |claim: &'_ Self| claim.identifiers.iter().cloned().collect::<BTreeSet<_>>();
        self.identifiers != other.identifiers && names(self) == names(other)
    }

    /// Returns the position of the first mention of `identifier`, as code or in plain words.
    pub(super) fn position_of(&self, identifier: &str) -> Option<usize> {
        let phrase = tokenize(identifier).join(" ");
        // A name such as `==` has no tokens and can be found only among the identifiers.
        if phrase.is_empty() {
            return self.identifiers.iter().position(|it| it == identifier);
        }
        self.phrase.find(&format!(" {phrase} "))
    }

    /// Returns the stem of the first content word.
    pub(super) fn first_content_stem(&self) -> Option<String> {
        let carries = |token: &&String| self.words.contains(*token) && !is_negation(token);
        self.tokens.iter().find(carries).map(|token| stem(token))
    }

    /// Returns the tokens that are part of a code name here or in `other`, with repetitions.
    pub(super) fn code_tokens(&self, other: &Self) -> Vec<&String> {
        let names = self.identifiers.iter().chain(&other.identifiers);
        let names: BTreeSet<String> = names.flat_map(|name| tokenize(name)).collect();
        let tokens = self.tokens.iter();
        tokens.filter(|token| names.contains(*token)).collect()
    }

    /// Returns the stems of the next two content words after `marker`, if it occurs exactly once.
    pub(super) fn stems_after(&self, marker: &str) -> Option<Vec<String>> {
        let mut places = self.tokens.iter().enumerate();
        let (place, _) = places.find(|(_, token)| *token == marker)?;
        // With two markers it is unclear which words they order.
        if places.any(|(_, token)| token == marker) {
            return None;
        }
        let rest = self.tokens[place + 1..].iter();
        let rest = rest.filter(|token| self.words.contains(*token));
        Some(rest.take(2).map(|token| stem(token)).collect())
    }
}

impl StatementSketch {
    /// Analyzes a statement as [`TokenizedStatement::parse`] does, but keeps its sketch only.
    pub fn parse(statement: &str) -> Self {
        new_sketch(
            &content_stems(&comparison_words(statement)),
            &tokenize(statement),
            &find_identifiers(statement),
            &normalize(statement),
        )
    }
}

fn new_sketch(
    stems: &BTreeSet<String>,
    tokens: &[String],
    identifiers: &[String],
    normal: &[String],
) -> StatementSketch {
    let names = identifiers.iter().map(|it| (it, tokenize(it)));
    StatementSketch::new(stems, tokens, names, without_articles(normal))
}

/// Returns the stems of the words other than negations.
fn content_stems(words: &[String]) -> BTreeSet<String> {
    let content = words.iter().filter(|word| !is_negation(word));
    content.map(|word| stem(word)).collect()
}

fn without_articles(words: &[String]) -> impl Iterator<Item = &String> {
    let words = words.iter();
    words.filter(|word| !ARTICLES.contains(&word.as_str()))
}

/// Returns the words of a text in lower case; an apostrophe is part of its word.
fn tokenize(text: &str) -> Vec<String> {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    // A typographic apostrophe must not hide the negation in "don’t".
    let text = text.replace('’', "'");
    let words = text.split(|c: char| !part_of_word(c));
    let words = words.map(|word| word.trim_matches('\'').to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns whether a word is a negation.
pub(crate) fn is_negation(word: &str) -> bool {
    word.ends_with("n't") || NEGATIONS.contains(&word)
}

/// Removes the suffix of a word, so that "uses" and "using" have the same stem.
pub fn stem(word: &str) -> String {
    let stems = SUFFIXES.iter().filter_map(|it| word.strip_suffix(it));
    // The minimum keeps short words apart: "bed" must not become "b".
    let mut stems = stems.filter(|it| it.len() >= STEM_BYTES_MIN);
    stems.next().unwrap_or(word).to_owned()
}

fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '!', '?', ':', ';']);
    let mut ends = ends.map(|(place, _)| place + 1);
    // A period inside "2.5" or "a.b" does not end a sentence.
    let end = ends.find(|end| text[*end..].starts_with(char::is_whitespace));
    &text[..end.unwrap_or(text.len())]
}

/// Returns the words of a text with every meaningful difference: signs, case in code, order.
///
/// Drops only the punctuation around words, and case outside of code.
fn normalize(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in text.split('`').enumerate() {
        // Every second part lies between backticks and is code, where case matters.
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

/// Returns the code names of a text, in backticks or recognizable by their form, each once.
fn find_identifiers(text: &str) -> Vec<String> {
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
            if is_called || is_code_name(name) {
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

/// Returns whether a word outside backticks is a code name: `a_b`, `a::b`, `ab.cd`, `aB`.
fn is_code_name(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let inner = |test: fn(char, char) -> bool| letters.windows(2).any(|it| test(it[0], it[1]));
    let parts: Vec<&str> = word.split('.').collect();
    // Single letters between dots are abbreviations such as "e.g".
    let is_path = parts.len() > 1
        && parts.iter().all(|it| it.chars().count() > 1)
        && parts.iter().any(|it| it.contains(char::is_alphabetic));
    let is_joined = inner(|a, b| a.is_alphanumeric() && b == '_');
    let is_camel = inner(|a, b| a.is_lowercase() && b.is_uppercase());
    is_path || is_joined || is_camel || word.contains("::")
}

/// Returns all numbers with sign and fraction; number words are converted to digits.
fn find_numbers(text: &str, tokens: &[String]) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let mut found = BTreeSet::new();
    for run in text.split(|c: char| !is_part(c)) {
        let run = run.trim_end_matches(['.', '-']).trim_start_matches('.');
        // "-1" is a negative number; "1-3" is a range of two numbers.
        let signed = run.starts_with('-') && !run[1..].contains('-');
        if signed {
            found.insert(run.to_owned());
        } else {
            let parts = run.split('-').filter(|it| !it.is_empty());
            found.extend(parts.map(str::to_owned));
        }
    }
    let written = |token: &String| NUMBER_WORDS.iter().find(|(word, _)| word == token);
    found.extend(tokens.iter().filter_map(written).map(|it| it.1.to_owned()));
    found
}

/// Returns runs of operator characters; an exclamation mark counts only before a word.
fn find_operators(text: &str) -> Vec<String> {
    let is_sign = |c: char| "=<>+%&|^!".contains(c);
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    // The trailing space flushes a run at the end of the text.
    for c in text.chars().chain([' ']) {
        if is_sign(c) {
            run.push(c);
            continue;
        }
        let is_punctuation = run.trim_matches('!').is_empty() && !c.is_alphanumeric();
        if !run.is_empty() && !is_punctuation {
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
        let claim = TokenizedStatement::parse(
            "Call `run()` or std::fs::read, e.g. in parse_all(x) of readFile.",
        );
        assert_eq!(
            claim.identifiers,
            ["run", "std::fs::read", "parse_all", "readFile"]
        );
    }

    #[test]
    fn numbers_keep_sign_and_fraction() {
        let of = |text: &str| {
            TokenizedStatement::parse(text)
                .numbers
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(of("Retry twice within 2.5 s."), ["2", "2.5"]);
        assert_eq!(of("Returns -1, not 1-3"), ["-1", "1", "3"]);
        assert!(of("No number at all.").is_empty());
    }

    #[test]
    fn negations_are_counted_by_sentence() {
        let claim = TokenizedStatement::parse("Don't use it. It can't and won't work");
        assert_eq!((claim.negations, claim.leading_negations), (3, 1));
    }

    #[test]
    fn operators_are_no_punctuation() {
        assert_eq!(
            TokenizedStatement::parse("Use `!=` and `==`!").symbols,
            ["!=", "=="]
        );
        assert!(
            TokenizedStatement::parse("Charging twice is safe!")
                .symbols
                .is_empty()
        );
    }
}
