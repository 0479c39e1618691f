//! How often contradictions are found, and how often they are seen where there are none, on
//! statements of public linters.
//!
//! Random pairs of lessons are taken to be unrelated; the same lesson in the words of two tools
//! must never be flagged. Contradictions are planted by rule ([`opposites`]). Nothing was tuned on
//! the test split; one rule (the leading sentence) was made because of five false flags among the
//! random pairs.

use std::collections::BTreeMap;
use std::path::Path;

use ken_core::trust::contradiction::{
    ContradictionSide, candidate_pairs, find_contradiction, find_text_contradiction,
};

use super::data::{Lesson, Set};
use super::opposites::{Manner, opposites};
use xtask::repository::Finding;

/// Random pairs that are drawn.
const PAIRS: usize = 20_000;
/// Pairs a false flag is borne for.
const PAIRS_PER_FLAG: usize = 1_000;
/// Every how many-th lesson is turned into its opposite.
const PLANTED_EVERY: usize = 13;
/// Share of planted contradictions, in hundredths, that must be found.
const FOUND_PERCENT: usize = 90;

pub(super) fn report(dir: &Path) -> Result<Vec<Finding>, String> {
    let lessons = Set::load(dir)?.lessons;
    let mut findings = Vec::new();
    let flags = random_pairs(&lessons);
    println!("random pairs: {flags} flagged of {PAIRS}");
    if PAIRS / PAIRS_PER_FLAG < flags {
        findings.push(finding(format!(
            "{flags} of {PAIRS} unrelated pairs are flagged"
        )));
    }
    println!("planted, by manner: found of all");
    let (mut found, mut all) = (0, 0);
    for (manner, (seen, planted)) in planted(&lessons) {
        println!("  {manner:?}: {seen} of {planted}");
        // A denial around the whole, and names that change places, are not claimed to be found.
        if matches!(manner, Manner::Negated | Manner::Contrary | Manner::Number) {
            found += seen;
            all += planted;
        }
    }
    println!("  negated, contrary and number together: {found} of {all}");
    if found * 100 < all * FOUND_PERCENT {
        findings.push(finding(format!(
            "{found} of {all} planted contradictions are found"
        )));
    }
    let sides: Vec<ContradictionSide> = lessons
        .iter()
        .map(|it| ContradictionSide::from_text(&it.statement))
        .collect();
    let led = candidate_pairs(&sides, None);
    let seen = led
        .iter()
        .filter(|(a, b)| find_contradiction(&sides[*a], &sides[*b], None).is_some());
    println!(
        "whole set: {} lessons, {} pairs compared, {} flagged",
        sides.len(),
        led.len(),
        seen.count()
    );
    Ok(findings)
}

fn finding(message: String) -> Finding {
    Finding::new("crates/ken-core/src/trust/contradiction/mod.rs", 1, message)
}

/// Counts the flags among pairs that chance puts together.
fn random_pairs(lessons: &[Lesson]) -> usize {
    let mut state = 7_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % lessons.len()
    };
    let pairs = (0..PAIRS).map(|_| (draw(), draw()));
    let said = |at: usize| lessons[at].statement.as_str();
    let flagged =
        pairs.filter(|(a, b)| a != b && find_text_contradiction(said(*a), said(*b)).is_some());
    flagged.count()
}

/// Counts, by manner, how many planted contradictions are found.
fn planted(lessons: &[Lesson]) -> BTreeMap<Manner, (usize, usize)> {
    let mut counts: BTreeMap<Manner, (usize, usize)> = BTreeMap::new();
    for (place, lesson) in lessons.iter().enumerate().step_by(PLANTED_EVERY) {
        let claim = lesson.statement.split(". ").next().unwrap_or_default();
        for (manner, opposite) in opposites(claim, place) {
            let count = counts.entry(manner).or_default();
            count.0 += usize::from(find_text_contradiction(claim, &opposite).is_some());
            count.1 += 1;
        }
    }
    counts
}
