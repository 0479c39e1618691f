//! Similar pairs among many statements, without comparing all with all.
//!
//! Up to [`ALL_PAIRS_MAX`] statements every pair is compared. Above, the pairs come from four
//! sources, and the work grows with n log n:
//!
//! 1. statements with the same text, which are certain duplicates;
//! 2. statements that share rare words;
//! 3. statements of similar meaning, from random trees: each node splits its statements by the
//!    nearer one of two pivots, and the statements of a leaf are compared with each other;
//! 4. neighbors of neighbors, by the score of the first three.
//!
//! Sources 3 and 4 find pairs that resemble each other as a whole and share no rare word. The
//! recall is in `docs/explanation/duplicates.md`.

use std::ops::Range;

use super::band::SimilarityCalibration;
use super::signals::SimilaritySignals;
use super::sketch::StatementSketch;

/// Number of statements up to which every pair is compared.
pub const ALL_PAIRS_MAX: usize = 512;

/// Statements that may share a word before it is too common to pair them.
const WORD_STATEMENTS_MAX: usize = 256;

/// Occurrences of rare words looked up per statement, rarest words first.
const WORD_VISITS_MAX: usize = 2_000;

/// Neighbors per statement by rare words; more without a model, where they are the main source.
const WORD_NEIGHBORS: usize = 12;
const WORD_NEIGHBORS_ALONE: usize = 32;

/// Number of random trees, and the size of their leaves.
const TREES: u64 = 28;
const LEAF_MAX: usize = 48;

/// Candidates for the second pivot of a node, of which the farthest from the first is taken.
const PIVOT_TRIES: u64 = 4;

/// Neighbors per statement by meaning.
const TREE_NEIGHBORS: usize = 16;

/// Neighbors per statement whose neighbors are compared with each other.
const JOINED_NEIGHBORS: usize = 8;

/// Containment from which statements below the band are compared in full: their words may be nearly
/// equal although the model knows none of them.
const MATCH_CONTAINMENT: f64 = 0.5;

/// Positions of two statements, the lower one first.
type Pair = (u32, u32);

/// Cosine of two statements by position.
type StatementCosine<'a> = &'a dyn Fn(usize, usize) -> f64;

/// Statements to compare with each other.
#[derive(Clone, Copy)]
pub struct StatementSet<'a> {
    pub sketches: &'a [StatementSketch],
    /// Id of the embedding model, and the cosine of two statements by position.
    pub near: Option<(&'a str, StatementCosine<'a>)>,
}

/// Two statements that may make the same claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarPair {
    /// Positions of the statements, the lower one first.
    pub one: usize,
    pub other: usize,
    pub cosine: Option<f64>,
    /// Probability that one rewords the other, as of [`super::compare_statements`].
    pub score: f64,
    /// Set if the pair must be compared with [`super::compare_statements`]: the texts may be equal,
    /// or the words nearly equal with a score below the band.
    pub needs_comparison: bool,
}

impl std::fmt::Debug for StatementSet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementSet")
            .field("sketches", &self.sketches.len())
            .field("model", &self.near.map(|it| it.0))
            .finish()
    }
}

impl StatementSet<'_> {
    /// Returns the pairs that [`super::compare_statements`] does not keep separate, and a few more
    /// that need it to decide; see [`SimilarPair::needs_comparison`].
    pub fn similar_pairs(&self) -> Vec<SimilarPair> {
        let pairs = self.candidate_pairs().into_iter();
        pairs
            .filter_map(|(one, other)| self.compare(one, other))
            .collect()
    }

    /// Returns the pairs worth comparing, in order, each once.
    pub fn candidate_pairs(&self) -> Vec<(usize, usize)> {
        let count = self.sketches.len();
        if count <= ALL_PAIRS_MAX {
            let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |two| (one, two)));
            return pairs.collect();
        }
        let mut pairs = self.equal_texts();
        pairs.extend(self.by_rare_words());
        pairs.extend(self.by_meaning());
        sort_once(&mut pairs);
        pairs.extend(self.by_neighbors(&pairs));
        sort_once(&mut pairs);
        let pairs = pairs.into_iter();
        pairs
            .map(|(one, other)| (one as usize, other as usize))
            .collect()
    }

    fn compare(&self, one: usize, other: usize) -> Option<SimilarPair> {
        let (signals, calibration) = self.signals(one, other);
        let score = calibration.score(&signals);
        let (first, second) = (&self.sketches[one], &self.sketches[other]);
        let is_in_band = calibration.is_in_band(score, signals.cosine);
        let may_match = first.text() == second.text()
            || (!is_in_band && signals.containment >= MATCH_CONTAINMENT);
        (is_in_band || may_match).then_some(SimilarPair {
            one,
            other,
            cosine: signals.cosine,
            score,
            needs_comparison: may_match,
        })
    }

    fn signals(
        &self,
        one: usize,
        other: usize,
    ) -> (SimilaritySignals, &'static SimilarityCalibration) {
        let calibration = SimilarityCalibration::for_model(self.near.map(|it| it.0));
        // The scale of an uncalibrated model's cosines is unknown, so they are ignored.
        let near = self.near.filter(|_| calibration.model.is_some());
        let cosine = near.map(|(_, cosine)| cosine(one, other));
        let (one, other) = (&self.sketches[one], &self.sketches[other]);
        let signals = SimilaritySignals::from_sketches(one, other, cosine);
        (signals, calibration)
    }

    /// Pairs each statement with the first one of the same text.
    fn equal_texts(&self) -> Vec<Pair> {
        let texts = self.sketches.iter().map(StatementSketch::text);
        let mut texts: Vec<(u64, u32)> = texts.zip(0..).collect();
        texts.sort_unstable();
        let groups = texts.chunk_by(|one, other| one.0 == other.0);
        let pairs = groups.flat_map(|group| group[1..].iter().map(|it| (group[0].1, it.1)));
        pairs.collect()
    }

    /// Pairs each statement with those that share the rarest of its words.
    fn by_rare_words(&self) -> Vec<Pair> {
        let most = match self.near {
            Some(_) => WORD_NEIGHBORS,
            None => WORD_NEIGHBORS_ALONE,
        };
        let count = self.sketches.len();
        let mut places: Vec<(u64, u32)> = Vec::new();
        for (sketch, at) in self.sketches.iter().zip(0..) {
            places.extend(sketch.stems().iter().map(|stem| (*stem, at)));
        }
        places.sort_unstable();
        // The words of each statement as ranges of `places`, without those that are too common.
        let mut words: Vec<Vec<Range<usize>>> = vec![Vec::new(); count];
        let mut start = 0;
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            if (2..=WORD_STATEMENTS_MAX).contains(&group.len()) {
                for (_, at) in group {
                    words[*at as usize].push(start..start + group.len());
                }
            }
            start += group.len();
        }
        let mut weights = vec![0.0_f32; count];
        let mut pairs = Vec::new();
        for (own, at) in words.iter_mut().zip(0_u32..) {
            own.sort_by_key(Range::len);
            let mut visits = 0;
            let mut touched: Vec<u32> = Vec::new();
            for word in own {
                visits += word.len();
                if visits > WORD_VISITS_MAX {
                    break;
                }
                let weight = libm::log(1.0 + count as f64 / word.len() as f64) as f32;
                for (_, other) in places[word.clone()].iter().filter(|(_, it)| *it != at) {
                    let sum = &mut weights[*other as usize];
                    // Every weight is positive, so a sum of zero is one not touched yet.
                    if *sum == 0.0 {
                        touched.push(*other);
                    }
                    *sum += weight;
                }
            }
            let mut nearest = Nearest::new(most);
            for other in touched {
                nearest.offer(std::mem::take(&mut weights[other as usize]), other);
            }
            pairs.extend(nearest.pairs(at));
        }
        pairs
    }

    /// Pairs each statement with its nearest ones by cosine in the leaves of random trees.
    fn by_meaning(&self) -> Vec<Pair> {
        let Some((_, cosine)) = self.near else {
            return Vec::new();
        };
        let cosine = |one: u32, other: u32| cosine(one as usize, other as usize) as f32;
        let mut nearest = vec![Nearest::new(TREE_NEIGHBORS); self.sketches.len()];
        for tree in 0..TREES {
            let all: Vec<u32> = (0..).take(self.sketches.len()).collect();
            let mut nodes = vec![(all, mix(tree))];
            while let Some((members, seed)) = nodes.pop() {
                if members.len() > LEAF_MAX {
                    let (left, right) = split_node(&members, seed, &cosine);
                    nodes.push((left, mix(seed ^ 1)));
                    nodes.push((right, mix(seed ^ 2)));
                    continue;
                }
                for (place, one) in members.iter().enumerate() {
                    for other in &members[place + 1..] {
                        let near = cosine(*one, *other);
                        nearest[*one as usize].offer(near, *other);
                        nearest[*other as usize].offer(near, *one);
                    }
                }
            }
        }
        let each = nearest.iter().zip(0..);
        each.flat_map(|(nearest, at)| nearest.pairs(at)).collect()
    }

    /// Pairs the neighbors of each statement with each other: they are often neighbors, too.
    fn by_neighbors(&self, known: &[Pair]) -> Vec<Pair> {
        let mut nearest = vec![Nearest::new(JOINED_NEIGHBORS); self.sketches.len()];
        for (one, other) in known {
            let (signals, calibration) = self.signals(*one as usize, *other as usize);
            let score = calibration.score(&signals) as f32;
            nearest[*one as usize].offer(score, *other);
            nearest[*other as usize].offer(score, *one);
        }
        // Without this limit, a statement that many others resemble would make it quadratic.
        let mut joined: Vec<Vec<u32>> = nearest.iter().map(Nearest::members).collect();
        for (nearest, at) in nearest.iter().zip(0..) {
            for other in nearest.members() {
                let neighbors = &mut joined[other as usize];
                if neighbors.len() < 2 * JOINED_NEIGHBORS {
                    neighbors.push(at);
                }
            }
        }
        let mut pairs = Vec::new();
        for neighbors in &mut joined {
            neighbors.sort_unstable();
            neighbors.dedup();
            for (place, one) in neighbors.iter().enumerate() {
                pairs.extend(neighbors[place + 1..].iter().map(|other| (*one, *other)));
            }
        }
        pairs
    }
}

/// The nearest neighbors of a statement, nearest first.
#[derive(Clone)]
struct Nearest {
    most: usize,
    found: Vec<(f32, u32)>,
}

impl Nearest {
    fn new(most: usize) -> Self {
        let found = Vec::new();
        Self { most, found }
    }

    fn offer(&mut self, near: f32, other: u32) {
        let is_full = self.found.len() == self.most;
        let is_farther = self.found.last().is_some_and(|it| it.0 >= near);
        if (is_full && is_farther) || self.found.iter().any(|it| it.1 == other) {
            return;
        }
        let place = self.found.partition_point(|it| it.0 >= near);
        self.found.insert(place, (near, other));
        self.found.truncate(self.most);
    }

    fn members(&self) -> Vec<u32> {
        self.found.iter().map(|it| it.1).collect()
    }

    fn pairs(&self, at: u32) -> impl Iterator<Item = Pair> + '_ {
        let found = self.found.iter();
        found.map(move |(_, other)| (at.min(*other), at.max(*other)))
    }
}

/// Splits the statements of a node into two halves by the nearer one of two pivots.
fn split_node(
    members: &[u32],
    seed: u64,
    cosine: &dyn Fn(u32, u32) -> f32,
) -> (Vec<u32>, Vec<u32>) {
    let pick = |number: u64| members[(mix(number) % members.len() as u64) as usize];
    let first = pick(seed);
    let others = (1..=PIVOT_TRIES).map(|number| pick(seed.wrapping_add(number)));
    let farthest = others.min_by(|a, b| cosine(first, *a).total_cmp(&cosine(first, *b)));
    let second = farthest.unwrap_or(first);
    let side = |it: &u32| (cosine(*it, first) - cosine(*it, second), *it);
    let mut sides: Vec<(f32, u32)> = members.iter().map(side).collect();
    let half = sides.len() / 2;
    // Halves of equal size keep the tree balanced, also if all statements are equal.
    sides.select_nth_unstable_by(half, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let right = sides.split_off(half);
    let members = |of: Vec<(f32, u32)>| of.into_iter().map(|it| it.1).collect();
    (members(sides), members(right))
}

fn sort_once(pairs: &mut Vec<Pair>) {
    pairs.sort_unstable();
    pairs.dedup();
}

/// Returns a pseudo-random number for a seed (SplitMix64): trees must differ, but every run must
/// find the same pairs.
fn mix(seed: u64) -> u64 {
    let mut number = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::{MergeDecision, ModelCosine, TokenizedStatement, compare_statements};
    use super::*;

    const MODEL: &str = "ken-static-256/2";

    /// A cosine that follows from the words, in place of a model's.
    fn word_cosine(sketches: &[StatementSketch]) -> impl Fn(usize, usize) -> f64 {
        move |one, other| {
            let (one, other) = (&sketches[one], &sketches[other]);
            let common = one.count_common_stems(other) as f64;
            let all = (one.stems().len() * other.stems().len()) as f64;
            if all == 0.0 { 0.0 } else { common / all.sqrt() }
        }
    }

    fn sketches(texts: &[String]) -> Vec<StatementSketch> {
        let parsed = texts.iter().map(|it| StatementSketch::parse(it));
        parsed.collect()
    }

    /// Statements of few words, so that many pairs are similar, equal or permuted.
    fn any_texts() -> impl Strategy<Value = Vec<String>> {
        let word = prop::sample::select(vec![
            "the",
            "cache",
            "`load()`",
            "retry",
            "never",
            "Keep",
            "twice",
            "lock_file",
            "2",
            "a",
        ]);
        let text = prop::collection::vec(word, 0..7).prop_map(|words| words.join(" "));
        prop::collection::vec(text, 0..24)
    }

    proptest! {
        /// Few statements: the pairs are those of comparing all with all, with equal scores.
        #[test]
        fn few_statements_give_the_pairs_of_all_with_all(texts in any_texts(), is_known in any::<bool>()) {
            let sketches = sketches(&texts);
            let cosine = word_cosine(&sketches);
            let near: Option<(&str, StatementCosine<'_>)> = is_known.then_some((MODEL, &cosine));
            let found = StatementSet { sketches: &sketches, near }.similar_pairs();
            let claims: Vec<_> = texts.iter().map(|it| TokenizedStatement::parse(it)).collect();
            for one in 0..texts.len() {
                for other in one + 1..texts.len() {
                    let near = near.map(|(model, cosine)| ModelCosine { model, cosine: cosine(one, other) });
                    let compared = compare_statements(&claims[one], &claims[other], near);
                    let pair = found.iter().find(|it| (it.one, it.other) == (one, other));
                    match (compared.merging, pair) {
                        (MergeDecision::KeepSeparate, None) => {}
                        (MergeDecision::KeepSeparate, Some(pair)) => prop_assert!(pair.needs_comparison),
                        (MergeDecision::Undecided, Some(pair)) => prop_assert_eq!(pair.score, compared.score),
                        (MergeDecision::Merge, Some(pair)) => prop_assert!(pair.needs_comparison),
                        (_, None) => prop_assert!(false, "missed: {} | {}", texts[one], texts[other]),
                    }
                }
            }
        }
    }

    #[test]
    fn a_sketch_is_the_one_of_the_parsed_statement() {
        for text in [
            "",
            "Never call `run()` on std::fs::read, an `==` b.",
            "Die Katze isst 2.5 ä",
        ] {
            let parsed = TokenizedStatement::parse(text);
            assert_eq!(StatementSketch::parse(text), *parsed.sketch(), "{text}");
        }
    }

    /// Returns `count` statements about different things, every tenth followed by a rewording.
    fn many_statements(count: u64) -> (Vec<String>, BTreeSet<(usize, usize)>) {
        let word = |number: u64| format!("w{}", mix(number) % 3_000);
        let (mut texts, mut reworded) = (Vec::new(), BTreeSet::new());
        for number in 0..count {
            let words: Vec<String> = (0..14).map(|at| word(number * 64 + at)).collect();
            texts.push(words.join(" "));
            if number % 10 == 0 {
                let mut words: Vec<String> = words[..12].to_vec();
                words.rotate_left(3);
                reworded.insert((texts.len() - 1, texts.len()));
                texts.push(words.join(" "));
            }
        }
        (texts, reworded)
    }

    #[test]
    fn rewordings_among_many_are_found_without_comparing_all() {
        let (texts, reworded) = many_statements(2_000);
        let sketches = sketches(&texts);
        let cosine = word_cosine(&sketches);
        for near in [None, Some((MODEL, &cosine as &dyn Fn(usize, usize) -> f64))] {
            let set = StatementSet {
                sketches: &sketches,
                near,
            };
            let found: BTreeSet<_> = set.candidate_pairs().into_iter().collect();
            let missed = reworded.difference(&found).count();
            assert!(
                missed * 50 <= reworded.len(),
                "missed {missed} of {}",
                reworded.len()
            );
            assert!(found.len() < 64 * texts.len(), "{} pairs", found.len());
            assert!(found.iter().all(|(one, other)| one < other));
        }
    }

    #[test]
    fn equal_statements_are_all_found_however_many() {
        let texts = vec!["Keep the key of every payment.".to_owned(); 3 * ALL_PAIRS_MAX];
        let sketches = sketches(&texts);
        let cosine = word_cosine(&sketches);
        let near = Some((MODEL, &cosine as &dyn Fn(usize, usize) -> f64));
        let found = StatementSet {
            sketches: &sketches,
            near,
        }
        .similar_pairs();
        let reached: BTreeSet<usize> = found.iter().flat_map(|it| [it.one, it.other]).collect();
        assert_eq!(reached.len(), texts.len());
        assert!(found.iter().all(|it| it.needs_comparison));
        assert!(found.len() < 64 * texts.len(), "{} pairs", found.len());
    }
}
