//! Drift of the memories: gathers the facts that the rules in the core need.

use std::collections::BTreeSet;

use ken_core::health::drift::{DriftFacts, DriftFinding, detect_drift};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::trust::facts::Validity;
use ken_core::values::citation::CitationType;
use ken_core::values::condition::{
    ConditionClause, ConditionSense, ParsedCondition, SymbolClause, TruthValue,
};
use ken_core::values::id::EntryId;

use crate::citations;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::validity::{self, AnchorVerdict, ConditionCheck, Effort, EntryCheck, MoveSearch};

/// Returns memories that are stale, bloated, contradictory or orphaned.
pub(crate) fn drift(engine: &mut Engine) -> Result<Vec<DriftFinding>, EngineError> {
    let entries = engine.index.list(&EntryFilter::default())?;
    let mut against = engine.index.contradicting(entries.iter().map(|it| it.id))?;
    for pair in engine.open_contradictions()? {
        let (first, second) = (pair.first.id, pair.second.id);
        against.entry(first).or_default().insert(second);
        against.entry(second).or_default().insert(first);
    }
    let orphaned = cited_documents_gone(engine, &entries)?;
    // A condition may never have been evaluated here, so stored results are not enough.
    let checked =
        validity::anchoring::check_entries(engine, entries, MoveSearch::File, Effort::Full)?;
    let live: BTreeSet<EntryId> = checked.iter().map(|it| it.entry.id).collect();
    let facts: Vec<(Entry, DriftFacts)> = checked
        .into_iter()
        .map(|checked| {
            let id = checked.entry.id;
            let mut against = against.remove(&id).unwrap_or_default();
            // A contradiction with an archived entry is harmless.
            against.retain(|other| live.contains(other));
            let standing = DriftFacts {
                holds: checked.validity == Validity::Holds,
                orphaned: orphaned.contains(&id) || is_orphaned(engine, &checked),
                against,
            };
            (checked.entry, standing)
        })
        .collect();
    let pairs = facts.iter().map(|(entry, standing)| (entry, standing));
    Ok(detect_drift(pairs, engine.now().date()))
}

/// Returns the entries that cite a document which does not exist.
fn cited_documents_gone(
    engine: &Engine,
    entries: &[Entry],
) -> Result<BTreeSet<EntryId>, EngineError> {
    let dangling = citations::dangling(engine, entries)?.into_iter();
    let documents = dangling.filter(|it| it.citation.evidence_type == CitationType::Doc);
    Ok(documents.map(|it| it.entry.id).collect())
}

/// Returns true if a file that the entry is anchored to or depends on does not exist.
fn is_orphaned(engine: &Engine, checked: &EntryCheck) -> bool {
    let is_gone = |verdict, why: &str| verdict == AnchorVerdict::Gone && why == validity::FILE_GONE;
    let mut anchors = checked.anchors.iter();
    let mut conditions = checked.conditions.iter();
    anchors.any(|it| is_gone(it.verdict, &it.why))
        || conditions.any(|it| depends_on_gone_file(engine, it))
}

/// Returns true if a condition is broken because its file does not exist.
fn depends_on_gone_file(engine: &Engine, check: &ConditionCheck) -> bool {
    let Ok(condition) = check.condition.parse::<ParsedCondition>() else {
        return false;
    };
    if check.truth != TruthValue::Broken || condition.sense != ConditionSense::Plain {
        return false;
    }
    match &condition.clause {
        ConditionClause::File(_) => true,
        ConditionClause::Symbol(SymbolClause { path, .. })
        | ConditionClause::Config { path, .. } => !engine.place.root.join(path).exists(),
        ConditionClause::Text { .. }
        | ConditionClause::Code { .. }
        | ConditionClause::Package(_)
        | ConditionClause::Fact(_) => false,
    }
}
