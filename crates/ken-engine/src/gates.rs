//! The gates over knowledge itself: provenance, links, staleness, contradictions and no backflow.
//!
//! Each looks at state and says what it finds; only what binds everybody blocks. `knowledge.schema` is the
//! ledger's own check (`verify`), code is held against entries in `validity`.

use std::collections::BTreeSet;

use ken_core::decide::Refusal;
use ken_core::drift::STALE_DAYS;
use ken_core::entry::Entry;
use ken_core::event::ApprovalGranted;
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::store::Store as _;
use ken_core::time::Date;
use ken_index::Index;
use ken_ledger::layout::KEN_DIR;

use crate::contradictions::{Contradiction, add_flagged, detected, norms};
use crate::error::Error;
use crate::verify::{Finding, Level};

/// The gate for lines and files of the ledger.
pub(crate) const SCHEMA_GATE: &str = "knowledge.schema";
const PROVENANCE_GATE: &str = "knowledge.provenance";
const LINKS_GATE: &str = "knowledge.links";
const STALENESS_GATE: &str = "knowledge.staleness";
const CONTRADICTIONS_GATE: &str = "knowledge.contradictions";
const BACKFLOW_GATE: &str = "episodic.no_backflow";

/// Returns what the gates over single entries find in `entry`.
pub(crate) fn of_entry(index: &Index, entry: &Entry) -> Result<Vec<Finding>, Error> {
    let mut findings: Vec<Finding> = provenance(entry).into_iter().collect();
    findings.extend(links(index, entry)?);
    findings.extend(no_backflow(index, entry)?);
    Ok(findings)
}

fn finding(gate: &'static str, level: Level, entry: &Entry, message: String) -> Finding {
    Finding {
        gate,
        level,
        message,
        at: entry.id.to_string(),
        line: None,
    }
}

/// Every fact and every norm names where it comes from.
fn provenance(entry: &Entry) -> Option<Finding> {
    let needed = is_lasting(entry);
    (needed && entry.citations.is_empty()).then(|| {
        let message = Refusal::ProvenanceRequired.to_string();
        finding(PROVENANCE_GATE, Level::Error, entry, message)
    })
}

/// Links lead somewhere.
fn links(index: &Index, entry: &Entry) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for link in &entry.links {
        if index.entry(link.to)?.is_none() {
            let message = format!("links to {}, which this branch does not know", link.to);
            findings.push(finding(LINKS_GATE, Level::Warning, entry, message));
        }
    }
    Ok(findings)
}

/// A norm nobody confirmed for long is flagged for review; that never blocks.
pub(crate) fn staleness(entry: &Entry, today: Date) -> Option<Finding> {
    let last = entry.confirmation.last?;
    let days = today.days_since(last);
    let binds = entry.id.prefix().memory() == Memory::Procedural && entry.is_live();
    (binds && STALE_DAYS < days).then(|| {
        let (id, title) = (entry.id, entry.title());
        let message = format!(
            "nobody confirmed this norm for {days} days; flagged for review: `ken confirm {id}` if it holds, `ken retract {id}` if not: {title}"
        );
        finding(STALENESS_GATE, Level::Warning, entry, message)
    })
}

/// Nothing of the episodic memory gets into another one unless a person approved it.
fn no_backflow(index: &Index, entry: &Entry) -> Result<Option<Finding>, Error> {
    if !is_lasting(entry) || entry.retracted.is_some() {
        return Ok(None);
    }
    let Some(raw) = episodic_source(entry) else {
        return Ok(None);
    };
    let approved = index.history(entry.id)?.iter().any(|it| {
        let granted = it.event.get::<ApprovalGranted>();
        granted.is_some_and(|data| data.entry == entry.id) && it.event.by.is_human()
    });
    let memory = entry.id.prefix().memory();
    Ok((!approved).then(|| {
        let message = format!(
            "directional flow violation: {raw} is episodic and no person approved that it enters {memory} memory; `ken promote` asks for one"
        );
        finding(BACKFLOW_GATE, Level::Error, entry, message)
    }))
}

/// Returns the episodic entry or file that `entry` cites, links to, quotes or was made from.
fn episodic_source(entry: &Entry) -> Option<String> {
    let is_raw = |id: &EntryId| id.prefix().memory() == Memory::Episodic;
    let linked = entry.links.iter().map(|link| link.to);
    let made = linked.chain(entry.merged_from.iter().copied()).find(is_raw);
    if let Some(id) = made {
        return Some(id.to_string());
    }
    let cited = entry.citations.iter().map(|it| it.evidence_ref.as_str());
    cited.chain([entry.said()]).find_map(named_episodic)
}

/// Returns an episodic id or file that `text` names.
fn named_episodic(text: &str) -> Option<String> {
    let folder = format!("{KEN_DIR}/{}/", Memory::Episodic.name());
    if text.contains(&folder) {
        return Some(text.to_owned());
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut ids = words.filter_map(|word| word.parse::<EntryId>().ok());
    let raw = ids.find(|id| id.prefix().memory() == Memory::Episodic);
    raw.map(|id| id.to_string())
}

/// Returns whether an entry belongs to a memory that is relied on.
fn is_lasting(entry: &Entry) -> bool {
    match entry.id.prefix().memory() {
        Memory::Semantic | Memory::Procedural => true,
        Memory::Episodic => false,
    }
}

/// Two norms that contradict each other block; other contradictions are told. `among` limits it to pairs
/// with one of those.
pub(crate) fn contradictions(
    index: &Index,
    among: Option<&BTreeSet<EntryId>>,
) -> Result<Vec<Finding>, Error> {
    let workspace = index.workspace()?;
    let mut found = detected(&norms(index)?, &workspace, &|_, _| None);
    add_flagged(index, &workspace, &mut found)?;
    let concerns = |it: &Contradiction| {
        among.is_none_or(|ids| ids.contains(&it.first.id) || ids.contains(&it.second.id))
    };
    let told = found.iter().filter(|it| concerns(it)).map(|it| {
        let level = match it.blocks() {
            true => Level::Error,
            false => Level::Warning,
        };
        let (one, other) = (it.first.id, it.second.id);
        let message = format!(
            "contradicts {other} ({}): \"{}\" against \"{}\"; settle it with `ken resolve {one} {other} --keep ID`",
            it.why,
            it.first.title(),
            it.second.title()
        );
        finding(CONTRADICTIONS_GATE, level, &it.first, message)
    });
    Ok(told.collect())
}
