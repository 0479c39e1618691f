//! Recall and false-positive rate of contradiction detection.
//!
//! There are two data sets. The rules were tuned on `*_tuning.txt`; `*_measured.txt` and the
//! templates of `planted` were written beforehand and only measure. `cargo ken-bench eval
//! contradictions` measures on statements of public linters.

mod boundaries;
mod planted;

use std::collections::BTreeSet;

use proptest::prelude::*;

use ken_core::trust::contradiction::{
    ContradictionSide, candidate_pairs, find_certain_contradiction, find_contradiction,
    find_text_contradiction,
};

const NORMS_TUNING: &str = include_str!("norms_tuning.txt");
const NORMS_MEASURED: &str = include_str!("norms_measured.txt");
const PAIRS_TUNING: &str = include_str!("pairs_tuning.txt");
const PAIRS_MEASURED: &str = include_str!("pairs_measured.txt");

/// Pairs of unrelated norms per tolerated false positive.
const PAIRS_PER_FALSE_FLAG: usize = 1000;

fn parse_pairs(text: &'static str) -> Vec<(&'static str, &'static str)> {
    text.lines().filter_map(|it| it.split_once(" | ")).collect()
}

/// Returns the number of pairs compared and every flagged pair, as text for the failure message.
fn flagged_pairs(norms: &str) -> (usize, Vec<String>) {
    let norms: Vec<&str> = norms.lines().collect();
    let sides: Vec<ContradictionSide> = norms
        .iter()
        .map(|it| ContradictionSide::from_text(it))
        .collect();
    let (mut compared, mut found) = (0, Vec::new());
    for (place, one) in sides.iter().enumerate() {
        for (other, side) in sides.iter().enumerate().skip(place + 1) {
            compared += 1;
            if let Some(why) = find_contradiction(one, side, None) {
                found.push(format!("{} / {}: {why}", norms[place], norms[other]));
            }
        }
    }
    (compared, found)
}

fn missed_pairs(pairs: &[(String, String)]) -> Vec<String> {
    let missed = pairs
        .iter()
        .filter(|(a, b)| find_text_contradiction(a, b).is_none());
    missed.map(|(a, b)| format!("{a} / {b}")).collect()
}

fn to_owned_pairs(pairs: Vec<(&str, &str)>) -> Vec<(String, String)> {
    let owned = pairs.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned()));
    owned.collect()
}

#[test]
fn unrelated_norms_are_hardly_ever_flagged() {
    for norms in [NORMS_TUNING, NORMS_MEASURED] {
        let (compared, found) = flagged_pairs(norms);
        let borne = compared / PAIRS_PER_FALSE_FLAG;
        assert!(
            found.len() <= borne,
            "{} of {compared}: {found:#?}",
            found.len()
        );
    }
}

#[test]
fn contradictions_written_by_hand_are_found() {
    for hand in [PAIRS_TUNING, PAIRS_MEASURED] {
        let hand = to_owned_pairs(parse_pairs(hand));
        let missed = missed_pairs(&hand);
        assert!(
            missed.len() * 10 <= hand.len(),
            "{} of {}: {missed:#?}",
            missed.len(),
            hand.len()
        );
    }
}

#[test]
fn planted_contradictions_are_found() {
    let planted = planted::plant_contradictions(NORMS_MEASURED);
    assert!(planted.len() >= 100, "only {} were planted", planted.len());
    let missed = missed_pairs(&planted);
    assert!(
        missed.len() * 10 <= planted.len(),
        "{} of {}: {missed:#?}",
        missed.len(),
        planted.len()
    );
}

/// Precision on sentences not written for comparison; audits and gates rely on it.
#[test]
fn most_of_what_is_found_is_believed() {
    let doubted = |pairs: &[(String, String)]| -> Vec<(String, String)> {
        let in_doubt = |(a, b): &&(String, String)| {
            find_certain_contradiction(
                &ContradictionSide::from_text(a),
                &ContradictionSide::from_text(b),
                None,
            )
            .is_none()
        };
        pairs.iter().filter(in_doubt).cloned().collect()
    };
    for (set, borne) in [
        (planted::plant_contradictions(NORMS_MEASURED), 10),
        (to_owned_pairs(parse_pairs(PAIRS_MEASURED)), 50),
    ] {
        let doubted = doubted(&set);
        let counts = (doubted.len(), set.len());
        assert!(
            doubted.len() * 100 <= set.len() * borne,
            "{counts:?}: {doubted:#?}"
        );
    }
}

#[test]
fn what_is_found_does_not_depend_on_the_order_of_the_sides() {
    for (a, b) in parse_pairs(PAIRS_TUNING)
        .into_iter()
        .chain(parse_pairs(PAIRS_MEASURED))
    {
        let (one, other) = (find_text_contradiction(a, b), find_text_contradiction(b, a));
        assert_eq!(one.map(|it| it.rule), other.map(|it| it.rule), "{a} / {b}");
    }
}

/// The candidate index omits no contradiction that comparing all pairs would find.
#[test]
fn candidates_lead_to_every_contradiction() {
    let hand = parse_pairs(PAIRS_TUNING)
        .into_iter()
        .chain(parse_pairs(PAIRS_MEASURED));
    let texts: Vec<&str> = hand
        .flat_map(|(a, b)| [a, b])
        .chain(NORMS_MEASURED.lines())
        .collect();
    let sides: Vec<ContradictionSide> = texts
        .iter()
        .map(|it| ContradictionSide::from_text(it))
        .collect();
    let led: BTreeSet<(usize, usize)> = candidate_pairs(&sides, None);
    let all = sides.len() * (sides.len() - 1) / 2;
    assert!(led.len() * 10 < all, "{} of {all} are no index", led.len());
    for one in 0..sides.len() {
        for other in one + 1..sides.len() {
            let why = find_contradiction(&sides[one], &sides[other], None);
            let found = why.is_none() || led.contains(&(one, other));
            assert!(found, "{} / {}: {why:?}", texts[one], texts[other]);
        }
    }
}

/// Generates text from the words that rules look for and words between them.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "Use",
        "never",
        "always",
        "tabs",
        "spaces",
        "npm",
        "pnpm",
        "over",
        "instead",
        "of",
        "not",
        "to",
        "80",
        "2",
        "characters",
        "lines",
        "prefer",
        "except",
        "in",
        "Go",
        "because",
        ",",
        ".",
        "without",
        "é",
        "`x`",
        "merge",
    ]);
    let spoken = prop::collection::vec(words, 0..14).prop_map(|it| it.join(" "));
    prop_oneof![spoken, any::<String>()]
}

proptest! {
    /// Any two texts are compared without a panic, and the result is symmetric.
    #[test]
    fn any_two_texts_contradict_each_other_or_neither(a in any_text(), b in any_text()) {
        let (one, other) = (find_text_contradiction(&a, &b), find_text_contradiction(&b, &a));
        prop_assert_eq!(one.is_some(), other.is_some(), "{:?} {:?}", one, other);
    }

    /// No sentence contradicts itself.
    #[test]
    fn no_sentence_contradicts_itself(words in prop::collection::vec("[a-z]{2,9}", 1..9)) {
        let text = words.join(" ");
        prop_assert_eq!(find_text_contradiction(&text, &text), None);
    }
}
