//! `ken_get`: all of one entry, written as data between marks.

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::text::word;
use ken_core::time::Timestamp;
use ken_engine::Engine;
use ken_engine::validity::{Checked, Verdict};
use ken_mcp::ask::{Format, GetAsk};
use ken_mcp::{Reply, words};
use serde::Serialize;
use serde_json::Value;

use super::Desk;
use crate::asking;
use crate::failure::Failure;
use ken_core::object::EntryObject;
use ken_core::object::EventObject;

/// What an entry's URI begins with.
const ENTRY: &str = "ken://entry/";

/// All there is to tell of one entry.
struct Told {
    entry: Entry,
    /// What the code says, where the entry rests on any.
    checked: Option<Checked>,
    /// Entries that say the opposite.
    conflicts: Vec<EntryId>,
    /// Whoever made it was revoked.
    is_revoked: bool,
    history: Option<Vec<Recorded>>,
    now: Timestamp,
}

pub(super) fn get(desk: &mut Desk<'_>, ask: &GetAsk) -> Result<Reply, Failure> {
    let wanted = ask.id.trim();
    let wanted = wanted.strip_prefix(ENTRY).unwrap_or(wanted);
    let told = asking::find(desk.surroundings, desk.engine, wanted, |engine, entry| {
        told(engine, entry, ask.history)
    })?;
    if !told.entry.quarantine.is_empty() {
        let id = told.entry.id;
        let message = format!("{id} is set apart: nobody has looked at it yet");
        let hint = format!("a person reads it with `ken show {id}` and may let it out");
        return Err(Failure::refused("quarantined", message).with_hint(hint));
    }
    desk.engine
        .note_shown(desk.reader, &[told.entry.id], How::Show)?;
    match ask.format {
        Format::Text => Ok(Reply::Text(text(&told))),
        Format::Json => super::json(&object(&told)),
    }
}

fn told(engine: &mut Engine, entry: Entry, with_history: bool) -> Result<Told, Failure> {
    let id = entry.id;
    let checked = match entry.has_grounds() {
        true => Some(engine.check_entry(id)?),
        false => None,
    };
    let workspace = engine.workspace()?;
    let pairs = workspace.contradictions.values();
    let other = pairs.filter_map(|(one, other)| match (*one == id, *other == id) {
        (true, _) => Some(*other),
        (false, true) => Some(*one),
        (false, false) => None,
    });
    Ok(Told {
        conflicts: other.collect(),
        is_revoked: workspace.is_revoked(&entry),
        history: with_history.then(|| engine.history(id)).transpose()?,
        now: engine.now(),
        checked,
        entry,
    })
}

fn text(told: &Told) -> String {
    words::entry(&words::Told {
        entry: &told.entry,
        validity: told.checked.as_ref().map(|it| it.validity),
        grounds: grounds(told.checked.as_ref()),
        conflicts: &told.conflicts,
        is_revoked: told.is_revoked,
        history: told.history.as_deref(),
        now: told.now,
    })
}

/// Returns what became of what the entry rests on, where that is not what it was.
fn grounds(checked: Option<&Checked>) -> Vec<(&'static str, String)> {
    let Some(checked) = checked else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for it in &checked.anchors {
        let verdict = match it.verdict {
            Verdict::Intact => continue,
            Verdict::Moved | Verdict::Unverifiable | Verdict::Changed | Verdict::Gone => {
                word(&it.verdict)
            }
        };
        let why = match it.why.is_empty() {
            true => String::new(),
            false => format!(" ({})", it.why),
        };
        lines.push(("code", format!("{} {verdict}{why}", it.at)));
    }
    for it in &checked.conditions {
        let (condition, truth, why) = (&it.condition, word(&it.truth), &it.why);
        lines.push(("rests on", format!("{condition}: {truth} ({why})")));
    }
    lines
}

fn object(told: &Told) -> EntryObject {
    let mut object = EntryObject::new(&told.entry);
    if let Some(checked) = &told.checked {
        object = object
            .with("validity", word(&checked.validity).into())
            .with("anchors_now", value(&checked.anchors))
            .with("conditions_now", value(&checked.conditions));
    }
    if !told.conflicts.is_empty() {
        object = object.with("conflicts", value(&told.conflicts));
    }
    if let Some(history) = &told.history {
        let events: Vec<EventObject> = history.iter().map(EventObject::new).collect();
        object = object.with("history", value(&events));
    }
    object
}

fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}
