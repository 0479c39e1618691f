//! How often contradictions are found, and how often they are seen where there are none.
//!
//! Two sets are kept apart: `*_tuning.txt` was looked at while the rules were written;
//! `*_measured.txt` and the templates of `planted` were written beforehand and only count.
//! `cargo xtask eval contradictions` measures on statements of public linters.

mod boundaries;
mod planted;

use std::collections::BTreeSet;

use proptest::prelude::*;

use ken_core::contradiction::{
    Side, candidates, certain_contradiction, contradicting_texts, contradiction,
};

const NORMS_TUNING: &str = include_str!("norms_tuning.txt");
const NORMS_MEASURED: &str = include_str!("norms_measured.txt");
const PAIRS_TUNING: &str = include_str!("pairs_tuning.txt");
const PAIRS_MEASURED: &str = include_str!("pairs_measured.txt");

/// Pairs of unrelated norms per false flag that is borne.
const PAIRS_PER_FALSE_FLAG: usize = 1000;

fn pairs(text: &'static str) -> Vec<(&'static str, &'static str)> {
    text.lines().filter_map(|it| it.split_once(" | ")).collect()
}

/// Returns every pair of norms that is flagged, as text for the message of a failure.
fn flagged(norms: &str) -> (usize, Vec<String>) {
    let norms: Vec<&str> = norms.lines().collect();
    let sides: Vec<Side> = norms.iter().map(|it| Side::said(it)).collect();
    let (mut compared, mut found) = (0, Vec::new());
    for (place, one) in sides.iter().enumerate() {
        for (other, side) in sides.iter().enumerate().skip(place + 1) {
            compared += 1;
            if let Some(why) = contradiction(one, side, None) {
                found.push(format!("{} / {}: {why}", norms[place], norms[other]));
            }
        }
    }
    (compared, found)
}

fn missed(pairs: &[(String, String)]) -> Vec<String> {
    let missed = pairs
        .iter()
        .filter(|(a, b)| contradicting_texts(a, b).is_none());
    missed.map(|(a, b)| format!("{a} / {b}")).collect()
}

fn owned(pairs: Vec<(&str, &str)>) -> Vec<(String, String)> {
    let owned = pairs.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned()));
    owned.collect()
}

#[test]
fn unrelated_norms_are_hardly_ever_flagged() {
    for norms in [NORMS_TUNING, NORMS_MEASURED] {
        let (compared, found) = flagged(norms);
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
        let hand = owned(pairs(hand));
        let missed = missed(&hand);
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
    let planted = planted::from_norms(NORMS_MEASURED);
    assert!(100 <= planted.len(), "only {} were planted", planted.len());
    let missed = missed(&planted);
    assert!(
        missed.len() * 10 <= planted.len(),
        "{} of {}: {missed:#?}",
        missed.len(),
        planted.len()
    );
}

/// What is believed of sentences nobody wrote to be compared, which is what audits and gates go by.
#[test]
fn most_of_what_is_found_is_believed() {
    let doubted = |pairs: &[(String, String)]| -> Vec<(String, String)> {
        let in_doubt = |(a, b): &&(String, String)| {
            certain_contradiction(&Side::said(a), &Side::said(b), None).is_none()
        };
        pairs.iter().filter(in_doubt).cloned().collect()
    };
    for (set, borne) in [
        (planted::from_norms(NORMS_MEASURED), 10),
        (owned(pairs(PAIRS_MEASURED)), 50),
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
    for (a, b) in pairs(PAIRS_TUNING).into_iter().chain(pairs(PAIRS_MEASURED)) {
        let (one, other) = (contradicting_texts(a, b), contradicting_texts(b, a));
        assert_eq!(one.map(|it| it.rule), other.map(|it| it.rule), "{a} / {b}");
    }
}

/// The index of candidates leaves nothing out that comparing all with all would find.
#[test]
fn candidates_lead_to_every_contradiction() {
    let hand = pairs(PAIRS_TUNING).into_iter().chain(pairs(PAIRS_MEASURED));
    let texts: Vec<&str> = hand
        .flat_map(|(a, b)| [a, b])
        .chain(NORMS_MEASURED.lines())
        .collect();
    let sides: Vec<Side> = texts.iter().map(|it| Side::said(it)).collect();
    let led: BTreeSet<(usize, usize)> = candidates(&sides);
    let all = sides.len() * (sides.len() - 1) / 2;
    assert!(led.len() * 10 < all, "{} of {all} are no index", led.len());
    for one in 0..sides.len() {
        for other in one + 1..sides.len() {
            let why = contradiction(&sides[one], &sides[other], None);
            let found = why.is_none() || led.contains(&(one, other));
            assert!(found, "{} / {}: {why:?}", texts[one], texts[other]);
        }
    }
}

/// Words that rules look for, and what may stand between them.
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
    /// Any text is compared without a panic, and neither side is the first.
    #[test]
    fn any_two_texts_contradict_each_other_or_neither(a in any_text(), b in any_text()) {
        let (one, other) = (contradicting_texts(&a, &b), contradicting_texts(&b, &a));
        prop_assert_eq!(one.is_some(), other.is_some(), "{:?} {:?}", one, other);
    }

    /// Nothing contradicts itself.
    #[test]
    fn no_sentence_contradicts_itself(words in prop::collection::vec("[a-z]{2,9}", 1..9)) {
        let text = words.join(" ");
        prop_assert_eq!(contradicting_texts(&text, &text), None);
    }
}
