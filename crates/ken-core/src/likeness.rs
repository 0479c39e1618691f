//! Whether two statements make the same claim.
//!
//! Asked in layers: the same words, the same words in another order or nearly, alike in meaning. No
//! layer rests on an embedding alone, because opposites score highest there: what contradicts
//! ([`Likeness::Opposed`]) is never taken for the same. Pure: the cosine comes in as a value.
//!
//! Thresholds of the last layer were chosen on the development split of the evaluation set so that
//! hardly any false match is left (`docs/duplicates.md`); it misses much.

mod band;
mod claim;
mod opposition;
mod signals;

use std::collections::BTreeSet;

pub use band::{CALIBRATIONS, Calibration, Weights};
pub use claim::Claim;
pub(crate) use claim::{is_negation, stem};
use opposition::{agrees, is_opposed};
pub(crate) use opposition::{has_contrary, is_swapped};
pub use signals::Signals;

/// From here on two entries of a harvest may say the same; below it nothing is looked at.
pub const HARVEST_COSINE: f64 = 0.82;
/// From here on a proposal may say what an entry says already.
pub const INLINE_COSINE: f64 = 0.92;
/// From here on two entries with the same words in the same order may be merged without asking.
///
/// Nearness alone is not enough even here: a statement with two names swapped is nearer than this.
pub const MERGE_COSINE: f64 = 0.98;

/// Share of words two statements must have in common to be one reworded.
pub const REWORDED_SHARE: f64 = 0.8;
/// Below this many words in common only equality counts: short texts are alike too easily.
pub const WORDS_MIN: usize = 4;

/// Mean of cosine and containment from which two claims are alike.
const ALIKE_WITH_COSINE: f64 = 0.8;
/// Containment from which they are, where there is no model.
const ALIKE_BY_WORDS: f64 = 0.88;
/// Share of stems in common that alike claims have at least.
const ALIKE_OVERLAP: f64 = 0.3;
/// Share of either's names in code that the other must mention.
const NAMES_SHARE: f64 = 0.5;
/// Containment from which two claims are about one thing, so that they can contradict each other.
const ABOUT_ONE_THING: f64 = 0.6;

/// How two claims stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The same words; case, punctuation and spaces aside.
    Same,
    /// The same words in another order, or nearly the same.
    Reworded,
    /// Other words for the same, as far as can be told.
    Alike,
    /// About one thing, and contrary.
    Opposed,
    /// Nothing says they are the same.
    Different,
}

/// What may become of two entries that look like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// They may become one without asking.
    Merge,
    /// A person or a judge decides.
    Judge,
    /// They stay two.
    Apart,
}

impl Likeness {
    /// Returns whether both make the same claim.
    pub fn is_match(self) -> bool {
        match self {
            Self::Same | Self::Reworded | Self::Alike => true,
            Self::Opposed | Self::Different => false,
        }
    }
}

/// How near a model finds two claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near<'a> {
    /// The id of the model: cosines of two models have nothing to say to each other.
    pub model: &'a str,
    pub cosine: f64,
}

/// Everything that was made of two claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    pub likeness: Likeness,
    pub merging: Merging,
    /// How likely they are one in other words, from 0 to 1; opposites score as high.
    pub score: f64,
    /// Whether something speaks for their being contrary.
    pub may_be_opposites: bool,
}

/// Compares two claims of entries that both stand.
///
/// Only what is equal word for word and in the same order may be merged unasked. Everything else that is near, by the
/// calibrated score, by a cosine or by its words, is for a judge or a person; opposites too, who then see that they may be.
pub fn compare(a: &Claim, b: &Claim, near: Option<Near<'_>>) -> Compared {
    let calibration = Calibration::of(near.map(|it| it.model));
    // A cosine nobody calibrated says nothing.
    let cosine = near.filter(|_| calibration.model.is_some());
    let cosine = cosine.map(|it| it.cosine);
    let likeness = likeness(a, b, cosine);
    let signals = Signals::of(a, b, cosine);
    let score = calibration.score(&signals);
    let is_near = |least: f64| cosine.is_some_and(|cosine| least <= cosine);
    let is_equal = a.equals(b) || (a.equals_but_for_articles(b) && is_near(calibration.merge));
    let is_in_band = calibration.from <= score || is_near(calibration.harvest);
    let merging = match is_equal {
        true => Merging::Merge,
        false if is_in_band || likeness.is_match() => Merging::Judge,
        false => Merging::Apart,
    };
    Compared {
        likeness,
        merging,
        score,
        may_be_opposites: !is_equal && (likeness == Likeness::Opposed || a.is_permuted(b)),
    }
}

/// Returns how two claims stand to each other; `cosine` is how near a model finds them.
pub fn likeness(a: &Claim, b: &Claim, cosine: Option<f64>) -> Likeness {
    let is_permuted = a.is_permuted(b);
    if a.tokens == b.tokens && a.symbols == b.symbols && a.numbers == b.numbers && !is_permuted {
        return Likeness::Same;
    }
    let near = Nearness::of(a, b, cosine);
    if near.is_about_one_thing() && is_opposed(a, b) {
        return Likeness::Opposed;
    }
    if !agrees(a, b) || !names_in_order(a, b) || !opens_alike(a, b) || is_permuted {
        return Likeness::Different;
    }
    if a.sequence == b.sequence || is_reworded(&a.words, &b.words) {
        return match a.names(b) == b.names(a) {
            true => Likeness::Reworded,
            false => Likeness::Different,
        };
    }
    if near.is_alike() && names_agree(a, b) {
        return Likeness::Alike;
    }
    Likeness::Different
}

impl Claim {
    /// Returns whether `text` makes the same claim; `cosine` is how near a model finds the two.
    pub fn is_said_by(&self, text: &str, cosine: Option<f64>) -> bool {
        likeness(self, &Self::of(text), cosine).is_match()
    }
}

/// Words in common over words in either. Order and repetition are no matter.
fn is_reworded(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let (common, either) = (a.intersection(b).count(), a.union(b).count());
    WORDS_MIN <= common && REWORDED_SHARE <= common as f64 / either as f64
}

/// How much two claims share.
struct Nearness {
    /// Stems in common.
    common: usize,
    /// Of the stems in either.
    overlap: f64,
    /// Of the stems of the shorter.
    containment: f64,
    cosine: Option<f64>,
}

impl Nearness {
    fn of(a: &Claim, b: &Claim, cosine: Option<f64>) -> Self {
        let common = a.stems.intersection(&b.stems).count();
        let either = a.stems.len() + b.stems.len() - common;
        let shorter = a.stems.len().min(b.stems.len());
        let share = |of: usize| common as f64 / of.max(1) as f64;
        Self {
            common,
            overlap: share(either),
            containment: share(shorter),
            cosine,
        }
    }

    fn is_about_one_thing(&self) -> bool {
        let near = self.cosine.is_some_and(|cosine| HARVEST_COSINE <= cosine);
        0 < self.common && (near || ABOUT_ONE_THING <= self.containment)
    }

    fn is_alike(&self) -> bool {
        let enough = match self.cosine {
            Some(cosine) => {
                HARVEST_COSINE <= cosine
                    && ALIKE_WITH_COSINE <= f64::midpoint(cosine, self.containment)
            }
            None => ALIKE_BY_WORDS <= self.containment,
        };
        enough && WORDS_MIN <= self.common && ALIKE_OVERLAP <= self.overlap
    }
}

/// Returns whether either's first word stands in the other. What is put in front of a statement
/// often denies it, in more ways than can be listed: "It is a mistake to …".
fn opens_alike(a: &Claim, b: &Claim) -> bool {
    let opens = |claim: &Claim, other: &Claim| {
        let first = claim.opening();
        first.is_none_or(|it| other.counts.contains_key(&it))
    };
    opens(a, b) && opens(b, a)
}

/// Returns whether the names in code that both mention come in the same order.
fn names_in_order(a: &Claim, b: &Claim) -> bool {
    let names: BTreeSet<&String> = a.identifiers.iter().chain(&b.identifiers).collect();
    let places = names
        .into_iter()
        .filter_map(|name| Some((a.mention(name)?, b.mention(name)?)));
    let mut places: Vec<(usize, usize)> = places.collect();
    places.sort_unstable();
    places.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

/// Returns whether both begin with the same name, and each mentions what the other names.
fn names_agree(a: &Claim, b: &Claim) -> bool {
    let mentioned = |names: &[String], by: &Claim| {
        let known = names.iter().filter(|name| by.mention(name).is_some());
        let first = names.first().is_none_or(|name| by.mention(name).is_some());
        first && NAMES_SHARE * names.len() as f64 <= known.count() as f64
    };
    let firsts = a.identifiers.first().zip(b.identifiers.first());
    firsts.is_none_or(|(a, b)| a == b)
        && mentioned(&a.identifiers, b)
        && mentioned(&b.identifiers, a)
}

#[cfg(test)]
mod tests;
