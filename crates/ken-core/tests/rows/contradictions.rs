//! Contradiction decisions: a pair is flagged once and stays resolved.

use std::collections::BTreeSet;

use ken_core::decide::{
    ContradictionResolution, Refusal, flag_contradiction, resolve_contradiction,
};
use ken_core::ledger::event::{EventBody, Keep, PairKind};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::kind::EntryKind;

use crate::stage::TestLedger;

#[test]
fn a_pair_is_flagged_once_and_never_again_when_settled() {
    let mut stage = TestLedger::new();
    let one = {
        let id = stage.add(EntryKind::Learning, "Use tabs");
        stage.entry(id)
    };
    let other = {
        let id = stage.add(EntryKind::Learning, "Use spaces");
        stage.entry(id)
    };
    let why = || "alternative: indentation".parse().expect("a note");
    let mut workspace = WorkspaceState::default();
    assert!(flag_contradiction(&one, &other, why(), &workspace).is_ok());
    let (first, second) = (one.id.min(other.id), one.id.max(other.id));
    let flag = one.revision[0];
    workspace.contradictions.insert(flag, (second, first));
    let again = flag_contradiction(&other, &one, why(), &workspace);
    assert_eq!(again, Err(Refusal::NothingChanges));
    let (both, by) = (
        ContradictionResolution::Both,
        "human:ann".parse().expect("an actor"),
    );
    let drafts = resolve_contradiction(&one, &other, both, &workspace, &by).expect("it is open");
    let EventBody::ContradictionResolved(data) = &drafts[0].body else {
        panic!("{drafts:?}");
    };
    assert_eq!((data.keep, &data.flags[..]), (Keep::Both, &[flag][..]));
    workspace.contradictions.clear();
    workspace.dismissed = BTreeSet::from([(first, second, PairKind::Contradiction)]);
    let again = flag_contradiction(&one, &other, why(), &workspace);
    assert_eq!(again, Err(Refusal::NothingChanges));
}
