//! Distillation: one entry that summarizes several.

use std::collections::BTreeSet;

use ken_core::decide::{self, DistillRequest};
use ken_core::ledger::cooccurrence::cooccurrence_edges;
use ken_core::ledger::entry::Entry;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{entries, files, sync};

/// Distills `sources` into one entry with the given statement. The sources remain.
pub(crate) fn distill(
    engine: &mut Engine,
    sources: &[EntryId],
    statement: Statement,
    kind: EntryKind,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    // A set: a source named twice would count twice.
    let ids: BTreeSet<EntryId> = sources.iter().copied().collect();
    let loaded = ids.into_iter().map(|id| engine.entry(id));
    let sources = loaded.collect::<Result<Vec<_>, _>>()?;
    let today = engine.now().date();
    let edges = cooccurrence_edges(&sources, today);
    let policy = engine.maintenance_policy()?;
    let distillation = DistillRequest {
        sources: &sources,
        statement,
        kind,
        edges: &edges,
        policy: &policy,
        today,
    };
    let mut proposal = decide::distilled_proposal(&distillation, by)?;
    let (event, entry) = entries::prepare_proposal(engine, &mut proposal, by)?;
    let drafts = decide::distill(event, proposal, &distillation)?;
    // The first draft is the proposal: the entry id was derived from this event id.
    let mut ids = [Some(event)].into_iter().chain(std::iter::repeat(None));
    let stamped = drafts.into_iter().map(|it| (ids.next().flatten(), it));
    engine.record_with_ids(stamped.collect(), by)?;
    files::render_due(engine)?;
    engine.entry(entry)
}
