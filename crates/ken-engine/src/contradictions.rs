//! Contradictions between entries: detected by rules, flagged once, resolved by authorized actors.
//!
//! No side is preferred. A dismissed or resolved pair is not reported again.

use std::collections::BTreeSet;

use ken_core::decide;
pub use ken_core::decide::ContradictionResolution;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::PairKind;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::ledger::workspace::WorkspaceState;
pub use ken_core::trust::contradiction::unresolved::Contradiction;
use ken_core::trust::contradiction::unresolved::{self, detect_contradictions, live_opponents};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::Note;
use ken_index::Index;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{duplicates, files, model, sync};

/// Returns every open contradiction between live entries, flagged or not.
pub(crate) fn open_contradictions(engine: &mut Engine) -> Result<Vec<Contradiction>, EngineError> {
    let mut entries = engine.index.list(&EntryFilter::default())?;
    unresolved::retain_comparable(&mut entries);
    let statements: Vec<&str> = entries.iter().map(Entry::statement_text).collect();
    let table = model::built_in_table(engine, &statements)?;
    let workspace = engine.index.workspace()?;
    let cosine = |one: usize, other: usize| table.as_ref().map_or(0.0, |it| it.cosine(one, other));
    let near = table
        .as_ref()
        .map(|it| (it.model(), &cosine as &dyn Fn(usize, usize) -> f64));
    let mut found = detect_contradictions(&entries, &workspace, near);
    add_flagged(&engine.index, &workspace, &mut found)?;
    Ok(found)
}

/// Returns contradictions with the norm `id`; empty if it is not a norm.
pub(crate) fn contradicting_norms(
    engine: &Engine,
    id: EntryId,
) -> Result<Vec<Contradiction>, EngineError> {
    if id.prefix().memory() != Memory::Procedural {
        return Ok(Vec::new());
    }
    // Without a model: `ken add` calls this, and loading one would slow every addition.
    let workspace = engine.index.workspace()?;
    let mut found = detect_contradictions(&load_norms(&engine.index)?, &workspace, None);
    found.retain(|it| it.first.id == id || it.second.id == id);
    Ok(found)
}

/// Returns the live entries that contradict `id`: by a link, or by a flag that still stands.
pub(crate) fn opponents(engine: &Engine, id: EntryId) -> Result<BTreeSet<EntryId>, EngineError> {
    let workspace = engine.index.workspace()?;
    let mut linked = engine.index.contradicting([id])?;
    let linked = linked.remove(&id).unwrap_or_default();
    let mut flagged = workspace.open_contradictions();
    let flagged = flagged.remove(&id).unwrap_or_default();
    let mut others = Vec::new();
    for other in linked.union(&flagged) {
        others.extend(engine.index.entry(*other)?);
    }
    if others.is_empty() {
        return Ok(BTreeSet::new());
    }
    let entry = engine.entry(id)?;
    Ok(live_opponents(&entry, &others, &linked, &workspace))
}

/// Flags new contradictions in the ledger, each only once, and returns them.
pub(crate) fn flag_contradictions(
    engine: &mut Engine,
    by: &Actor,
) -> Result<Vec<Contradiction>, EngineError> {
    sync::sync_before_writing(engine)?;
    let mut found = engine.open_contradictions()?;
    found.retain(|it| !it.flagged);
    record_contradiction_flags(engine, found, by)
}

/// Appends a flag for each contradiction and returns those that could be flagged.
fn record_contradiction_flags(
    engine: &mut Engine,
    mut found: Vec<Contradiction>,
    by: &Actor,
) -> Result<Vec<Contradiction>, EngineError> {
    let workspace = engine.index.workspace()?;
    let mut drafts = Vec::with_capacity(found.len());
    found.retain(|pair| {
        let Ok(why) = pair.why.parse::<Note>() else {
            return false;
        };
        let draft = decide::flag_contradiction(&pair.first, &pair.second, why, &workspace);
        // The pair is already flagged, dismissed or read-only.
        let Ok(draft) = draft else { return false };
        drafts.push(draft);
        true
    });
    if !drafts.is_empty() {
        engine.record(drafts, by)?;
    }
    for pair in &mut found {
        pair.flagged = true;
    }
    Ok(found)
}

/// Records permanently that two entries do not contradict each other.
pub(crate) fn dismiss_contradiction(
    engine: &mut Engine,
    one: EntryId,
    other: EntryId,
    by: &Actor,
) -> Result<(), EngineError> {
    duplicates::dismiss_pair(engine, (one, other), PairKind::Contradiction, by)
}

/// Resolves a contradiction.
pub(crate) fn resolve_contradiction(
    engine: &mut Engine,
    one: EntryId,
    other: EntryId,
    how: ContradictionResolution,
    by: &Actor,
) -> Result<(), EngineError> {
    sync::sync_before_writing(engine)?;
    let (one, other) = (engine.entry(one)?, engine.entry(other)?);
    let workspace = engine.index.workspace()?;
    let drafts = decide::resolve_contradiction(&one, &other, how, &workspace, by)?;
    // A single append: a resolution without its tags would be wrong.
    engine.record(drafts, by)?;
    files::render_due(engine)?;
    Ok(())
}

/// Returns the live norms.
pub(crate) fn load_norms(index: &Index) -> Result<Vec<Entry>, EngineError> {
    Ok(index.list(&EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    })?)
}

/// Adds flagged, open pairs that no rule detects.
pub(crate) fn add_flagged(
    index: &Index,
    workspace: &WorkspaceState,
    found: &mut Vec<Contradiction>,
) -> Result<(), EngineError> {
    unresolved::append_flagged(workspace, found, &mut |id| Ok(index.entry(id)?))
}
