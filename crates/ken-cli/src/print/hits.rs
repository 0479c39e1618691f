//! What a search found, for people: who says it, how sure that is, and why it matched.

use std::fmt::Write as _;

use ken_core::entry::Entry;
use ken_core::facts::{EntryFacts, Validity};
use ken_core::time::Date;
use ken_engine::search::Hit;

use super::entry_text::status_style;
use super::{BOLD, DIM, WARN, styled, visible, wrap};

/// Cells of the confidence bar.
const BAR_CELLS: usize = 5;

/// Columns a statement is set in.
const INDENT: &str = "  ";

/// Returns the lines of one hit.
pub(crate) fn hit_text(hit: &Hit, today: Date, width: usize) -> String {
    let entry = &hit.entry;
    let status = entry.status.value;
    let kind = entry.kind().map_or("", ken_core::kind::Kind::name);
    let label = if is_global(entry) { "  global" } else { "" };
    let mut out = format!(
        "{}{label}  {kind}  {}  {}\n",
        styled(BOLD, entry.id),
        styled(status_style(status), status.name()),
        sureness(&hit.facts, today),
    );
    let statement = entry
        .content
        .as_ref()
        .map(|it| visible(it.statement.as_str()));
    for line in statement.unwrap_or_default().lines() {
        for part in wrap(line, width.saturating_sub(INDENT.len())) {
            let _ = writeln!(out, "{INDENT}{part}");
        }
    }
    for line in matching(hit).lines() {
        let _ = writeln!(out, "{INDENT}{line}");
    }
    out
}

/// Returns whether an entry is a copy of what another project knows.
fn is_global(entry: &Entry) -> bool {
    let created = entry.created.as_ref();
    created.is_some_and(|it| it.copied_from.is_some())
}

/// Returns the lines that say what contradicts a hit and why it matched.
pub(crate) fn matching(hit: &Hit) -> String {
    let mut out = String::new();
    if !hit.conflicts.is_empty() {
        let ids: Vec<String> = hit.conflicts.iter().map(ToString::to_string).collect();
        let against = format!("conflicts with {}", ids.join(", "));
        let _ = writeln!(out, "{}", styled(WARN, against));
    }
    let _ = writeln!(out, "{}", styled(DIM, why(hit)));
    out
}

/// Returns how sure an entry is, whether the code bears it out and when somebody last did.
pub(crate) fn sureness(facts: &EntryFacts, today: Date) -> String {
    let standing = styled(DIM, standing(facts, today));
    format!("{}  {standing}", bar(facts.posterior.mean()))
}

/// Returns the summands of a hit's score.
pub(crate) fn explanation(hit: &Hit) -> String {
    let mut out = String::new();
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
    out
}

/// How sure it is, as a bar and a number.
fn bar(confidence: f64) -> String {
    let full = (confidence * BAR_CELLS as f64).round() as usize;
    let full = full.min(BAR_CELLS);
    format!(
        "{}{} {confidence:.2}",
        "▮".repeat(full),
        "▯".repeat(BAR_CELLS - full)
    )
}

/// Whether the code bears it out, and when somebody last did.
fn standing(facts: &EntryFacts, today: Date) -> String {
    let mark = match facts.validity {
        Validity::Holds => "✓ holds",
        Validity::Changed => "~ code changed",
        Validity::Broken => "✗ broken",
        Validity::Unverifiable => "? unchecked",
    };
    match facts.confirmation.last.map(|last| today.days_since(last)) {
        None => mark.to_owned(),
        Some(0) => format!("{mark}, confirmed today"),
        Some(1) => format!("{mark}, confirmed yesterday"),
        Some(days) => format!("{mark}, confirmed {days} days ago"),
    }
}

/// Why it matched.
fn why(hit: &Hit) -> String {
    let words = match hit.coverage {
        all if 0.999 < all => "has every word".to_owned(),
        part if 0.0 < part => format!("has {:.0} % of the words", part * 100.0),
        _ => "has none of the words".to_owned(),
    };
    let here = if hit.anchored {
        "about a path in hand, "
    } else {
        ""
    };
    format!("{here}{words}, meaning {:.2}", hit.cosine)
}
