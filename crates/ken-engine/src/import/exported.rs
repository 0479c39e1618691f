//! Import of an export: its events are appended as they are, so that every entry has the exact
//! state that was exported, including ids, authors, citations and fingerprints.
//!
//! Authors and decisions in an export are claims of whoever made the file, as with a branch that
//! is merged. Only a person may vouch for them, so an agent cannot bring in an approval this way.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::Refusal;
use ken_core::ledger::canonical;
use ken_core::ledger::event::{ApprovalGranted, RecordedEvent};
use ken_core::ledger::state::redaction_target;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use serde_json::Value;

use crate::engine::Engine;
use crate::entries::BATCH_MAX;
use crate::error::EngineError;
use crate::export::EVENTS_MEMBER;
use crate::guard::RescanFinding;
use crate::{files, ledger_maintenance, sync, verify};

/// Result of importing an export.
#[derive(Clone, Debug, Default)]
pub struct ExportImportOutcome {
    /// Entries that received events.
    pub entries: BTreeSet<EntryId>,
    /// Number of appended events.
    pub events: usize,
    /// Number of events that this branch already has.
    pub known: usize,
    /// Events that the guard refuses.
    pub refused: Vec<RescanFinding>,
    /// Number of imported approvals by each person.
    pub approvals: BTreeMap<Actor, usize>,
}

/// Appends the events of an export that this branch lacks.
pub(crate) fn import_export(
    engine: &mut Engine,
    lines: &str,
    by: &Actor,
) -> Result<ExportImportOutcome, EngineError> {
    if !by.is_human() {
        let (what, by) = ("importing an export", by.clone());
        return Err(Refusal::PersonNeeded { what, by }.into());
    }
    let copies = parse_lines(lines)?;
    sync::sync_before_writing(engine)?;
    let mut redacted = verify::redacted_ids(engine)?;
    redacted.extend(copies.values().filter_map(|it| redaction_target(&it.event)));
    let mut outcome = ExportImportOutcome::default();
    let mut batch = Vec::new();
    for (id, copy) in copies {
        if engine.index.event(id)?.is_some() {
            outcome.known += 1;
            continue;
        }
        if let Some(finding) = engine.guard.refuses_now(&copy.event) {
            outcome.refused.push(finding);
            continue;
        }
        if copy.event.get::<ApprovalGranted>().is_some() {
            *outcome.approvals.entry(copy.event.by.clone()).or_default() += 1;
        }
        outcome.entries.extend(copy.event.entries());
        // A redaction event itself is never redacted: its target would come back.
        let is_redacted = redacted.contains(&id) && redaction_target(&copy.event).is_none();
        batch.push(if is_redacted { copy.redacted() } else { copy });
    }
    outcome.events = batch.len();
    for events in batch.chunks(BATCH_MAX) {
        engine.append(events)?;
    }
    ledger_maintenance::apply_redactions(engine)?;
    files::render_due(engine)?;
    Ok(outcome)
}

/// Parses the events of all lines. An event about several entries is on the line of each.
fn parse_lines(lines: &str) -> Result<BTreeMap<EventId, RecordedEvent>, EngineError> {
    let mut copies = BTreeMap::new();
    for (number, line) in (1..).zip(lines.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let invalid = |why: &dyn std::fmt::Display| {
            EngineError::Usage(format!(
                "line {number} is not a line of `ken ledger export`: {why}"
            ))
        };
        let object: Value = serde_json::from_str(line).map_err(|e| invalid(&e))?;
        let events = object.get(EVENTS_MEMBER).and_then(Value::as_array);
        let events = events.ok_or_else(|| invalid(&"it has no `events`"))?;
        for event in events {
            let text = canonical::to_string(event);
            let copy = RecordedEvent::parse(text.as_bytes()).map_err(|e| invalid(&e))?;
            copies.insert(copy.event.id, copy);
        }
    }
    Ok(copies)
}
