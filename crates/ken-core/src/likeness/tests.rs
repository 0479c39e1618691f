//! Rewordings are recognised, opposites are not, and the thresholds are where they are said to be.

use proptest::prelude::*;

use super::*;

fn compared(a: &str, b: &str, cosine: Option<f64>) -> Likeness {
    likeness(&Claim::of(a), &Claim::of(b), cosine)
}

/// The model the thresholds are calibrated for.
const MODEL: &str = "ken-static-256/2";

fn merging(a: &str, b: &str, cosine: Option<f64>) -> Compared {
    let near = cosine.map(|cosine| Near {
        model: MODEL,
        cosine,
    });
    compare(&Claim::of(a), &Claim::of(b), near)
}

const RETRY: &str = "Retry the payment call twice after a network timeout";

#[test]
fn dup_02_case_punctuation_and_spaces_make_no_difference() {
    for again in ["Charging twice is safe", "charging  twice, IS safe!"] {
        let found = compared("Charging twice is safe", again, None);
        assert_eq!(found, Likeness::Same, "{again}");
        let whole = merging("Charging twice is safe", again, None);
        assert_eq!(whole.merging, Merging::Merge);
    }
}

#[test]
fn another_order_is_a_rewording() {
    let again = "After a network timeout, retry the payment call twice";
    assert_eq!(compared(RETRY, again, None), Likeness::Reworded);
    let filled = "Retry payment call twice after the network timeout";
    assert_eq!(compared(RETRY, filled, None), Likeness::Reworded);
}

#[test]
fn other_words_are_alike_with_a_model_and_without() {
    let a = "Close the `Pool` in the shutdown hook, or the process hangs on exit";
    let b = "Closing the `Pool` in the shutdown hook keeps the process from hanging on exit";
    assert_eq!(compared(a, b, Some(0.93)), Likeness::Alike);
    assert_eq!(compared(a, b, None), Likeness::Alike);
    assert_eq!(compared(a, b, Some(0.81)), Likeness::Different);
}

#[test]
fn opposites_are_never_the_same_however_near_a_model_finds_them() {
    for (a, b) in [
        (
            RETRY,
            "Never retry the payment call twice after a network timeout",
        ),
        (
            RETRY,
            "Don't retry the payment call twice after a network timeout",
        ),
        (
            RETRY,
            "Retry the payment call twice before a network timeout",
        ),
        (
            RETRY,
            "Retry the payment call 3 times after a network timeout",
        ),
        (
            "Use `unwrap` in tests of the parser",
            "Avoid `unwrap` in tests of the parser",
        ),
        (
            "Enable the query cache in staging",
            "Disable the query cache in staging",
        ),
        (
            "The handler must be re-entrant",
            "The handler must not be re-entrant",
        ),
        ("Always flush the log first", "Never flush the log first"),
        ("Open the file with a lock", "Open the file without a lock"),
        (
            "The parser is safe to share",
            "The parser is unsafe to share",
        ),
        (
            "Prefer tabs over spaces in Makefiles",
            "Prefer spaces over tabs in Makefiles",
        ),
        ("Call connect before listen", "Call listen before connect"),
        (
            "Copy rows from staging into production",
            "Copy rows from production into staging",
        ),
        (
            "Pages are numbered from 0 here",
            "Pages are numbered from 1 here",
        ),
        ("It returns -1 at the end", "It returns 1 at the end"),
    ] {
        for cosine in [None, Some(0.99), Some(1.0)] {
            let found = compared(a, b, cosine);
            assert_eq!(found, Likeness::Opposed, "{a} / {b}");
            let whole = merging(a, b, cosine);
            assert_ne!(whole.merging, Merging::Merge, "{a} / {b}");
            assert!(whole.may_be_opposites, "{a} / {b}");
        }
    }
}

#[test]
fn names_that_change_places_make_another_claim() {
    let a = "Call `read_all` and hand what it gives to `write_all` in every worker";
    let b = "Call `write_all` and hand what it gives to `read_all` in every worker";
    assert!(!compared(a, b, Some(0.99)).is_match());
    assert!(!compared("Compare with `==`", "Compare with `!=`", Some(1.0)).is_match());
}

#[test]
fn what_is_put_in_front_makes_another_claim() {
    let denied = format!("It is a mistake to think this: {RETRY}");
    assert!(!compared(RETRY, &denied, Some(0.99)).is_match());
}

#[test]
fn another_name_makes_another_claim() {
    let a = "Enforce valid `v-text` directives in every template of the project";
    let b = "Enforce valid `v-html` directives in each template of this project";
    assert!(!compared(a, b, Some(0.97)).is_match());
}

#[test]
fn short_and_empty_statements_match_by_equality_only() {
    assert_eq!(compared("", "", None), Likeness::Same);
    assert_eq!(compared("Tabs", "tabs!", None), Likeness::Same);
    for (a, b) in [
        ("", "Tabs"),
        ("Tabs", "Tables"),
        ("Use it now", "Use it then"),
    ] {
        assert_eq!(compared(a, b, Some(1.0)), Likeness::Different, "{a} / {b}");
    }
}

#[test]
fn dup_05_dup_07_dup_10_a_judge_decides_between_harvest_and_merge() {
    // Equal but for articles, and nothing in common.
    let again = "Retry a payment call twice after the network timeout";
    let other = "Log who asked for `nightly_export`";
    for (cosine, equal, unlike) in [
        (0.819_999, Merging::Judge, Merging::Apart),
        (HARVEST_COSINE, Merging::Judge, Merging::Judge),
        (INLINE_COSINE, Merging::Judge, Merging::Judge),
        (0.979_999, Merging::Judge, Merging::Judge),
        (MERGE_COSINE, Merging::Merge, Merging::Judge),
        (1.0, Merging::Merge, Merging::Judge),
    ] {
        let became = |it: &str| merging(RETRY, it, Some(cosine)).merging;
        assert_eq!(became(again), equal, "{cosine}");
        assert_eq!(became(other), unlike, "{cosine}");
    }
    assert_eq!(merging(RETRY, again, None).merging, Merging::Judge);
    assert_eq!(merging(RETRY, other, None).merging, Merging::Apart);
}

#[test]
fn dup_07_other_words_or_another_order_are_never_merged_unasked() {
    for (a, b) in [
        (
            RETRY,
            "After a network timeout, retry the payment call twice",
        ),
        (
            RETRY,
            "Retry the payment calls twice after a network timeout",
        ),
        ("Call `a` or `b` first", "Call `b` or `a` first"),
        ("Use `String`, not `string`", "Use `string`, not `String`"),
        ("Write `//` over `/*`", "Write `/*` over `//`"),
        ("Return -1 or 1", "Return 1 or -1"),
        ("Copy from a to b", "Copy to a from b"),
        ("Lock a and b", "Lock a or b"),
    ] {
        for cosine in [None, Some(1.0)] {
            let found = merging(a, b, cosine).merging;
            assert_ne!(found, Merging::Merge, "{a} / {b}");
        }
    }
}

#[test]
fn a_model_nobody_calibrated_says_nothing() {
    let near = Near {
        model: "another",
        cosine: 1.0,
    };
    let (a, b) = (Claim::of(RETRY), Claim::of("Log who asked for the export"));
    assert_eq!(compare(&a, &b, Some(near)), compare(&a, &b, None));
    assert_eq!(Calibration::of(Some("another")).model, None);
    assert_eq!(Calibration::of(Some(MODEL)).model, Some(MODEL));
}

#[test]
fn dup_04_below_the_harvest_threshold_nothing_is_alike() {
    let a = "Close the `Pool` in the shutdown hook, or the process hangs on exit";
    let b = "Closing the `Pool` in the shutdown hook keeps the process from hanging on exit";
    assert_eq!(compared(a, b, Some(0.819_999)), Likeness::Different);
    assert_eq!(compared(a, b, Some(HARVEST_COSINE)), Likeness::Alike);
}

#[test]
fn dup_04_dup_05_dup_07_the_thresholds_are_what_was_asked_for() {
    let all = [HARVEST_COSINE, INLINE_COSINE, MERGE_COSINE];
    assert_eq!(all, [0.82, 0.92, 0.98]);
}

fn statements() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "use", "never", "not", "`a_b`", "`c`", "before", "after", "3", "4", "retry", "retries",
        "call", "cache", "over", "tabs", "unsafe", "safe", "==", "the", "to", "ß", "’", "``",
    ]);
    prop_oneof![
        3 => prop::collection::vec(words, 0..12).prop_map(|words| words.join(" ")),
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn likeness_is_symmetric(a in statements(), b in statements(), cosine: Option<f64>) {
        prop_assert_eq!(compared(&a, &b, cosine), compared(&b, &a, cosine));
    }

    #[test]
    fn every_claim_is_the_same_as_itself(a in statements(), cosine: Option<f64>) {
        prop_assert_eq!(compared(&a, &a, cosine), Likeness::Same);
    }

    #[test]
    fn comparing_is_symmetric_and_scores_are_shares(
        a in statements(), b in statements(), cosine in prop::option::of(-1.0..=1.0)
    ) {
        let found = merging(&a, &b, cosine);
        prop_assert_eq!(found, merging(&b, &a, cosine));
        prop_assert!((0.0..=1.0).contains(&found.score));
    }

    /// Whatever a model says: without the same words in the same order nothing is merged unasked.
    #[test]
    fn only_equal_words_in_the_same_order_are_merged_unasked(
        a in statements(), b in statements(), cosine in prop::option::of(0.9..=1.0)
    ) {
        let bare = |text: &str| {
            let signs = |c: char| !c.is_alphanumeric() && !"=_".contains(c);
            let words = text.split(signs).map(str::to_lowercase);
            let carries = |word: &String| !["", "a", "an", "the"].contains(&word.as_str());
            words.filter(carries).collect::<Vec<_>>()
        };
        if merging(&a, &b, cosine).merging == Merging::Merge {
            prop_assert_eq!(bare(&a), bare(&b));
        }
    }

    #[test]
    fn a_negation_in_front_is_never_a_match(a in statements(), cosine in 0.0..=1.0) {
        let denied = format!("Never {a}");
        prop_assert!(!compared(&a, &denied, Some(cosine)).is_match());
    }
}
