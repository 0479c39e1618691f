//! Rebuilding the index, held against bare `serde_json` parsing of the same lines.
//!
//! Each lap is a process of its own, so that peak memory is that lap's and neither side finds
//! the other's memory warm. The parsing side has every line in memory before its clock starts;
//! the rebuilding side opens, reads and unpacks the files within its time.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use ken_ledger::{Ledger, LedgerLocation};
use serde::{Deserialize, Serialize};

use super::fixture::{self, Cut, Fixture, said};
use super::measure::{self, Took, median, median_took};
use super::report::{Report, Verdict};
use super::{Bench, Size};

/// The rebuild's rate as a part of the parser's.
const RATIO_MIN: f64 = 0.2;
const MEMORY_MAX_KIB: u64 = 1 << 20;

/// What one process measured.
#[derive(Debug, Serialize, Deserialize)]
struct Lap {
    took: Took,
    events: u64,
    peak_kib: Option<u64>,
}

/// A line as `serde_json` alone reads it, owning everything.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "parsed to be timed, not to be read")]
struct Envelope {
    about: Vec<String>,
    at: String,
    by: String,
    data: serde_json::Value,
    id: String,
    sum: String,
    #[serde(rename = "type")]
    type_name: String,
    v: u32,
}

/// Measures both sides in turn.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let (events, laps) = match bench.size {
        Size::Full => (1_000_000, 5),
        Size::Quick => (20_000, 2),
    };
    let fixture = fixture::ledger(&bench.cache, events, Cut::Full)?;
    // The first opening fills the index, which is not to be measured twice.
    drop(fixture::open(&fixture.root)?);
    let mut parsing = Vec::new();
    let mut rebuilding = Vec::new();
    for _ in 0..laps {
        parsing.push(lap("parse", &fixture)?);
        rebuilding.push(lap("rebuild", &fixture)?);
    }
    Ok(report(&fixture, &parsing, &rebuilding))
}

fn report(fixture: &Fixture, parsing: &[Lap], rebuilding: &[Lap]) -> Report {
    let mut report = Report::default();
    let took = |laps: &[Lap]| median_took(&laps.iter().map(|lap| lap.took).collect::<Vec<_>>());
    let (parse, rebuild) = (took(parsing), took(rebuilding));
    let Fixture {
        events, entries, ..
    } = *fixture;
    report.rate("rebuild: bare parsing, one thread", events, parse, "events");
    report.rate(
        "rebuild: index of the same lines",
        events,
        rebuild,
        "events",
    );
    let ratios = |part: fn(&Took) -> f64| {
        let laps = parsing.iter().zip(rebuilding);
        laps.map(|(one, other)| part(&one.took) / part(&other.took))
            .collect::<Vec<f64>>()
    };
    let wall = median(&ratios(|took| took.wall.as_secs_f64()));
    let cpu = median(&ratios(|took| took.cpu.as_secs_f64()));
    report.push(
        "rebuild: rate, index to parsing",
        format!("{wall:.2}"),
        format!("{cpu:.2}"),
        Verdict::at_least(wall, RATIO_MIN),
    );
    let peak = rebuilding.iter().filter_map(|lap| lap.peak_kib).max();
    let bar = format!("< {} MiB", MEMORY_MAX_KIB >> 10);
    let (figure, verdict) = match peak {
        None => ("–".to_owned(), Verdict::NotMeasured { bar }),
        Some(kib) => (
            format!("{} MiB", kib >> 10),
            Verdict::of(kib < MEMORY_MAX_KIB, bar),
        ),
    };
    report.push("rebuild: peak memory (VmHWM)", figure, "", verdict);
    report.note(format!(
        "rebuild: {events} events of {entries} entries, {} bytes a line, {} segments of about 1 MiB and {} packs; \
         median of {} laps, each a process; `CPU` counts all threads.",
        fixture.bytes / events,
        fixture.segments.len() - fixture.packs,
        fixture.packs,
        parsing.len(),
    ));
    report
}

/// Runs one lap in a process of its own.
fn lap(side: &str, fixture: &Fixture) -> Result<Lap, String> {
    let program = std::env::current_exe().map_err(said("cannot tell which program this is"))?;
    let output = Command::new(program)
        .args(["ledger", "--child", side])
        .arg(&fixture.root)
        .output()
        .map_err(said("cannot start a lap"))?;
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr);
        return Err(format!("a lap of {side} failed: {talk}"));
    }
    let lap: Lap = serde_json::from_slice(&output.stdout).map_err(said("cannot read a lap"))?;
    if lap.events != fixture.events {
        return Err(format!(
            "{side} saw {} events of {}",
            lap.events, fixture.events
        ));
    }
    Ok(lap)
}

/// What the process of one lap does.
pub(crate) fn child(side: &str, root: &Path) -> Result<(), String> {
    let (events, took) = match side {
        "parse" => parse(root)?,
        "rebuild" => rebuild(root)?,
        _ => return Err(format!("there is no side `{side}`")),
    };
    let lap = Lap {
        took,
        events,
        peak_kib: measure::peak_memory_kib(),
    };
    let text = serde_json::to_string(&lap).map_err(said("cannot write a lap"))?;
    writeln!(std::io::stdout(), "{text}").map_err(said("cannot write a lap"))
}

fn parse(root: &Path) -> Result<(u64, Took), String> {
    let ledger =
        Ledger::open(&LedgerLocation::plain(root)).map_err(said("cannot open the ledger"))?;
    let mut texts = Vec::new();
    for stat in ledger.list().map_err(said("cannot list segments"))? {
        let bytes = ledger
            .read_bytes(&stat.name)
            .map_err(said("cannot read a segment"))?;
        texts.push(String::from_utf8(bytes).map_err(said("cannot read a segment"))?);
    }
    let (events, took) = measure::in_this_process(|| {
        let mut events = 0;
        for line in texts.iter().flat_map(|text| text.lines()) {
            let envelope: Envelope = serde_json::from_str(line)?;
            events += u64::from(std::hint::black_box(envelope).v);
        }
        Ok(events)
    });
    Ok((
        events.map_err(said::<serde_json::Error>("cannot parse a line"))?,
        took,
    ))
}

fn rebuild(root: &Path) -> Result<(u64, Took), String> {
    let mut engine = fixture::open(root)?;
    let (done, took) = measure::in_this_process(|| engine.rebuild_index());
    let done = done.map_err(said("cannot rebuild"))?;
    Ok((done.events_added as u64, took))
}
