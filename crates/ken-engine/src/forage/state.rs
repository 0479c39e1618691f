//! State and log of the forager in this clone, below `.ken/.local/forage`. Neither has a question.

use std::collections::BTreeMap;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Origin;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::time::Date;
use ken_ledger::{Dir as _, DiskError};
use serde::{Deserialize, Serialize};

use super::ForageReport;
use super::strategy::HostLesson;
use crate::engine::Engine;
use crate::error::EngineError;

const FORAGE_DIR: &str = ".local/forage";
const STATE_FILE: &str = ".local/forage/state.json";

/// Maximum bytes of a day's log.
const DAY_BYTES_MAX: u64 = 256 << 10;

/// State that outlives a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ForageState {
    /// The day that `entries` counts.
    day: String,
    entries: u32,
    /// Queries to search services on that day.
    searches: u32,
    /// What was seen of each host since it was last recorded.
    pub(super) hosts: BTreeMap<String, HostLesson>,
    /// Questions that were asked unasked, by their hash, with the day.
    pub(super) tried: BTreeMap<String, Date>,
    /// State of the gateway, kept as it is by builds without network access.
    pub(super) fetch: serde_json::Value,
}

/// Numbers of the forager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ForageStatus {
    /// Entries that wait for a person.
    pub waiting: usize,
    /// Entries that were added today.
    pub entries_today: u32,
    /// Queries that were sent to search services today.
    pub searches_today: u32,
}

/// One line of the log: what was read, or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForageLogLine {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// A package with its version, or a host.
    pub source: String,
    /// `read`, or the reason why it was not.
    pub verdict: String,
    pub bytes: u64,
    pub millis: u64,
}

pub(super) fn load(engine: &Engine) -> Result<ForageState, EngineError> {
    let on = || DiskError::on("read", STATE_FILE);
    if engine.ken.stat(STATE_FILE).map_err(on())?.is_none() {
        return Ok(ForageState::default());
    }
    let bytes = engine.ken.read(STATE_FILE).map_err(on())?;
    // A damaged file loses the counters of a day, not the knowledge.
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

pub(super) fn store(engine: &Engine, state: &ForageState) -> Result<(), EngineError> {
    let on = || DiskError::on("write", STATE_FILE);
    let bytes = serde_json::to_vec(state).expect("a state has string keys");
    engine.ken.create_dirs(FORAGE_DIR).map_err(on())?;
    Ok(engine.ken.replace(STATE_FILE, &bytes).map_err(on())?)
}

impl ForageState {
    /// Returns the number of entries added today.
    pub(super) fn entries_on(&self, day: &str) -> u32 {
        if self.day == day { self.entries } else { 0 }
    }

    /// Returns the number of queries sent to search services today.
    pub(super) fn searches_on(&self, day: &str) -> u32 {
        if self.day == day { self.searches } else { 0 }
    }

    pub(super) fn count_entries(&mut self, day: &str, count: u32) {
        self.start_day(day);
        self.entries += count;
    }

    #[cfg(feature = "http")]
    pub(super) fn count_search(&mut self, day: &str) {
        self.start_day(day);
        self.searches += 1;
    }

    fn start_day(&mut self, day: &str) {
        if self.day != day {
            (self.entries, self.searches) = (0, 0);
            day.clone_into(&mut self.day);
        }
    }
}

/// Returns the numbers of the forager.
pub(crate) fn forage_status(engine: &Engine) -> Result<ForageStatus, EngineError> {
    let today = engine.now().date().to_string();
    let state = load(engine)?;
    Ok(ForageStatus {
        waiting: waiting(engine)?,
        entries_today: state.entries_on(&today),
        searches_today: state.searches_on(&today),
    })
}

/// Returns the number of foraged entries that wait for a person.
pub(super) fn waiting(engine: &Engine) -> Result<usize, EngineError> {
    let waits = |it: &&Entry| !it.quarantine.is_empty() && it.retracted.is_none();
    Ok(foraged_entries(engine)?.iter().filter(waits).count())
}

/// Returns every entry that came from outside, also quarantined and retracted ones.
///
/// The default filter leaves quarantined entries out, and those are the ones that matter here.
pub(super) fn foraged_entries(engine: &Engine) -> Result<Vec<Entry>, EngineError> {
    let mut all = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    all.retain(|it| {
        let created = it.created.as_ref();
        created.is_some_and(|it| it.origin == Origin::Web)
    });
    Ok(all)
}

/// Logs the packages that were read for a question, and what was refused.
pub(super) fn log_question(engine: &Engine, report: &ForageReport) -> Result<(), EngineError> {
    let line = |source: &str, verdict: &str| ForageLogLine {
        at: engine.now().millis(),
        source: source.to_owned(),
        verdict: verdict.to_owned(),
        bytes: 0,
        millis: 0,
    };
    let read = report.packages.iter().map(|it| line(it, "read"));
    let missing = report
        .missing
        .iter()
        .map(|it| line(it, "not on this machine"));
    let refused = report.refusals.iter().map(|it| line("-", it));
    append(engine, read.chain(missing).chain(refused))
}

/// Appends lines to today's log.
pub(super) fn append(
    engine: &Engine,
    lines: impl IntoIterator<Item = ForageLogLine>,
) -> Result<(), EngineError> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(&line).expect("a line has string keys"));
        text.push('\n');
    }
    let path = format!("{FORAGE_DIR}/{}.jsonl", engine.now().date());
    let on = || DiskError::on("write", &path);
    match engine.ken.stat(&path).map_err(on())? {
        // A full log drops lines, because a question must not fail for want of a log.
        Some(stat) if stat.len + text.len() as u64 > DAY_BYTES_MAX => Ok(()),
        Some(_) => Ok(engine.ken.append(&path, text.as_bytes()).map_err(on())?),
        None => {
            engine.ken.create_dirs(FORAGE_DIR).map_err(on())?;
            Ok(engine.ken.replace(&path, text.as_bytes()).map_err(on())?)
        }
    }
}

/// Returns the log of today.
pub(crate) fn forage_log(engine: &Engine) -> Result<Vec<ForageLogLine>, EngineError> {
    let path = format!("{FORAGE_DIR}/{}.jsonl", engine.now().date());
    let on = || DiskError::on("read", &path);
    if engine.ken.stat(&path).map_err(on())?.is_none() {
        return Ok(Vec::new());
    }
    let bytes = engine.ken.read(&path).map_err(on())?;
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|it| serde_json::from_slice(it).ok())
        .collect())
}
