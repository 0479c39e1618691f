//! Which pairs are worth comparing: those that share a file, a choice, a measure or uncommon words.

use std::collections::{BTreeMap, BTreeSet};

use super::Side;
use super::rules::measure;

/// Sides a word may stand in before it leads nowhere.
const COMMON_MIN: usize = 50;

/// Words two sides must share to be compared, unless one of them has hardly more.
const SHARED_MIN: usize = 2;

/// Sides of one file, or with one measure, that are compared with each other.
const PER_BUCKET_MAX: usize = 200;

/// Returns which sides to compare, each pair once, the lower place first.
pub fn candidates(sides: &[Side]) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    by_path(sides, &mut found);
    by_measure(sides, &mut found);
    by_choice(sides, &mut found);
    by_words(sides, &mut found);
    found
}

fn by_path(sides: &[Side], found: &mut BTreeSet<(usize, usize)>) {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for path in &side.paths {
            places.entry(path).or_default().push(place);
        }
    }
    for with in places.values() {
        let with = &with[..with.len().min(PER_BUCKET_MAX)];
        found.extend(pairs(with));
    }
}

fn by_measure(sides: &[Side], found: &mut BTreeSet<(usize, usize)>) {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        let measures: BTreeSet<usize> = side.sentences.iter().filter_map(measure).collect();
        for measure in measures {
            places.entry(measure).or_default().push(place);
        }
    }
    for with in places.values() {
        let with = &with[..with.len().min(PER_BUCKET_MAX)];
        found.extend(pairs(with));
    }
}

/// Sides that agree on a choice lead nowhere, so only those that differ are paired.
fn by_choice(sides: &[Side], found: &mut BTreeSet<(usize, usize)>) {
    type Made = (BTreeSet<usize>, BTreeSet<usize>);
    let mut groups: BTreeMap<usize, BTreeMap<Made, Vec<usize>>> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for choice in side.sentences.iter().flat_map(|it| &it.choices) {
            let made = (choice.chosen.clone(), choice.rejected.clone());
            let alike = groups.entry(choice.group).or_default();
            alike.entry(made).or_default().push(place);
        }
    }
    for made in groups.values() {
        let made: Vec<(&Made, &Vec<usize>)> = made.iter().collect();
        for (at, (ours, one)) in made.iter().enumerate() {
            for (theirs, other) in &made[at + 1..] {
                let apart = ours.0 != theirs.0 || !ours.0.is_disjoint(&theirs.1);
                if !apart {
                    continue;
                }
                let crossed = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
                found.extend(
                    crossed
                        .filter(|(a, b)| a != b)
                        .map(|(a, b)| (*a.min(b), *a.max(b))),
                );
            }
        }
    }
}

fn by_words(sides: &[Side], found: &mut BTreeSet<(usize, usize)>) {
    let subjects: Vec<BTreeSet<&String>> = sides.iter().map(words).collect();
    let mut places: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (place, subject) in subjects.iter().enumerate() {
        for word in subject {
            places.entry(word).or_default().push(place);
        }
    }
    let common = COMMON_MIN.max(sides.len() / 20);
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for with in places.values().filter(|it| it.len() <= common) {
        for pair in pairs(with) {
            *shared.entry(pair).or_default() += 1;
        }
    }
    let enough = shared.into_iter().filter(|((one, other), words)| {
        let shorter = subjects[*one].len().min(subjects[*other].len());
        SHARED_MIN.min(shorter.div_ceil(2)) <= *words
    });
    found.extend(enough.map(|(pair, _)| pair));
}

/// Returns every word a side could be opposed by, also what it leaves aside.
fn words(side: &Side) -> BTreeSet<&String> {
    let sentences = side.sentences.iter();
    sentences
        .flat_map(|it| it.subject.iter().chain(&it.rejected))
        .collect()
}

fn pairs(with: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let each = with.iter().enumerate();
    each.flat_map(|(at, one)| with[at + 1..].iter().map(|other| (*one, *other)))
}
