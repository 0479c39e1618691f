//! The gates over knowledge itself: provenance, links, staleness, contradictions and no backflow.
//!
//! Each looks at state and says what it finds; only what binds everybody blocks. Whoever keeps the state looks up
//! what a gate asks for; lines and code are checked by whoever has them.

use serde::Serialize;

use crate::contradiction::standing::Contradiction;
use crate::decide::Refusal;
use crate::drift::STALE_DAYS;
use crate::entry::Entry;
use crate::event::{ApprovalGranted, Event};
use crate::id::EntryId;
use crate::kind::Memory;
use crate::time::Date;

/// The gate for lines and files of the ledger.
pub const SCHEMA_GATE: &str = "knowledge.schema";
/// The gate for what today's rules of the guard would refuse.
pub const GUARD_GATE: &str = "knowledge.guard";
const PROVENANCE_GATE: &str = "knowledge.provenance";
const LINKS_GATE: &str = "knowledge.links";
const STALENESS_GATE: &str = "knowledge.staleness";
const CONTRADICTIONS_GATE: &str = "knowledge.contradictions";
/// The gate that keeps what was observed from becoming a rule by itself.
pub const BACKFLOW_GATE: &str = "episodic.no_backflow";

/// Where raw observations lie in a repository.
const EPISODIC_DIR: &str = ".ken/episodic/";

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The gate's exact name.
    pub gate: &'static str,
    pub level: Level,
    pub message: String,
    /// A file below the repository, or an entry's id.
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Whether a finding fails the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Warning,
    Error,
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
pub fn provenance(entry: &Entry) -> Option<Finding> {
    let needed = is_lasting(entry);
    (needed && entry.citations.is_empty()).then(|| {
        let message = Refusal::ProvenanceRequired.to_string();
        finding(PROVENANCE_GATE, Level::Error, entry, message)
    })
}

/// Links lead somewhere; `to` is one that does not.
pub fn loose_link(entry: &Entry, to: EntryId) -> Finding {
    let message = format!("links to {to}, which this branch does not know");
    finding(LINKS_GATE, Level::Warning, entry, message)
}

/// A norm nobody confirmed for long is flagged for review; that never blocks.
pub fn staleness(entry: &Entry, today: Date) -> Option<Finding> {
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
///
/// Returns what it was made from, where an approval is needed.
pub fn raw_source(entry: &Entry) -> Option<String> {
    let may_flow_back = is_lasting(entry) && entry.retracted.is_none();
    may_flow_back.then(|| episodic_source(entry)).flatten()
}

/// Returns what [`raw_source`] found if nobody approved it in the entry's history.
pub fn no_backflow<'a>(
    entry: &Entry,
    raw: &str,
    mut history: impl Iterator<Item = &'a Event>,
) -> Option<Finding> {
    let approved = history.any(|it| {
        let granted = it.get::<ApprovalGranted>();
        granted.is_some_and(|data| data.entry == entry.id) && it.by.is_human()
    });
    let memory = entry.id.prefix().memory();
    (!approved).then(|| {
        let message = format!(
            "directional flow violation: {raw} is episodic and no person approved that it enters {memory} memory; `ken promote` asks for one"
        );
        finding(BACKFLOW_GATE, Level::Error, entry, message)
    })
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
    if text.contains(EPISODIC_DIR) {
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

/// Two norms that contradict each other block; other contradictions are told.
pub fn contradicting(it: &Contradiction) -> Finding {
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
}
