//! Tests for combining verdicts into one validity.

use super::*;

fn anchor(verdict: AnchorVerdict) -> AnchorCheck {
    AnchorCheck {
        at: "src/pay.rs#charge".parse().unwrap(),
        verdict,
        now: None,
        line: None,
        last_line: None,
        why: String::new(),
        diff: None,
    }
}

fn condition(truth: TruthValue) -> ConditionCheck {
    ConditionCheck {
        condition: "fact:monorepo".to_owned(),
        truth,
        why: String::new(),
        at: None,
    }
}

#[test]
fn the_worst_ground_decides_and_nothing_to_check_decides_nothing() {
    use Validity::{Broken, Changed, Holds, Unverifiable};
    let cases: [(&[AnchorVerdict], &[TruthValue], Validity); 9] = [
        (&[], &[], Unverifiable),
        (&[AnchorVerdict::Intact], &[], Holds),
        (
            &[AnchorVerdict::Moved, AnchorVerdict::Intact],
            &[TruthValue::Holds],
            Holds,
        ),
        (
            &[AnchorVerdict::Intact, AnchorVerdict::Unverifiable],
            &[],
            Unverifiable,
        ),
        (
            &[AnchorVerdict::Unverifiable, AnchorVerdict::Changed],
            &[],
            Changed,
        ),
        (&[AnchorVerdict::Changed], &[TruthValue::Broken], Broken),
        (
            &[AnchorVerdict::Gone, AnchorVerdict::Intact],
            &[TruthValue::Holds],
            Broken,
        ),
        (
            &[],
            &[TruthValue::Holds, TruthValue::Unverifiable],
            Unverifiable,
        ),
        (&[AnchorVerdict::Intact], &[TruthValue::Broken], Broken),
    ];
    for (verdicts, truths, wanted) in cases {
        let anchors: Vec<_> = verdicts.iter().map(|it| anchor(*it)).collect();
        let conditions: Vec<_> = truths.iter().map(|it| condition(*it)).collect();
        assert_eq!(
            combine_validity(&anchors, &conditions, false),
            wanted,
            "{verdicts:?} {truths:?}"
        );
    }
}

#[test]
fn code_that_is_gone_changes_a_prescriptive_entry_and_breaks_any_other() {
    let gone = [anchor(AnchorVerdict::Gone)];
    let failed = [condition(TruthValue::Broken)];
    for (conditions, is_prescriptive, wanted) in [
        (&[][..], true, Validity::Changed),
        (&[][..], false, Validity::Broken),
        (&failed[..], true, Validity::Broken),
    ] {
        let validity = combine_validity(&gone, conditions, is_prescriptive);
        assert_eq!(validity, wanted, "{conditions:?} {is_prescriptive}");
    }
}
