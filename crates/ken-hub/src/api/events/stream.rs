//! Server-sent events stream of a workspace's log.
//!
//! The id of a message is the cursor after its event, so a client that reconnects with
//! `Last-Event-ID` misses nothing and sees nothing twice. A push to this process wakes its streams
//! at once; pushes to other processes are found by polling every [`POLL_INTERVAL`]. A stream ends
//! after [its lifetime](crate::limits::HubLimits::stream_lifetime), read or not, and the
//! client reconnects. The token is checked again [`REAUTHORIZATIONS`] times per lifetime, which
//! bounds how long a revoked token can still read.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use ken_remote::wire::LogCursor;
use tokio::sync::{Mutex, broadcast};

use super::query::StreamQuery;
use crate::api::AppState;
use crate::api::body::QueryParams;
use crate::api::caller::{AtLeastReader, RequireWorkspaceRole, bearer_token};
use crate::api::problem::{Kind, Problem};
use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::{CallerKey, StreamPermit};
use crate::metrics::HubMetrics;
use crate::store::{LoggedEvent, StoreError};

/// Interval at which a stream polls for events pushed to other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Interval of keep-alive comments on an idle stream. Shorter than any idle timeout on the way.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Number of token checks per stream lifetime.
const REAUTHORIZATIONS: u32 = 20;

/// Delay after the end of its lifetime until an unread stream is dropped.
const EXPIRY_GRACE: Duration = Duration::from_secs(5);

/// Events per database query.
const PAGE_EVENTS: u32 = 100;

/// Notifications buffered per stream. A stream that falls behind polls once instead.
const NOTIFICATIONS_MAX: usize = 256;

/// `Retry-After` of a request that exceeds the number of streams.
const RETRY_DELAY: Duration = Duration::from_secs(30);

const LAST_EVENT_ID: &str = "last-event-id";

/// Notifies the streams of this process about workspaces with new events.
#[derive(Debug)]
pub(crate) struct LogNotifier(broadcast::Sender<WorkspaceId>);

impl Default for LogNotifier {
    fn default() -> Self {
        Self(broadcast::channel(NOTIFICATIONS_MAX).0)
    }
}

impl LogNotifier {
    /// Returns the workspaces whose log grows from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<WorkspaceId> {
        self.0.subscribe()
    }

    /// Wakes the streams of a workspace.
    pub(crate) fn notify(&self, workspace: WorkspaceId) {
        // `send` fails when there is no stream at all, which is not an error here.
        let _ = self.0.send(workspace);
    }
}

/// State of one open stream.
struct EventStream {
    app: AppState,
    organization: OrganizationId,
    workspace: WorkspaceId,
    cursor: LogCursor,
    /// Events read from the database and not yet sent.
    buffered: std::vec::IntoIter<LoggedEvent>,
    /// Set if more events follow the last page.
    has_more: bool,
    notifications: broadcast::Receiver<WorkspaceId>,
    ends_at: Instant,
    /// The client's token, and the time of its last check.
    token: String,
    authorized_at: Instant,
    _guard: StreamGuard,
}

/// A stream permit that also keeps the gauge of open streams.
struct StreamGuard {
    _permit: StreamPermit,
    metrics: Arc<HubMetrics>,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.metrics.record_stream(false);
    }
}

/// Streams the log: each message holds one event line, its id is the cursor after that event.
///
/// The stream ends after five minutes. Reconnect with `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/events/stream", operation_id = "stream_events", tag = "events",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace."), StreamQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last message the client received.")),
    responses(
        (status = 200, description = "A stream of server-sent events.", body = String, content_type = "text/event-stream"),
        (status = 409, description = "unknown cursor", body = crate::api::problem::ProblemBody, content_type = "application/problem+json"),
    ))]
pub(super) async fn stream_events(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    Extension(caller): Extension<CallerKey>,
    headers: HeaderMap,
    QueryParams(query): QueryParams<StreamQuery>,
) -> Result<Response, Problem> {
    let cursor = start_cursor(&headers, query.after.as_deref())?;
    let lifetime = app.limiter.limits().stream_lifetime;
    let organization = access.caller.organization;
    let permit = app.limiter.acquire_stream(caller).ok_or_else(|| {
        let detail =
            "your token or organization has reached its limit of open streams; close one or retry later";
        Problem::too_many(detail, RETRY_DELAY)
    })?;
    app.metrics.record_stream(true);
    // From here on, dropping the guard decrements the gauge, also when an error ends the request.
    let guard = StreamGuard {
        _permit: permit,
        metrics: Arc::clone(&app.metrics),
    };
    let mut reader = EventStream {
        // Subscribe before the first read: an event between the two is notified, not missed.
        notifications: app.log_notifier.subscribe(),
        organization,
        workspace: access.workspace,
        cursor,
        buffered: Vec::new().into_iter(),
        has_more: false,
        ends_at: Instant::now() + lifetime,
        token: bearer_token(&headers).unwrap_or_default().to_owned(),
        authorized_at: Instant::now(),
        app,
        _guard: guard,
    };
    // Read once before the response starts: an unknown cursor must be an error response, because
    // the client would reconnect forever to a stream that ends at once.
    reader.read_page().await?;
    let shared = Arc::new(Mutex::new(Some(reader)));
    expire_stream(&shared, lifetime);
    let messages = stream::unfold(shared, |shared| async move {
        let event = shared.lock().await.as_mut()?.next().await?;
        Some((Ok::<_, Infallible>(event), shared))
    });
    let sse = Sse::new(messages).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL));
    Ok(([(CACHE_CONTROL, "no-store")], sse).into_response())
}

/// Drops a stream's state after its lifetime even if the client never reads again.
///
/// A client that stops reading blocks the response body, so [`EventStream::next`] is not called and
/// cannot check the deadline. Without this task, such clients would keep their permits.
fn expire_stream(reader: &Arc<Mutex<Option<EventStream>>>, life: Duration) {
    // Weak: a stream that ends early is freed at once, not when this task wakes.
    let reader = Arc::downgrade(reader);
    tokio::spawn(async move {
        tokio::time::sleep(life + EXPIRY_GRACE).await;
        if let Some(reader) = reader.upgrade() {
            *reader.lock().await = None;
        }
    });
}

/// Returns the cursor to start after: `Last-Event-ID` if present, else the `after` parameter.
fn start_cursor(headers: &HeaderMap, after: Option<&str>) -> Result<LogCursor, Problem> {
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str());
    let wrong = || {
        let detail = "`Last-Event-ID` or `after` is not a valid cursor";
        Problem::new(Kind::Malformed, detail)
    };
    let last_id = header.transpose().map_err(|_| wrong())?;
    match last_id.or(after) {
        None => Ok(LogCursor::default()),
        Some(text) => text.parse().map_err(|_| wrong()),
    }
}

impl EventStream {
    /// Reads the next page into the buffer.
    async fn read_page(&mut self) -> Result<(), StoreError> {
        let database = &self.app.database;
        let mut tenant = database
            .begin_log(self.organization, self.workspace)
            .await?;
        let page = tenant.events_after(self.cursor, PAGE_EVENTS).await?;
        tenant.commit().await?;
        self.cursor = page.cursor;
        self.has_more = page.more;
        self.buffered = page.events.into_iter();
        Ok(())
    }

    /// Returns the next message, or `None` when the stream is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            // Before buffered events, too: after a revocation not even those may be sent.
            if Instant::now() >= self.ends_at || !self.is_still_authorized().await {
                return None;
            }
            if let Some(logged) = self.buffered.next() {
                let cursor = LogCursor {
                    seq: logged.seq,
                    last: Some(logged.id),
                };
                let event = Event::default().event("event").id(cursor.to_string());
                return Some(event.data(logged.line));
            }
            if !self.has_more && !self.wait_for_events().await {
                return None;
            }
            if let Err(error) = self.read_page().await {
                // A started response cannot change its status. The client reconnects and gets the
                // error as a response, or finds the database working again.
                tracing::warn!(%error, "an event stream ended with an error");
                return None;
            }
        }
    }

    /// Checks at intervals that the token still grants access to the workspace.
    async fn is_still_authorized(&mut self) -> bool {
        let interval = self.app.limiter.limits().stream_lifetime / REAUTHORIZATIONS;
        if self.authorized_at.elapsed() < interval {
            return true;
        }
        let app = &self.app;
        let now = app.clock.now();
        let caller = app
            .identity
            .authenticate(&app.database, &self.token, now)
            .await;
        // Fail closed: a token that cannot be checked ends the stream, like a revoked one.
        let Ok(Ok(caller)) = caller else {
            return false;
        };
        self.authorized_at = Instant::now();
        caller.organization == self.organization && caller.may_enter(self.workspace)
    }

    /// Waits until there may be new events. Returns `false` when the stream is over.
    async fn wait_for_events(&mut self) -> bool {
        let shutdown = self.app.shutting_down.clone();
        // Outside the loop: notifications of other workspaces must not restart the interval.
        let poll = tokio::time::sleep(POLL_INTERVAL);
        tokio::pin!(poll);
        loop {
            if Instant::now() >= self.ends_at {
                return false;
            }
            tokio::select! {
                () = shutdown.cancelled() => return false,
                () = &mut poll => return true,
                woken = self.notifications.recv() => match woken {
                    Ok(workspace) if workspace != self.workspace => {}
                    // A lagged receiver lost notifications, perhaps one for this workspace.
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return true,
                    Err(broadcast::error::RecvError::Closed) => return false,
                },
            }
        }
    }
}
