//! Drift of the memories: gathers the facts that the rules in the core need.

use ken_core::health::drift::{DriftFacts, DriftFinding, detect_drift};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::trust::facts::Validity;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::validity::{self, AnchorVerdict, Effort, EntryCheck, MoveSearch};

/// Returns memories that are stale, bloated, contradictory or orphaned.
pub(crate) fn drift(engine: &mut Engine) -> Result<Vec<DriftFinding>, EngineError> {
    let entries = engine.index.list(&EntryFilter::default())?;
    let workspace = engine.index.workspace()?;
    let open = workspace.open_contradictions();
    let mut linked = engine.index.contradicting(entries.iter().map(|it| it.id))?;
    let checked =
        validity::anchoring::check_entries(engine, entries, MoveSearch::File, Effort::Cached)?;
    let live: std::collections::BTreeSet<_> = checked.iter().map(|it| it.entry.id).collect();
    let facts: Vec<(Entry, DriftFacts)> = checked
        .into_iter()
        .map(|checked| {
            let id = checked.entry.id;
            let mut against = linked.remove(&id).unwrap_or_default();
            against.extend(open.get(&id).into_iter().flatten());
            // A contradiction with an archived entry is harmless.
            against.retain(|other| live.contains(other));
            let standing = DriftFacts {
                holds: checked.validity == Validity::Holds,
                orphaned: is_orphaned(&checked),
                against,
            };
            (checked.entry, standing)
        })
        .collect();
    let pairs = facts.iter().map(|(entry, standing)| (entry, standing));
    Ok(detect_drift(pairs, engine.now().date()))
}

/// Returns true if a file that the entry is anchored to does not exist.
fn is_orphaned(checked: &EntryCheck) -> bool {
    let is_gone = |verdict, why: &str| verdict == AnchorVerdict::Gone && why == validity::FILE_GONE;
    let mut anchors = checked.anchors.iter();
    anchors.any(|it| is_gone(it.verdict, &it.why))
}
