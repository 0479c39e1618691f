//! What a hub can say about a workspace's knowledge without its code: schema, provenance, links, staleness, contradictions,
//! no backflow, and what today's rules of the guard would refuse.
//!
//! Whatever rests on code is counted as unverifiable here: `ken verify` in a clone checks it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use ken_core::contradiction::standing::{add_flagged, detected};
use ken_core::entry::Entry;
use ken_core::event::Recorded as Line;
use ken_core::gates::{self, Finding, GUARD_GATE, Level, SCHEMA_GATE};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::store::{Filter, Shelf};
use ken_core::workspace::Workspace;
use ken_guard::Guard;
use ken_remote::wire::Cursor;

use super::{Desk, Failure};
use crate::away::away;
use crate::store::{After, Logged};

/// Entries and events one page has while all are read.
const PAGE: u32 = 1_000;

/// Events that are looked at, the oldest: more take longer than anybody waits for an answer.
const EVENTS_MAX: u64 = 20_000;

/// Findings that are told; all of them are counted.
const FINDINGS_MAX: usize = 500;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub entries: u64,
    /// Events that were looked at, and those beyond that were not.
    pub events: u64,
    pub events_unseen: u64,
    /// Live entries that rest on code, which nobody can look at here.
    pub unverifiable: u64,
    /// Events this build cannot read, by type: kept and passed on.
    pub unknown: BTreeMap<String, u32>,
    /// The gravest first, as many as are told.
    pub findings: Vec<Finding>,
    pub errors: u64,
    pub warnings: u64,
}

impl Verified {
    /// Returns whether nothing blocks.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.errors == 0
    }
}

/// Checks everything that can be checked without code.
pub async fn verify(desk: &mut Desk) -> Result<Verified, Failure> {
    let workspace = desk.workspace().await?;
    let mut verified = Verified {
        unknown: workspace.unknown.clone(),
        ..Verified::default()
    };
    let mut findings = desk.check_events(&mut verified).await?;
    let entries = desk.everything().await?;
    verified.entries = entries.len() as u64;
    let live = entries.iter().filter(|it| it.is_live());
    verified.unverifiable = live.filter(|it| it.has_grounds()).count() as u64;
    for entry in entries.iter().filter(|it| it.retracted.is_none()) {
        if let Some(raw) = gates::raw_source(entry) {
            let history = desk.tenant.history(entry.id).await?;
            let events = history.iter().map(|it| &it.event);
            findings.extend(gates::no_backflow(entry, &raw, events));
        }
    }
    let today = desk.now.date();
    findings.extend(away(move || of_state(entries, &workspace, today)).await?);
    findings.sort_by_key(|it| std::cmp::Reverse(it.level));
    let errors = findings.iter().filter(|it| it.level == Level::Error);
    verified.errors = errors.count() as u64;
    verified.warnings = findings.len() as u64 - verified.errors;
    findings.truncate(FINDINGS_MAX);
    verified.findings = findings;
    Ok(verified)
}

impl Desk {
    async fn everything(&mut self) -> Result<Vec<Entry>, Failure> {
        let filter = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self
                .tenant
                .list(&filter, after.as_ref(), Some(PAGE))
                .await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().map(After::of);
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Reads every line again and asks today's rules about it.
    async fn check_events(&mut self, verified: &mut Verified) -> Result<Vec<Finding>, Failure> {
        let (mut findings, mut cursor) = (Vec::new(), Cursor::default());
        loop {
            let page = self.tenant.events_after(cursor, PAGE).await?;
            cursor = page.cursor;
            let (events, guard) = (page.events, Arc::clone(&self.house.guard));
            verified.events += events.len() as u64;
            findings.extend(away(move || of_lines(&events, &guard)).await?);
            if !page.more {
                return Ok(findings);
            }
            if EVENTS_MAX <= verified.events {
                let all = self.tenant.row().await?.events;
                verified.events_unseen = all.saturating_sub(verified.events);
                return Ok(findings);
            }
        }
    }
}

/// Returns what is wrong with lines.
fn of_lines(events: &[Logged], guard: &Guard) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Logged { id, line, .. } in events {
        match Line::parse(line.as_bytes()) {
            Err(error) => findings.push(Finding {
                gate: SCHEMA_GATE,
                level: Level::Error,
                message: format!("its line in the log cannot be read: {error}"),
                at: id.to_string(),
                line: None,
            }),
            Ok(copy) => findings.extend(guard.refuses_now(&copy.event).map(|it| {
                Finding {
                    gate: GUARD_GATE,
                    level: Level::Error,
                    message: it.to_string(),
                    at: it
                        .entry
                        .map_or_else(|| it.event.to_string(), |id| id.to_string()),
                    line: None,
                }
            })),
        }
    }
    findings
}

/// Returns what the gates over entries and pairs of them find.
fn of_state(
    entries: Vec<Entry>,
    workspace: &Workspace,
    today: ken_core::time::Date,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let known: BTreeSet<EntryId> = entries.iter().map(|it| it.id).collect();
    for entry in &entries {
        findings.extend(gates::provenance(entry));
        findings.extend(gates::staleness(entry, today));
        let loose = entry.links.iter().filter(|it| !known.contains(&it.to));
        findings.extend(loose.map(|it| gates::loose_link(entry, it.to)));
    }
    let is_norm = |it: &&Entry| it.id.prefix().memory() == Memory::Procedural && it.is_live();
    let norms: Vec<Entry> = entries.iter().filter(is_norm).cloned().collect();
    let mut found = detected(&norms, workspace, &|_, _| None);
    let by_id: BTreeMap<EntryId, Entry> = entries.into_iter().map(|it| (it.id, it)).collect();
    let looked =
        add_flagged::<Infallible>(workspace, &mut found, &mut |id| Ok(by_id.get(&id).cloned()));
    let Ok(()) = looked;
    findings.extend(found.iter().map(gates::contradicting));
    findings
}
