//! Linear model that scores how likely a message of a person teaches something lasting.
//!
//! People seldom correct an agent with "never" or "from now on": they state how things are ("the CI
//! image has no npm"). No list of phrases covers that, so the words, pairs of neighboring words,
//! the length and the number of words that are unknown to the model vote. The weights are data:
//! `cargo ken-bench eval corrections --train` computes them from `bench/data/corrections`.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Weights of the built-in model.
static BUILT_IN: LazyLock<LessonModel> =
    LazyLock::new(|| LessonModel::parse(include_str!("weights.tsv")));

/// Word counts at which a message gets another length feature.
const LENGTH_STEPS: [usize; 6] = [6, 10, 15, 22, 32, 45];

/// Numbers of unknown words at which a message gets another feature. A lesson names things of its
/// project; a request uses common words.
const UNKNOWN_STEPS: [usize; 7] = [1, 2, 3, 4, 6, 8, 11];

/// Stored weights are integers in this unit.
const WEIGHT_UNIT: f64 = 1000.0;

/// Weights of a trained model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LessonModel {
    /// Weight of each word, pair of words and `#` feature.
    pub weights: HashMap<String, f64>,
    pub bias: f64,
    /// Minimum score of a lesson.
    pub threshold: f64,
}

impl LessonModel {
    /// Returns the model that `ken capture` uses.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Parses the stored form; lines that are not a feature and an integer are ignored.
    pub fn parse(text: &str) -> Self {
        let mut model = Self::default();
        for (feature, weight) in text.lines().filter_map(|line| line.rsplit_once('\t')) {
            let Ok(weight) = weight.parse::<i32>() else {
                continue;
            };
            let weight = f64::from(weight) / WEIGHT_UNIT;
            match feature {
                "#bias" => model.bias = weight,
                "#threshold" => model.threshold = weight,
                _ => {
                    model.weights.insert(feature.to_owned(), weight);
                }
            }
        }
        model
    }

    /// Returns the stored form, sorted by feature.
    pub fn to_text(&self) -> String {
        let special = [("#bias", self.bias), ("#threshold", self.threshold)];
        let all = self.weights.iter().map(|(name, it)| (name.as_str(), *it));
        let mut lines: Vec<String> = special
            .into_iter()
            .chain(all)
            .map(|(name, weight)| format!("{name}\t{:.0}\n", weight * WEIGHT_UNIT))
            .collect();
        lines.sort();
        lines.concat()
    }

    /// Returns the features of a message that the model knows. `#` features of the message count,
    /// those of a single sentence would only say that it is short.
    pub fn features(&self, text: &str, is_message: bool) -> Vec<String> {
        let mut found = text_features(text);
        if is_message {
            let words = tokenize(text);
            let unknown: BTreeSet<&String> = words
                .iter()
                .filter(|it| !self.weights.contains_key(*it))
                .collect();
            let at_least = |count: usize, steps: &[usize], name: &str| {
                let steps = steps.iter().filter(|it| count >= **it);
                steps.map(|it| format!("#{name}{it}")).collect::<Vec<_>>()
            };
            found.extend(at_least(words.len(), &LENGTH_STEPS, "length"));
            found.extend(at_least(unknown.len(), &UNKNOWN_STEPS, "unknown"));
        }
        found.retain(|it| it.starts_with('#') || self.weights.contains_key(it));
        found.into_iter().collect()
    }

    /// Returns the score of a message.
    pub fn score_message(&self, text: &str) -> f64 {
        self.bias + self.score(&self.features(text, true))
    }

    /// Returns the score of one sentence of a message, relative to the other sentences.
    pub fn score_sentence(&self, text: &str) -> f64 {
        self.score(&self.features(text, false))
    }

    fn score(&self, features: &[String]) -> f64 {
        let weights = features.iter().filter_map(|it| self.weights.get(it));
        weights.sum::<f64>() * feature_scale(features.len())
    }
}

/// Returns the factor of each feature's weight: long messages have more features, not more votes.
pub fn feature_scale(features: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a message has few features")]
    let count = features as f64;
    1.0 / (count + 1.0).sqrt()
}

/// Returns the words of a text and the pairs of neighbors, the ends included.
pub fn text_features(text: &str) -> BTreeSet<String> {
    let words = tokenize(text);
    let first = std::iter::once("^").chain(words.iter().map(String::as_str));
    let second = words.iter().map(String::as_str).chain(["$"]);
    let pairs = first.zip(second).map(|(a, b)| format!("{a} {b}"));
    let pairs: BTreeSet<String> = pairs.collect();
    pairs.into_iter().chain(words).collect()
}

/// Splits a text into lowercase words and punctuation; code spans and numbers have a common token
/// each.
fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            tokens.push("<code>".to_owned());
            continue;
        }
        let part = part.replace('’', "'").to_lowercase();
        let is_word = |c: char| c.is_alphanumeric() || c == '\'';
        for piece in part.split_inclusive(|c: char| !is_word(c)) {
            let word = piece.trim_end_matches(|c: char| !is_word(c));
            let token = word.trim_matches('\'');
            if !token.is_empty() {
                let is_number = token.chars().all(|c| c.is_ascii_digit());
                tokens.push(if is_number { "<num>" } else { token }.to_owned());
            }
            let mark = piece.chars().last().filter(|c| "?!,:;.".contains(*c));
            tokens.extend(mark.map(String::from));
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_back_as_it_was_written() {
        let text = "#bias\t-250\n#threshold\t900\nwe use\t1250\n";
        let model = LessonModel::parse(text);
        assert_eq!(model.to_text(), text);
        assert_eq!((model.bias, model.threshold), (-0.25, 0.9));
        assert_eq!(
            LessonModel::parse("no weight\nx\ty"),
            LessonModel::default()
        );
    }

    #[test]
    fn words_code_numbers_and_marks_are_tokens() {
        assert_eq!(
            tokenize("Don’t touch `x y`, 42 times!"),
            ["don't", "touch", "<code>", ",", "<num>", "times", "!"]
        );
    }
}
