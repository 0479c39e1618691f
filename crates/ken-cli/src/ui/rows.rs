//! Entries and checks of the engine as rows of pages.

use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::EntryFacts;
use ken_engine::Engine;
use ken_engine::validity::{AnchorCheck, AnchorVerdict, ConditionCheck, EntryCheck};
use ken_ui::address::LineSpan;
use ken_ui::view::{AnchorState, AnchorStateKind, ConditionState, EntryRow};

use crate::failure::CommandFailure;

/// Returns entries with a quick check against the code.
pub(super) fn rows(
    engine: &mut Engine,
    entries: Vec<Entry>,
) -> Result<Vec<EntryRow>, CommandFailure> {
    let facts = engine.entry_facts(&entries)?;
    let rows = entries.into_iter().zip(facts);
    Ok(rows
        .map(|(entry, facts)| EntryRow {
            entry,
            facts,
            hit: None,
        })
        .collect())
}

/// Returns one entry with a quick check against the code.
pub(super) fn row(engine: &mut Engine, entry: Entry) -> Result<EntryRow, CommandFailure> {
    let found = rows(engine, vec![entry])?.pop();
    found.ok_or_else(|| CommandFailure::usage("the entry has no facts"))
}

/// Returns the row of a check that was made already.
pub(super) fn checked_row(engine: &Engine, check: &EntryCheck) -> EntryRow {
    EntryRow {
        entry: check.entry.clone(),
        facts: EntryFacts::from_entry(&check.entry, Some(check.validity), engine.now()),
        hit: None,
    }
}

pub(super) fn anchor_state(check: &AnchorCheck) -> AnchorState {
    let kind = match check.verdict {
        AnchorVerdict::Intact => AnchorStateKind::Intact,
        AnchorVerdict::Moved => AnchorStateKind::Moved,
        AnchorVerdict::Unverifiable => AnchorStateKind::Unverifiable,
        AnchorVerdict::Changed => AnchorStateKind::Changed,
        AnchorVerdict::Gone => AnchorStateKind::Gone,
    };
    let now = check.now.as_ref().map(|it| &it.at);
    AnchorState {
        location: check.at.clone(),
        kind,
        lines: check.line.map(|first| LineSpan {
            first,
            last: check.last_line.unwrap_or(first).max(first),
        }),
        moved_to: now.filter(|it| **it != check.at).cloned(),
        reason: check.why.clone(),
        diff: check.diff.clone(),
    }
}

pub(super) fn condition_state(check: &ConditionCheck) -> ConditionState {
    ConditionState {
        condition: check.condition.clone(),
        truth: check.truth,
        reason: check.why.clone(),
    }
}
