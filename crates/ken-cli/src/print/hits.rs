//! Text of search hits: status, confidence and the reason for the match.

use std::fmt::Write as _;

use ken_core::json::describe_rediscovery;
use ken_core::ledger::entry::Entry;
use ken_core::retrieval::agent_texts::departure_warning;
use ken_core::retrieval::unrecorded::UnrecordedHit;
use ken_core::trust::facts::{EntryFacts, Validity};
use ken_core::values::time::Date;
use ken_engine::search::SearchHit;

use super::entry_text::status_style;
use super::{BOLD, DIM, WARN, escape_invisible, styled, wrap};

/// Cells of the confidence bar.
const BAR_CELLS: usize = 5;

/// The indentation of a statement.
const INDENT: &str = "  ";

/// Renders one hit.
pub(crate) fn hit_text(hit: &SearchHit, today: Date, width: usize) -> String {
    let entry = &hit.entry;
    let status = entry.status.value;
    let kind = entry
        .kind()
        .map_or("", ken_core::values::kind::EntryKind::name);
    // Entries from other projects were not checked against this code, so they are labeled.
    let label = if is_global(entry) { "  global" } else { "" };
    let content = entry.content.as_ref();
    let certainty = content.and_then(|it| it.spike_certainty());
    let certainty = certainty.map_or_else(String::new, |it| format!(" ({it})"));
    let mut out = format!(
        "{}{label}  {kind}{certainty}  {}  {}\n",
        styled(BOLD, entry.id),
        styled(status_style(status), status.name()),
        confidence_text(&hit.entry, &hit.facts, today),
    );
    let statement = entry
        .content
        .as_ref()
        .map(|it| escape_invisible(it.statement.as_str()));
    for line in statement.unwrap_or_default().lines() {
        for part in wrap(line, width.saturating_sub(INDENT.len())) {
            let _ = writeln!(out, "{INDENT}{part}");
        }
    }
    for line in match_text(hit).lines() {
        let _ = writeln!(out, "{INDENT}{line}");
    }
    out
}

/// Renders a conversation or a commit.
pub(crate) fn unrecorded_text(hit: &UnrecordedHit, width: usize) -> String {
    let mut out = format!("{}\n", styled(DIM, hit.label()));
    for line in &hit.lines {
        for part in wrap(&escape_invisible(line), width.saturating_sub(INDENT.len())) {
            let _ = writeln!(out, "{INDENT}{part}");
        }
    }
    out
}

/// Returns true if an entry is a copy from another project.
fn is_global(entry: &Entry) -> bool {
    let created = entry.created.as_ref();
    created.is_some_and(|it| it.copied_from.is_some())
}

/// Renders the conflicts of a hit and the reason for its match.
pub(crate) fn match_text(hit: &SearchHit) -> String {
    let mut out = String::new();
    if !hit.conflicts.is_empty() {
        let ids: Vec<String> = hit.conflicts.iter().map(ToString::to_string).collect();
        let against = format!("conflicts with {}", ids.join(", "));
        let _ = writeln!(out, "{}", styled(WARN, against));
    }
    let _ = writeln!(out, "{}", styled(DIM, match_reason(hit)));
    out
}

/// Renders the confidence in an entry, its validity and its last confirmation.
pub(crate) fn confidence_text(entry: &Entry, facts: &EntryFacts, today: Date) -> String {
    let standing = styled(DIM, validity_text(entry, facts, today));
    format!("{}  {standing}", confidence_bar(facts.posterior.mean()))
}

/// Renders the signals of a hit's score.
pub(crate) fn score_text(hit: &SearchHit) -> String {
    let mut out = String::new();
    // Signals without influence on this hit are left out.
    for part in hit.explained.parts.iter().filter(|part| part.adds != 0.0) {
        let _ = writeln!(
            out,
            "{INDENT}{INDENT}{:<12} {:.3} × {:.2} = {:.3}",
            part.name, part.value, part.weight, part.adds
        );
    }
    let _ = writeln!(
        out,
        "{INDENT}{INDENT}{:<12} {:.3}",
        "score", hit.explained.score
    );
    if let Some(finds) = describe_rediscovery(&hit.entry) {
        let _ = writeln!(out, "{INDENT}{INDENT}{finds}");
    }
    out
}

/// Renders confidence as a bar and a number.
fn confidence_bar(confidence: f64) -> String {
    let cells = (confidence * BAR_CELLS as f64).round() as usize;
    let full = cells.min(BAR_CELLS);
    format!(
        "{}{} {confidence:.2}",
        "▮".repeat(full),
        "▯".repeat(BAR_CELLS - full)
    )
}

/// Renders the validity and the time of the last confirmation, or else of the proposal.
fn validity_text(entry: &Entry, facts: &EntryFacts, today: Date) -> String {
    if facts.validity == Validity::Changed && entry.is_prescriptive() {
        return format!("~ {}", departure_warning(facts.changed_in.as_deref()));
    }
    let mark = match facts.validity {
        Validity::Holds if entry.is_checked_by_existence() => "✓ file exists",
        Validity::Holds => "✓ holds",
        Validity::Changed => "~ code changed",
        Validity::Broken => "✗ broken",
        Validity::Unverifiable => "? unchecked",
    };
    let how = if facts.confirmation.is_confirmed() {
        "confirmed"
    } else {
        "added"
    };
    match facts.confirmation.last.map(|last| today.days_since(last)) {
        None => mark.to_owned(),
        Some(0) => format!("{mark}, {how} today"),
        Some(1) => format!("{mark}, {how} yesterday"),
        Some(days) => format!("{mark}, {how} {days} days ago"),
    }
}

/// Renders the reason for a match.
fn match_reason(hit: &SearchHit) -> String {
    let words = match hit.coverage {
        // Coverage is a quotient of floats, so full coverage may be slightly below 1.
        all if all > 0.999 => "matches every word".to_owned(),
        part if part > 0.0 => format!("matches {:.0}% of the words", part * 100.0),
        _ => "matches no word".to_owned(),
    };
    let here = if hit.anchored {
        "about a path of the query, "
    } else {
        ""
    };
    format!("{here}{words}, similarity {:.2}", hit.cosine)
}
