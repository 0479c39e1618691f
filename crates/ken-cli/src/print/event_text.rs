//! Text of one event in a history.

use std::fmt::Write as _;

use ken_core::json::describe_event;
use ken_core::ledger::event::{Event, RecordedEvent};
use ken_core::values::time::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use super::{DIM, escape_invisible, styled, wrap};

/// Characters of a timestamp up to the minute.
const MINUTE_CHARS: usize = 16;
const INDENT: &str = "    ";
const GAP: &str = "  ";

/// Returns the time of an event up to the minute.
pub(crate) fn minute(event: &Event) -> String {
    to_minute(event.at.wall)
}

/// Formats a time up to the minute.
pub(crate) fn to_minute(at: Timestamp) -> String {
    let timestamp = at.to_string();
    let minute = timestamp.get(..MINUTE_CHARS).unwrap_or(&timestamp);
    minute.replace('T', " ")
}

/// Renders one event: time, author and id, then its effect.
///
/// `name` is that of an author whom the event names by id.
pub(crate) fn event_text(recorded: &RecordedEvent, name: Option<&str>, width: usize) -> String {
    let event = &recorded.event;
    let at = minute(event);
    let name = name.map(|it| format!(" ({it})")).unwrap_or_default();
    let by = format!("{}{name}", event.by);
    let by = escape_invisible(&by);
    let id = event.id.to_string();
    let fits = at.width() + by.width() + id.width() + 2 * GAP.len() <= width;
    let gap = if fits {
        GAP.to_owned()
    } else {
        format!("\n{INDENT}")
    };
    let mut out = format!("{at}{GAP}{by}{gap}{}\n", styled(DIM, id));
    let room = width.saturating_sub(INDENT.len());
    for line in wrap(&escape_invisible(&describe_event(recorded)), room) {
        let _ = writeln!(out, "{INDENT}{line}");
    }
    out
}
