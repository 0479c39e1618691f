//! Refresh of the index: the segments it reads, the entries it folds, and the rest it skips.

use ken_core::ledger::event::{
    BlankReason, Channel, EntryEffect, EventBlanked, EventBody, RecordedEvent, RetractReason,
    Retracted, RunEffects,
};
use ken_core::ledger::store::{DerivedStore, EventDelta};
use ken_core::values::id::{EntryId, EventId};
use ken_index::{Index, RebuildReason, RefreshError, RefreshReport};
use ken_testkit::build::EventWriter;

use crate::branch::MemoryBranch;

fn write_retraction(scribe: &mut EventWriter, entry: EntryId) -> RecordedEvent {
    let body = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    scribe.about(entry, body)
}

fn write_effects(scribe: &mut EventWriter, entry: EntryId) -> RecordedEvent {
    let effect = EntryEffect {
        entry,
        alpha_milli: 1,
        beta_milli: 2,
        shown: 1,
        blind: 0,
        unseen: 0,
        since: None,
        source_outcome: None,
        trials: Vec::new(),
    };
    let body = EventBody::RunEffects(RunEffects {
        run: "run".to_owned(),
        effects: vec![effect],
    });
    scribe.about(entry, body)
}

fn write_redaction(scribe: &mut EventWriter, event: EventId) -> RecordedEvent {
    let body = EventBody::EventBlanked(EventBlanked {
        event,
        reason: BlankReason::Secret,
    });
    scribe.write(Vec::new(), body)
}

/// Refreshes, and compares with the fold and with a new index.
fn refresh_and_check(branch: &MemoryBranch, index: &mut Index) -> RefreshReport {
    let report = branch.refresh(index).unwrap();
    branch.check(index);
    report
}

/// Returns three entries in one segment and an index of them.
fn indexed_entries() -> (EventWriter, Vec<EntryId>, MemoryBranch, Index) {
    let mut scribe = EventWriter::new(3);
    let proposals: Vec<(EntryId, RecordedEvent)> = (0..3)
        .map(|n| scribe.propose(&format!("Lesson {n} is marzipan")))
        .collect();
    let (entries, copies): (Vec<EntryId>, Vec<RecordedEvent>) = proposals.into_iter().unzip();
    let mut branch = MemoryBranch::default();
    branch.put("a", &copies);
    let mut index = Index::open_in_memory().unwrap();
    assert_eq!(
        refresh_and_check(&branch, &mut index).rebuilt,
        Some(RebuildReason::Missing)
    );
    (scribe, entries, branch, index)
}

#[test]
fn an_unchanged_ledger_is_not_read() {
    let (_, _, branch, mut index) = indexed_entries();
    assert_eq!(
        refresh_and_check(&branch, &mut index),
        RefreshReport::default()
    );
}

#[test]
fn a_segment_that_grew_is_read_on_and_only_its_entries_folded() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    branch.append("a", &[write_retraction(&mut scribe, entries[1])]);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!((report.events_added, report.entries_folded), (1, 1));
    assert_eq!((report.segments_read, report.rebuilt), (1, None));
}

#[test]
fn events_that_only_add_up_need_no_fold() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    let run: Vec<RecordedEvent> = (0..5)
        .map(|_| write_effects(&mut scribe, entries[0]))
        .collect();
    branch.put("b", &run);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!((report.entries_folded, report.entries_absorbed), (0, 1));
    assert_eq!(report.events_added, 5);
}

#[test]
fn a_touched_file_with_equal_bytes_changes_nothing() {
    let (_, _, mut branch, mut index) = indexed_entries();
    branch.touch("a");
    let report = refresh_and_check(&branch, &mut index);
    let expected = RefreshReport {
        segments_read: 1,
        ..RefreshReport::default()
    };
    assert_eq!(report, expected);
    assert_eq!(
        refresh_and_check(&branch, &mut index).segments_read,
        0,
        "stamped anew"
    );
}

#[test]
fn an_event_goes_with_its_last_copy() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    let taken_back = write_retraction(&mut scribe, entries[0]);
    branch.put("b", std::slice::from_ref(&taken_back));
    branch.put("c", std::slice::from_ref(&taken_back));
    refresh_and_check(&branch, &mut index);
    branch.files.remove("b");
    assert_eq!(refresh_and_check(&branch, &mut index).events_removed, 0);
    assert!(
        index
            .entry(entries[0])
            .unwrap()
            .unwrap()
            .retracted
            .is_some()
    );
    branch.files.remove("c");
    assert_eq!(refresh_and_check(&branch, &mut index).events_removed, 1);
    assert!(index.entry(entries[0]).unwrap().unwrap().is_live());
    branch.files.clear();
    refresh_and_check(&branch, &mut index);
    assert_eq!(index.entry(entries[0]).unwrap(), None);
}

#[test]
fn a_segment_that_changed_in_the_middle_is_read_whole() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    let (_, other) = scribe.propose("Instead");
    let copies = [other, write_retraction(&mut scribe, entries[2])];
    branch.put("a", &copies);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!((report.events_added, report.events_removed), (2, 3));
}

#[test]
fn a_pack_takes_the_place_of_its_segments_without_a_fold() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    branch.put("b", &[write_retraction(&mut scribe, entries[0])]);
    refresh_and_check(&branch, &mut index);
    let text = [&branch.files["a"].text[..], &branch.files["b"].text].concat();
    branch.files.clear();
    branch.put_text("pack", &text);
    let report = refresh_and_check(&branch, &mut index);
    let expected = RefreshReport {
        segments_read: 1,
        ..RefreshReport::default()
    };
    assert_eq!(report, expected);
}

#[test]
fn a_damaged_line_is_named_and_nothing_of_the_refresh_applied() {
    let (mut scribe, entries, mut branch, index) = indexed_entries();
    let before = index.state().unwrap().to_canonical_json();
    let mut text = branch.files["a"].text.clone();
    branch.put("0", &[write_retraction(&mut scribe, entries[0])]);
    text.extend_from_slice(b"{\"about\":[]}\n");
    text.extend_from_slice(write_retraction(&mut scribe, entries[1]).line().as_bytes());
    branch.put_text("a", &text);
    for mut index in [index, Index::open_in_memory().unwrap()] {
        let held = index.state().unwrap().to_canonical_json();
        let error = branch.refresh(&mut index).unwrap_err();
        let RefreshError::Line { segment, line, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!((segment.as_str(), line), ("a", 4));
        assert_eq!(index.state().unwrap().to_canonical_json(), held);
    }
    assert!(before.contains("marzipan"));
}

#[test]
fn a_flipped_byte_in_any_line_is_found_by_a_rebuild() {
    let (_, _, branch, _) = indexed_entries();
    let text = &branch.files["a"].text;
    for place in (0..text.len()).filter(|place| text[*place] != b'\n') {
        let mut changed = text.clone();
        changed[place] ^= 1;
        let mut branch = MemoryBranch::default();
        branch.put_text("a", &changed);
        let mut index = Index::open_in_memory().unwrap();
        let error = branch.refresh(&mut index).unwrap_err();
        let line = 1 + text[..place].iter().filter(|b| **b == b'\n').count() as u64;
        let RefreshError::Line { line: found, .. } = error else {
            panic!("byte {place}: {error:?}");
        };
        assert_eq!(found, line, "byte {place}");
    }
}

#[test]
fn a_torn_tail_is_reported_until_it_is_mended() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    let line = write_retraction(&mut scribe, entries[0]);
    let whole = branch.files["a"].text.clone();
    let torn = [&whole[..], &line.line().as_bytes()[..40]].concat();
    branch.put_text("a", &torn);
    for _ in 0..2 {
        let report = refresh_and_check(&branch, &mut index);
        assert_eq!(report.torn[0].bytes, 40);
        assert_eq!(report.torn[0].segment, "a");
    }
    branch.put_text("a", &whole);
    branch.append("a", &[line]);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!((report.torn, report.events_added), (Vec::new(), 1));
}

#[test]
fn a_last_line_without_its_newline_counts() {
    let (mut scribe, entries, mut branch, mut index) = indexed_entries();
    let line = write_retraction(&mut scribe, entries[0]);
    let text = [&branch.files["a"].text[..], line.line().as_bytes()].concat();
    branch.put_text("a", &text);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!((report.events_added, report.torn), (1, Vec::new()));
    let next = write_retraction(&mut scribe, entries[1]);
    branch.put_text(
        "a",
        &[&text[..], b"\n", next.line().as_bytes(), b"\n"].concat(),
    );
    assert_eq!(refresh_and_check(&branch, &mut index).events_added, 1);
}

#[test]
fn an_ordered_blanking_comes_and_goes_with_its_segment() {
    let (mut scribe, _, mut branch, mut index) = indexed_entries();
    let secret = EventId::from_bytes(first_event_id(&branch));
    branch.put("b", &[write_redaction(&mut scribe, secret)]);
    refresh_and_check(&branch, &mut index);
    assert!(index.event(secret).unwrap().unwrap().is_redacted());
    branch.files.remove("b");
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!(report.rebuilt, Some(RebuildReason::DifferingCopies));
    assert!(!index.event(secret).unwrap().unwrap().is_redacted());
}

#[test]
fn a_remembered_blanking_outlives_the_order() {
    let (mut scribe, _, mut branch, mut index) = indexed_entries();
    let secret = EventId::from_bytes(first_event_id(&branch));
    branch.put("b", &[write_redaction(&mut scribe, secret)]);
    refresh_and_check(&branch, &mut index);
    branch.blanked.push(secret);
    refresh_and_check(&branch, &mut index);
    branch.files.remove("b");
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!(report.rebuilt, None);
    assert!(index.event(secret).unwrap().unwrap().is_redacted());
}

fn first_event_id(branch: &MemoryBranch) -> [u8; 16] {
    let text = &branch.files["a"].text;
    let end = text.iter().position(|byte| *byte == b'\n').unwrap();
    RecordedEvent::parse(&text[..end])
        .unwrap()
        .event
        .id
        .to_bytes()
}

#[test]
fn a_full_copy_beats_an_unauthorized_blanked_one_while_it_is_there() {
    let (_, _, mut branch, mut index) = indexed_entries();
    let id = EventId::from_bytes(first_event_id(&branch));
    let full = index.event(id).unwrap().unwrap();
    branch.put("b", &[full.redacted()]);
    refresh_and_check(&branch, &mut index);
    assert!(!index.event(id).unwrap().unwrap().is_redacted());
    branch.files.remove("a");
    refresh_and_check(&branch, &mut index);
    assert!(index.event(id).unwrap().unwrap().is_redacted());
    branch.put("c", std::slice::from_ref(&full));
    assert_eq!(refresh_and_check(&branch, &mut index).rebuilt, None);
    assert_eq!(index.event(id).unwrap(), Some(full));
}

#[test]
fn copies_that_differ_are_named_and_settled_by_reading_again() {
    let mut scribe = EventWriter::new(5);
    let id = scribe.next_id();
    let forge = |scribe: &mut EventWriter, text: &str| {
        let (entry, copy) = scribe.propose(text);
        scribe.write_as(id, vec![entry.into()], copy.event.body)
    };
    let (one, other) = (forge(&mut scribe, "One"), forge(&mut scribe, "Other"));
    let mut branch = MemoryBranch::default();
    branch.put("a", &[one]);
    let mut index = Index::open_in_memory().unwrap();
    refresh_and_check(&branch, &mut index);
    branch.put("b", &[other]);
    let report = refresh_and_check(&branch, &mut index);
    assert_eq!(report.rebuilt, Some(RebuildReason::DifferingCopies));
    assert_eq!(index.differing().unwrap(), [id]);
    for name in ["a", "b"] {
        let mut branch = branch.clone();
        branch.files.remove(name);
        refresh_and_check(&branch, &mut index);
        assert_eq!(index.differing().unwrap(), []);
    }
}

#[test]
fn what_a_caller_applied_stays_when_segments_change() {
    let (mut scribe, _, mut branch, mut index) = indexed_entries();
    let (entry, copy) = scribe.propose("Applied by hand");
    let delta = EventDelta {
        added: std::slice::from_ref(&copy),
        ..EventDelta::default()
    };
    index.apply(delta).unwrap();
    branch.files.clear();
    branch.refresh(&mut index).unwrap();
    assert!(index.entry(entry).unwrap().is_some());
    assert_eq!(index.state().unwrap().entries.len(), 1);
}
