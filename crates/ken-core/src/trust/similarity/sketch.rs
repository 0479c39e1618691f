//! Compact statement for comparing many pairs: hashes of its stems, words and code names.
//!
//! A sketch takes about a tenth of the memory of a
//! [`TokenizedStatement`](super::TokenizedStatement) and is compared without allocating. Words are
//! 64-bit hashes: among a million words, two share one with a probability below one in ten million,
//! and then a score is slightly off.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The parts of a statement that [`SimilaritySignals`](super::SimilaritySignals) reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementSketch {
    /// Stems of the content words: sorted, each once.
    stems: Box<[u64]>,
    /// All words in order.
    tokens: Box<[u64]>,
    names: Box<[NameSketch]>,
    /// The text without punctuation and articles, which is equal for certain duplicates.
    text: u64,
}

/// A code name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NameSketch {
    name: u64,
    /// Words of the name; none for an operator such as `==`.
    tokens: Box<[u64]>,
}

impl StatementSketch {
    /// Creates the sketch of a statement with these stems, words, code names (each with its words)
    /// and this text without punctuation and articles.
    pub(super) fn new<'a>(
        stems: &BTreeSet<String>,
        tokens: &[String],
        names: impl Iterator<Item = (&'a String, Vec<String>)>,
        text: impl Iterator<Item = &'a String>,
    ) -> Self {
        let mut stems = hash_all(stems.iter());
        stems.sort_unstable();
        let mut whole = DefaultHasher::new();
        text.for_each(|word| word.hash(&mut whole));
        let names = names.map(|(name, tokens)| NameSketch {
            name: hash(name),
            tokens: hash_all(tokens.iter()),
        });
        Self {
            stems,
            tokens: hash_all(tokens.iter()),
            names: names.collect(),
            text: whole.finish(),
        }
    }

    /// Returns the hashes of the stems, sorted.
    pub fn stems(&self) -> &[u64] {
        &self.stems
    }

    /// Returns the hash of the text without punctuation and articles.
    pub fn text(&self) -> u64 {
        self.text
    }

    /// Returns the number of stems that both have.
    pub(super) fn count_common_stems(&self, other: &Self) -> usize {
        let (ours, theirs) = (&self.stems, &other.stems);
        let (mut at, mut at_other, mut common) = (0, 0, 0);
        // Both are sorted, so one pass finds every common stem. It has no branch, because the order
        // of two hashes cannot be predicted.
        while at < ours.len() && at_other < theirs.len() {
            let (one, other) = (ours[at], theirs[at_other]);
            common += usize::from(one == other);
            at += usize::from(one <= other);
            at_other += usize::from(other <= one);
        }
        common
    }

    /// Returns the share of all code names that the other statement also mentions; 1 without names.
    pub(super) fn shared_name_ratio(&self, other: &Self) -> f64 {
        let all = self.names.len() + other.names.len();
        // Without code names nothing disagrees.
        if all == 0 {
            return 1.0;
        }
        let known = |names: &[NameSketch], by: &Self| {
            let known = names.iter().filter(|name| by.mentions(name));
            known.count()
        };
        (known(&self.names, other) + known(&other.names, self)) as f64 / all as f64
    }

    /// Returns whether the statement mentions a name, as code or in plain words.
    fn mentions(&self, name: &NameSketch) -> bool {
        let Some(first) = name.tokens.first() else {
            return self.names.iter().any(|it| it.name == name.name);
        };
        let mut places = self.tokens.windows(name.tokens.len());
        // The first word alone rules out nearly every place.
        places.any(|words| words.first() == Some(first) && *words == *name.tokens)
    }
}

fn hash(word: &str) -> u64 {
    // The keys of this hasher are fixed, so sketches of two processes are equal.
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

fn hash_all<'a>(words: impl Iterator<Item = &'a String>) -> Box<[u64]> {
    words.map(|word| hash(word)).collect()
}
