//! The workspaces of a person, the search in all of them, and what waits in each.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ken_core::retrieval::ranking::{RelevanceFloor, SearchQuery};
use ken_mcp::ask::QUERY_BYTES_MAX;
use ken_ui::action::FormFields;
use ken_ui::hub::{
    EverywhereHit, EverywhereView, WorkspaceLine, WorkspacesView, search_page, workspace_base,
    workspaces_page,
};
use ken_ui::view::EntryRow;

use super::session::{PageSession, see_other};
use crate::api::admission::admit_expensive_search;
use crate::api::caller::{
    AtLeastCurator, AtLeastReader, MinimumRole, RequireRole, RequireWorkspaceRole, WORKSPACE_PARAM,
};
use crate::api::problem::Problem;
use crate::api::{AppState, check_length};
use crate::database::{HubName, WorkspaceRow};
use crate::ids::Role;
use crate::limits::CallerKey;
use crate::service::{
    self, HubSearchRequest, SelectionLimits, SkipReason, WorkspaceSession, build_reader,
};

/// Workspaces per page.
const WORKSPACES_PER_PAGE: u32 = 100;

/// Maximum workspaces whose waiting items are counted for one page.
const COUNTED_MAX: usize = 30;

/// Hits of a search in all workspaces.
const HITS_MAX: usize = 30;

/// Returns the query of a request as fields.
pub(super) fn query_fields(query: Option<String>) -> FormFields {
    FormFields::parse(query.unwrap_or_default().as_bytes())
}

/// Shows the workspaces of a person.
pub(super) async fn workspaces(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    list(&app, access, &session, &headers, query).await
}

/// Shows the workspaces with what waits for a curator.
pub(super) async fn review(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    list(&app, access, &session, &headers, query).await
}

async fn list<N: MinimumRole>(
    app: &AppState,
    access: RequireRole<N>,
    session: &PageSession,
    headers: &HeaderMap,
    query: Option<String>,
) -> Result<Response, Problem> {
    let after = query_fields(query);
    let after: Option<HubName> = after.text("after").and_then(|it| it.parse().ok());
    let caller = &access.caller;
    let limit = WORKSPACES_PER_PAGE;
    let rows = service::list_workspaces(&app.database, caller, after.as_ref(), limit + 1);
    let mut rows = rows.await?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| has_more);
    let next = next.map(|it| it.name.to_string());
    let mut lines = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let is_counted = caller.role >= Role::Curator && at < COUNTED_MAX;
        let pending = if is_counted {
            count_pending(app, &access, row).await
        } else {
            None
        };
        lines.push(WorkspaceLine {
            name: row.name.to_string(),
            events: row.events,
            last_event: row.appended_at,
            pending,
        });
    }
    let view = WorkspacesView {
        organization: session.sign_in.organization.clone(),
        workspaces: lines,
        next,
    };
    Ok(workspaces_page(&view).respond(&session.frame(), headers, StatusCode::OK))
}

/// Counts what waits in a workspace; `None` if it cannot answer, which must not hide the others.
async fn count_pending<N>(
    app: &AppState,
    access: &RequireRole<N>,
    row: &WorkspaceRow,
) -> Option<u64> {
    let (context, caller) = (app.service_context(), access.caller.clone());
    let session = WorkspaceSession::begin(&app.database, &context, caller, row.id);
    let mut session = session.await.ok()?;
    let counted = service::count_review_items(&mut session).await.ok()?;
    session.commit().await.ok()?;
    Some(counted)
}

/// Searches all workspaces of a person.
pub(super) async fn search(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    Extension(key): Extension<CallerKey>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let fields = query_fields(query);
    let words = fields.text("q").unwrap_or_default().to_owned();
    let mut view = EverywhereView {
        words: words.clone(),
        ..EverywhereView::default()
    };
    if !words.is_empty() {
        check_length("q", &words, QUERY_BYTES_MAX)?;
        let _permit = admit_expensive_search(&app, key).await?;
        let request = HubSearchRequest {
            search: SearchQuery {
                query: words,
                floor: RelevanceFloor::Relevant,
                ..SearchQuery::default()
            },
            portion: SelectionLimits::default(),
            reader: build_reader(&access.caller.actor, None, None, None)?,
        };
        let (database, context) = (&app.database, app.service_context());
        let found = service::search_everywhere(database, &context, &access.caller, None, request);
        let found = found.await?;
        view.searched = found.searched.len();
        let skipped = found.skipped.iter().map(|(name, why)| {
            let why = match why {
                SkipReason::Limit => "there are more workspaces than one search covers",
                SkipReason::Time => "timeout",
                SkipReason::Unavailable => "it did not answer",
            };
            (name.to_string(), why)
        });
        view.skipped = skipped.collect();
        let origins = &found.origins;
        let hits = found.hits.into_iter().take(HITS_MAX).filter_map(|hit| {
            let workspace = origins.get(&hit.entry.id)?.to_string();
            let row = EntryRow::from_hit(hit);
            Some(EverywhereHit { workspace, row })
        });
        view.hits = hits.collect();
    }
    let frame = session.frame();
    Ok(search_page(&frame, &view).respond(&frame, &headers, StatusCode::OK))
}

/// Leads to the start page of a workspace.
pub(super) async fn enter_workspace(
    State(_app): State<AppState>,
    _access: RequireWorkspaceRole<AtLeastReader>,
    params: axum::extract::RawPathParams,
) -> Response {
    let mut names = params.iter().filter(|(name, _)| *name == WORKSPACE_PARAM);
    let name = names.next().map_or("", |(_, value)| value);
    see_other(&format!("{}/", workspace_base(name)))
}
