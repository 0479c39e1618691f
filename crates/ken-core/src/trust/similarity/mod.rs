//! Similarity of two statements: whether they make the same claim.
//!
//! Compared in layers: equal words, reordered or nearly equal words, similar meaning. No layer
//! relies on an embedding alone, because opposites have the highest cosines: contradicting
//! statements ([`SimilarityVerdict::Opposed`]) never match. Pure: the cosine is an input.
//!
//! The thresholds of the last layer were tuned on the development split of the evaluation set for
//! precision (`docs/explanation/duplicates.md`): few false matches, many misses.

mod band;
mod claim;
mod neighbors;
mod opposition;
mod signals;
mod sketch;

use std::collections::BTreeSet;

pub use band::{CALIBRATIONS, SimilarityCalibration, SimilarityWeights};
pub(crate) use claim::is_negation;
pub use claim::{TokenizedStatement, stem};
pub use neighbors::{ALL_PAIRS_MAX, SimilarPair, StatementSet};
pub(crate) use opposition::{has_antonym, is_swapped};
use opposition::{has_no_opposition, is_opposed};
pub use signals::SimilaritySignals;
pub use sketch::StatementSketch;

/// Minimum cosine of duplicates in other words, between stored entries and for a new claim alike.
///
/// The words must agree, too: by the cosine alone, a statement equals its own negation.
pub const BATCH_COSINE: f64 = 0.82;
/// Minimum cosine for an automatic merge of statements that are equal apart from articles.
///
/// The cosine alone is never enough: a statement with two names swapped has a higher one.
pub const MERGE_COSINE: f64 = 0.98;

/// Jaccard index of words from which one statement is a rewording of the other.
pub const REWORDED_SHARE: f64 = 0.8;
/// Shared words below which only equality counts, because short texts are similar by chance.
pub const WORDS_MIN: usize = 4;

/// Mean of cosine and containment from which two statements are alike.
const ALIKE_WITH_COSINE: f64 = 0.8;
/// Containment from which they are alike without an embedding model.
const ALIKE_BY_WORDS: f64 = 0.88;
/// Minimum Jaccard index of the stems of alike statements.
const ALIKE_OVERLAP: f64 = 0.3;
/// Share of each statement's code names that the other must mention.
const NAMES_SHARE: f64 = 0.5;
/// Containment from which two statements have the same subject and can contradict each other.
const SAME_SUBJECT_CONTAINMENT: f64 = 0.6;

/// The relation between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimilarityVerdict {
    /// Equal words, ignoring case, punctuation and spaces.
    Same,
    /// Equal words in another order, or nearly equal words.
    Reworded,
    /// Probably the same claim in different words.
    Alike,
    /// Contrary claims on the same subject.
    Opposed,
    /// No evidence that the claims are the same.
    Different,
}

/// The merge decision for two similar entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeDecision {
    /// May be merged automatically.
    Merge,
    /// A person or an LLM decides.
    Undecided,
    /// Not duplicates.
    KeepSeparate,
}

impl SimilarityVerdict {
    /// Returns whether both make the same claim.
    pub fn is_match(self) -> bool {
        match self {
            Self::Same | Self::Reworded | Self::Alike => true,
            Self::Opposed | Self::Different => false,
        }
    }
}

/// A cosine together with the embedding model that computed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelCosine<'a> {
    /// Id of the model: cosines of different models are not comparable.
    pub model: &'a str,
    pub cosine: f64,
}

/// The result of comparing two statements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatementComparison {
    pub likeness: SimilarityVerdict,
    pub merging: MergeDecision,
    /// Probability that one rewords the other, from 0 to 1; opposites score as high.
    pub score: f64,
    /// Set if the statements may contradict each other.
    pub may_be_opposites: bool,
}

/// Compares the statements of two live entries.
///
/// Only statements with equal words in the same order may be merged automatically. An LLM or a
/// person decides about every other pair that is close by score, cosine or words. Opposites are
/// among them and are marked as such.
pub fn compare_statements(
    a: &TokenizedStatement,
    b: &TokenizedStatement,
    near: Option<ModelCosine<'_>>,
) -> StatementComparison {
    let calibration = SimilarityCalibration::for_model(near.map(|it| it.model));
    // The scale of an uncalibrated model's cosines is unknown, so they are ignored.
    let calibrated = near.filter(|_| calibration.model.is_some());
    let cosine = calibrated.map(|it| it.cosine);
    let likeness = classify_similarity(a, b, cosine);
    let signals = SimilaritySignals::from_statements(a, b, cosine);
    let score = calibration.score(&signals);
    let is_near = |least: f64| cosine.is_some_and(|cosine| cosine >= least);
    let is_equal =
        a.has_equal_text(b) || (a.has_equal_text_without_articles(b) && is_near(calibration.merge));
    let is_in_band = calibration.is_in_band(score, cosine);
    let merging = if is_equal {
        MergeDecision::Merge
    } else if is_in_band || likeness.is_match() {
        MergeDecision::Undecided
    } else {
        MergeDecision::KeepSeparate
    };
    StatementComparison {
        likeness,
        merging,
        score,
        may_be_opposites: !is_equal
            && (likeness == SimilarityVerdict::Opposed
                || a.is_permuted(b)
                || a.differs_in_one_word(b)),
    }
}

/// Classifies the relation of two statements; `cosine` comes from an embedding model.
pub fn classify_similarity(
    a: &TokenizedStatement,
    b: &TokenizedStatement,
    cosine: Option<f64>,
) -> SimilarityVerdict {
    let is_permuted = a.is_permuted(b);
    // Tokens drop operators and signs, so `==` and `!=`, or 1 and -1, have to be compared
    // separately.
    if a.tokens == b.tokens && a.symbols == b.symbols && a.numbers == b.numbers && !is_permuted {
        return SimilarityVerdict::Same;
    }
    let near = StemOverlap::from_sketches(a.sketch(), b.sketch(), cosine);
    // Opposition comes before any match: opposites share nearly all words and a high cosine.
    if near.has_same_subject() && is_opposed(a, b) {
        return SimilarityVerdict::Opposed;
    }
    if !has_no_opposition(a, b) || !names_in_order(a, b) || !opens_alike(a, b) || is_permuted {
        return SimilarityVerdict::Different;
    }
    if a.sequence == b.sequence || is_reworded(&a.words, &b.words) {
        // Word sets ignore order and count; code names must agree in both.
        return if a.code_tokens(b) == b.code_tokens(a) {
            SimilarityVerdict::Reworded
        } else {
            SimilarityVerdict::Different
        };
    }
    if near.is_alike() && names_agree(a, b) {
        return SimilarityVerdict::Alike;
    }
    SimilarityVerdict::Different
}

impl TokenizedStatement {
    /// Returns whether `text` makes the same claim; `cosine` comes from an embedding model.
    pub fn matches_text(&self, text: &str, cosine: Option<f64>) -> bool {
        classify_similarity(self, &Self::parse(text), cosine).is_match()
    }
}

/// Returns whether two word sets are nearly equal, ignoring order and repetition.
fn is_reworded(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let (common, either) = (a.intersection(b).count(), a.union(b).count());
    common >= WORDS_MIN && common as f64 / either as f64 >= REWORDED_SHARE
}

/// The overlap of the stems of two statements.
struct StemOverlap {
    /// Number of shared stems.
    common: usize,
    /// Jaccard index.
    overlap: f64,
    /// Share of the shorter statement's stems.
    containment: f64,
    cosine: Option<f64>,
}

impl StemOverlap {
    fn from_sketches(a: &StatementSketch, b: &StatementSketch, cosine: Option<f64>) -> Self {
        let common = a.count_common_stems(b);
        let either = a.stems().len() + b.stems().len() - common;
        let shorter = a.stems().len().min(b.stems().len());
        let share = |of: usize| common as f64 / of.max(1) as f64;
        Self {
            common,
            overlap: share(either),
            containment: share(shorter),
            cosine,
        }
    }

    fn has_same_subject(&self) -> bool {
        let near = self.cosine.is_some_and(|cosine| cosine >= BATCH_COSINE);
        self.common > 0 && (near || self.containment >= SAME_SUBJECT_CONTAINMENT)
    }

    fn is_alike(&self) -> bool {
        let enough = match self.cosine {
            Some(cosine) => {
                cosine >= BATCH_COSINE
                    && f64::midpoint(cosine, self.containment) >= ALIKE_WITH_COSINE
            }
            None => self.containment >= ALIKE_BY_WORDS,
        };
        // Containment alone favors a short statement inside a long one, so the overlap has a floor.
        enough && self.common >= WORDS_MIN && self.overlap >= ALIKE_OVERLAP
    }
}

/// Returns whether each statement contains the first content word of the other.
///
/// A prefix often denies the statement after it, in more ways than a list can cover: "It is a
/// mistake to …".
fn opens_alike(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    let opens = |claim: &TokenizedStatement, other: &TokenizedStatement| {
        let first = claim.first_content_stem();
        first.is_none_or(|it| other.counts.contains_key(&it))
    };
    opens(a, b) && opens(b, a)
}

/// Returns whether the code names that both mention appear in the same order.
fn names_in_order(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    let names: BTreeSet<&String> = a.identifiers.iter().chain(&b.identifiers).collect();
    let places = names
        .into_iter()
        .filter_map(|name| Some((a.position_of(name)?, b.position_of(name)?)));
    let mut places: Vec<(usize, usize)> = places.collect();
    // Sorted by position in the first statement; the second must then ascend as well.
    places.sort_unstable();
    places.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

/// Returns whether both start with the same code name and each mentions enough of the other's.
fn names_agree(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    let mentioned = |names: &[String], by: &TokenizedStatement| {
        let known = names.iter().filter(|name| by.position_of(name).is_some());
        let first = names
            .first()
            .is_none_or(|name| by.position_of(name).is_some());
        first && known.count() as f64 >= NAMES_SHARE * names.len() as f64
    };
    let firsts = a.identifiers.first().zip(b.identifiers.first());
    firsts.is_none_or(|(a, b)| a == b)
        && mentioned(&a.identifiers, b)
        && mentioned(&b.identifiers, a)
}

#[cfg(test)]
mod tests;
