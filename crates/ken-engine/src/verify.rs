//! `ken verify`: checks the ledger and all entries, or those a change affects. Deterministic, uses
//! no LLM.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;
use ken_index::Index;
use ken_ledger::SegmentName;
use ken_ledger::check::LedgerSeverity;

use ken_core::health::gates::{
    CHANGE_GATES, FORK_GATE, GUARD_GATE, LEDGER_GATES, REDACTION_GATE, gate_results,
};
pub use ken_core::health::gates::{GateFinding, GateLevel, GateResult, GateVerdict};

use crate::citations;
use crate::config::RepositoryConfig;
use crate::deleted_segments::{DeletedSegment, find_deleted};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{self, UnredactedFile};
use crate::gates::{self, SCHEMA_GATE};
use crate::guard::{Guard, RescanFinding};
use crate::notice::EngineNotice;
use crate::promotion::{self, check_new_approvals};
use crate::sync::pending::{PendingEdits, evaluate_edits};
use crate::validity::{
    ChangeOrigin, ChangeRange, CheckContext, CodeVersion, CommitTree, LedgerChange, ValidityReport,
    WorkTree, check_all_entries, check_change, norm_findings,
};

/// The part of the knowledge base that is verified.
#[derive(Clone, Copy, Debug)]
pub enum VerifyScope<'a> {
    /// The whole ledger, and every entry against the work tree.
    Everything,
    /// The entries a change can affect, and the events it adds.
    Change {
        /// The start of the change; `None` for the default branch.
        base: Option<&'a str>,
        /// The revision to check; `None` for the work tree.
        head: Option<&'a str>,
        from: ChangeOrigin,
    },
}

/// The outcome of `ken verify`.
#[derive(Debug)]
pub struct VerifyOutcome {
    pub entries: usize,
    pub events: u64,
    pub findings: Vec<GateFinding>,
    /// The gates that ran.
    pub gates: Vec<&'static str>,
    pub validity: ValidityReport,
    /// Number of edits of entry files that are not events yet. They were checked as if they were.
    pub unrecorded_edits: usize,
}

impl VerifyOutcome {
    /// Returns true if no finding is an error.
    pub fn passes(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.level < GateLevel::Error)
    }

    /// Returns the verdict of every gate that ran.
    pub fn gate_results(&self) -> Vec<GateResult> {
        gate_results(&self.gates, &self.findings)
    }
}

/// Verifies `scope`; `progress` receives the number of checked entries and the total.
///
/// Writes neither events nor entry files: `ken sync` records edits and follows moved code.
pub(crate) fn verify(
    engine: &mut Engine,
    scope: VerifyScope<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<VerifyOutcome, EngineError> {
    let _in = tracing::info_span!("verify").entered();
    match scope {
        VerifyScope::Everything => verify_everything(engine, progress),
        VerifyScope::Change { base, head, from } => {
            let head = head.map(|head| CommitTree::from_revision(&engine.place, head));
            let head = head.transpose()?.map(Arc::new);
            let range = ChangeRange::compare(&engine.place, base, head)?;
            let now = engine.now();
            let mut outcome = verify_change(
                &mut engine.index,
                (&range, from),
                &engine.guard,
                now,
                progress,
            )?;
            let changed = outcome.validity.ledger_changes.iter();
            let changed: BTreeSet<EntryId> = changed.filter_map(|it| it.entry).collect();
            let changed = changed.into_iter().map(|id| engine.index.entry(id));
            let changed: Vec<Entry> = changed
                .filter_map(Result::transpose)
                .collect::<Result<_, _>>()?;
            let dangling = citations::dangling_findings(engine, &changed)?;
            outcome.findings.extend(dangling);
            Ok(outcome)
        }
    }
}

/// Verifies the whole ledger and all entries.
///
/// Checks schema, sources and links, that no redacted data is back, and every live entry
/// against the code.
fn verify_everything(
    engine: &mut Engine,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<VerifyOutcome, EngineError> {
    let quoting = files::unredacted_files(engine, &redacted_ids(engine)?)?;
    let pending = evaluate_edits(engine)?;
    let mut findings = redaction_findings(engine, quoting)?;
    findings.extend(edit_findings(&pending));
    findings.extend(guard_findings(engine)?);
    let mut entries = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    for entry in &mut entries {
        if let Some(edited) = pending.entries.get(&entry.id) {
            entry.clone_from(edited);
        }
    }
    let known = entries.len();
    let now = engine.now();
    for entry in &entries {
        findings.extend(gates::check_entry(&engine.index, entry)?);
        findings.extend(gates::check_staleness(entry, now.date()));
    }
    findings.extend(citations::dangling_findings(engine, &entries)?);
    findings.extend(promotion::approval::approval_findings(engine, &entries)?);
    findings.extend(gates::check_contradictions(&engine.index, None)?);
    let version = CodeVersion::Work(WorkTree::new(&engine.place)?);
    let config = RepositoryConfig::load(&version)?;
    let mut bench = CheckContext {
        index: &mut engine.index,
        now,
        progress,
    };
    // Archived and retracted entries pass the schema gates above, but need not match the code.
    entries.retain(Entry::is_live);
    // The ledger is checked on one thread while this one checks entries against the code.
    let ledger = &engine.ledger;
    let (checked, impact) = thread::scope(|scope| {
        let checked = scope.spawn(|| ledger.check());
        let impact = check_all_entries(&mut bench, entries, &version, &config);
        (
            checked.join().unwrap_or_else(|panic| resume_unwind(panic)),
            impact,
        )
    });
    let (checked, impact) = (checked?, impact?);
    let deleted = find_deleted(engine)?;
    let damage = checked.findings.into_iter();
    let damage = damage.chain(deleted.iter().map(DeletedSegment::finding));
    // Damage goes first: it may be the cause of other findings.
    findings.splice(0..0, damage.map(ledger_finding));
    findings.extend(impact.validity_findings(config.verify.fail_on));
    engine.notices.extend(edit_notices(&pending));
    Ok(VerifyOutcome {
        entries: known,
        events: checked.events,
        findings,
        gates: LEDGER_GATES.to_vec(),
        validity: impact,
        unrecorded_edits: pending.edits,
    })
}

/// Returns findings for events that the guard's current rules reject.
fn guard_findings(engine: &Engine) -> Result<Vec<GateFinding>, EngineError> {
    let refused = engine.rescan()?.into_iter();
    let finding = |rescanned: RescanFinding| GateFinding {
        gate: GUARD_GATE,
        level: GateLevel::Error,
        message: rescanned.to_string(),
        at: rescanned
            .entry
            .map_or_else(|| rescanned.event.to_string(), |id| id.to_string()),
        line: None,
    };
    Ok(refused.map(finding).collect())
}

/// Returns findings for redacted data that is back.
fn redaction_findings(
    engine: &Engine,
    quoting: Vec<UnredactedFile>,
) -> Result<Vec<GateFinding>, EngineError> {
    let mut findings = Vec::new();
    for (segment, event) in unredacted_copies(engine)? {
        findings.push(GateFinding {
            gate: REDACTION_GATE,
            level: GateLevel::Error,
            message: format!("the data of the redacted event {event} is back; run `ken sync`"),
            at: segment.tree_path(),
            line: None,
        });
    }
    for file in quoting {
        let next = if file.edited {
            "the file was also edited: repeat the edit with `ken edit`, then delete the file and run `ken ledger render`"
        } else {
            "run `ken sync`"
        };
        findings.push(GateFinding {
            gate: REDACTION_GATE,
            level: GateLevel::Error,
            message: format!("this file contains data of a redacted event; {next}"),
            at: format!(".ken/entries/{}", file.name),
            line: None,
        });
    }
    Ok(findings)
}

/// Returns findings for edits that a sync would refuse, and for conflicts.
fn edit_findings(pending: &PendingEdits) -> impl Iterator<Item = GateFinding> + '_ {
    let finding = |file: &str, message: String| GateFinding {
        gate: SCHEMA_GATE,
        level: GateLevel::Error,
        message,
        at: format!(".ken/entries/{file}"),
        line: None,
    };
    let refused = pending.refused.iter().map(move |(file, why)| {
        finding(
            file,
            format!("this edit cannot be recorded: {why}; correct the file and run `ken sync`"),
        )
    });
    let conflicted = pending.conflicted.iter().map(move |file| {
        let message = "this file contains conflict markers; run `ken sync` to render it from the merged ledger, or resolve them";
        finding(file, message.to_owned())
    });
    refused.chain(conflicted)
}

/// Returns notices for edits that could not be judged.
fn edit_notices(pending: &PendingEdits) -> Vec<EngineNotice> {
    let deferred = pending.deferred.clone();
    let mut notices: Vec<EngineNotice> = deferred
        .map(|why| EngineNotice::SyncDeferred { why })
        .into_iter()
        .collect();
    if !pending.uncertain_deletions.is_empty() {
        let files = pending.uncertain_deletions.clone();
        notices.push(EngineNotice::ManyFilesGone { files });
    }
    notices
}

/// Returns the segments that contain unredacted copies of redacted events.
pub(crate) fn unredacted_copies(
    engine: &Engine,
) -> Result<Vec<(SegmentName, EventId)>, EngineError> {
    let blanked = redacted_ids(engine)?;
    // Without redactions, the segments need not be read.
    if blanked.is_empty() {
        return Ok(Vec::new());
    }
    Ok(engine.ledger.full_copies(&blanked)?)
}

/// Returns the ids of redacted events: those this clone redacted, and those an
/// `event.blanked` event names.
pub(crate) fn redacted_ids(engine: &Engine) -> Result<BTreeSet<EventId>, EngineError> {
    let mut blanked = engine.ledger.blanked_ids()?;
    blanked.extend(engine.index.ordered_blank()?);
    Ok(blanked)
}

/// Returns the state that does not belong to a single entry, such as configuration.
pub(crate) fn workspace(engine: &Engine) -> Result<WorkspaceState, EngineError> {
    Ok(engine.index.workspace()?)
}

/// Verifies the entries a change can affect, and the events it adds.
pub(crate) fn verify_change(
    index: &mut Index,
    (range, from): (&ChangeRange, ChangeOrigin),
    guard: &Guard,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<VerifyOutcome, EngineError> {
    // The configuration of the base: a change must not be able to turn off its own gate.
    let config = RepositoryConfig::load(&*range.base)?;
    let mut bench = CheckContext {
        index,
        now,
        progress,
    };
    let mut impact = check_change(&mut bench, range, &config, (from, guard))?;
    let mut findings = std::mem::take(&mut impact.findings);
    let approvals = impact
        .ledger_changes
        .iter()
        .filter(|it| it.type_name == "approval.granted");
    let approved = approvals.filter_map(|it| it.entry).collect();
    findings.extend(check_new_approvals(bench.index, &approved, &*range.base)?);
    findings.extend(changed_entry_findings(bench.index, &impact.ledger_changes)?);
    findings.extend(norm_findings(range, config.verify.fail_on)?);
    findings.extend(impact.validity_findings(config.verify.fail_on));
    Ok(VerifyOutcome {
        entries: impact.checked,
        events: impact.ledger_changes.len() as u64,
        findings,
        gates: change_gates(from),
        validity: impact,
        unrecorded_edits: 0,
    })
}

/// Returns the gates of a change.
fn change_gates(from: ChangeOrigin) -> Vec<&'static str> {
    let fork = (from == ChangeOrigin::Fork).then_some(FORK_GATE);
    fork.into_iter()
        .chain(CHANGE_GATES.iter().copied())
        .collect()
}

/// Runs the entry and contradiction gates on the entries a change modifies.
fn changed_entry_findings(
    index: &Index,
    strokes: &[LedgerChange],
) -> Result<Vec<GateFinding>, EngineError> {
    let brought: BTreeSet<EntryId> = strokes.iter().filter_map(|it| it.entry).collect();
    if brought.is_empty() {
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    for id in &brought {
        if let Some(entry) = index.entry(*id)? {
            findings.extend(gates::check_entry(index, &entry)?);
        }
    }
    findings.extend(gates::check_contradictions(index, Some(&brought))?);
    Ok(findings)
}

/// Returns the first 128 bits of a text's BLAKE3 hash, in hexadecimal.
pub fn text_digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Converts a finding of the ledger's own check.
fn ledger_finding(found: ken_ledger::check::LedgerFinding) -> GateFinding {
    GateFinding {
        gate: SCHEMA_GATE,
        level: match found.severity {
            LedgerSeverity::Note => GateLevel::Warning,
            LedgerSeverity::Damage => GateLevel::Error,
        },
        message: found.message,
        at: format!(".ken/{}", found.file),
        line: found.line,
    }
}
