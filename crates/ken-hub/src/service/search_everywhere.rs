//! Search in every workspace that the caller may read.
//!
//! The workspaces are searched one after another, with one database connection, so a search of
//! fifty workspaces takes no more from other tenants than one expensive search. Each workspace is
//! ranked by the same scale ([`RankingScale::Organization`]), and the hits are merged by score.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ken_core::json::SearchResult;
use ken_core::retrieval::ranking::{SearchHit, SearchQuery, SearchResults, sort_hits};
use ken_core::retrieval::score::HiddenReason;
use ken_core::retrieval::surface::EntrySelection;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_remote::name::HubName;
use tokio::time::timeout;

use super::search::{RankingScale, render_hits};
use super::verbs::list_workspaces;
use super::{
    EntryReader, HubSearchRequest, ServiceContext, ServiceError, WorkspaceSession, served_by,
};
use crate::database::{HubDatabase, WorkspaceRow};
use crate::identity::AuthenticatedCaller;
use crate::ids::WorkspaceId;

/// Maximum number of workspaces per search. Of more, those with the latest events are searched.
pub const SEARCHED_WORKSPACES_MAX: usize = 50;

/// Maximum time of a search in all of its workspaces.
const SEARCH_TIME: Duration = Duration::from_secs(5);

/// Maximum number of workspaces that are listed to choose those to search.
const LISTED_WORKSPACES_MAX: u32 = 10_000;

/// Reason why a workspace was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// More workspaces than [`SEARCHED_WORKSPACES_MAX`].
    Limit,
    /// The time was up.
    Time,
    /// The workspace is being rebuilt, or the database did not answer.
    Unavailable,
}

/// Result of a search in several workspaces.
#[derive(Clone, Debug)]
pub struct EverywhereResult {
    pub search: SearchQuery,
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// Relevant entries that are not shown, with the reason.
    pub withheld: Vec<(EntryId, HiddenReason)>,
    pub page: EntrySelection,
    /// Workspace of each hit.
    pub origins: BTreeMap<EntryId, HubName>,
    /// Names of the workspaces that were searched.
    pub searched: Vec<HubName>,
    /// Names of the workspaces that were not searched.
    pub skipped: Vec<(HubName, SkipReason)>,
}

impl EverywhereResult {
    /// Returns the result in the form that is serialized to JSON.
    #[must_use]
    pub fn to_response(&self) -> SearchResult<'_> {
        SearchResult {
            query: &self.search.query,
            served_by: served_by(),
            hits: &self.hits,
            withheld: &self.withheld,
            page: &self.page,
            global: None,
        }
    }
}

/// Searches the workspaces `only`, or all that the caller may read, and records the exposures.
pub async fn search_everywhere(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    only: Option<&[WorkspaceId]>,
    question: HubSearchRequest,
) -> Result<EverywhereResult, ServiceError> {
    let HubSearchRequest {
        search,
        portion,
        reader,
    } = question;
    let (chosen, mut skipped) = choose_workspaces(database, caller, only).await?;
    let began = Instant::now();
    let mut merge = HitMerge::default();
    let (mut searched, mut failure) = (Vec::new(), None);
    for row in chosen {
        let left = SEARCH_TIME.saturating_sub(began.elapsed());
        let ranked = search_one(database, services, caller, row.id, (&search, &reader));
        match timeout(left, ranked).await {
            Ok(Ok(found)) => {
                merge.add(&row, found);
                searched.push(row.name);
            }
            // One workspace that cannot answer must not hide the others.
            Ok(Err(error @ (ServiceError::Store(_) | ServiceError::Database(_)))) => {
                skipped.push((row.name, SkipReason::Unavailable));
                failure = Some(error);
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => skipped.push((row.name, SkipReason::Time)),
        }
    }
    if let (Some(error), true) = (failure, searched.is_empty()) {
        return Err(error);
    }
    let HitMerge {
        mut hits,
        withheld,
        origins,
    } = merge;
    sort_hits(&mut hits);
    let page = render_hits(&hits, portion);
    let mut shown: BTreeMap<WorkspaceId, Vec<EntryId>> = BTreeMap::new();
    for id in page.ids() {
        if let Some((workspace, _)) = origins.get(&id) {
            shown.entry(*workspace).or_default().push(id);
        }
    }
    for (workspace, ids) in shown {
        let begun = WorkspaceSession::begin(database, services, caller.clone(), workspace);
        let mut session = begun.await?;
        let reader_context = session.resolve_reader(&reader).await?;
        let how = ExposureChannel::Pull;
        session.record_exposures(&reader_context, &ids, how).await?;
        session.commit().await?;
    }
    let origins = origins.into_iter().map(|(id, (_, name))| (id, name));
    Ok(EverywhereResult {
        search,
        hits,
        withheld,
        page,
        origins: origins.collect(),
        searched,
        skipped,
    })
}

/// Hits of several workspaces. An entry that several of them have counts once, with its best score.
#[derive(Debug, Default)]
struct HitMerge {
    hits: Vec<SearchHit>,
    withheld: Vec<(EntryId, HiddenReason)>,
    origins: BTreeMap<EntryId, (WorkspaceId, HubName)>,
}

impl HitMerge {
    fn add(&mut self, row: &WorkspaceRow, found: SearchResults) {
        for hit in found.hits {
            let id = hit.entry.id;
            let known = self.hits.iter_mut().find(|it| it.entry.id == id);
            if let Some(known) = known {
                if known.explained.score >= hit.explained.score {
                    continue;
                }
                *known = hit;
            } else {
                self.hits.push(hit);
            }
            self.origins.insert(id, (row.id, row.name.clone()));
        }
        self.withheld.extend(found.withheld);
    }
}

/// Returns the workspaces to search, and those beyond the limit.
async fn choose_workspaces(
    database: &HubDatabase,
    caller: &AuthenticatedCaller,
    only: Option<&[WorkspaceId]>,
) -> Result<(Vec<WorkspaceRow>, Vec<(HubName, SkipReason)>), ServiceError> {
    let mut rows = list_workspaces(database, caller, None, LISTED_WORKSPACES_MAX).await?;
    rows.retain(|row| only.is_none_or(|only| only.contains(&row.id)));
    // An empty log has nothing to find.
    rows.retain(|row| row.events > 0);
    // Evicted workspaces come last: rebuilding one may take the rest of the time.
    rows.sort_by_key(|row| std::cmp::Reverse((row.is_warm, row.appended_at)));
    let excess = rows.split_off(rows.len().min(SEARCHED_WORKSPACES_MAX));
    let skipped = excess.into_iter().map(|row| (row.name, SkipReason::Limit));
    Ok((rows, skipped.collect()))
}

async fn search_one(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    workspace: WorkspaceId,
    (search, reader): (&SearchQuery, &EntryReader),
) -> Result<SearchResults, ServiceError> {
    let begun =
        WorkspaceSession::begin_search(database, services, caller.clone(), workspace, search);
    let mut session = begun.await?;
    session.ensure_may_read_for(reader).await?;
    let scale = RankingScale::Organization;
    session.rank_candidates(search, scale).await
}
