//! Gates over the knowledge base: provenance, links, staleness, contradictions and backflow.
//!
//! Each function inspects state and returns a finding. Only findings that affect everyone block.
//! The caller looks up the state a gate needs; ledger lines and code are checked elsewhere.

use serde::Serialize;

use crate::health::drift::STALE_DAYS;
use crate::ledger::entry::Entry;
use crate::ledger::event::{ApprovalGranted, Event};
use crate::trust::contradiction::unresolved::Contradiction;
use crate::values::citation::{Citation, CitationType};
use crate::values::content::Content;
use crate::values::id::{EntryId, EventId};
use crate::values::kind::Memory;
use crate::values::time::Date;

/// The gate for the ledger's lines and files.
pub const SCHEMA_GATE: &str = "knowledge.schema";
/// The gate for events that the current guard rules would refuse.
pub const GUARD_GATE: &str = "knowledge.guard";
const PROVENANCE_GATE: &str = "knowledge.provenance";
const LINKS_GATE: &str = "knowledge.links";
const STALENESS_GATE: &str = "knowledge.staleness";
const CONTRADICTIONS_GATE: &str = "knowledge.contradictions";
/// The gate that stops episodic entries from becoming facts or norms without approval.
pub const BACKFLOW_GATE: &str = "episodic.no_backflow";
/// The gate for redacted data that is back in a segment or entry file.
pub const REDACTION_GATE: &str = "knowledge.redacted";
/// The gate for entries whose anchored code or conditions changed.
pub const VALIDITY_GATE: &str = "knowledge.validity";
/// The gate for code that changed under a decision, convention or other prescriptive entry.
pub const DECISION_GATE: &str = "knowledge.decisions";
/// The gate for norms that a change must follow.
pub const NORM_GATE: &str = "procedural.norm";
/// The gate for changes that a fork may not make.
pub const FORK_GATE: &str = "knowledge.contributors";

/// The gates of a check of the whole knowledge base, in the order of the report.
pub const LEDGER_GATES: &[&str] = &[
    SCHEMA_GATE,
    GUARD_GATE,
    REDACTION_GATE,
    PROVENANCE_GATE,
    LINKS_GATE,
    STALENESS_GATE,
    CONTRADICTIONS_GATE,
    BACKFLOW_GATE,
    VALIDITY_GATE,
    DECISION_GATE,
];

/// The gates of a check of a change; [`FORK_GATE`] is added if it comes from a fork.
pub const CHANGE_GATES: &[&str] = &[
    SCHEMA_GATE,
    GUARD_GATE,
    PROVENANCE_GATE,
    LINKS_GATE,
    CONTRADICTIONS_GATE,
    BACKFLOW_GATE,
    NORM_GATE,
    VALIDITY_GATE,
    DECISION_GATE,
];

/// The result of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateResult {
    pub gate: &'static str,
    pub verdict: GateVerdict,
    /// Number of findings.
    pub findings: usize,
}

/// The verdict of a gate: its worst finding decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateVerdict {
    Pass,
    Warn,
    Fail,
}

impl GateVerdict {
    /// Returns the word in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// Returns the result of every gate that ran, also of those without findings.
pub fn gate_results(ran: &[&'static str], findings: &[GateFinding]) -> Vec<GateResult> {
    let result = |gate: &&'static str| {
        let own = findings.iter().filter(|finding| finding.gate == *gate);
        let verdict = match own.clone().map(|finding| finding.level).max() {
            None => GateVerdict::Pass,
            Some(GateLevel::Warning) => GateVerdict::Warn,
            Some(GateLevel::Error) => GateVerdict::Fail,
        };
        let findings = own.count();
        GateResult {
            gate,
            verdict,
            findings,
        }
    };
    ran.iter().map(result).collect()
}

/// The folder of the episodic memory in a repository.
const EPISODIC_DIR: &str = ".ken/episodic/";

/// A problem reported by a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateFinding {
    /// The gate's exact name.
    pub gate: &'static str,
    pub level: GateLevel,
    pub message: String,
    /// A file in the repository, an entry or event id, or a commit.
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl GateFinding {
    /// Returns the file that the finding is about, if it is about a file.
    pub fn file(&self) -> Option<&str> {
        let names_something_else = self.at.parse::<EntryId>().is_ok()
            || self.at.parse::<EventId>().is_ok()
            || self.at.starts_with("commit:");
        (!names_something_else).then_some(&self.at)
    }
}

/// Severity of a finding. Only errors fail the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateLevel {
    Warning,
    Error,
}

fn new_finding(
    gate: &'static str,
    level: GateLevel,
    entry: &Entry,
    message: String,
) -> GateFinding {
    GateFinding {
        gate,
        level,
        message,
        at: entry.id.to_string(),
        line: None,
    }
}

/// Checks that a semantic or procedural entry has a citation.
pub fn check_provenance(entry: &Entry) -> Option<GateFinding> {
    let needed = is_semantic_or_procedural(entry);
    (needed && entry.citations.is_empty()).then(|| {
        let message = format!(
            "{}; run `ken entry cite {} TYPE:REF`",
            CitationType::REQUIRED,
            entry.id
        );
        new_finding(PROVENANCE_GATE, GateLevel::Error, entry, message)
    })
}

/// Returns the finding for a citation whose source does not exist, for the reason `why`.
pub fn dangling_citation(entry: &Entry, citation: &Citation, why: &str) -> GateFinding {
    // Only a warning: rewriting the history of a branch removes commits that were valid sources.
    let id = entry.id;
    let message = format!(
        "cites `{citation}`: {why}; cite another source with `ken entry cite {id} TYPE:REF`: {}",
        entry.title()
    );
    new_finding(PROVENANCE_GATE, GateLevel::Warning, entry, message)
}

/// Returns the finding for a link to the unknown entry `to`.
pub fn dangling_link(entry: &Entry, to: EntryId) -> GateFinding {
    // Only a warning: the target may exist on a branch that is not merged yet.
    let message = format!(
        "links to {to}, which does not exist on this branch; `ken show {}` lists its links",
        entry.id
    );
    new_finding(LINKS_GATE, GateLevel::Warning, entry, message)
}

/// Flags a norm for review if it was not confirmed recently. Never blocks.
pub fn check_staleness(entry: &Entry, today: Date) -> Option<GateFinding> {
    let last = entry.confirmation.last?;
    let days = today.days_since(last);
    let is_norm_in_force = entry.id.prefix().memory() == Memory::Procedural && entry.is_live();
    (is_norm_in_force && days > STALE_DAYS).then(|| {
        let (id, claim) = (entry.id, entry.claim());
        let message = format!(
            "this norm was not confirmed for {days} days: {claim} (review it and run `ken confirm {id}` or `ken retract {id}`)"
        );
        new_finding(STALENESS_GATE, GateLevel::Warning, entry, message)
    })
}

/// Returns the episodic entry or file that `entry` was made from, if that requires approval.
///
/// A person must approve content that moves from the episodic memory to another one.
pub fn backflow_source(entry: &Entry) -> Option<String> {
    let may_flow_back = is_semantic_or_procedural(entry) && entry.retracted.is_none();
    may_flow_back.then(|| episodic_source(entry)).flatten()
}

/// Returns a finding for the source from [`backflow_source`] if no person approved it in `history`.
pub fn check_backflow<'a>(
    entry: &Entry,
    raw: &str,
    mut history: impl Iterator<Item = &'a Event>,
) -> Option<GateFinding> {
    // Reads the history instead of the folded approvals: any approval satisfies this gate, even of
    // an earlier revision.
    let approved = history.any(|event| {
        let granted = event.get::<ApprovalGranted>();
        granted.is_some_and(|data| data.entry == entry.id) && event.by.is_human()
    });
    let memory = entry.id.prefix().memory();
    (!approved).then(|| {
        let message = format!(
            "directional flow violation: {raw} is episodic and no person approved moving it to {memory} memory; `ken entry promote` requests the approval"
        );
        new_finding(BACKFLOW_GATE, GateLevel::Error, entry, message)
    })
}

/// Returns the episodic entry or file that `entry` cites, links to, quotes or was merged from.
fn episodic_source(entry: &Entry) -> Option<String> {
    let is_episodic = |id: &EntryId| id.prefix().memory() == Memory::Episodic;
    let linked = entry.links.iter().map(|link| link.to);
    let source = linked
        .chain(entry.merged_from.iter().copied())
        .find(is_episodic);
    if let Some(id) = source {
        return Some(id.to_string());
    }
    // The texts are searched too, so that quoting an id does not bypass the gate.
    let texts = entry.content.iter().flat_map(Content::texts);
    let cited = entry
        .citations
        .iter()
        .map(|citation| citation.evidence_ref.as_str());
    cited.chain(texts).find_map(find_episodic_name)
}

/// Returns an episodic entry id or file named in `text`.
pub fn find_episodic_name(text: &str) -> Option<String> {
    if text.contains(EPISODIC_DIR) {
        return Some(text.to_owned());
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut ids = words.filter_map(|word| word.parse::<EntryId>().ok());
    let episodic = ids.find(|id| id.prefix().memory() == Memory::Episodic);
    episodic.map(|id| id.to_string())
}

/// Returns whether the entry belongs to the semantic or procedural memory.
fn is_semantic_or_procedural(entry: &Entry) -> bool {
    match entry.id.prefix().memory() {
        Memory::Semantic | Memory::Procedural => true,
        Memory::Episodic => false,
    }
}

/// Returns the finding for a contradiction. Two contradicting norms block; others are warnings.
pub fn contradiction_finding(contradiction: &Contradiction) -> GateFinding {
    let level = if contradiction.is_blocking() {
        GateLevel::Error
    } else {
        GateLevel::Warning
    };
    let (one, other) = (contradiction.first.id, contradiction.second.id);
    let message = format!(
        "contradicts {other} ({}): \"{}\" against \"{}\"; resolve it with `ken inbox resolve {one} {other} --keep ID`",
        contradiction.why,
        contradiction.first.claim(),
        contradiction.second.claim()
    );
    new_finding(CONTRADICTIONS_GATE, level, &contradiction.first, message)
}
