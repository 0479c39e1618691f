//! Refused requests in the audit log.
//!
//! A caller whose role does not permit a request leaves a record: an admin sees what a token
//! tried. Nothing limits how often a caller is refused, so each operation of a token is recorded at
//! most once per [`INTERVAL`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

use super::AppState;
use crate::database::DatabaseError;
use crate::database::audit::{AuditAction, NewAuditRecord};
use crate::identity::AuthenticatedCaller;
use crate::ids::WorkspaceId;
use crate::operator_log::ProblemLog;

/// Time in which a refused operation of a token is recorded once.
const INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of operations that are remembered. Forgetting them costs further records only.
const REMEMBERED_MAX: usize = 10_000;

/// Outcome of a request that the caller's role does not permit.
pub(crate) const FORBIDDEN: &str = "forbidden";

/// Caller and workspace of a request, known to the layer around the handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusalContext(Arc<Mutex<RefusalState>>);

#[derive(Debug, Default)]
struct RefusalState {
    caller: Option<AuthenticatedCaller>,
    workspace: Option<WorkspaceId>,
}

/// Refused operations that were recorded recently, by actor, token and operation.
#[derive(Debug, Default)]
pub(crate) struct RecentRefusals(Mutex<HashMap<String, Instant>>);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock is held cannot leave the value half-written, so poison is ignored.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RefusalContext {
    pub(super) fn set_caller(&self, caller: &AuthenticatedCaller) {
        lock(&self.0).caller = Some(caller.clone());
    }

    pub(super) fn set_workspace(&self, workspace: WorkspaceId) {
        lock(&self.0).workspace = Some(workspace);
    }
}

impl RecentRefusals {
    /// Returns whether a refusal has to be recorded, and remembers it.
    fn is_due(&self, caller: &AuthenticatedCaller, operation: &str) -> bool {
        let key = format!("{} {:?} {operation}", caller.actor, caller.token);
        let mut recent = lock(&self.0);
        if recent.get(&key).is_some_and(|it| it.elapsed() < INTERVAL) {
            return false;
        }
        if recent.len() >= REMEMBERED_MAX {
            recent.clear();
        }
        recent.insert(key, Instant::now());
        true
    }
}

/// Middleware that records requests refused because of the caller's role.
pub(crate) async fn record_refusals(
    State(app): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let context = RefusalContext::default();
    request.extensions_mut().insert(context.clone());
    // The pattern, not the path: the path may contain tenant data.
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    let operation = format!("{} {route}", request.method());
    let response = next.run(request).await;
    if response.status() == StatusCode::FORBIDDEN {
        // The kind of problem: the role, or a quota.
        let problem = response.extensions().get::<ProblemLog>();
        let outcome = problem.map_or(FORBIDDEN, |it| it.slug);
        let state = std::mem::take(&mut *lock(&context.0));
        if let Some(caller) = state.caller {
            record_refusal(&app, &caller, state.workspace, (&operation, outcome)).await;
        }
    }
    response
}

/// Records that a caller was refused an operation, with the outcome.
pub(crate) async fn record_refusal(
    app: &AppState,
    caller: &AuthenticatedCaller,
    workspace: Option<WorkspaceId>,
    (operation, outcome): (&str, &'static str),
) {
    if !app.recent_refusals.is_due(caller, operation) {
        return;
    }
    let act = AuditAction::RequestRefused;
    let record = NewAuditRecord::new(caller.into(), act, &operation).with_outcome(outcome);
    // The refusal stands whether or not it can be recorded.
    if let Err(error) = write(app, caller, workspace, record).await {
        tracing::warn!(%error, "a refusal could not be recorded in the audit log");
    }
}

async fn write(
    app: &AppState,
    caller: &AuthenticatedCaller,
    workspace: Option<WorkspaceId>,
    record: NewAuditRecord,
) -> Result<(), DatabaseError> {
    let organization = caller.organization;
    match workspace {
        Some(workspace) => {
            let mut tx = app.database.begin_log(organization, workspace).await?;
            tx.add_audit_record(record).await?;
            tx.commit().await
        }
        None => {
            let mut tx = app.database.begin_organization(organization).await?;
            tx.add_audit_record(record).await?;
            tx.commit().await
        }
    }
}
