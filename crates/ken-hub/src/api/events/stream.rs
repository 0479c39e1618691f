//! Following a workspace's log as it grows, by server-sent events.
//!
//! The id of a message is the cursor behind its event, so that a reader who comes back with `Last-Event-ID` misses nothing
//! and sees nothing twice. A push to this process wakes its readers at once; for pushes to others they look every
//! [`LOOK`]. A stream ends after [its time](crate::serve::limits::Limits::stream), read or not, and the reader comes back. Who
//! reads is proven again [`PROVEN_TIMES`] times in it: a token that was revoked shows nothing longer than that.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use ken_remote::wire::Cursor;
use tokio::sync::{Mutex, broadcast};

use super::query::StreamQuery;
use crate::api::App;
use crate::api::body::InQuery;
use crate::api::caller::{InWorkspace, Reads, bearer};
use crate::api::problem::{Kind, Problem};
use crate::identity::{OrganisationId, WorkspaceId};
use crate::serve::limits::StreamPlace;
use crate::serve::metrics::Metrics;
use crate::store::{Logged, StoreError};

/// How often a reader looks for what came to other processes.
const LOOK: Duration = Duration::from_secs(1);

/// How often a reader that has nothing to hear is told that somebody is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How often in a stream's time it is asked whether the token still opens the workspace.
const PROVEN_TIMES: u32 = 20;

/// How long after its end a stream that nobody reads is cleared away.
const GRACE: Duration = Duration::from_secs(5);

/// Events that are read at once.
const PAGE: u32 = 100;

/// Pushes a slow reader may fall behind before it just looks.
const WAKES: usize = 256;

/// When somebody comes again who found no place.
const COME_AGAIN: Duration = Duration::from_secs(30);

const LAST_EVENT_ID: &str = "last-event-id";

/// Tells readers in this process which workspaces grew.
#[derive(Debug)]
pub(crate) struct Watch(broadcast::Sender<WorkspaceId>);

impl Default for Watch {
    fn default() -> Self {
        Self(broadcast::channel(WAKES).0)
    }
}

impl Watch {
    /// Wakes whoever follows a workspace.
    pub(crate) fn grew(&self, workspace: WorkspaceId) {
        // Nobody may be following anything.
        let _ = self.0.send(workspace);
    }
}

/// One reader.
struct Reader {
    app: App,
    organisation: OrganisationId,
    workspace: WorkspaceId,
    cursor: Cursor,
    /// What was read and not told yet.
    waiting: std::vec::IntoIter<Logged>,
    /// Whether there was more behind what was read.
    more: bool,
    wakes: broadcast::Receiver<WorkspaceId>,
    ends: Instant,
    /// What proves who reads, and when it last did.
    token: String,
    proven: Instant,
    _place: Counted,
}

/// A place that is also counted.
struct Counted {
    _place: StreamPlace,
    metrics: Arc<Metrics>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.stream(false);
    }
}

/// Follows the log: each message is an event as it is, its id the cursor behind it.
///
/// The stream ends after five minutes; come back with `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/events/stream", operation_id = "stream_events", tag = "events",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Its name or its id."), StreamQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last message that was seen.")),
    responses(
        (status = 200, description = "Events as they come.", body = String, content_type = "text/event-stream"),
        (status = 409, description = "the hub does not know that place", body = crate::api::problem::ProblemBody, content_type = "application/problem+json"),
    ))]
pub(super) async fn stream_events(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    headers: HeaderMap,
    InQuery(query): InQuery<StreamQuery>,
) -> Result<Response, Problem> {
    let cursor = begins(&headers, query.after.as_deref())?;
    let life = app.load.limits().stream;
    let organisation = it.caller.organisation;
    let place = app.load.stream(organisation).ok_or_else(|| {
        let detail =
            "your organisation has as many streams open as it may; close one or come again";
        Problem::too_many(detail, COME_AGAIN)
    })?;
    app.metrics.stream(true);
    let place = Counted {
        _place: place,
        metrics: Arc::clone(&app.metrics),
    };
    let mut reader = Reader {
        wakes: app.watch.0.subscribe(),
        organisation,
        workspace: it.workspace,
        cursor,
        waiting: Vec::new().into_iter(),
        more: false,
        ends: Instant::now() + life,
        token: bearer(&headers).unwrap_or_default().to_owned(),
        proven: Instant::now(),
        app,
        _place: place,
    };
    // A cursor the hub does not know is a problem, not a stream that ends.
    reader.read().await?;
    let reader = Arc::new(Mutex::new(Some(reader)));
    clear_away(&reader, life);
    let told = stream::unfold(reader, |held| async move {
        let event = held.lock().await.as_mut()?.next().await?;
        Some((Ok::<_, Infallible>(event), held))
    });
    let sse = Sse::new(told).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(([(CACHE_CONTROL, "no-store")], sse).into_response())
}

/// Frees what a stream holds once its time is over, though nobody may ever read on.
fn clear_away(reader: &Arc<Mutex<Option<Reader>>>, life: Duration) {
    let reader = Arc::downgrade(reader);
    tokio::spawn(async move {
        tokio::time::sleep(life + GRACE).await;
        if let Some(reader) = reader.upgrade() {
            *reader.lock().await = None;
        }
    });
}

fn begins(headers: &HeaderMap, after: Option<&str>) -> Result<Cursor, Problem> {
    let last = headers.get(LAST_EVENT_ID).map(|it| it.to_str());
    let wrong = || {
        let detail = "`Last-Event-ID` or `after` is not a cursor of this hub";
        Problem::new(Kind::Malformed, detail)
    };
    let last = last.transpose().map_err(|_| wrong())?;
    match last.or(after) {
        None => Ok(Cursor::default()),
        Some(text) => text.parse().map_err(|_| wrong()),
    }
}

impl Reader {
    /// Reads the next page into what waits.
    async fn read(&mut self) -> Result<(), StoreError> {
        let database = &self.app.database;
        let mut tenant = database.log(self.organisation, self.workspace).await?;
        let page = tenant.events_after(self.cursor, PAGE).await?;
        tenant.commit().await?;
        self.cursor = page.cursor;
        self.more = page.more;
        self.waiting = page.events.into_iter();
        Ok(())
    }

    /// Returns the next message; nothing ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.ends <= Instant::now() || !self.is_still_proven().await {
                return None;
            }
            if let Some(logged) = self.waiting.next() {
                let cursor = Cursor {
                    seq: logged.seq,
                    last: Some(logged.id),
                };
                let event = Event::default().event("event").id(cursor.to_string());
                return Some(event.data(logged.line));
            }
            if !self.more && !self.sleep().await {
                return None;
            }
            if let Err(error) = self.read().await {
                // The reader comes back and is told what is wrong, or finds it mended.
                tracing::warn!(%error, "a stream of events ended");
                return None;
            }
        }
    }

    /// Returns whether the token still opens the workspace; asked only now and then.
    async fn is_still_proven(&mut self) -> bool {
        let often = self.app.load.limits().stream / PROVEN_TIMES;
        if self.proven.elapsed() < often {
            return true;
        }
        let app = &self.app;
        let now = app.world.now();
        let caller = app.identity.prove(&app.database, &self.token, now).await;
        let Ok(Ok(caller)) = caller else {
            return false;
        };
        self.proven = Instant::now();
        caller.organisation == self.organisation && caller.may_enter(self.workspace)
    }

    /// Waits until there may be more; returns `false` where the stream is over.
    async fn sleep(&mut self) -> bool {
        let ending = self.app.ending.clone();
        let look = tokio::time::sleep(LOOK);
        tokio::pin!(look);
        loop {
            if self.ends <= Instant::now() {
                return false;
            }
            tokio::select! {
                () = ending.cancelled() => return false,
                () = &mut look => return true,
                woken = self.wakes.recv() => match woken {
                    Ok(workspace) if workspace != self.workspace => {}
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return true,
                    Err(broadcast::error::RecvError::Closed) => return false,
                },
            }
        }
    }
}
