//! Candidate pairs for contradiction checks: a shared file, choice, measure or uncommon words.
//!
//! Above [`FEW_SIDES_MAX`] sides every source has a limit per side, so that the work does not grow
//! with the square of the sides. Pairs of similar statements are candidates then, too: opposites
//! share nearly all words.

use std::collections::{BTreeMap, BTreeSet};

use super::ContradictionSide;
use super::rules::measure_index;
use crate::trust::similarity::{StatementSet, StatementSketch};

/// Number of sides up to which a word pairs all sides that contain it, unless it is too common.
const FEW_SIDES_MAX: usize = 1_000;

/// Sides that may contain a word before it is too common to pair them.
const COMMON_MIN: usize = 50;

/// Words two sides must share to be compared; fewer suffice if one of them is very short.
const SHARED_MIN: usize = 2;

/// Sides with the same file, measure or choice that are compared with each other.
const PER_BUCKET_MAX: usize = 200;

/// Sides compared with each side because of shared words, if there are many sides.
const PER_SIDE_MAX: usize = 64;

/// Id of an embedding model, and the cosine of two sides by position.
pub type SideCosine<'a> = (&'a str, &'a dyn Fn(usize, usize) -> f64);

/// Returns the index pairs to compare, each once, the lower index first.
pub fn candidate_pairs(
    sides: &[ContradictionSide],
    near: Option<SideCosine<'_>>,
) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    by_path(sides, &mut found);
    by_measure(sides, &mut found);
    by_choice(sides, &mut found);
    by_words(sides, &mut found);
    if sides.len() > FEW_SIDES_MAX {
        let sketches = sides.iter().map(|it| it.claim.sketch().clone());
        let sketches: Vec<StatementSketch> = sketches.collect();
        let sketches = &sketches;
        found.extend(StatementSet { sketches, near }.candidate_pairs());
    }
    found
}

fn by_path(sides: &[ContradictionSide], found: &mut BTreeSet<(usize, usize)>) {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for path in &side.paths {
            places.entry(path).or_default().push(place);
        }
    }
    for bucket in places.values() {
        // Pairs grow with the square of the bucket; one file with thousands of entries must not
        // stall.
        let bucket = &bucket[..bucket.len().min(PER_BUCKET_MAX)];
        found.extend(pairs(bucket));
    }
}

fn by_measure(sides: &[ContradictionSide], found: &mut BTreeSet<(usize, usize)>) {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        let measures: BTreeSet<usize> = side.sentences.iter().filter_map(measure_index).collect();
        for measure in measures {
            places.entry(measure).or_default().push(place);
        }
    }
    for bucket in places.values() {
        let bucket = &bucket[..bucket.len().min(PER_BUCKET_MAX)];
        found.extend(pairs(bucket));
    }
}

/// Pairs sides that decide a choice differently; sides that agree cannot contradict each other.
fn by_choice(sides: &[ContradictionSide], found: &mut BTreeSet<(usize, usize)>) {
    type ChoiceDecision = (BTreeSet<usize>, BTreeSet<usize>);
    let mut groups: BTreeMap<usize, BTreeMap<ChoiceDecision, Vec<usize>>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for choice in side.sentences.iter().flat_map(|it| &it.choices) {
            let decision = (choice.chosen.clone(), choice.rejected.clone());
            let decisions = groups.entry(choice.group).or_default();
            decisions.entry(decision).or_default().push(place);
        }
    }
    for decisions in groups.values() {
        let decisions: Vec<(&ChoiceDecision, &Vec<usize>)> = decisions.iter().collect();
        for (at, (ours, one)) in decisions.iter().enumerate() {
            for (theirs, other) in &decisions[at + 1..] {
                let differ = ours.0 != theirs.0 || !ours.0.is_disjoint(&theirs.1);
                if !differ {
                    continue;
                }
                let limited = |bucket: &'_ Vec<usize>| bucket.len().min(PER_BUCKET_MAX);
                let (one, other) = (&one[..limited(one)], &other[..limited(other)]);
                let crossed = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
                // One entry may decide the same choice twice, in different sentences.
                found.extend(
                    crossed
                        .filter(|(a, b)| a != b)
                        .map(|(a, b)| (*a.min(b), *a.max(b))),
                );
            }
        }
    }
}

fn by_words(sides: &[ContradictionSide], found: &mut BTreeSet<(usize, usize)>) {
    let subjects: Vec<BTreeSet<&String>> = sides.iter().map(words).collect();
    let mut places: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (place, subject) in subjects.iter().enumerate() {
        for word in subject {
            places.entry(word).or_default().push(place);
        }
    }
    let mut shared = vec![0_usize; sides.len()];
    for (one, subject) in subjects.iter().enumerate() {
        let mut touched = Vec::new();
        for bucket in subject.iter().map(|word| &places[word]) {
            // A common word carries no subject and would pair everything.
            if bucket.len() > COMMON_MIN {
                continue;
            }
            // Buckets are in order, so every pair is counted at its lower side.
            for other in &bucket[bucket.partition_point(|it| *it <= one)..] {
                if shared[*other] == 0 {
                    touched.push(*other);
                }
                shared[*other] += 1;
            }
        }
        let enough = touched.iter().map(|other| (shared[*other], *other));
        let mut enough: Vec<(usize, usize)> = enough
            .filter(|(words, other)| {
                let shorter = subject.len().min(subjects[*other].len());
                *words >= SHARED_MIN.min(shorter.div_ceil(2))
            })
            .collect();
        if sides.len() > FEW_SIDES_MAX {
            enough.sort_by_key(|(words, other)| (std::cmp::Reverse(*words), *other));
            enough.truncate(PER_SIDE_MAX);
        }
        found.extend(enough.into_iter().map(|(_, other)| (one, other)));
        // Only what was counted: clearing all would take the square of the sides.
        touched.into_iter().for_each(|other| shared[other] = 0);
    }
}

/// Returns the subject words of a side, including those it rejects.
fn words(side: &ContradictionSide) -> BTreeSet<&String> {
    let sentences = side.sentences.iter();
    sentences
        .flat_map(|it| it.subject.iter().chain(&it.rejected))
        .collect()
}

fn pairs(bucket: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let each = bucket.iter().enumerate();
    each.flat_map(|(at, one)| bucket[at + 1..].iter().map(|other| (*one, *other)))
}
