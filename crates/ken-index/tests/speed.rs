//! Speed of filling and querying an index. Prints measurements; for meaningful ones, run it in
//! release mode with `KEN_SPEED_EVENTS=1000000`.

#![cfg(test)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Instant;

use ken_core::ledger::event::{
    Channel, Cited, Confirmed, EntryEffect, EventBody, Provenance, RecordedEvent, Revised,
    RunEffects, StatusChanged,
};
use ken_core::ledger::store::DerivedStore;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_index::{Index, ListedSegment};
use ken_testkit::build::EventWriter;
use serde_json::value::RawValue;

/// Events per segment.
const SEGMENT_EVENTS: usize = 500;

/// An event line as plain `serde_json` parses it.
#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "parsed to be timed, not to be read")]
struct PlainEventLine<D> {
    about: Vec<String>,
    at: String,
    by: String,
    data: D,
    id: String,
    sum: String,
    r#type: String,
    v: u32,
}

fn propose(scribe: &mut EventWriter, n: usize) -> (EntryId, RecordedEvent) {
    let statement = format!(
        "Charging a customer of tier {n} twice within the same minute is safe because the \
         gateway keeps an idempotency key for every request it has seen. It forgets after a day."
    );
    let evidence: ken_core::values::citation::CitationSource = "commit:3fce3b5".parse().unwrap();
    let citation = evidence.cite(&scribe.by, scribe.now);
    scribe.propose_with(EntryKind::Learning, &statement, |data| {
        let tags = ["auth/jwt", "payments"].map(|tag| tag.parse().unwrap());
        data.content.tags = BTreeSet::from(tags);
        let target: ken_core::values::anchor::CodeLocation =
            "src/pay.rs#Ledger::charge".parse().unwrap();
        data.content.anchors = vec![target.into()];
        data.content.verify = vec!["cargo test -p pay charge_twice".parse().unwrap()];
        data.citations = vec![citation];
    })
}

/// Returns one of the nine further events of an entry.
fn further_event(
    scribe: &mut EventWriter,
    entry: EntryId,
    others: [EntryId; 2],
    n: usize,
) -> EventBody {
    match n % 9 {
        0 => EventBody::Revised(Revised {
            origin: None,
            changes: ContentChanges {
                verify: Some(vec!["cargo test -p pay".parse().unwrap()]),
                ..ContentChanges::default()
            },
            replaces: Vec::new(),
            channel: Channel::Command,
            reason: None,
        }),
        1 | 2 => {
            let evidence: ken_core::values::citation::CitationSource =
                format!("pr:{n}").parse().unwrap();
            let citation = evidence.cite(&scribe.by, scribe.now);
            EventBody::Cited(Cited { citation })
        }
        3 => EventBody::StatusChanged(StatusChanged {
            to: EntryStatus::Active,
            replaces: Vec::new(),
            reason: None,
        }),
        4 | 5 => EventBody::Confirmed(Confirmed {
            provenance: Provenance::Independent,
            on: scribe.now.date(),
            run: Some(format!("run-{n}")),
            withdraws: Vec::new(),
        }),
        _ => EventBody::RunEffects(RunEffects {
            run: format!("run-{n}"),
            effects: [entry, others[0], others[1]]
                .map(|entry| EntryEffect {
                    entry,
                    alpha_milli: 700,
                    beta_milli: 300,
                    shown: 1,
                    blind: 0,
                    unseen: 0,
                    since: None,
                    source_outcome: None,
                    trials: Vec::new(),
                })
                .to_vec(),
        }),
    }
}

fn generate_segments(events: usize) -> (Vec<String>, Vec<EntryId>) {
    let mut scribe = EventWriter::new(11);
    let mut entries = Vec::new();
    let mut segments = vec![String::new()];
    for n in 0..events {
        let copy = if n % 10 == 0 {
            let (entry, copy) = propose(&mut scribe, n);
            entries.push(entry);
            copy
        } else {
            let pick = |k: usize| entries[(n * 7919 + k * 104_729) % entries.len()];
            let (entry, others) = (pick(0), [pick(1), pick(2)]);
            let body = further_event(&mut scribe, entry, others, n);
            let mut about = vec![entry.into()];
            if matches!(body, EventBody::RunEffects(_)) && n % 10 == 8 {
                about.extend(others.map(Into::into));
            }
            scribe.write(about, body)
        };
        if n % SEGMENT_EVENTS == 0 {
            segments.push(String::new());
        }
        let last = segments.last_mut().unwrap();
        last.push_str(copy.line());
        last.push('\n');
    }
    (segments, entries)
}

/// Returns the CPU seconds used by all threads of this process; 0 if unknown.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

fn print_timing<T>(what: &str, count: usize, run: impl FnOnce() -> T) -> T {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let result = run();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let each = |seconds: f64| seconds * 1e6 / count as f64;
    println!(
        "{what}: {seconds:.3} s ({:.2} µs each), processor {cpu:.2} s ({:.2} µs each)",
        each(seconds),
        each(cpu),
    );
    result
}

fn parse_all<'a, D: serde::Deserialize<'a>>(segments: &'a [String]) -> usize {
    let lines = segments.iter().flat_map(|text| text.lines());
    lines
        .map(|line| serde_json::from_str::<PlainEventLine<D>>(line).unwrap())
        .filter(|owned| owned.v == 1)
        .count()
}

#[test]
fn a_rebuild_and_a_lookup_take_the_time_they_print() {
    let events = std::env::var("KEN_SPEED_EVENTS").map_or(2_000, |n| n.parse().unwrap());
    let (segments, entries) = generate_segments(events);
    let bytes: usize = segments.iter().map(String::len).sum();
    println!("{events} events, {} bytes each", bytes / events);
    let listing: Vec<ListedSegment> = segments
        .iter()
        .enumerate()
        .map(|(n, text)| ListedSegment {
            name: format!("{n:06}"),
            len: text.len() as u64,
            modified_ns: n as u64,
            inode: n as u64,
        })
        .collect();
    let read = |name: &str| -> Result<Vec<u8>, Infallible> {
        Ok(segments[name.parse::<usize>().unwrap()]
            .clone()
            .into_bytes())
    };
    print_timing("serde_json, raw data", events, || {
        parse_all::<Box<RawValue>>(&segments)
    });
    print_timing("serde_json, data as a value", events, || {
        parse_all::<serde_json::Value>(&segments)
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let report = print_timing("rebuild", events, || {
        let mut index = Index::open(&path).unwrap();
        index.refresh(&listing, &[], read).unwrap()
    });
    assert_eq!(report.events_added, events);
    assert_eq!(report.entries_folded, entries.len());
    println!(
        "database: {} MB",
        std::fs::metadata(&path).unwrap().len() >> 20
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        println!(
            "{}",
            status.lines().find(|l| l.starts_with("VmHWM")).unwrap()
        );
    }
    print_timing("open, refresh nothing, find and show", 1, || {
        let mut index = Index::open(&path).unwrap();
        assert_eq!(index.refresh(&listing, &[], read).unwrap().segments_read, 0);
        let entry = entries[entries.len() / 2];
        assert_eq!(index.find(&entry.to_string()).unwrap(), [entry]);
        index.entry(entry).unwrap().unwrap()
    });
}
