//! Ranking of passages for a question: words first (BM25), then coverage and similarity.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ken_core::retrieval::words::query_words;
use ken_core::trust::similarity::stem;

use crate::passage::{Passage, PassageSource};

/// Number of passages that are compared with the question by meaning.
const SHORTLIST: usize = 80;

/// Saturation and length normalization of BM25.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.4;

/// Weights of a passage's parts for word matches.
const HEADING_WEIGHT: f64 = 1.6;
const CODE_WEIGHT: f64 = 0.5;

/// Share of its rarity with which a word counts that no passage has. Without it, one unusual word
/// in a question would make every passage look unfit.
const UNKNOWN_SHARE: f64 = 0.33;

/// Words of questions that no answer contains.
const QUESTION_WORDS: [&str; 22] = [
    "about",
    "accept",
    "always",
    "another",
    "both",
    "contrast",
    "difference",
    "differ",
    "exist",
    "find",
    "happen",
    "happens",
    "instead",
    "long",
    "make",
    "need",
    "out",
    "own",
    "should",
    "way",
    "when",
    "which",
];

/// Opening words that refer to text before the passage.
const DANGLING: [&str; 12] = [
    "above",
    "also",
    "but",
    "however",
    "it",
    "that",
    "then",
    "these",
    "this",
    "those",
    "thus",
    "therefore",
];

/// A passage with its scores, each from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedPassage {
    pub passage: Passage,
    pub score: f64,
    /// Share of the question's words, weighted by rarity.
    pub coverage: f64,
    /// Cosine similarity; 0 without a model.
    pub cosine: f64,
}

/// The passages of some documents, ready to be ranked.
#[derive(Debug, Default)]
pub struct PassageIndex {
    passages: Vec<Passage>,
    /// Weighted stems per passage.
    terms: Vec<BTreeMap<String, f64>>,
    lengths: Vec<f64>,
    total_length: f64,
    document_counts: HashMap<String, usize>,
}

impl PassageIndex {
    /// Indexes passages; the same text is kept once.
    #[must_use]
    pub fn new(passages: Vec<Passage>) -> Self {
        let mut index = Self::default();
        let mut seen = BTreeSet::new();
        for passage in passages {
            let key = (passage.text.clone(), passage.code.clone());
            if seen.insert(key) {
                index.add(passage);
            }
        }
        index
    }

    fn add(&mut self, passage: Passage) {
        let mut terms: BTreeMap<String, f64> = BTreeMap::new();
        let code = passage.code.as_deref().unwrap_or_default();
        let parts = [
            (passage.text.as_str(), 1.0),
            (passage.heading.as_str(), HEADING_WEIGHT),
            (code, CODE_WEIGHT),
        ];
        for (text, weight) in parts {
            for (word, count) in query_words(text) {
                *terms.entry(stem(&word)).or_default() += weight * count as f64;
            }
        }
        for term in terms.keys() {
            *self.document_counts.entry(term.clone()).or_default() += 1;
        }
        let length = terms.values().sum();
        self.total_length += length;
        self.lengths.push(length);
        self.terms.push(terms);
        self.passages.push(passage);
    }

    /// Returns the number of passages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.passages.len()
    }

    /// Returns whether there is no passage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// Returns the best passages for a question, best first, at most one per block of a page.
    ///
    /// `ignored` are words that every passage is about, such as the package's name. `similarity`
    /// returns the cosine of a text with the question.
    pub fn rank(
        &self,
        question: &str,
        ignored: &[String],
        similarity: &mut dyn FnMut(&[&str]) -> Vec<f64>,
        limit: usize,
    ) -> Vec<RankedPassage> {
        let wanted = self.question_terms(question, ignored);
        let total: f64 = wanted.values().sum();
        if total <= 0.0 {
            return Vec::new();
        }
        let mut scored: Vec<(f64, usize)> = (0..self.len())
            .map(|at| (self.bm25(&wanted, at), at))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.truncate(SHORTLIST);
        // BM25 has no upper bound, so scores are relative to the best one.
        let best = scored.first().map_or(1.0, |it| it.0);
        let texts: Vec<String> = scored
            .iter()
            .map(|it| comparable(&self.passages[it.1]))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        // Only the shortlist: an embedding of every passage would take seconds.
        let cosines = similarity(&texts);
        let mut ranked: Vec<RankedPassage> = scored
            .iter()
            .enumerate()
            .map(|(place, (bm25, at))| {
                let cosine = cosines
                    .get(place)
                    .copied()
                    .unwrap_or_default()
                    .clamp(0.0, 1.0);
                self.score(&wanted, *at, bm25 / best, cosine, total)
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        distinct(ranked, limit)
    }

    /// Returns the stems of a question with their rarity.
    fn question_terms(&self, question: &str, ignored: &[String]) -> BTreeMap<String, f64> {
        let ignored: BTreeSet<String> = ignored
            .iter()
            .flat_map(|it| query_words(it))
            .map(|(word, _)| stem(&word))
            .collect();
        let is_content = |word: &String| !QUESTION_WORDS.contains(&word.as_str());
        let words = query_words(question).into_iter().map(|(word, _)| word);
        words
            .filter(is_content)
            .map(|word| stem(&word))
            .filter(|it| !ignored.contains(it))
            .map(|it| (it.clone(), self.rarity(&it)))
            .collect()
    }

    fn rarity(&self, term: &str) -> f64 {
        let count = self.document_counts.get(term).copied().unwrap_or_default() as f64;
        let known = if count > 0.0 { 1.0 } else { UNKNOWN_SHARE };
        let all = self.len() as f64;
        known * ((all - count + 0.5) / (count + 0.5) + 1.0).ln()
    }

    fn bm25(&self, wanted: &BTreeMap<String, f64>, at: usize) -> f64 {
        let average = self.total_length / self.len().max(1) as f64;
        let norm = 1.0 - BM25_B + BM25_B * self.lengths[at] / average.max(1.0);
        let part = |(term, rarity): (&String, &f64)| {
            let count = self.terms[at].get(term).copied().unwrap_or_default();
            rarity * count * (BM25_K1 + 1.0) / (count + BM25_K1 * norm)
        };
        wanted.iter().map(part).sum()
    }

    fn score(
        &self,
        wanted: &BTreeMap<String, f64>,
        at: usize,
        bm25: f64,
        cosine: f64,
        total: f64,
    ) -> RankedPassage {
        let passage = self.passages[at].clone();
        let has = |it: &(&String, &f64)| self.terms[at].contains_key(it.0);
        let coverage = wanted.iter().filter(has).map(|it| it.1).sum::<f64>() / total;
        let source = match passage.source {
            PassageSource::Guide => 1.0,
            PassageSource::Reference => 0.97,
            PassageSource::ChangeLog => 0.75,
        };
        let form = form(&passage);
        // Set on ten packages that are not among the ten of the reported measurement.
        let score = (0.35 * coverage + 0.25 * bm25 + 0.40 * cosine) * source * form;
        RankedPassage {
            passage,
            score,
            coverage,
            cosine,
        }
    }
}

/// Returns the text of a passage that is compared with a question by meaning.
fn comparable(passage: &Passage) -> String {
    let last = passage.heading.rsplit(" > ").next().unwrap_or_default();
    format!("{last}. {}", passage.text)
}

/// Returns how well a passage can stand alone, up to 1.
fn form(passage: &Passage) -> f64 {
    let first = passage
        .text
        .split(' ')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let first = first.trim_end_matches([',', '\'']);
    let dangles = DANGLING.contains(&first) && passage.code.is_none();
    let words = passage.text.split(' ').count();
    match (dangles, words) {
        (true, _) => 0.93,
        (false, 0..=4) if passage.code.is_none() => 0.9,
        (false, _) => 1.0,
    }
}

/// Keeps the best passage of each place.
fn distinct(ranked: Vec<RankedPassage>, limit: usize) -> Vec<RankedPassage> {
    let mut kept: Vec<RankedPassage> = Vec::new();
    for found in ranked {
        let is_known = kept.iter().any(|it| {
            it.passage.path == found.passage.path && it.passage.line == found.passage.line
                || !found.passage.text.is_empty() && it.passage.text == found.passage.text
        });
        if !is_known {
            kept.push(found);
        }
        if kept.len() == limit {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn passage(line: u32, heading: &str, text: &str) -> Passage {
        Passage {
            path: Arc::from("README.md"),
            source: PassageSource::Guide,
            line,
            heading: heading.to_owned(),
            text: text.to_owned(),
            code: None,
        }
    }

    #[test]
    fn the_passage_that_covers_the_question_is_first() {
        let index = PassageIndex::new(vec![
            passage(1, "Intro", "Tool reads files and writes files for people."),
            passage(
                2,
                "Timeouts",
                "Set `timeout` to the number of seconds for a request.",
            ),
            passage(3, "Requests", "A request has a method and a path."),
            passage(3, "Requests", "A request has a method and a path."),
        ]);
        assert_eq!(index.len(), 3);
        let mut none = |texts: &[&str]| vec![0.0; texts.len()];
        let found = index.rank("How do I set a timeout for requests?", &[], &mut none, 3);
        assert_eq!(found[0].passage.line, 2);
        assert!((found[0].coverage - 1.0).abs() < 1e-9);
        assert!(found.iter().all(|it| (0.0..=1.0).contains(&it.score)));
        // Without any shared word nothing is found.
        assert!(
            index
                .rank("Which color is the bird?", &[], &mut none, 3)
                .is_empty()
        );
        let ignored = ["timeout".to_owned(), "set".to_owned(), "request".to_owned()];
        assert!(
            index
                .rank("set request timeouts", &ignored, &mut none, 3)
                .is_empty()
        );
    }
}
