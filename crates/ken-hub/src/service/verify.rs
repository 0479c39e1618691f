//! Verification without source code: schema, provenance, links, staleness, contradictions,
//! backflow, and the current guard rules.
//!
//! Entries with anchors or conditions count as unverifiable here; `ken verify` in a clone checks
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use ken_core::health::gates::{self, GUARD_GATE, GateFinding, GateLevel, SCHEMA_GATE};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent as Line;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::trust::contradiction::unresolved::{append_flagged, detect_contradictions};
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::time::DAY_MS;
use ken_guard::Guard;
use ken_remote::wire::LogCursor;

use super::{ServiceError, WorkspaceSession};
use crate::blocking::run_blocking;
use crate::database::audit::{AuditAction, AuditFilter, NewAuditRecord};
use crate::store::{EntryPosition, LoggedEvent};

/// Entries and events per page while reading the whole workspace.
const PAGE: u32 = 1_000;

/// Number of events checked, oldest first; more would exceed the time a request may take.
const EVENTS_MAX: u64 = 20_000;

/// Maximum number of findings returned; all are counted.
const FINDINGS_MAX: usize = 500;

/// Result of a verification.
#[derive(Clone, Debug, Default)]
pub struct WorkspaceVerification {
    pub entries: u64,
    /// Events that were checked, and events beyond the limit of a request that were not.
    pub events: u64,
    pub events_unseen: u64,
    /// Live entries with anchors or conditions, which a hub cannot check.
    pub unverifiable: u64,
    /// Events of types unknown to this build, by type; they are stored and passed on.
    pub unknown: BTreeMap<String, u32>,
    /// Most severe first; capped, unlike the counts.
    pub findings: Vec<GateFinding>,
    pub errors: u64,
    pub warnings: u64,
}

impl WorkspaceVerification {
    /// Returns whether there are no errors.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.errors == 0
    }

    /// Counts findings and keeps the most severe.
    fn add(&mut self, findings: impl IntoIterator<Item = GateFinding>) {
        let before = self.findings.len();
        self.findings.extend(findings);
        let new = &self.findings[before..];
        if new.is_empty() {
            return;
        }
        let errors = new.iter().filter(|it| it.level == GateLevel::Error).count();
        self.errors += errors as u64;
        self.warnings += (new.len() - errors) as u64;
        // The sort is stable, so among equally severe findings the earliest are kept.
        self.findings.sort_by_key(|it| std::cmp::Reverse(it.level));
        self.findings.truncate(FINDINGS_MAX);
    }
}

/// Runs every check that needs no source code.
pub async fn verify(session: &mut WorkspaceSession) -> Result<WorkspaceVerification, ServiceError> {
    let workspace = session.workspace().await?;
    let mut verified = WorkspaceVerification {
        unknown: workspace.unknown.clone(),
        ..WorkspaceVerification::default()
    };
    session.check_events(&mut verified).await?;
    let norms = session.check_entries(&mut verified).await?;
    let flagged = workspace.contradictions.values();
    let flagged: Vec<EntryId> = flagged.flat_map(|(one, other)| [*one, *other]).collect();
    let flagged = session.tx.entries(&flagged).await?;
    // Norms are compared pairwise, too long for an async worker thread.
    let found = run_blocking(move || find_contradictions(&norms, flagged, &workspace)).await?;
    verified.add(found);
    if !verified.passes() {
        session.record_failed_gates(&verified).await?;
    }
    Ok(verified)
}

impl WorkspaceSession {
    /// Records a failed verification in the audit log, unless the last record says the same and is
    /// recent: every reader may verify, and must not be able to fill the log.
    async fn record_failed_gates(
        &mut self,
        verified: &WorkspaceVerification,
    ) -> Result<(), ServiceError> {
        let act = AuditAction::GatesFailed;
        let subject = format!(
            "errors: {}, warnings: {}",
            verified.errors, verified.warnings
        );
        let filter = AuditFilter {
            act: Some(act.name().to_owned()),
            since: Some(self.now.minus_millis(DAY_MS)),
            ..AuditFilter::default()
        };
        let last = self.tx.list_audit_records(&filter, None, 1).await?;
        if last.first().is_some_and(|it| it.subject == subject) {
            return Ok(());
        }
        let record = NewAuditRecord::new((&self.caller).into(), act, &subject);
        Ok(self
            .tx
            .add_audit_record(record.with_outcome("failed"))
            .await?)
    }

    /// Checks all entries page by page, so memory use does not grow with the workspace. Returns the
    /// live norms.
    async fn check_entries(
        &mut self,
        verified: &mut WorkspaceVerification,
    ) -> Result<Vec<Entry>, ServiceError> {
        let filter = EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        };
        let (today, mut norms, mut after) = (self.now.date(), Vec::new(), None);
        loop {
            let page = self.tx.list(&filter, after.as_ref(), Some(PAGE)).await?;
            after = page.last().map(EntryPosition::after);
            let is_last = page.len() < PAGE as usize;
            verified.entries += page.len() as u64;
            let live = page.iter().filter(|it| it.is_live());
            verified.unverifiable += live.filter(|it| it.is_checkable()).count() as u64;
            for entry in &page {
                if let Some(raw) = gates::backflow_source(entry) {
                    let history = self.tx.history(entry.id).await?;
                    let events = history.iter().map(|it| &it.event);
                    verified.add(gates::check_backflow(entry, &raw, events));
                }
                verified.add(gates::check_provenance(entry));
                verified.add(gates::check_staleness(entry, today));
            }
            let loose = self.loose_links(&page).await?;
            verified.add(loose);
            let is_norm =
                |it: &Entry| it.id.prefix().memory() == Memory::Procedural && it.is_live();
            norms.extend(page.into_iter().filter(is_norm));
            if is_last {
                return Ok(norms);
            }
        }
    }

    /// Returns findings about links to entries that do not exist.
    async fn loose_links(&mut self, entries: &[Entry]) -> Result<Vec<GateFinding>, ServiceError> {
        let mut known: BTreeSet<EntryId> = entries.iter().map(|it| it.id).collect();
        let links = entries.iter().flat_map(|it| &it.links).map(|it| it.to);
        let others: BTreeSet<EntryId> = links.filter(|it| !known.contains(it)).collect();
        let others: Vec<EntryId> = others.into_iter().collect();
        // Chunked: a page of entries may link to far more entries than one page holds.
        for chunk in others.chunks(PAGE as usize) {
            let existing = self.tx.entries(chunk).await?;
            known.extend(existing.iter().map(|it| it.id));
        }
        let mut findings = Vec::new();
        for entry in entries {
            let loose = entry.links.iter().filter(|it| !known.contains(&it.to));
            findings.extend(loose.map(|it| gates::dangling_link(entry, it.to)));
        }
        Ok(findings)
    }

    /// Parses every line again and checks it against the current guard rules.
    async fn check_events(
        &mut self,
        verified: &mut WorkspaceVerification,
    ) -> Result<(), ServiceError> {
        let mut cursor = LogCursor::default();
        loop {
            let page = self.tx.events_after(cursor, PAGE).await?;
            cursor = page.cursor;
            let (events, guard) = (page.events, Arc::clone(&self.services.guard));
            verified.events += events.len() as u64;
            verified.add(run_blocking(move || check_lines(&events, &guard)).await?);
            if !page.more {
                return Ok(());
            }
            if verified.events >= EVENTS_MAX {
                let total = self.tx.workspace_row().await?.events;
                verified.events_unseen = total.saturating_sub(verified.events);
                return Ok(());
            }
        }
    }
}

/// Returns findings about unreadable lines and about lines the guard would reject today.
fn check_lines(events: &[LoggedEvent], guard: &Guard) -> Vec<GateFinding> {
    let mut findings = Vec::new();
    for LoggedEvent { id, line, .. } in events {
        match Line::parse(line.as_bytes()) {
            Err(error) => findings.push(GateFinding {
                gate: SCHEMA_GATE,
                level: GateLevel::Error,
                message: format!("its line in the log is not a valid event: {error}"),
                at: id.to_string(),
                line: None,
            }),
            Ok(copy) => findings.extend(guard.refuses_now(&copy.event).map(|refusal| {
                GateFinding {
                    gate: GUARD_GATE,
                    level: GateLevel::Error,
                    message: refusal.to_string(),
                    at: refusal
                        .entry
                        .map_or_else(|| refusal.event.to_string(), |id| id.to_string()),
                    line: None,
                }
            })),
        }
    }
    findings
}

/// Returns contradictions between norms and contradictions flagged by events.
fn find_contradictions(
    norms: &[Entry],
    flagged: Vec<Entry>,
    workspace: &WorkspaceState,
) -> Vec<GateFinding> {
    let mut found = detect_contradictions(norms, workspace, None);
    let by_id: BTreeMap<EntryId, Entry> = flagged.into_iter().map(|it| (it.id, it)).collect();
    let added =
        append_flagged::<Infallible>(workspace, &mut found, &mut |id| Ok(by_id.get(&id).cloned()));
    let Ok(()) = added;
    found.iter().map(gates::contradiction_finding).collect()
}
