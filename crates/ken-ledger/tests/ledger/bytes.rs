//! Detection of single-byte damage: a segment truncated anywhere, and a segment or pack with any
//! byte changed.

use std::collections::BTreeSet;

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::EventId;
use ken_ledger::check::LedgerSeverity;
use ken_ledger::pack;
use ken_ledger::segment::{read_segment, split_segment};

use crate::sample;
use crate::support::{LedgerSandbox, is_long};

/// Size of the truncated segment.
const TRUNCATED_SEGMENT_BYTES: usize = 100_000;
/// Size of the segment with changed bytes.
const CHANGED_SEGMENT_BYTES: usize = 20_000;
/// Random changes in the long run.
const LONG_FLIPS: u64 = 10_000;

/// Returns the lines of a segment of at least `bytes` bytes, and the end of each, newline included.
fn sample_segment(bytes: usize) -> (String, Vec<usize>) {
    let (mut text, mut ends) = (String::new(), Vec::new());
    for n in 1.. {
        text.push_str(sample::event(n).line());
        text.push('\n');
        ends.push(text.len());
        if bytes <= text.len() {
            break;
        }
    }
    (text, ends)
}

fn event_ids(events: &[RecordedEvent]) -> Vec<EventId> {
    events.iter().map(|event| event.event.id).collect()
}

#[test]
fn a_ledger_cut_at_any_byte_keeps_every_whole_line() {
    let (text, ends) = sample_segment(TRUNCATED_SEGMENT_BYTES);
    let mut line = 0;
    for cut in 0..=text.len() {
        while line + 1 < ends.len() && ends[line] <= cut {
            line += 1;
        }
        // Lines before the cut all read alike; two of them suffice.
        let from = if line < 2 { 0 } else { ends[line - 2] };
        let split = split_segment("cut", &text.as_bytes()[from..cut]).unwrap();
        // A line that lacks only its newline is complete.
        let before = if line == 0 { 0 } else { ends[line - 1] };
        let whole = if ends[line] - 1 <= cut { cut } else { before };
        assert_eq!(split.whole, &text[from..whole], "cut at {cut}");
        let torn = split.torn.map_or(0, |torn| torn.bytes.len());
        assert_eq!(torn, cut - whole, "cut at {cut}");
    }
    println!(
        "truncation: {} cuts of {} events",
        text.len() + 1,
        ends.len()
    );
}

#[test]
fn a_cut_ledger_reads_and_goes_on_without_gluing_lines() {
    let (text, ends) = sample_segment(2_000);
    let whole = read_segment("whole", text.as_bytes()).unwrap().events;
    for cut in 0..=text.len() {
        let read = read_segment("cut", &text.as_bytes()[..cut]).unwrap();
        let kept = ends.iter().filter(|end| **end - 1 <= cut).count();
        assert_eq!(
            event_ids(&read.events),
            event_ids(&whole[..kept]),
            "cut at {cut}"
        );
        assert_eq!(
            read.torn.is_some(),
            cut > 0 && !ends.iter().any(|e| *e == cut || *e == cut + 1)
        );
    }
    // The next writer, at every tenth of these positions.
    for cut in (0..text.len()).step_by(10) {
        let mut sandbox = LedgerSandbox::plain();
        let (first, appended) = sandbox.add();
        let path = sandbox.path(&format!(".ken/{}", appended.segments()[0].path()));
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&before, &text.as_bytes()[..cut]].concat()).unwrap();
        let (second, _) = sandbox.add();
        let ledger = sandbox.open();
        let mut found = BTreeSet::new();
        for segment in ledger.list().unwrap() {
            for (_, line) in ledger.read(&segment.name).unwrap().lines() {
                found.insert(RecordedEvent::parse(line.as_bytes()).unwrap().event.id);
            }
        }
        assert!(
            found.contains(&first.event.id) && found.contains(&second.event.id),
            "cut {cut}"
        );
        let damage = ledger.check().unwrap().findings;
        assert!(
            damage.iter().all(|it| it.severity < LedgerSeverity::Damage),
            "{cut}: {damage:?}"
        );
    }
}

/// Asserts that reading reports a changed segment.
fn assert_noticed(bytes: &[u8], at: usize, line: u64) {
    match read_segment("semantic/v1/x.jsonl", bytes) {
        Err(error) => {
            let said = format!("{error:?} {error}");
            assert!(
                said.contains("semantic/v1/x.jsonl") && said.contains(&format!("{line}")),
                "{said}"
            );
        }
        // The final newline is gone: a torn tail, reported with its line.
        Ok(read) => assert!(read.torn.is_some(), "a change at byte {at} went unnoticed"),
    }
}

#[test]
fn a_changed_byte_of_a_segment_is_always_noticed() {
    let (text, ends) = sample_segment(CHANGED_SEGMENT_BYTES);
    let mut bytes = text.into_bytes();
    let line_of = |at: usize| ends.partition_point(|end| *end <= at);
    let mut changes = 0;
    for at in 0..bytes.len() {
        let old = bytes[at];
        for new in [old ^ (1 << (at % 8)), b'\n'] {
            // The final newline may be lost if the line is complete without it; nothing else may.
            if new == old || (at + 1 == bytes.len() && new == b'\n') {
                continue;
            }
            bytes[at] = new;
            // The line itself and the next one suffice: damage is detected where it occurs.
            let line = line_of(at);
            let from = if line == 0 { 0 } else { ends[line - 1] };
            let to = ends[(line + 1).min(ends.len() - 1)];
            assert_noticed(&bytes[from..to], at, 1);
            changes += 1;
        }
        bytes[at] = old;
    }
    println!("flips: {changes} changes of {} bytes", bytes.len());
}

#[test]
fn a_changed_byte_of_a_pack_is_always_noticed() {
    let (text, _) = sample_segment(CHANGED_SEGMENT_BYTES);
    let mut bytes = pack::encode(&text, 0x1234_5678_9abc_def0);
    assert_eq!(pack::decode(&bytes).unwrap(), text.as_bytes());
    for at in 0..bytes.len() {
        let old = bytes[at];
        for bit in 0..8 {
            bytes[at] = old ^ (1 << bit);
            assert!(pack::decode(&bytes).is_err(), "bit {bit} of byte {at}");
        }
        bytes[at] = old;
    }
    println!("flips: every bit of a pack of {} bytes", bytes.len());
}

#[test]
fn random_bit_flips_are_noticed_in_the_long_run() {
    let flips = if is_long() { LONG_FLIPS } else { 100 };
    let (text, ends) = sample_segment(CHANGED_SEGMENT_BYTES);
    let mut bytes = text.into_bytes();
    for n in 0..flips {
        let number = blake3::hash(&n.to_be_bytes());
        let number = u64::from_be_bytes(number.as_bytes()[..8].try_into().unwrap());
        let at = usize::try_from(number % bytes.len() as u64).unwrap();
        let old = bytes[at];
        bytes[at] ^= 1 << (number >> 61);
        let line = ends.partition_point(|end| *end <= at) as u64 + 1;
        assert_noticed(&bytes, at, line);
        bytes[at] = old;
    }
}
