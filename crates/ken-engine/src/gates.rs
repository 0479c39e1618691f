//! Gates over the knowledge base: loads from the index, decides with [`ken_core::health::gates`].
//!
//! The gate `knowledge.schema` is the ledger's own check (`verify`); `validity` checks entries
//! against the code.

use std::collections::BTreeSet;

use ken_core::health::gates::{self, GateFinding};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::trust::contradiction::unresolved::{Contradiction, detect_contradictions};
use ken_core::values::id::EntryId;
use ken_index::Index;

use crate::contradictions::{add_flagged, load_norms};
use crate::error::EngineError;

pub(crate) use ken_core::health::gates::{SCHEMA_GATE, check_staleness};

/// Returns the findings of the gates for a single entry.
pub(crate) fn check_entry(index: &Index, entry: &Entry) -> Result<Vec<GateFinding>, EngineError> {
    let mut findings: Vec<GateFinding> = gates::check_provenance(entry).into_iter().collect();
    for link in &entry.links {
        if index.entry(link.to)?.is_none() {
            findings.push(gates::dangling_link(entry, link.to));
        }
    }
    // Loading the history is slow, so only entries from raw sources need it.
    if let Some(raw) = gates::backflow_source(entry) {
        let history = index.history(entry.id)?;
        let events = history.iter().map(|it| &it.event);
        findings.extend(gates::check_backflow(entry, &raw, events));
    }
    Ok(findings)
}

/// Returns findings for contradictions between norms and for flagged contradictions. `among` limits
/// them to pairs with one of these entries.
pub(crate) fn check_contradictions(
    index: &Index,
    among: Option<&BTreeSet<EntryId>>,
) -> Result<Vec<GateFinding>, EngineError> {
    let workspace = index.workspace()?;
    let mut found = detect_contradictions(&load_norms(index)?, &workspace, None);
    add_flagged(index, &workspace, &mut found)?;
    let concerns = |pair: &&Contradiction| {
        among.is_none_or(|ids| ids.contains(&pair.first.id) || ids.contains(&pair.second.id))
    };
    let relevant = found.iter().filter(concerns);
    Ok(relevant.map(gates::contradiction_finding).collect())
}
