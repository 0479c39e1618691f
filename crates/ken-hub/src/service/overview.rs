//! Overviews of a workspace for people: facets of lists, sources, neighbors, runs, health.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::health::history::{
    OutcomeAdvice, OutcomeSummary, escalations, recommendations, summarize_outcomes,
};
use ken_core::health::{HealthInsight, evaluate_rules};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EntryEffect, RunEffects};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closed::PastRun;
use ken_core::trust::run::exposure_log::{ExposureRecord, exposure_records};
use ken_core::trust::run::{Run, RunRecord};
use ken_core::values::id::EntryId;

use super::health::recent_period_start;
use super::{EntryListing, EntryReader, ServiceError, WorkspaceSession};
use crate::ids::Role;
use crate::store::{EntryFacets, EntryPosition, QuarantineVisibility, SourceEntryCounts};

/// Entries per page while reading the whole workspace.
const PAGE: u32 = 1_000;

/// Maximum number of entries that one page of a scanned list looks at.
const SCANNED_MAX: usize = 20_000;

/// Entries of a source that a preview names.
const EXAMPLES_MAX: u32 = 5;

/// Open runs in which the exposures of an entry are looked up.
const EXPOSURE_RUNS_MAX: u32 = 20;

/// Maximum exposures of an entry.
const EXPOSURES_MAX: usize = 100;

/// Details of a run.
#[derive(Clone, Debug)]
pub struct RunDetails {
    /// The folded notes, while the run is open.
    pub notes: Option<Run>,
    /// The notes in their order.
    pub records: Vec<RunRecord>,
    pub past: Option<PastRun>,
    pub effects: Vec<EntryEffect>,
    /// Titles of the entries that the run names, as far as the caller may see them.
    pub titles: BTreeMap<EntryId, String>,
}

/// Results of the health rules.
#[derive(Clone, Debug)]
pub struct HealthSummary {
    pub insights: Vec<HealthInsight>,
    pub outcomes: OutcomeSummary,
    pub escalations: Vec<OutcomeAdvice>,
    pub recommendations: Vec<OutcomeAdvice>,
}

/// What a revocation of a source would hide in one workspace.
#[derive(Clone, Debug, Default)]
pub struct RevocationPreview {
    pub is_revoked: bool,
    pub counts: SourceEntryCounts,
    /// Runs of the last months that were shown its entries.
    pub runs: u64,
    /// The live entries that were shown most often.
    pub examples: Vec<(EntryId, String)>,
}

/// Counts the entries that match `filter` and that the caller may see, by property.
pub async fn count_facets(
    session: &mut WorkspaceSession,
    filter: &EntryFilter,
) -> Result<EntryFacets, ServiceError> {
    let quarantined = if session.caller.role >= Role::Curator {
        QuarantineVisibility::Shown
    } else {
        QuarantineVisibility::Hidden
    };
    Ok(session.tx.facet_counts(filter, quarantined).await?)
}

/// Lists entries that match `filter` and `wanted`, newest first, and records the exposures.
///
/// The store has no index for `wanted`, so a page looks at a bounded number of entries and may be
/// short; its cursor continues after the last entry it looked at.
pub async fn list_entries_where(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    filter: &EntryFilter,
    after: Option<&EntryPosition>,
    (limit, wanted): (usize, impl Fn(&Entry) -> bool),
) -> Result<EntryListing, ServiceError> {
    let (mut found, mut scanned, mut after) = (Vec::new(), 0, after.cloned());
    loop {
        let page = super::list_entries(session, reader, filter, after.as_ref(), PAGE).await?;
        scanned += PAGE as usize;
        for entry in page.entries {
            if found.len() == limit {
                let next = found.last().map(EntryPosition::after);
                return Ok(EntryListing {
                    entries: found,
                    next,
                });
            }
            if wanted(&entry) {
                found.push(entry);
            }
        }
        after = page.next;
        if after.is_none() || scanned >= SCANNED_MAX {
            return Ok(EntryListing {
                entries: found,
                next: after,
            });
        }
    }
}

/// Calls `each` with every entry that the caller may see.
async fn for_each_visible(
    session: &mut WorkspaceSession,
    mut each: impl FnMut(Entry),
) -> Result<(), ServiceError> {
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let mut after: Option<EntryPosition> = None;
    loop {
        let page = session.tx.list(&filter, after.as_ref(), Some(PAGE)).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(EntryPosition::after);
        for entry in page {
            if session.ensure_visible(&entry).is_ok() {
                each(entry);
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Returns every entry that the caller may see, without its text, and the state of the workspace.
pub async fn list_sources(
    session: &mut WorkspaceSession,
) -> Result<(Vec<Entry>, WorkspaceState), ServiceError> {
    let workspace = session.workspace().await?;
    let mut entries = Vec::new();
    for_each_visible(session, |mut entry| {
        entry.content = None;
        entries.push(entry);
    })
    .await?;
    Ok((entries, WorkspaceState::clone(&workspace)))
}

/// Previews the revocation of a source. Changes nothing.
pub async fn preview_revocation(
    session: &mut WorkspaceSession,
    source: &ContributionSource,
) -> Result<RevocationPreview, ServiceError> {
    session.require_role(Role::Curator, "previewing a revocation")?;
    let workspace = session.workspace().await?;
    let counts = session.tx.count_source(source).await?;
    let mut preview = RevocationPreview {
        is_revoked: workspace.revoked.contains(source),
        counts,
        ..RevocationPreview::default()
    };
    if counts.all == 0 {
        return Ok(preview);
    }
    let examples = session.tx.most_shown_of_source(source, EXAMPLES_MAX);
    let examples = examples.await?;
    preview.examples = examples.iter().map(|it| (it.id, it.title())).collect();
    preview.runs = session.count_runs_shown(source).await?;
    Ok(preview)
}

impl WorkspaceSession {
    /// Returns the number of runs of the last months that were shown entries of a source.
    async fn count_runs_shown(&mut self, source: &ContributionSource) -> Result<u64, ServiceError> {
        let ids = self.tx.ids_of_source(source).await?;
        let since = recent_period_start(self.now).to_string();
        let effects = self.tx.events_of_type::<RunEffects>(Some(&since)).await?;
        let effects = effects.iter().filter_map(|it| it.event.get::<RunEffects>());
        let is_shown =
            |it: &EntryEffect| it.shown > 0 && ids.contains(it.entry.to_string().as_str());
        let runs = effects.filter(|it| it.effects.iter().any(is_shown));
        let runs: BTreeSet<&str> = runs.map(|it| it.run.as_str()).collect();
        Ok(runs.len() as u64)
    }
}

/// Returns who was shown an entry in the runs that are open, newest first. An ended run keeps the
/// numbers of what it showed, and not to whom.
pub async fn list_exposures(
    session: &mut WorkspaceSession,
    entry: EntryId,
) -> Result<Vec<ExposureRecord>, ServiceError> {
    let (mut found, id) = (Vec::new(), entry.to_string());
    for run in session.tx.runs_noting(&id, EXPOSURE_RUNS_MAX).await? {
        let notes = session.tx.run_notes(&run).await?;
        let notes: Vec<RunRecord> = notes
            .iter()
            .map(|it| RunRecord::parse(it.as_bytes()))
            .collect();
        let records = exposure_records(&notes).into_iter();
        found.extend(records.filter(|it| it.entry == Some(entry)));
    }
    found.sort_by_key(|it| std::cmp::Reverse(it.at));
    found.truncate(EXPOSURES_MAX);
    Ok(found)
}

/// Returns the titles of entries, as far as the caller may see them.
pub async fn load_titles(
    session: &mut WorkspaceSession,
    ids: &BTreeSet<EntryId>,
) -> Result<BTreeMap<EntryId, String>, ServiceError> {
    let ids: Vec<EntryId> = ids.iter().copied().collect();
    let mut found = session.tx.entries(&ids).await?;
    found.retain(|it| session.ensure_visible(it).is_ok());
    Ok(found.iter().map(|it| (it.id, it.title())).collect())
}

/// Returns the details of a run, open or ended.
pub async fn show_run(
    session: &mut WorkspaceSession,
    id: &str,
) -> Result<RunDetails, ServiceError> {
    let notes = session.load_open_run(id).await?;
    let lines = if notes.is_some() {
        session.tx.run_notes(id).await?
    } else {
        Vec::new()
    };
    let records = lines.iter().map(|it| RunRecord::parse(it.as_bytes()));
    let records: Vec<RunRecord> = records.collect();
    let past = if notes.is_none() {
        let runs = super::list_past_runs(session).await?;
        runs.into_iter().find(|it| it.closed.run == id)
    } else {
        None
    };
    if notes.is_none() && past.is_none() {
        let (what, wanted) = ("run", id.to_owned());
        return Err(ServiceError::NotFound { what, wanted });
    }
    let since = recent_period_start(session.now).to_string();
    let effects = session
        .tx
        .events_of_type::<RunEffects>(Some(&since))
        .await?;
    let effects = effects.iter().filter_map(|it| it.event.get::<RunEffects>());
    let effects = effects.filter(|it| it.run == id);
    let effects: Vec<EntryEffect> = effects.flat_map(|it| it.effects.iter().cloned()).collect();
    let mut ids: BTreeSet<EntryId> = effects.iter().map(|it| it.entry).collect();
    for agent in notes.iter().flat_map(|it| it.agents.values()) {
        ids.extend(agent.shown.keys().chain(agent.offers.keys()));
        let named = agent.passed.iter().chain(&agent.cites);
        ids.extend(named.chain(&agent.used).chain(&agent.added));
    }
    let titles = load_titles(session, &ids).await?;
    Ok(RunDetails {
        notes,
        records,
        past,
        effects,
        titles,
    })
}

/// Evaluates the health rules.
pub async fn report_health(session: &mut WorkspaceSession) -> Result<HealthSummary, ServiceError> {
    let facts = session.health_facts().await?;
    let mut insights = evaluate_rules(&facts);
    let named: BTreeSet<EntryId> = insights
        .iter()
        .flat_map(|it| &it.entries)
        .copied()
        .collect();
    let visible = load_titles(session, &named).await?;
    // An insight may quote an entry that only curators may see.
    insights.retain(|it| it.entries.iter().all(|id| visible.contains_key(id)));
    Ok(HealthSummary {
        insights,
        outcomes: summarize_outcomes(&facts),
        escalations: escalations(&facts),
        recommendations: recommendations(&facts),
    })
}

/// Returns the policy that decides when unconfirmed entries are archived.
pub async fn show_review_policy(
    session: &mut WorkspaceSession,
) -> Result<ReviewPolicy, ServiceError> {
    session.review_policy().await
}

/// Counts the quarantined events and entries, and the entries that wait for an approval.
///
/// Candidates for a promotion are not counted: they wait for no decision.
pub async fn count_review_items(session: &mut WorkspaceSession) -> Result<u64, ServiceError> {
    session.require_role(Role::Curator, "counting items of the inbox")?;
    let (events, entries) = session.tx.count_quarantine().await?;
    let promoted = session.count_promoted().await?;
    Ok(events + entries + promoted)
}
