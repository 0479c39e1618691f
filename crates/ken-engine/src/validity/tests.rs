//! How verdicts add up.

use super::*;

fn anchor(verdict: Verdict) -> AnchorCheck {
    AnchorCheck {
        at: "src/pay.rs#charge".parse().unwrap(),
        verdict,
        now: None,
        line: None,
        why: String::new(),
        diff: None,
    }
}

fn condition(truth: Truth) -> ConditionCheck {
    ConditionCheck {
        condition: "fact:monorepo".to_owned(),
        truth,
        why: String::new(),
        at: None,
    }
}

#[test]
fn dec_14_dec_17_dec_18_the_worst_ground_decides_and_nothing_to_check_decides_nothing() {
    use Validity::{Broken, Changed, Holds, Unverifiable};
    let cases: [(&[Verdict], &[Truth], Validity); 9] = [
        (&[], &[], Unverifiable),
        (&[Verdict::Intact], &[], Holds),
        (&[Verdict::Moved, Verdict::Intact], &[Truth::Holds], Holds),
        (&[Verdict::Intact, Verdict::Unverifiable], &[], Unverifiable),
        (&[Verdict::Unverifiable, Verdict::Changed], &[], Changed),
        (&[Verdict::Changed], &[Truth::Broken], Broken),
        (&[Verdict::Gone, Verdict::Intact], &[Truth::Holds], Broken),
        (&[], &[Truth::Holds, Truth::Unverifiable], Unverifiable),
        (&[Verdict::Intact], &[Truth::Broken], Broken),
    ];
    for (verdicts, truths, wanted) in cases {
        let anchors: Vec<_> = verdicts.iter().map(|it| anchor(*it)).collect();
        let conditions: Vec<_> = truths.iter().map(|it| condition(*it)).collect();
        assert_eq!(
            validity(&anchors, &conditions),
            wanted,
            "{verdicts:?} {truths:?}"
        );
    }
}
