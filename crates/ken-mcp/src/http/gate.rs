//! The gate before the protocol: token, rate, room.
//!
//! Nothing of a request is read before its token was seen. What is refused is told in a sentence, as plain text:
//! whoever has no token speaks no protocol yet.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::Semaphore;

use super::rate::Bucket;
use super::{Door, REQUESTS_MAX, SESSIONS_MAX};

/// The header that names a conversation of the older revision.
const SESSION: &str = "mcp-session-id";

/// What the gate goes by.
#[derive(Debug)]
pub(super) struct Gate {
    door: Door,
    began: Instant,
    bucket: Mutex<Bucket>,
    room: Arc<Semaphore>,
    sessions: Arc<LocalSessionManager>,
}

impl Gate {
    pub(super) fn new(door: Door, sessions: Arc<LocalSessionManager>) -> Self {
        Self {
            began: Instant::now(),
            bucket: Mutex::new(Bucket::new(door.rate)),
            room: Arc::new(Semaphore::new(REQUESTS_MAX)),
            door,
            sessions,
        }
    }

    /// Takes one request from the rate; returns how long to wait where there is none left.
    fn take(&self) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(self.door.rate, self.began.elapsed())
    }

    /// Returns whether one more conversation can be held.
    async fn has_room(&self) -> bool {
        self.sessions.sessions.read().await.len() < SESSIONS_MAX
    }
}

/// Lets a request through, or says why not.
pub(super) async fn guarded(
    State(gate): State<Arc<Gate>>,
    request: Request,
    next: Next,
) -> Response {
    if !shows_token(&gate.door, &request) {
        return unauthorised();
    }
    if let Err(wait) = gate.take() {
        return come_again(wait);
    }
    let Ok(_place) = gate.room.try_acquire() else {
        return come_again(Duration::from_secs(1));
    };
    let is_new = !request.headers().contains_key(SESSION);
    if is_new && !gate.has_room().await {
        return come_again(Duration::from_secs(60));
    }
    next.run(request).await
}

fn shows_token(door: &Door, request: &Request) -> bool {
    let mut shown = request.headers().get_all(AUTHORIZATION).iter();
    let (Some(only), None) = (shown.next(), shown.next()) else {
        return false;
    };
    let scheme = b"bearer ";
    let (head, token) = only.as_bytes().split_at(scheme.len().min(only.len()));
    head.eq_ignore_ascii_case(scheme) && door.token.is(token.trim_ascii())
}

fn unauthorised() -> Response {
    let told = "this server needs its token: send `Authorization: Bearer TOKEN`\n";
    let mut response = (StatusCode::UNAUTHORIZED, told).into_response();
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn come_again(wait: Duration) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    let told = format!("too much at once: come again in {seconds} s\n");
    let mut response = (StatusCode::TOO_MANY_REQUESTS, told).into_response();
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
