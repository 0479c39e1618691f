//! Candidate pairs for contradiction checks: a shared file, choice, measure or uncommon words.

use std::collections::{BTreeMap, BTreeSet};

use super::ContradictionSide;
use super::rules::measure_index;

/// Sides that may contain a word before it is too common to pair them.
const COMMON_MIN: usize = 50;

/// Words two sides must share to be compared; fewer suffice if one of them is very short.
const SHARED_MIN: usize = 2;

/// Sides with the same file or measure that are compared with each other.
const PER_BUCKET_MAX: usize = 200;

/// Returns the index pairs to compare, each once, the lower index first.
pub fn candidate_pairs(sides: &[ContradictionSide]) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    by_path(sides, &mut found);
    by_measure(sides, &mut found);
    by_choice(sides, &mut found);
    by_words(sides, &mut found);
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
    // Words in more than 5 % of a large corpus carry no subject and would pair everything.
    let common = COMMON_MIN.max(sides.len() / 20);
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for bucket in places.values().filter(|it| it.len() <= common) {
        for pair in pairs(bucket) {
            *shared.entry(pair).or_default() += 1;
        }
    }
    let enough = shared.into_iter().filter(|((one, other), words)| {
        let shorter = subjects[*one].len().min(subjects[*other].len());
        *words >= SHARED_MIN.min(shorter.div_ceil(2))
    });
    found.extend(enough.map(|(pair, _)| pair));
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
