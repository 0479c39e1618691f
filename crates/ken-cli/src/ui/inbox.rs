//! The inbox: everything that waits for a decision.
//!
//! Finding changed code checks every entry, and four lanes read all of them to compare them. The
//! [`CheckCache`] keeps both results.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::health::InsightSeverity;
use ken_core::ledger::entry::Entry;
use ken_core::values::id::EntryId;
use ken_engine::Engine;
use ken_engine::contradictions::Contradiction;
use ken_engine::promotion::PendingApproval;
use ken_engine::validity::EntryCheck;
use ken_ui::address::InboxLane;
use ken_ui::view::{
    ApprovalItem, ChangedItem, ClaimItem, InboxItem, InboxView, PairItem, VersionsItem,
};

use super::check_cache::{CheckCache, LaneItems};
use super::entries::suggested_citation;
use super::rows::{anchor_state, checked_row, condition_state, row, rows};
use crate::commands::versions;
use crate::failure::CommandFailure;

/// Maximum items on the page of one lane. Decided items make room for the next ones.
const LANE_ITEMS_MAX: usize = 50;

/// Maximum items per lane on the page of all lanes.
const LANE_ITEMS_OF_ALL: usize = 20;

/// Returns the inbox. Lanes that compare all entries are those of the last comparison.
pub(super) fn inbox(
    engine: &mut Engine,
    cache: &CheckCache,
    lane: Option<InboxLane>,
) -> Result<InboxView, CommandFailure> {
    let (checked, invalid) = cache.invalid(engine)?;
    let pending = engine.pending_approvals()?;
    let mut items: Vec<InboxItem> = Vec::new();
    let mut counts = Vec::new();
    let shown = if lane.is_none() {
        LANE_ITEMS_OF_ALL
    } else {
        LANE_ITEMS_MAX
    };
    for of_lane in InboxLane::ALL {
        let found = match of_lane {
            InboxLane::Changed => Some(changed(engine, &invalid)),
            InboxLane::Quarantined => Some(quarantined(engine, &pending)?),
            InboxLane::Approvals => Some(approvals(engine, pending.clone())?),
            InboxLane::Claims => Some(claims(engine)?),
            InboxLane::Contradictions
            | InboxLane::Duplicates
            | InboxLane::Versions
            | InboxLane::Health => cache.compared(*of_lane),
        };
        counts.push((*of_lane, found.as_ref().map(|it| it.total)));
        if lane.is_none_or(|it| it == *of_lane) {
            let found = found.into_iter().flat_map(|it| it.items);
            items.extend(found.take(shown));
        }
    }
    cache.set_pending(counts.iter().filter_map(|(_, number)| *number).sum());
    Ok(InboxView {
        counts,
        items,
        checked: Some(checked),
        suggested_citation: suggested_citation(engine),
    })
}

/// Compares all entries with each other, unless another request did meanwhile.
pub(super) fn compare(engine: &mut Engine, cache: &CheckCache) -> Result<(), CommandFailure> {
    let (_, is_current) = cache.comparison(engine)?;
    if is_current {
        return Ok(());
    }
    // Taken before the comparison: an event that arrives meanwhile makes it outdated.
    let state = engine.live_state(&BTreeSet::new())?;
    let mut disputed = engine.open_contradictions()?;
    // Contradicting norms block changes, so they come first.
    disputed.sort_by_key(|it| !it.is_blocking());
    let lanes = BTreeMap::from([
        (
            InboxLane::Contradictions,
            contradictions(engine, &disputed)?,
        ),
        (InboxLane::Duplicates, duplicates(engine)?),
        (InboxLane::Versions, concurrent_versions(engine)?),
        (InboxLane::Health, health(engine)?),
    ]);
    cache.keep(state, lanes, disputed);
    Ok(())
}

/// Returns the number of items per lane, as far as they are known without a check.
pub(super) fn known_counts(
    engine: &mut Engine,
    cache: &CheckCache,
) -> Result<Vec<(InboxLane, u64)>, CommandFailure> {
    let mut counts = vec![
        (
            InboxLane::Quarantined,
            engine.quarantined_entries()?.len() as u64,
        ),
        (
            InboxLane::Approvals,
            engine.pending_approvals()?.len() as u64,
        ),
        (InboxLane::Claims, engine.inbox_claims()?.len() as u64),
    ];
    if let Some(changed) = cache.known_invalid() {
        counts.insert(0, (InboxLane::Changed, changed));
    }
    counts.extend(cache.compared_totals());
    Ok(counts)
}

/// Returns whether a lane compares all entries with each other.
pub(super) fn is_compared(lane: InboxLane) -> bool {
    match lane {
        InboxLane::Contradictions
        | InboxLane::Duplicates
        | InboxLane::Versions
        | InboxLane::Health => true,
        InboxLane::Changed | InboxLane::Quarantined | InboxLane::Approvals | InboxLane::Claims => {
            false
        }
    }
}

fn changed(engine: &Engine, invalid: &[EntryCheck]) -> LaneItems {
    let first = invalid.iter().take(LANE_ITEMS_MAX);
    let items = first.map(|check| {
        InboxItem::Changed(Box::new(ChangedItem {
            row: checked_row(engine, check),
            anchors: check.anchors.iter().map(anchor_state).collect(),
            conditions: check.conditions.iter().map(condition_state).collect(),
        }))
    });
    LaneItems {
        items: items.collect(),
        total: invalid.len() as u64,
    }
}

fn quarantined(
    engine: &mut Engine,
    approvals: &[PendingApproval],
) -> Result<LaneItems, CommandFailure> {
    // An entry that waits for an approval is released by it.
    let pending: BTreeSet<EntryId> = approvals.iter().map(|it| it.entry.id).collect();
    let mut found = engine.quarantined_entries()?;
    found.retain(|it| !pending.contains(&it.entry.id));
    let total = found.len() as u64;
    found.truncate(LANE_ITEMS_MAX);
    let (entries, reasons): (Vec<Entry>, Vec<String>) =
        found.into_iter().map(|it| (it.entry, it.reason)).unzip();
    let rows = rows(engine, entries)?.into_iter().zip(reasons);
    let items = rows.map(|(row, reason)| InboxItem::Quarantined {
        row: Box::new(row),
        reason,
    });
    Ok(LaneItems {
        items: items.collect(),
        total,
    })
}

fn approvals(
    engine: &mut Engine,
    pending: Vec<PendingApproval>,
) -> Result<LaneItems, CommandFailure> {
    let signed = engine.requires_signatures()?;
    let total = pending.len() as u64;
    let mut items = Vec::new();
    for it in pending.into_iter().take(LANE_ITEMS_MAX) {
        let artifact = engine.artifact_bytes(&it.entry)?;
        let signing_command = if signed {
            let path = engine.write_artifact(&it.entry)?;
            Some(Engine::signing_command(&path))
        } else {
            None
        };
        items.push(InboxItem::Approval(Box::new(ApprovalItem {
            artifact: String::from_utf8_lossy(&artifact).into_owned(),
            digest: it.artifact,
            authors: it.authors.into_iter().collect(),
            signing_command,
            row: row(engine, it.entry)?,
        })));
    }
    Ok(LaneItems { items, total })
}

fn claims(engine: &mut Engine) -> Result<LaneItems, CommandFailure> {
    let pending = engine.inbox_claims()?;
    let statement_of = |id: &String| {
        let claim = pending.iter().find(|it| it.id == *id);
        let claim = claim.map(|it| it.statement.clone());
        // The entry may be gone meanwhile: then its id is all there is.
        claim.or_else(|| Some(engine.find(id).ok()?.statement_text().to_owned()))
    };
    let first = pending.iter().take(LANE_ITEMS_MAX);
    let claims = first.cloned().map(|it| {
        // Of a transcript, the only finding is the place.
        let is_captured = it.source_command() == "ken capture";
        let older = it.supersedes.into_iter().map(|id| {
            let statement = statement_of(&id).unwrap_or_default();
            (id, statement)
        });
        let older = older.collect();
        let (findings, place) = if is_captured {
            (Vec::new(), it.findings)
        } else {
            (it.findings, Vec::new())
        };
        InboxItem::Claim(Box::new(ClaimItem {
            id: it.id,
            kind: it.kind.name(),
            statement: it.statement,
            citation: it.cite,
            tags: it.tags,
            findings,
            location: place.into_iter().next(),
            exchange: it.exchange,
            supersedes: older,
            superseded_by: it.superseded_by,
        }))
    });
    Ok(LaneItems {
        items: claims.collect(),
        total: pending.len() as u64,
    })
}

fn contradictions(
    engine: &mut Engine,
    found: &[Contradiction],
) -> Result<LaneItems, CommandFailure> {
    let mut items = Vec::new();
    let total = found.len() as u64;
    for it in found.iter().take(LANE_ITEMS_MAX) {
        items.push(InboxItem::Contradiction(Box::new(PairItem {
            first: row(engine, Entry::clone(&it.first))?,
            second: row(engine, Entry::clone(&it.second))?,
            reason: it.why.clone(),
        })));
    }
    Ok(LaneItems { items, total })
}

fn duplicates(engine: &mut Engine) -> Result<LaneItems, CommandFailure> {
    let mut items = Vec::new();
    let found = engine.separate_duplicate_pairs(LANE_ITEMS_MAX)?;
    let total = found.total as u64;
    for it in found.pairs {
        let reason = format!("{:.0} % likely to state the same", it.score * 100.0);
        items.push(InboxItem::Duplicate(Box::new(PairItem {
            first: row(engine, it.first)?,
            second: row(engine, it.second)?,
            reason,
        })));
    }
    Ok(LaneItems { items, total })
}

fn concurrent_versions(engine: &mut Engine) -> Result<LaneItems, CommandFailure> {
    let mut items = Vec::new();
    for entry in engine.concurrently_edited()? {
        let events = versions(engine, &entry)?;
        let versions = events.iter().map(|it| {
            let text = ken_ui::view::statement_of(&it.event.body).unwrap_or_default();
            (it.event.id, it.event.by.clone(), text)
        });
        items.push(InboxItem::Versions(Box::new(VersionsItem {
            versions: versions.collect(),
            row: row(engine, entry)?,
        })));
    }
    let total = items.len() as u64;
    Ok(LaneItems { items, total })
}

fn health(engine: &mut Engine) -> Result<LaneItems, CommandFailure> {
    let insights = engine.health_report()?.insights.into_iter();
    let urgent = insights.filter(|it| it.severity != InsightSeverity::Info);
    let items: Vec<InboxItem> = urgent.map(InboxItem::Health).collect();
    let total = items.len() as u64;
    Ok(LaneItems { items, total })
}
