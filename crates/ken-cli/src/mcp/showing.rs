//! `ken_show`: one entry in full, rendered as data between markers.

use ken_core::json::{EntityRelationship, EntryJson, EventJson};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_core::values::time::Timestamp;
use ken_engine::Engine;
use ken_engine::validity::{AnchorVerdict, EntryCheck};
use ken_mcp::ask::{GetArguments, ReplyFormat};
use ken_mcp::{ToolReply, words};
use serde::Serialize;
use serde_json::Value;

use super::CallContext;
use crate::asking;
use crate::failure::CommandFailure;

/// The prefix of an entry's URI.
const ENTRY_URI_PREFIX: &str = "ken://entry/";

/// An entry with everything that is shown about it.
struct FetchedEntry {
    entry: Entry,
    /// The check against the code, if the entry has anchors or conditions.
    checked: Option<EntryCheck>,
    /// Entries that contradict it.
    conflicts: Vec<EntryId>,
    relationships: Vec<EntityRelationship>,
    /// True if its author was revoked.
    is_revoked: bool,
    history: Option<Vec<RecordedEvent>>,
    now: Timestamp,
}

pub(super) fn get(
    context: &mut CallContext<'_>,
    arguments: &GetArguments,
) -> Result<ToolReply, CommandFailure> {
    let typed = arguments.id.trim();
    let wanted = typed.strip_prefix(ENTRY_URI_PREFIX).unwrap_or(typed);
    let fetched = asking::with_entry(
        context.surroundings,
        context.engine,
        wanted,
        |engine, entry| fetch_entry(engine, entry, arguments.history),
    )?;
    asking::ensure_released(&fetched.entry)?;
    context
        .engine
        // Before the reply is built: an exposure that cannot be recorded is an error.
        .record_exposures(context.reader, &[fetched.entry.id], ExposureChannel::Show)?;
    match arguments.format {
        ReplyFormat::Text => Ok(ToolReply::Text(render_text(&fetched))),
        ReplyFormat::Json => super::json_reply(&entry_json(&fetched)),
    }
}

fn fetch_entry(
    engine: &mut Engine,
    entry: Entry,
    with_history: bool,
) -> Result<FetchedEntry, CommandFailure> {
    let id = entry.id;
    let checked = if entry.is_checkable() {
        Some(engine.check_entry(id)?)
    } else {
        None
    };
    let workspace = engine.workspace()?;
    Ok(FetchedEntry {
        conflicts: engine.opponents(id)?.into_iter().collect(),
        relationships: engine.relationships(&entry)?,
        is_revoked: workspace.is_revoked(&entry),
        history: with_history.then(|| engine.history(id)).transpose()?,
        now: engine.now(),
        checked,
        entry,
    })
}

fn render_text(fetched: &FetchedEntry) -> String {
    words::entry_text(&words::EntryDetails {
        entry: &fetched.entry,
        validity: fetched.checked.as_ref().map(|it| it.validity),
        grounds: failed_checks(fetched.checked.as_ref()),
        conflicts: &fetched.conflicts,
        relationships: &fetched.relationships,
        is_revoked: fetched.is_revoked,
        history: fetched.history.as_deref(),
        now: fetched.now,
    })
}

/// Returns a line for each anchor that is not intact and for every condition.
fn failed_checks(checked: Option<&EntryCheck>) -> Vec<(&'static str, String)> {
    let Some(checked) = checked else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for anchor in &checked.anchors {
        let verdict = match anchor.verdict {
            AnchorVerdict::Intact => continue,
            AnchorVerdict::Moved
            | AnchorVerdict::Unverifiable
            | AnchorVerdict::Changed
            | AnchorVerdict::Gone => enum_label(&anchor.verdict),
        };
        let why = if anchor.why.is_empty() {
            String::new()
        } else {
            format!(" ({})", anchor.why)
        };
        lines.push(("code", format!("{} {verdict}{why}", anchor.at)));
    }
    for check in &checked.conditions {
        let (condition, truth, why) = (&check.condition, enum_label(&check.truth), &check.why);
        lines.push(("condition", format!("{condition}: {truth} ({why})")));
    }
    lines
}

fn entry_json(fetched: &FetchedEntry) -> EntryJson {
    let mut json = EntryJson::new(&fetched.entry);
    if let Some(checked) = &fetched.checked {
        json = json
            .with("validity", enum_label(&checked.validity).into())
            .with("anchors_now", to_value(&checked.anchors))
            .with("conditions_now", to_value(&checked.conditions));
    }
    if !fetched.conflicts.is_empty() {
        json = json.with("conflicts", to_value(&fetched.conflicts));
    }
    if !fetched.relationships.is_empty() {
        json = json.with("relationships", to_value(&fetched.relationships));
    }
    if let Some(history) = &fetched.history {
        let events: Vec<EventJson> = history.iter().map(EventJson::new).collect();
        json = json.with("history", to_value(&events));
    }
    json
}

fn to_value(object: &impl Serialize) -> Value {
    // Ken's own types always serialize, so the default is never used.
    serde_json::to_value(object).unwrap_or_default()
}
