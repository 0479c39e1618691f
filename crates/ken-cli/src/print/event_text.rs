//! One event of a history for people.

use std::fmt::Write as _;

use ken_core::event::Recorded;
use ken_core::object::words;
use unicode_width::UnicodeWidthStr as _;

use super::{DIM, styled, visible, wrap};

/// Characters of a time that people read: day and minute.
const MINUTE_CHARS: usize = 16;
const INDENT: &str = "    ";
const GAP: &str = "  ";

/// Returns the lines of one event: when, by whom and under which id, then what it did.
pub(crate) fn event_text(recorded: &Recorded, width: usize) -> String {
    let event = &recorded.event;
    let at = event.at.wall.to_string();
    let at = at.get(..MINUTE_CHARS).unwrap_or(&at).replace('T', " ");
    let by = visible(&event.by.to_string());
    let id = event.id.to_string();
    let fits = at.width() + by.width() + id.width() + 2 * GAP.len() <= width;
    let gap = if fits {
        GAP.to_owned()
    } else {
        format!("\n{INDENT}")
    };
    let mut out = format!("{at}{GAP}{by}{gap}{}\n", styled(DIM, id));
    let room = width.saturating_sub(INDENT.len());
    for line in wrap(&visible(&words(recorded)), room) {
        let _ = writeln!(out, "{INDENT}{line}");
    }
    out
}
