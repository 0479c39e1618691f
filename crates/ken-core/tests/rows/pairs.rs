//! Entries that claim the same: merging, superseding and dismissing pairs.

use std::collections::BTreeSet;

use ken_core::decide::{self, Draft, MergeWording, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EventBody, MergeStrategy, Merged, Origin, PairKind, Proposed};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use ken_testkit::build::EventWriter;

/// Returns an entry with a statement of `chars` characters and these tags.
fn entry_with_length(scribe: &mut EventWriter, chars: usize, tags: &[&str]) -> Entry {
    let statement = "x".repeat(chars);
    let (id, copy) = scribe.propose_with(EntryKind::Learning, &statement, |data| {
        data.content.tags = tags.iter().map(|tag| tag.parse().unwrap()).collect();
    });
    fold_entry(id, [&copy.event]).unwrap()
}

fn expect_merged(draft: Draft) -> Merged {
    let EventBody::Merged(merged) = draft.body else {
        panic!("{draft:?}");
    };
    merged
}

#[test]
fn a_wording_is_kept_unless_another_is_more_than_a_fifth_longer() {
    let mut scribe = EventWriter::new(1);
    let target = entry_with_length(&mut scribe, 100, &[]);
    let just = entry_with_length(&mut scribe, 120, &[]);
    let longer = entry_with_length(&mut scribe, 121, &[]);
    let kept = expect_merged(decide::merge(&target, &[just], MergeWording::Longer).unwrap());
    assert_eq!(kept.strategy, MergeStrategy::KeepTarget);
    assert_eq!(kept.changes.statement, None);
    let taken = expect_merged(
        decide::merge(&target, std::slice::from_ref(&longer), MergeWording::Longer).unwrap(),
    );
    assert_eq!(taken.strategy, MergeStrategy::KeepLonger);
    assert_eq!(
        taken.changes.statement,
        longer.content.clone().map(|it| it.statement)
    );
    // A person who names the target wants its statement.
    let named = decide::merge(&target, &[longer], MergeWording::Target).unwrap();
    let named = expect_merged(named);
    assert_eq!(named.strategy, MergeStrategy::KeepTarget);
    assert_eq!(named.changes.statement, None);
}

#[test]
fn tags_are_united_and_a_wording_somebody_chose_is_taken() {
    let mut scribe = EventWriter::new(2);
    let target = entry_with_length(&mut scribe, 20, &["pay", "retry"]);
    let source = entry_with_length(&mut scribe, 20, &["auth", "pay"]);
    let chosen = "Both say this.".parse().unwrap();
    let it =
        expect_merged(decide::merge(&target, &[source], MergeWording::Chosen(chosen)).unwrap());
    assert_eq!(it.strategy, MergeStrategy::LlmSelected);
    let tags = it.changes.tags.unwrap();
    let tags: Vec<&str> = tags
        .iter()
        .map(ken_core::values::text::Tag::as_str)
        .collect();
    assert_eq!(tags, ["auth", "pay", "retry"]);
}

#[test]
fn words_of_a_judge_make_a_merged_entry_trusted_no_more_than_the_judge() {
    let mut scribe = EventWriter::new(6);
    let written = entry_with_length(&mut scribe, 20, &[]);
    let other = entry_with_length(&mut scribe, 20, &[]);
    let noted = |data: &mut Proposed| data.origin = Origin::Agent;
    let (id, copy) = scribe.propose_with(EntryKind::Learning, "Noted by an agent", noted);
    let noted = fold_entry(id, [&copy.event]).unwrap();
    let by: Actor = "agent:judge/claude".parse().unwrap();
    let merge = |target: &Entry, source: &Entry, chosen: &Statement| {
        let wording = MergeWording::Chosen(chosen.clone());
        let draft = decide::merge(target, std::slice::from_ref(source), wording).unwrap();
        let it = expect_merged(decide::attribute_change(draft, target, &by)?);
        assert_eq!(it.strategy, MergeStrategy::LlmSelected);
        Ok((it.origin, it.changes.statement.is_some()))
    };
    let reworded = "Both say this.".parse().unwrap();
    let agents = merge(&noted, &written, &reworded);
    assert_eq!(agents, Ok((Some(Origin::Agent), true)));
    let (entry, author) = (written.id, by.clone());
    let refusal = Refusal::ProtectedContent { entry, by: author };
    assert_eq!(merge(&written, &noted, &reworded), Err(refusal));
    // Text that the person's entry already had is not new, and does not lower its trust.
    let own = &written.content.as_ref().unwrap().statement;
    let origin = written.created.as_ref().map(|it| it.origin);
    assert_eq!(merge(&written, &other, own), Ok((origin, false)));
}

#[test]
fn a_merge_is_its_own_event_and_names_everything_it_absorbed() {
    let mut scribe = EventWriter::new(3);
    let target = entry_with_length(&mut scribe, 20, &[]);
    let mut source = entry_with_length(&mut scribe, 20, &[]);
    let earlier: EntryId = "L-00000009".parse().unwrap();
    source.merged_from = BTreeSet::from([earlier]);
    let draft = decide::merge(&target, &[source.clone()], MergeWording::Longer).unwrap();
    let about = draft.about.len();
    let it = expect_merged(draft);
    assert_eq!(it.sources.len(), 2);
    assert!(it.sources.contains(&earlier) && it.sources.contains(&source.id));
    assert_eq!(about, 3);
}

#[test]
fn nothing_becomes_part_of_itself_or_of_two() {
    let mut scribe = EventWriter::new(4);
    let target = entry_with_length(&mut scribe, 20, &[]);
    let mut source = entry_with_length(&mut scribe, 20, &[]);
    let itself = decide::merge(&target, std::slice::from_ref(&target), MergeWording::Longer);
    assert_eq!(itself.unwrap_err(), Refusal::SelfMerge);
    assert_eq!(
        decide::merge(&target, &[], MergeWording::Longer).unwrap_err(),
        Refusal::NothingChanges
    );
    source.merged_into = Some(target.id);
    assert!(matches!(
        decide::merge(&target, &[source], MergeWording::Longer),
        Err(Refusal::MergedAlready { .. })
    ));
    assert_eq!(
        decide::supersede(&target, &target).unwrap_err(),
        Refusal::SelfMerge
    );
}

#[test]
fn a_pair_is_dismissed_once_whichever_is_named_first() {
    let mut scribe = EventWriter::new(5);
    let (one, other) = (
        entry_with_length(&mut scribe, 20, &[]),
        entry_with_length(&mut scribe, 20, &[]),
    );
    let nothing = WorkspaceState::default();
    let kind = PairKind::Duplicate;
    let first = decide::dismiss_pair(&one, &other, kind, &nothing).unwrap();
    assert_eq!(
        decide::dismiss_pair(&other, &one, kind, &nothing).unwrap(),
        first
    );
    let mut known = WorkspaceState::default();
    let pair = (one.id.min(other.id), one.id.max(other.id), kind);
    known.dismissed.insert(pair);
    let again = decide::dismiss_pair(&one, &other, kind, &known);
    assert_eq!(again.unwrap_err(), Refusal::NothingChanges);
    assert!(decide::dismiss_pair(&one, &other, PairKind::Contradiction, &known).is_ok());
}
