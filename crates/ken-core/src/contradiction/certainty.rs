//! Which contradictions are believed of sentences nobody wrote to be compared.
//!
//! The rules find what was made to contradict. In documents people write, most of what they flag weighs, excepts or
//! denies something else: of 160 flags in 41 packages none was right. So words alone count only between plain rules:
//! short, one sentence, and opposed as wholes too. What authors said themselves (polarity, a false positive on the
//! same file) counts as it stands.

use std::collections::BTreeSet;

use super::{Rule, Side, Why, as_their_authors_say, contradiction};
use crate::likeness::{Likeness, likeness};

/// Words a plain rule has at most.
const PLAIN_WORDS_MAX: usize = 22;

/// Words and phrases that leave something out.
const DENYING: [&str; 8] = [
    "never",
    "not",
    "don't",
    "avoid",
    "rather than",
    "instead of",
    "without",
    "no",
];

/// Words that ask, allow and forbid, and what goes with them.
const MODAL: [&str; 17] = [
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

/// Returns why two sides contradict each other, if that can be told without doubt.
pub fn certain_contradiction(a: &Side, b: &Side, cosine: Option<f64>) -> Option<Why> {
    let why = contradiction(a, b, cosine)?;
    let said = |side: &Side| side.text.clone();
    let (one, other) = (said(a), said(b));
    let plain = || is_plain(&one) && is_plain(&other);
    let opposed = || likeness(&a.claim, &b.claim, cosine) == Likeness::Opposed;
    let runs = is_command(&one) || is_command(&other);
    let both_deny = denies(&one) && denies(&other);
    let turned = is_turned(&one, &other);
    let certain = match why.rule {
        Rule::Polarity | Rule::FalsePositive => true,
        Rule::Modality if turned && plain() => true,
        // What a line for a shell uses is not what it asks for.
        Rule::Alternative if !why.differs.contains(" or not ") => {
            plain() && !is_recipe(&one) && !is_recipe(&other)
        }
        // Behind a label stands what it is for, which may deny anything.
        Rule::Alternative | Rule::Modality | Rule::Number | Rule::Order | Rule::Contrary
            if is_labelled(&one) || is_labelled(&other) =>
        {
            false
        }
        // Options of a command deny nothing, and two that both deny may deny the same.
        Rule::Alternative | Rule::Modality if runs || both_deny => false,
        Rule::Alternative | Rule::Modality | Rule::Number | Rule::Order | Rule::Contrary => {
            plain() && opposed()
        }
    };
    match certain {
        true => Some(why),
        false => as_their_authors_say(a, b, cosine),
    }
}

fn is_plain(text: &str) -> bool {
    text.split_whitespace().count() <= PLAIN_WORDS_MAX && !text.contains(". ")
}

/// Returns whether a text names something and then speaks about it.
fn is_labelled(text: &str) -> bool {
    text.contains(": ")
}

/// Returns whether a text says which command does something.
fn is_recipe(text: &str) -> bool {
    text.contains(": run `")
}

/// Returns whether a line for a shell stands in a text.
fn is_command(text: &str) -> bool {
    let mut spans = text.split('`').skip(1).step_by(2);
    spans.any(|span| span.contains(' ') && span.contains(['-', '/', '.']))
}

/// Returns whether two texts have the same words but for those that ask and forbid.
fn is_turned(one: &str, other: &str) -> bool {
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
    differing.all(|word| MODAL.contains(&word.as_str()))
}

fn denies(text: &str) -> bool {
    let text = text.to_lowercase();
    let text = text.replace(|c: char| !c.is_alphanumeric() && c != '\'', " ");
    let text = format!(" {text} ");
    DENYING
        .iter()
        .any(|word| text.contains(&format!(" {word} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_certain(one: &str, other: &str) -> bool {
        certain_contradiction(&Side::said(one), &Side::said(other), None).is_some()
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
