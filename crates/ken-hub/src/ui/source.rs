//! A workspace as the source of the pages of `ken-ui`, as one person sees it.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::response::Response;
use futures_util::{Stream, stream};
use ken_ui::action::ActionRequest;
use ken_ui::address::{
    BriefQuery, EntryListQuery, InboxLane, PageAddress, PeerQuery, RepoPath, RunListQuery,
};
use ken_ui::hub::{HubOverview, workspace_base};
use ken_ui::source::{ActionResult, KnowledgeErrorCause, SourceOverview};
use ken_ui::view::{
    BriefView, ChangeView, DocumentsView, EntryListView, EntryView, ForageView, HealthView,
    HistoryView, HomeView, ImpactView, InboxView, NeighborsView, NormsView, PathView, PeerView,
    PeersView, PeopleView, RunListView, RunView, StatsView,
};
use ken_ui::{ChangeTopic, KnowledgeError, KnowledgeSource, SourcePages};
use serde_json::Value;
use tokio::sync::broadcast;

use super::session::{PageSession, keep_notice};
use super::{actions, documents, entries, runs};
use crate::api::AppState;
use crate::api::admission::admit_search;
use crate::api::caller::{AtLeastReader, RequireWorkspaceRole, WORKSPACE_PARAM};
use crate::api::problem::{Kind, Problem};
use crate::identity::AuthenticatedCaller;
use crate::ids::{Role, WorkspaceId};
use crate::limits::{CallerKey, StagePermit, StreamPermit};
use crate::service::{EntryReader, ServiceError, WorkspaceSession, build_reader};

/// Time between two looks at the log, for events that another process wrote.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Lifetime of a stream. The browser opens the next one, which checks the sign-in again.
const STREAM_LIFETIME: Duration = Duration::from_secs(60);

/// Path of the stream of changes, below that of the workspace.
const LIVE_PATH: &str = "/live";

/// One workspace, as one person sees it.
#[derive(Clone, Debug)]
pub(super) struct WorkspaceSource {
    pub(super) app: AppState,
    pub(super) caller: AuthenticatedCaller,
    pub(super) workspace: WorkspaceId,
    pub(super) key: CallerKey,
    overview: SourceOverview,
    /// Held by a stream of changes.
    _stream_permit: Option<Arc<StreamPermit>>,
}

/// Answers a request for a page or form of a workspace.
pub(super) async fn answer(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    Extension(session): Extension<PageSession>,
    Extension(key): Extension<CallerKey>,
    params: RawPathParams,
    request: Request,
) -> Result<Response, Problem> {
    let mut names = params.iter().filter(|(name, _)| *name == WORKSPACE_PARAM);
    let name = names.next().map_or("", |(_, value)| value).to_owned();
    let base = workspace_base(&name);
    let frame = session.frame();
    let (parts, body): (_, Body) = request.into_parts();
    let path = parts.uri.path().strip_prefix(&base).unwrap_or_default();
    let stream_permit = if path == LIVE_PATH {
        let permit = app.limiter.acquire_stream(key);
        // A browser does not reconnect after this status.
        let too_many = || Problem::too_many("you have too many open pages", STREAM_LIFETIME);
        Some(Arc::new(permit.ok_or_else(too_many)?))
    } else {
        None
    };
    let source = WorkspaceSource {
        overview: SourceOverview {
            name: name.clone(),
            person: Some(access.caller.actor.clone()),
            hub: Some(HubOverview {
                workspace: Some(name),
                ..frame.hub
            }),
            ..SourceOverview::default()
        },
        app: app.clone(),
        caller: access.caller,
        workspace: access.workspace,
        key,
        _stream_permit: stream_permit,
    };
    let pages = SourcePages::new(source, base.clone(), session.sign_in.notice.clone());
    let response = pages.answer(&parts, path, body).await;
    if parts.method == Method::POST
        && let Some(notice) = pages.take_notice()
    {
        keep_notice(&app, &session, &notice).await?;
    }
    Ok(response)
}

impl WorkspaceSource {
    /// Begins a transaction on the workspace.
    pub(super) async fn begin(&self) -> Result<WorkspaceSession, ServiceError> {
        let context = self.app.service_context();
        let (database, caller) = (&self.app.database, self.caller.clone());
        WorkspaceSession::begin(database, &context, caller, self.workspace).await
    }

    /// Returns the person as the reader of entries.
    pub(super) fn reader(&self) -> Result<EntryReader, ServiceError> {
        build_reader(&self.caller.actor, None, None, None)
    }

    /// Waits for a place if a list is an expensive search, as the API does. Before the session,
    /// which takes a database connection.
    async fn admit_search(
        &self,
        query: &EntryListQuery,
    ) -> Result<Option<StagePermit>, KnowledgeError> {
        let search = entries::search_query(query);
        let admitted = admit_search(&self.app, self.key, &search).await;
        admitted.map_err(|problem| problem_error(&problem))
    }

    /// Runs a use case in a transaction and commits it.
    async fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&Self, &mut WorkspaceSession) -> Result<T, ServiceError>,
    ) -> Result<T, KnowledgeError> {
        let answered = async {
            let mut session = self.begin().await?;
            let answer = ask(self, &mut session).await?;
            session.commit().await?;
            Ok(answer)
        };
        answered.await.map_err(to_knowledge_error)
    }
}

/// Converts an error to that of a page. The rules are those of the API.
pub(super) fn to_knowledge_error(error: ServiceError) -> KnowledgeError {
    let candidates: Vec<String> = if let ServiceError::Ambiguous { candidates, .. } = &error {
        candidates.iter().map(ToString::to_string).collect()
    } else {
        Vec::new()
    };
    let mut converted = problem_error(&Problem::from(error));
    if !candidates.is_empty() {
        converted.cause = KnowledgeErrorCause::NotFound;
        converted.candidates = candidates;
    }
    converted
}

fn problem_error(problem: &Problem) -> KnowledgeError {
    let cause = match problem.kind() {
        Kind::Forbidden | Kind::Quota | Kind::Unauthenticated => KnowledgeErrorCause::Forbidden,
        Kind::NotFound | Kind::Renamed => KnowledgeErrorCause::NotFound,
        Kind::Conflict | Kind::CursorUnknown => KnowledgeErrorCause::Conflict,
        Kind::TooMany | Kind::Unavailable | Kind::Timeout => KnowledgeErrorCause::Busy,
        Kind::Internal => KnowledgeErrorCause::Internal,
        Kind::Malformed
        | Kind::MethodNotAllowed
        | Kind::TooLarge
        | Kind::MediaType
        | Kind::Invalid
        | Kind::Refused
        | Kind::KeyReused => KnowledgeErrorCause::Refused,
    };
    // The id under which the log has details of an internal error.
    let instance = problem.to_json()["instance"].as_str().map(str::to_owned);
    KnowledgeError {
        hint: instance,
        ..KnowledgeError::new(cause, problem.detail())
    }
}

/// Returns the error of a page that needs the code.
fn no_code() -> KnowledgeError {
    KnowledgeError {
        hint: Some("Run `ken ui` in a clone to see code and knowledge side by side.".to_owned()),
        ..KnowledgeError::new(
            KnowledgeErrorCause::NotFound,
            "a hub has no code, so it has no such page",
        )
    }
}

/// Returns the error of a page about peers, which belong to the organization.
fn peers_elsewhere() -> KnowledgeError {
    KnowledgeError {
        hint: Some("Curators open `/peers`.".to_owned()),
        ..KnowledgeError::new(
            KnowledgeErrorCause::NotFound,
            "a workspace has no peers; the organization has",
        )
    }
}

impl KnowledgeSource for WorkspaceSource {
    async fn overview(&self) -> Result<SourceOverview, KnowledgeError> {
        Ok(self.overview.clone())
    }

    async fn home(&self) -> Result<HomeView, KnowledgeError> {
        self.ask(entries::home).await
    }

    async fn entries(&self, query: EntryListQuery) -> Result<EntryListView, KnowledgeError> {
        let _permit = self.admit_search(&query).await?;
        self.ask(async |source, session| entries::select(source, session, &query).await)
            .await
    }

    async fn entry(&self, wanted: String) -> Result<EntryView, KnowledgeError> {
        self.ask(async |source, session| entries::entry(source, session, &wanted).await)
            .await
    }

    async fn history(&self, wanted: String) -> Result<HistoryView, KnowledgeError> {
        self.ask(async |source, session| entries::history(source, session, &wanted).await)
            .await
    }

    async fn neighbors(&self, wanted: String) -> Result<NeighborsView, KnowledgeError> {
        self.ask(async |source, session| entries::neighbors(source, session, &wanted).await)
            .await
    }

    async fn path(
        &self,
        _path: RepoPath,
        _revision: Option<String>,
    ) -> Result<PathView, KnowledgeError> {
        Err(no_code())
    }

    async fn inbox(&self, _lane: Option<InboxLane>) -> Result<InboxView, KnowledgeError> {
        // A route of its own answers this page: the inbox of a hub is that of its curators.
        Err(KnowledgeError::new(
            KnowledgeErrorCause::NotFound,
            "open the inbox of the workspace",
        ))
    }

    async fn change(&self, _base: Option<String>) -> Result<ChangeView, KnowledgeError> {
        Err(no_code())
    }

    async fn documents(&self) -> Result<DocumentsView, KnowledgeError> {
        Err(no_code())
    }

    async fn brief(&self, query: BriefQuery) -> Result<BriefView, KnowledgeError> {
        self.ask(async |source, session| runs::brief(source, session, &query).await)
            .await
    }

    async fn runs(&self, query: RunListQuery) -> Result<RunListView, KnowledgeError> {
        self.ask(async |_, session| runs::runs(session, &query).await)
            .await
    }

    async fn run(&self, run: String) -> Result<RunView, KnowledgeError> {
        self.ask(async |_, session| runs::run(session, &run).await)
            .await
    }

    async fn impact(&self) -> Result<ImpactView, KnowledgeError> {
        self.ask(runs::impact).await
    }

    async fn health(&self) -> Result<HealthView, KnowledgeError> {
        self.ask(runs::health).await
    }

    async fn stats(&self) -> Result<StatsView, KnowledgeError> {
        self.ask(runs::stats).await
    }

    async fn norms(&self, path: Option<RepoPath>) -> Result<NormsView, KnowledgeError> {
        self.ask(async |source, session| entries::norms(source, session, path.as_ref()).await)
            .await
    }

    async fn people(&self) -> Result<PeopleView, KnowledgeError> {
        self.ask(entries::people).await
    }

    async fn forage(&self) -> Result<ForageView, KnowledgeError> {
        Err(KnowledgeError::new(
            KnowledgeErrorCause::NotFound,
            "a hub reads no documentation, so it has no such page",
        ))
    }

    async fn peers(&self) -> Result<PeersView, KnowledgeError> {
        Err(peers_elsewhere())
    }

    async fn peer(&self, _peer: String, _query: PeerQuery) -> Result<PeerView, KnowledgeError> {
        Err(peers_elsewhere())
    }

    async fn document(&self, page: PageAddress) -> Result<Value, KnowledgeError> {
        let _permit = if let PageAddress::Entries(query) = &page {
            self.admit_search(query).await?
        } else {
            None
        };
        self.ask(async |source, session| documents::document(source, session, &page).await)
            .await
    }

    async fn act(&self, request: ActionRequest) -> Result<ActionResult, KnowledgeError> {
        let done = actions::act(self, request).await;
        done.map_err(to_knowledge_error)
    }

    fn watch(
        &self,
        topics: Vec<ChangeTopic>,
    ) -> impl Stream<Item = Vec<ChangeTopic>> + Send + 'static {
        // Only events of the log are known here: a hub has no files.
        let topics = topics.into_iter();
        let topics = topics.filter(|it| matches!(it, ChangeTopic::Ledger | ChangeTopic::Runs));
        let watch = LogWatch {
            notifications: self.app.log_notifier.subscribe(),
            ends_at: tokio::time::Instant::now() + STREAM_LIFETIME,
            topics: topics.collect(),
            source: self.clone(),
            head: None,
        };
        stream::unfold(watch, |mut watch| async move {
            let changed = watch.next().await?;
            Some((changed, watch))
        })
    }
}

/// A stream of changes of one workspace.
struct LogWatch {
    source: WorkspaceSource,
    topics: Vec<ChangeTopic>,
    notifications: broadcast::Receiver<WorkspaceId>,
    ends_at: tokio::time::Instant,
    /// Position of the last event that was seen.
    head: Option<u64>,
}

impl LogWatch {
    /// Waits for a change; `None` when the stream is over.
    async fn next(&mut self) -> Option<Vec<ChangeTopic>> {
        loop {
            let head = self.read_head().await?;
            match self.head.replace(head) {
                None => return Some(Vec::new()),
                Some(before) if before != head => return Some(self.topics.clone()),
                Some(_) => {}
            }
            tokio::select! {
                () = self.source.app.shutting_down.cancelled() => return None,
                () = tokio::time::sleep_until(self.ends_at) => return None,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = wait_for(&mut self.notifications, self.source.workspace) => {}
            }
        }
    }

    async fn read_head(&self) -> Option<u64> {
        let (app, caller) = (&self.source.app, &self.source.caller);
        let tx = app.database.begin_organization(caller.organization);
        let mut tx = tx.await.ok()?;
        let row = tx.workspace(&self.source.workspace.0.to_string()).await;
        let row = row.ok()??;
        tx.commit().await.ok()?;
        Some(row.head)
    }
}

async fn wait_for(notifications: &mut broadcast::Receiver<WorkspaceId>, workspace: WorkspaceId) {
    loop {
        match notifications.recv().await {
            Ok(other) if other != workspace => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Returns whether the person reviews entries here.
pub(super) fn is_curator(source: &WorkspaceSource) -> bool {
    source.caller.role >= Role::Curator
}
