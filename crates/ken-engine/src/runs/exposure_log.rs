//! Injection log of this machine: the exposures in the notes of all runs it still has.

use std::collections::BTreeSet;

use ken_core::ledger::event::RunEffects;
use ken_core::trust::run::RunNote;
use ken_core::trust::run::exposure_log::{ExposureRecord, exposure_records};
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;

use super::store::RunStore;
use crate::engine::Engine;
use crate::error::EngineError;

/// The exposures of one entry, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposureLog {
    /// Newest first.
    pub records: Vec<ExposureRecord>,
    /// Number of older records beyond the limit.
    pub left_off: usize,
    /// Runs that showed the entry and whose notes are not on this machine, newest first.
    pub elsewhere: Vec<RunElsewhere>,
}

/// A run that the ledger knows, without its notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunElsewhere {
    pub run: String,
    /// The time the run was closed.
    pub closed: Timestamp,
}

/// Returns the newest `limit` exposures of `entry`, or of all entries. An agent that may have seen
/// every entry is listed for each of them.
pub(crate) fn exposure_log(
    engine: &Engine,
    entry: Option<EntryId>,
    limit: usize,
) -> Result<ExposureLog, EngineError> {
    let (mut records, mut local) = (Vec::new(), BTreeSet::new());
    for notes in RunStore::new(&engine.place)?.all_notes()? {
        if let Some(RunNote::Opened { run, .. }) = notes.first().map(|it| &it.note) {
            local.insert(run.clone());
        }
        let found = exposure_records(&notes).into_iter();
        records
            .extend(found.filter(|it| entry.is_none() || it.entry.is_none() || it.entry == entry));
    }
    // Stable, so that records of one instant keep their order.
    records.sort_by_key(|it| it.at);
    records.reverse();
    let left_off = records.len().saturating_sub(limit);
    records.truncate(limit);
    let elsewhere = match entry {
        Some(id) => runs_elsewhere(engine, id, &local)?,
        None => Vec::new(),
    };
    Ok(ExposureLog {
        records,
        left_off,
        elsewhere,
    })
}

/// Returns the runs in the ledger that showed an entry and are not in `local`.
fn runs_elsewhere(
    engine: &Engine,
    id: EntryId,
    local: &BTreeSet<String>,
) -> Result<Vec<RunElsewhere>, EngineError> {
    let mut found = Vec::new();
    for recorded in engine.history(id)?.iter().rev() {
        let Some(data) = recorded.event.get::<RunEffects>() else {
            continue;
        };
        let mut effects = data.effects.iter();
        if effects.any(|it| it.entry == id && it.shown > 0) && !local.contains(&data.run) {
            found.push(RunElsewhere {
                run: data.run.clone(),
                closed: recorded.event.at.wall,
            });
        }
    }
    Ok(found)
}
