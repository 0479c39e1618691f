//! The gates over knowledge itself, asked of the index: what they find is decided by [`ken_core::gates`].
//!
//! `knowledge.schema` is the ledger's own check (`verify`), code is held against entries in `validity`.

use std::collections::BTreeSet;

use ken_core::contradiction::standing::{Contradiction, detected};
use ken_core::entry::Entry;
use ken_core::gates::{self, Finding};
use ken_core::id::EntryId;
use ken_core::store::Store as _;
use ken_index::Index;

use crate::contradictions::{add_flagged, norms};
use crate::error::Error;

pub(crate) use ken_core::gates::{SCHEMA_GATE, staleness};

/// Returns what the gates over single entries find in `entry`.
pub(crate) fn of_entry(index: &Index, entry: &Entry) -> Result<Vec<Finding>, Error> {
    let mut findings: Vec<Finding> = gates::provenance(entry).into_iter().collect();
    for link in &entry.links {
        if index.entry(link.to)?.is_none() {
            findings.push(gates::loose_link(entry, link.to));
        }
    }
    if let Some(raw) = gates::raw_source(entry) {
        let history = index.history(entry.id)?;
        let events = history.iter().map(|it| &it.event);
        findings.extend(gates::no_backflow(entry, &raw, events));
    }
    Ok(findings)
}

/// Returns the contradictions of norms the rules see, and those somebody flagged. `among` limits it to pairs with one
/// of those.
pub(crate) fn contradictions(
    index: &Index,
    among: Option<&BTreeSet<EntryId>>,
) -> Result<Vec<Finding>, Error> {
    let workspace = index.workspace()?;
    let mut found = detected(&norms(index)?, &workspace, &|_, _| None);
    add_flagged(index, &workspace, &mut found)?;
    let concerns = |it: &&Contradiction| {
        among.is_none_or(|ids| ids.contains(&it.first.id) || ids.contains(&it.second.id))
    };
    let told = found.iter().filter(concerns);
    Ok(told.map(gates::contradicting).collect())
}
