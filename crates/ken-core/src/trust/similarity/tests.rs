//! Similarity tests: rewordings match, opposites never do, and thresholds apply exactly.

use proptest::prelude::*;

use super::*;

fn compared(a: &str, b: &str, cosine: Option<f64>) -> SimilarityVerdict {
    classify_similarity(
        &TokenizedStatement::parse(a),
        &TokenizedStatement::parse(b),
        cosine,
    )
}

/// The embedding model that the thresholds are calibrated for.
const MODEL: &str = "ken-static-256/2";

fn merging(a: &str, b: &str, cosine: Option<f64>) -> StatementComparison {
    let near = cosine.map(|cosine| ModelCosine {
        model: MODEL,
        cosine,
    });
    compare_statements(
        &TokenizedStatement::parse(a),
        &TokenizedStatement::parse(b),
        near,
    )
}

const RETRY: &str = "Retry the payment call twice after a network timeout";

#[test]
fn case_punctuation_and_spaces_make_no_difference() {
    for again in ["Charging twice is safe", "charging  twice, IS safe!"] {
        let found = compared("Charging twice is safe", again, None);
        assert_eq!(found, SimilarityVerdict::Same, "{again}");
        let whole = merging("Charging twice is safe", again, None);
        assert_eq!(whole.merging, MergeDecision::Merge);
    }
}

#[test]
fn another_order_is_a_rewording() {
    let again = "After a network timeout, retry the payment call twice";
    assert_eq!(compared(RETRY, again, None), SimilarityVerdict::Reworded);
    let filled = "Retry payment call twice after the network timeout";
    assert_eq!(compared(RETRY, filled, None), SimilarityVerdict::Reworded);
}

#[test]
fn other_words_are_alike_with_a_model_and_without() {
    let a = "Close the `Pool` in the shutdown hook, or the process hangs on exit";
    let b = "Closing the `Pool` in the shutdown hook keeps the process from hanging on exit";
    assert_eq!(compared(a, b, Some(0.93)), SimilarityVerdict::Alike);
    assert_eq!(compared(a, b, None), SimilarityVerdict::Alike);
    assert_eq!(compared(a, b, Some(0.81)), SimilarityVerdict::Different);
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
            assert_eq!(found, SimilarityVerdict::Opposed, "{a} / {b}");
            let whole = merging(a, b, cosine);
            assert_ne!(whole.merging, MergeDecision::Merge, "{a} / {b}");
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
    assert_eq!(compared("", "", None), SimilarityVerdict::Same);
    assert_eq!(compared("Tabs", "tabs!", None), SimilarityVerdict::Same);
    for (a, b) in [
        ("", "Tabs"),
        ("Tabs", "Tables"),
        ("Use it now", "Use it then"),
    ] {
        assert_eq!(
            compared(a, b, Some(1.0)),
            SimilarityVerdict::Different,
            "{a} / {b}"
        );
    }
}

#[test]
fn a_judge_decides_between_harvest_and_merge() {
    // The first differs from RETRY only in articles, the second has nothing in common with it.
    let again = "Retry a payment call twice after the network timeout";
    let other = "Log who asked for `nightly_export`";
    for (cosine, equal, unlike) in [
        (
            0.819_999,
            MergeDecision::Undecided,
            MergeDecision::KeepSeparate,
        ),
        (0.82, MergeDecision::Undecided, MergeDecision::Undecided),
        (0.92, MergeDecision::Undecided, MergeDecision::Undecided),
        (
            0.979_999,
            MergeDecision::Undecided,
            MergeDecision::Undecided,
        ),
        (0.98, MergeDecision::Merge, MergeDecision::Undecided),
        (1.0, MergeDecision::Merge, MergeDecision::Undecided),
    ] {
        let became = |it: &str| merging(RETRY, it, Some(cosine)).merging;
        assert_eq!(became(again), equal, "{cosine}");
        assert_eq!(became(other), unlike, "{cosine}");
    }
    assert_eq!(
        merging(RETRY, again, None).merging,
        MergeDecision::Undecided
    );
    assert_eq!(
        merging(RETRY, other, None).merging,
        MergeDecision::KeepSeparate
    );
}

#[test]
fn other_words_or_another_order_are_never_merged_unasked() {
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
            assert_ne!(found, MergeDecision::Merge, "{a} / {b}");
        }
    }
}

#[test]
fn a_model_nobody_calibrated_says_nothing() {
    let near = ModelCosine {
        model: "another",
        cosine: 1.0,
    };
    let (a, b) = (
        TokenizedStatement::parse(RETRY),
        TokenizedStatement::parse("Log who asked for the export"),
    );
    assert_eq!(
        compare_statements(&a, &b, Some(near)),
        compare_statements(&a, &b, None)
    );
    assert_eq!(
        SimilarityCalibration::for_model(Some("another")).model,
        None
    );
    assert_eq!(
        SimilarityCalibration::for_model(Some(MODEL)).model,
        Some(MODEL)
    );
}

#[test]
fn below_the_harvest_threshold_nothing_is_alike() {
    let a = "Close the `Pool` in the shutdown hook, or the process hangs on exit";
    let b = "Closing the `Pool` in the shutdown hook keeps the process from hanging on exit";
    assert_eq!(
        compared(a, b, Some(0.819_999)),
        SimilarityVerdict::Different
    );
    assert_eq!(compared(a, b, Some(BATCH_COSINE)), SimilarityVerdict::Alike);
}

#[test]
fn the_thresholds_are_what_was_asked_for() {
    assert_eq!([BATCH_COSINE, MERGE_COSINE], [0.82, 0.98]);
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
        prop_assert_eq!(compared(&a, &a, cosine), SimilarityVerdict::Same);
    }

    #[test]
    fn comparing_is_symmetric_and_scores_are_shares(
        a in statements(), b in statements(), cosine in prop::option::of(-1.0..=1.0)
    ) {
        let found = merging(&a, &b, cosine);
        prop_assert_eq!(found, merging(&b, &a, cosine));
        prop_assert!((0.0..=1.0).contains(&found.score));
    }

    /// No cosine leads to an automatic merge without equal words in the same order.
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
        if merging(&a, &b, cosine).merging == MergeDecision::Merge {
            prop_assert_eq!(bare(&a), bare(&b));
        }
    }

    #[test]
    fn a_negation_in_front_is_never_a_match(a in statements(), cosine in 0.0..=1.0) {
        let denied = format!("Never {a}");
        prop_assert!(!compared(&a, &denied, Some(cosine)).is_match());
    }
}
