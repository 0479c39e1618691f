//! Filter for contradictions that are certain enough to report on real documents.
//!
//! The rules detect constructed contradictions well. In real documents most of their reports
//! concern trade-offs, exceptions or denials of something else: of 160 reports in 41 packages none
//! was right. Wording therefore counts only between plain rules: short, one sentence, and opposed
//! as a whole. Declarations of the authors (polarity, a false positive on the same file) always
//! count.

use std::collections::BTreeSet;

use super::{
    ContradictionReason, ContradictionRule, ContradictionSide, find_contradiction,
    find_declared_contradiction, find_false_positive_conflict,
};
use crate::trust::similarity::{SimilarityVerdict, classify_similarity};

/// Maximum number of words of a plain rule.
const PLAIN_WORDS_MAX: usize = 22;

/// Words and phrases that exclude something.
const DENIAL_PHRASES: [&str; 8] = [
    "never",
    "not",
    "don't",
    "avoid",
    "rather than",
    "instead of",
    "without",
    "no",
];

/// Words that require, allow or forbid, and their companions.
const MODAL_WORDS: [&str; 17] = [
    "always",
    "never",
    "forbidden",
    "do",
    "not",
    "don't",
    "must",
    "should",
    "shouldn't",
    "mustn't",
    "it",
    "is",
    "to",
    "no",
    "are",
    "only",
    "please",
];

/// Maximum number of words in which sentences of the same form differ.
const PARALLEL_DIFFERENCES_MAX: usize = 3;

/// Characters of a word that its stem keeps.
const STEM_CHARS: usize = 4;

/// Returns the reason why two sides contradict each other, if it is certain.
pub fn find_certain_contradiction(
    a: &ContradictionSide,
    b: &ContradictionSide,
    cosine: Option<f64>,
) -> Option<ContradictionReason> {
    // No rule about wording is certain otherwise, and most pairs end here.
    if !(a.is_plain && b.is_plain) {
        let declared = || find_declared_contradiction(a, b, cosine);
        return find_false_positive_conflict(a, b, cosine).or_else(declared);
    }
    let why = find_contradiction(a, b, cosine)?;
    let (one, other) = (a.text.as_str(), b.text.as_str());
    let opposed = || classify_similarity(&a.claim, &b.claim, cosine) == SimilarityVerdict::Opposed;
    let runs = contains_command(one) || contains_command(other);
    let both_deny = denies(one) && denies(other);
    let turned = differs_only_in_modality(one, other);
    let certain = match why.rule {
        ContradictionRule::Polarity | ContradictionRule::FalsePositive => true,
        // "The post command waits 60 seconds" and "the get command waits 30" are about two
        // commands.
        ContradictionRule::Modality
        | ContradictionRule::Number
        | ContradictionRule::Alternative
        | ContradictionRule::Order
        | ContradictionRule::Contrary
            if are_parallel(one, other, &why.differs) =>
        {
            false
        }
        // The same words with and without "never" are the clearest case.
        ContradictionRule::Modality if turned => true,
        // A tool that appears in a shell command is not thereby the project's choice.
        ContradictionRule::Alternative if !why.differs.contains(" or not ") => {
            !is_recipe(one) && !is_recipe(other)
        }
        // "Windows: do not …" limits the rule to the label, so a negation after it proves nothing.
        ContradictionRule::Alternative
        | ContradictionRule::Modality
        | ContradictionRule::Number
        | ContradictionRule::Order
        | ContradictionRule::Contrary
            if is_labeled(one) || is_labeled(other) =>
        {
            false
        }
        // `-k 'not slow'` is an option, not a negation; two sides that both deny may deny the same.
        ContradictionRule::Alternative | ContradictionRule::Modality if runs || both_deny => false,
        ContradictionRule::Alternative
        | ContradictionRule::Modality
        | ContradictionRule::Number
        | ContradictionRule::Order
        | ContradictionRule::Contrary => opposed(),
    };
    if certain {
        Some(why)
    } else {
        find_declared_contradiction(a, b, cosine)
    }
}

/// Returns whether a text is a plain rule: short and one sentence.
pub(super) fn is_plain(text: &str) -> bool {
    text.split_whitespace().count() <= PLAIN_WORDS_MAX && !text.contains(". ")
}

/// Returns whether a text has the form `label: rule`.
fn is_labeled(text: &str) -> bool {
    text.contains(": ")
}

/// Returns whether a text names the command for a task: "From source: run `…`".
fn is_recipe(text: &str) -> bool {
    text.contains(": run `")
}

/// Returns whether a text contains a shell command in backticks.
fn contains_command(text: &str) -> bool {
    // Every second part of the split lies between backticks.
    let mut spans = text.split('`').skip(1).step_by(2);
    spans.any(|span| span.contains(' ') && span.contains(['-', '/', '.']))
}

/// Returns whether two texts differ only in [`MODAL_WORDS`].
fn differs_only_in_modality(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
        words
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    let mut differing = one.symmetric_difference(&other);
    differing.all(|word| MODAL_WORDS.contains(&word.as_str()))
}

/// Returns whether two sentences have the same form and differ in a word that is not part of the
/// contradiction, so that each is about a subject of its own.
fn are_parallel(one: &str, other: &str, differs: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().map(str::to_lowercase);
        words
            .map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
            .collect()
    };
    let (one, other) = (words(one), words(other));
    if one.len() != other.len() {
        return false;
    }
    let differs = differs.to_lowercase();
    let is_value = |word: &str| {
        let is_number = word.contains(|c: char| c.is_ascii_digit());
        // The reason names stems.
        let stem: String = word.chars().take(STEM_CHARS).collect();
        is_number || MODAL_WORDS.contains(&word) || differs.contains(&stem)
    };
    let pairs: Vec<_> = one.iter().zip(&other).filter(|(a, b)| a != b).collect();
    pairs.len() <= PARALLEL_DIFFERENCES_MAX
        && pairs.iter().any(|(a, b)| !is_value(a) && !is_value(b))
}

fn denies(text: &str) -> bool {
    let lower = text.to_lowercase();
    let spaced = lower.replace(|c: char| !c.is_alphanumeric() && c != '\'', " ");
    // Surrounding spaces match whole words only: "no" must not match "node".
    let padded = format!(" {spaced} ");
    DENIAL_PHRASES
        .iter()
        .any(|word| padded.contains(&format!(" {word} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_certain(one: &str, other: &str) -> bool {
        find_certain_contradiction(
            &ContradictionSide::from_text(one),
            &ContradictionSide::from_text(other),
            None,
        )
        .is_some()
    }

    #[test]
    fn sentences_about_different_subjects_do_not_contradict() {
        for (one, other) in [
            (
                "The http post command waits 60 seconds for an answer.",
                "The http get command waits 30 seconds for an answer.",
            ),
            (
                "Building the plugin crate takes 90 seconds on CI.",
                "Building the parser crate takes 20 seconds on CI.",
            ),
            (
                "Payment number 1 was charged twice.",
                "Payment number 2 was charged twice.",
            ),
            (
                "Always call unwrap in tests.",
                "Never call unwrap in commands.",
            ),
        ] {
            assert!(!is_certain(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn plain_rules_are_believed() {
        for (one, other) in [
            ("Use tabs for indentation.", "Use spaces for indentation."),
            (
                "Always squash commits before merging.",
                "Never squash commits before merging.",
            ),
            (
                "Keep lines below 80 characters.",
                "Keep lines below 120 characters.",
            ),
            (
                "Prefer composition over inheritance.",
                "Prefer inheritance over composition.",
            ),
        ] {
            assert!(is_certain(one, other), "{one} | {other}");
        }
    }

    #[test]
    fn what_weighs_excepts_or_runs_is_not() {
        for (one, other) in [
            (
                "Run the tests with `pytest tests/`.",
                "Run the unit tests with `pytest tests/ -k 'not slow'`.",
            ),
            (
                "Report vulnerabilities privately, never through public issues.",
                "Report vulnerabilities privately, rather than in issues.",
            ),
            (
                "We use uv to manage dependencies.",
                "From source: run `pip install ./wheel.whl`",
            ),
        ] {
            assert!(!is_certain(one, other), "{one} | {other}");
        }
    }
}
