//! Rewordings are recognised, opposites are not, and the thresholds are where they are said to be.

use proptest::prelude::*;

use super::*;

fn compared(a: &str, b: &str, cosine: Option<f64>) -> Likeness {
    likeness(&Claim::of(a), &Claim::of(b), cosine)
}

const RETRY: &str = "Retry the payment call twice after a network timeout";

#[test]
fn dup_02_case_punctuation_and_spaces_make_no_difference() {
    for again in ["Charging twice is safe", "charging  twice, IS safe!"] {
        let found = compared("Charging twice is safe", again, None);
        assert_eq!(found, Likeness::Same, "{again}");
        assert_eq!(found.merging(None), Merging::Merge);
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
            assert_eq!(found.merging(cosine), Merging::Apart);
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
    for (cosine, matched, unmatched) in [
        (0.819_999, Merging::Judge, Merging::Apart),
        (HARVEST_COSINE, Merging::Judge, Merging::Judge),
        (INLINE_COSINE, Merging::Judge, Merging::Judge),
        (0.979_999, Merging::Judge, Merging::Judge),
        (MERGE_COSINE, Merging::Merge, Merging::Judge),
        (1.0, Merging::Merge, Merging::Judge),
    ] {
        let became = |it: Likeness| it.merging(Some(cosine));
        assert_eq!(became(Likeness::Alike), matched, "{cosine}");
        assert_eq!(became(Likeness::Reworded), matched, "{cosine}");
        assert_eq!(became(Likeness::Different), unmatched, "{cosine}");
        assert_eq!(became(Likeness::Opposed), Merging::Apart, "{cosine}");
    }
    assert_eq!(Likeness::Reworded.merging(None), Merging::Judge);
    assert_eq!(Likeness::Different.merging(None), Merging::Apart);
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
    fn a_negation_in_front_is_never_a_match(a in statements(), cosine in 0.0..=1.0) {
        let denied = format!("Never {a}");
        prop_assert!(!compared(&a, &denied, Some(cosine)).is_match());
    }
}
