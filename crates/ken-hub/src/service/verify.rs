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

    /// Counts findings, and keeps the gravest.
    fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let before = self.findings.len();
        self.findings.extend(findings);
        let new = &self.findings[before..];
        if new.is_empty() {
            return;
        }
        let errors = new.iter().filter(|it| it.level == Level::Error).count();
        self.errors += errors as u64;
        self.warnings += (new.len() - errors) as u64;
        // Stable: of equal ones the first stay.
        self.findings.sort_by_key(|it| std::cmp::Reverse(it.level));
        self.findings.truncate(FINDINGS_MAX);
    }
}

/// Checks everything that can be checked without code.
pub async fn verify(desk: &mut Desk) -> Result<Verified, Failure> {
    let workspace = desk.workspace().await?;
    let mut verified = Verified {
        unknown: workspace.unknown.clone(),
        ..Verified::default()
    };
    desk.check_events(&mut verified).await?;
    let norms = desk.check_entries(&mut verified).await?;
    let flagged = workspace.contradictions.values();
    let flagged: Vec<EntryId> = flagged.flat_map(|(one, other)| [*one, *other]).collect();
    let flagged = desk.tenant.entries(&flagged).await?;
    let found = away(move || contradicting(&norms, flagged, &workspace)).await?;
    verified.add(found);
    Ok(verified)
}

impl Desk {
    /// Looks at every entry, some at a time, so that a large workspace needs no more memory than a small one; returns the
    /// norms that hold.
    async fn check_entries(&mut self, verified: &mut Verified) -> Result<Vec<Entry>, Failure> {
        let filter = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let (today, mut norms, mut after) = (self.now.date(), Vec::new(), None);
        loop {
            let page = self
                .tenant
                .list(&filter, after.as_ref(), Some(PAGE))
                .await?;
            after = page.last().map(After::of);
            let is_last = page.len() < PAGE as usize;
            verified.entries += page.len() as u64;
            let live = page.iter().filter(|it| it.is_live());
            verified.unverifiable += live.filter(|it| it.has_grounds()).count() as u64;
            for entry in &page {
                if let Some(raw) = gates::raw_source(entry) {
                    let history = self.tenant.history(entry.id).await?;
                    let events = history.iter().map(|it| &it.event);
                    verified.add(gates::no_backflow(entry, &raw, events));
                }
                verified.add(gates::provenance(entry));
                verified.add(gates::staleness(entry, today));
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

    /// Returns the links of some entries that lead nowhere.
    async fn loose_links(&mut self, entries: &[Entry]) -> Result<Vec<Finding>, Failure> {
        let mut known: BTreeSet<EntryId> = entries.iter().map(|it| it.id).collect();
        let links = entries.iter().flat_map(|it| &it.links).map(|it| it.to);
        let others: BTreeSet<EntryId> = links.filter(|it| !known.contains(it)).collect();
        let others: Vec<EntryId> = others.into_iter().collect();
        for some in others.chunks(PAGE as usize) {
            let there = self.tenant.entries(some).await?;
            known.extend(there.iter().map(|it| it.id));
        }
        let mut findings = Vec::new();
        for entry in entries {
            let loose = entry.links.iter().filter(|it| !known.contains(&it.to));
            findings.extend(loose.map(|it| gates::loose_link(entry, it.to)));
        }
        Ok(findings)
    }

    /// Reads every line again and asks today's rules about it.
    async fn check_events(&mut self, verified: &mut Verified) -> Result<(), Failure> {
        let mut cursor = Cursor::default();
        loop {
            let page = self.tenant.events_after(cursor, PAGE).await?;
            cursor = page.cursor;
            let (events, guard) = (page.events, Arc::clone(&self.house.guard));
            verified.events += events.len() as u64;
            verified.add(away(move || of_lines(&events, &guard)).await?);
            if !page.more {
                return Ok(());
            }
            if EVENTS_MAX <= verified.events {
                let all = self.tenant.row().await?.events;
                verified.events_unseen = all.saturating_sub(verified.events);
                return Ok(());
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

/// Returns the norms that contradict each other, and whatever somebody said does.
fn contradicting(norms: &[Entry], flagged: Vec<Entry>, workspace: &Workspace) -> Vec<Finding> {
    let mut found = detected(norms, workspace, &|_, _| None);
    let by_id: BTreeMap<EntryId, Entry> = flagged.into_iter().map(|it| (it.id, it)).collect();
    let looked =
        add_flagged::<Infallible>(workspace, &mut found, &mut |id| Ok(by_id.get(&id).cloned()));
    let Ok(()) = looked;
    found.iter().map(gates::contradicting).collect()
}
