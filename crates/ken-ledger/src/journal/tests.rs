//! Tests of the journal on a real disk.

use super::*;
use crate::disk::RealDir;
use crate::sample;

fn record(n: u64) -> String {
    let segment = "semantic/v1/2026-11-14t22-51-k3f9w2.jsonl".parse().unwrap();
    let (event, mut out) = (sample::event(n), String::new());
    JournalRecord {
        branch: "refs/heads/main",
        worktree: ".",
        segment,
        line: event.line(),
    }
    .write(&mut out);
    out
}

fn seen(journal: &Journal<'_>, from: JournalPosition) -> (Vec<EventId>, Vec<BadRecord>) {
    let mut seen = Vec::new();
    let bad = journal.scan(from, &mut |record| {
        seen.push(
            RecordedEvent::parse(record.line.as_bytes())
                .unwrap()
                .event
                .id,
        );
    });
    (seen, bad.unwrap())
}

fn id(n: u64) -> EventId {
    sample::event(n).event.id
}

#[test]
fn records_are_read_from_any_position_over_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RealDir::below(folder.path(), "state").unwrap();
    let journal = Journal::new(&dir);
    let first = journal.roll(journal.end(None).unwrap()).unwrap();
    let middle = journal
        .append(first.position, &(record(1) + &record(2)))
        .unwrap();
    let full = JournalPosition {
        offset: FILE_BYTES_MAX,
        ..middle
    };
    let second = journal
        .roll(JournalMark {
            position: full,
            ..first
        })
        .unwrap();
    journal.append(second.position, &record(3)).unwrap();
    assert_eq!((first.position.file, second.position.file), (1, 2));
    let from = |file, offset| seen(&journal, JournalPosition { file, offset }).0;
    assert_eq!(from(0, 0), [id(1), id(2), id(3)]);
    assert_eq!(from(1, record(1).len() as u64), [id(2), id(3)]);
    assert_eq!(
        from(1, 5),
        [id(1), id(2), id(3)],
        "not a beginning: all of the file"
    );
    assert_eq!(from(2, 0), [id(3)]);
    let end = journal.end(None).unwrap();
    assert_eq!(journal.end(Some(second)).unwrap(), end);
    assert_eq!(
        end.position,
        JournalPosition {
            file: 2,
            offset: record(3).len() as u64
        }
    );
}

#[test]
fn a_bad_record_is_named_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RealDir::below(folder.path(), "").unwrap();
    let journal = Journal::new(&dir);
    let end = journal.roll(JournalMark::START).unwrap().position;
    let text = format!("{}garbage\n{}torn", record(1), record(2));
    journal.append(end, &text).unwrap();
    let (events, bad) = seen(&journal, JournalPosition { file: 0, offset: 0 });
    assert_eq!(events, [id(1), id(2)]);
    let file = "journal/000001.jsonl".to_owned();
    assert_eq!(bad, [BadRecord { file, line: 2 }]);
    let end = journal.end(None).unwrap().position;
    let torn = journal
        .cleaned(end, JournalTailCheck::LastByte)
        .unwrap()
        .unwrap();
    assert_eq!(torn.bad, [(4, b"torn".to_vec())]);
    let cleaned = journal
        .cleaned(end, JournalTailCheck::EveryRecord)
        .unwrap()
        .unwrap();
    assert_eq!(
        cleaned.bad,
        [(2, b"garbage\n".to_vec()), (4, b"torn".to_vec())]
    );
    journal.store(&cleaned).unwrap();
    let end = journal.end(None).unwrap().position;
    assert_eq!(
        journal.cleaned(end, JournalTailCheck::EveryRecord).unwrap(),
        None
    );
    assert_eq!(
        seen(&journal, JournalPosition { file: 0, offset: 0 }).0,
        [id(1), id(2)]
    );
}

#[test]
fn a_scrub_leaves_no_data_and_every_other_record_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RealDir::below(folder.path(), "").unwrap();
    let journal = Journal::new(&dir);
    let mark = journal.roll(JournalMark::START).unwrap();
    let text = [1, 2, 3].map(record).concat();
    journal.append(mark.position, &text).unwrap();
    assert_eq!(journal.scrub(&BTreeSet::from([id(2), id(9)])).unwrap(), 1);
    let after = String::from_utf8(dir.read("journal/000001.jsonl").unwrap()).unwrap();
    assert_eq!(
        seen(&journal, JournalPosition { file: 0, offset: 0 }).0,
        [id(1), id(2), id(3)]
    );
    assert!(after.starts_with(&record(1)) && after.ends_with(&record(3)));
    assert!(!after.contains("secret 2"));
    assert_eq!(journal.since(mark).unwrap().offset, 0);
    assert_eq!(journal.scrub(&BTreeSet::from([id(2)])).unwrap(), 0);
}
