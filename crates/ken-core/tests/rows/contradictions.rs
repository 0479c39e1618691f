//! What is decided about contradictions: flagged once, settled for good, and who is preferred on arrival.

use std::collections::BTreeSet;

use ken_core::contradiction::dominance::{
    CRITERIA_MIN, EVIDENCE_PLENTY, Grounds, Preferred, THRESHOLD, THRESHOLD_WIDENED, preferred,
    threshold, weigh,
};
use ken_core::decide::{Refusal, flag_contradiction, resolve_contradiction};
use ken_core::event::{Body, Keep, Origin, PairKind};
use ken_core::facts::Beta;
use ken_core::kind::Kind;
use ken_core::time::Date;
use ken_core::workspace::Workspace;

use crate::stage::Stage;

fn day(text: &str) -> Date {
    text.parse().expect("a day")
}

fn grounds(observed: f64, origin: Origin, last: &str) -> Grounds {
    Grounds {
        posterior: Beta {
            alpha: 5.0 + observed,
            beta: 5.0,
        },
        origin,
        last: day(last),
    }
}

const TODAY: &str = "2026-06-30";

#[test]
fn con_08_two_of_three_criteria_decide_and_one_does_not() {
    assert_eq!(CRITERIA_MIN, 2);
    let poor = grounds(10.0, Origin::Web, "2026-01-01");
    for (better, wanted) in [
        // Evidence and provenance, evidence and recency, provenance and recency, all three.
        (grounds(40.0, Origin::Human, "2026-01-01"), Preferred::Local),
        (grounds(40.0, Origin::Web, "2026-06-01"), Preferred::Local),
        (grounds(10.0, Origin::Human, "2026-06-01"), Preferred::Local),
        (grounds(40.0, Origin::Human, "2026-06-01"), Preferred::Local),
        (poor, Preferred::Neither),
    ] {
        assert_eq!(weigh(&better, &poor, day(TODAY)), wanted, "{better:?}");
        let turned = match wanted {
            Preferred::Local => Preferred::Arrival,
            Preferred::Arrival | Preferred::Neither => Preferred::Neither,
        };
        assert_eq!(weigh(&poor, &better, day(TODAY)), turned, "{better:?}");
    }
}

#[test]
fn con_09_the_threshold_widens_while_little_was_observed() {
    assert!((threshold(EVIDENCE_PLENTY) - THRESHOLD).abs() < f64::EPSILON);
    assert!((threshold(0.0) - THRESHOLD - THRESHOLD_WIDENED).abs() < f64::EPSILON);
    assert!(threshold(10.0) < threshold(5.0));
    // One criterion ahead each, so that the composite decides: 0.15 apart is enough only with evidence.
    let side = |alpha: f64, beta: f64| Grounds {
        posterior: Beta { alpha, beta },
        origin: Origin::Peer,
        last: day(TODAY),
    };
    assert_eq!(
        weigh(&side(36.0, 4.0), &side(22.0, 18.0), day(TODAY)),
        Preferred::Local
    );
    assert_eq!(
        weigh(&side(9.0, 1.0), &side(5.5, 4.5), day(TODAY)),
        Preferred::Neither
    );
}

#[test]
fn con_10_what_is_close_stays_competing() {
    let one = grounds(10.0, Origin::Peer, "2026-06-01");
    let other = grounds(11.0, Origin::Peer, "2026-06-03");
    assert_eq!(weigh(&one, &other, day(TODAY)), Preferred::Neither);
}

#[test]
fn con_03_two_entries_of_this_workspace_are_never_weighed() {
    let mut stage = Stage::new();
    let one = {
        let id = stage.add(Kind::Learning, "Use tabs");
        stage.entry(id)
    };
    let other = {
        let id = stage.add(Kind::Learning, "Use spaces");
        stage.entry(id)
    };
    let (much, little) = (
        grounds(90.0, Origin::Human, TODAY),
        grounds(0.0, Origin::Human, "2020-01-01"),
    );
    assert_eq!(preferred((&one, much), (&other, little), day(TODAY)), None);
    let mut foreign = other;
    if let Some(created) = &mut foreign.created {
        created.origin = Origin::Peer;
    }
    let found = preferred((&one, much), (&foreign, little), day(TODAY));
    assert_eq!(found, Some(Preferred::Local));
}

#[test]
fn con_07_a_pair_is_flagged_once_and_never_again_when_settled() {
    let mut stage = Stage::new();
    let one = {
        let id = stage.add(Kind::Learning, "Use tabs");
        stage.entry(id)
    };
    let other = {
        let id = stage.add(Kind::Learning, "Use spaces");
        stage.entry(id)
    };
    let why = || "alternative: indentation".parse().expect("a note");
    let mut workspace = Workspace::default();
    assert!(flag_contradiction(&one, &other, why(), &workspace).is_ok());
    let (first, second) = (one.id.min(other.id), one.id.max(other.id));
    let flag = one.revision[0];
    workspace.contradictions.insert(flag, (second, first));
    let again = flag_contradiction(&other, &one, why(), &workspace);
    assert_eq!(again, Err(Refusal::NothingChanges));
    let drafts = resolve_contradiction(&one, &other, None, &workspace).expect("it is open");
    let Body::ContradictionResolved(data) = &drafts[0].body else {
        panic!("{drafts:?}");
    };
    assert_eq!((data.keep, &data.flags[..]), (Keep::Both, &[flag][..]));
    workspace.contradictions.clear();
    workspace.dismissed = BTreeSet::from([(first, second, PairKind::Contradiction)]);
    let again = flag_contradiction(&one, &other, why(), &workspace);
    assert_eq!(again, Err(Refusal::NothingChanges));
}
