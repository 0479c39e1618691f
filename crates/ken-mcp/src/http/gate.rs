//! Access checks before the protocol: token, rate, concurrency.
//!
//! Nothing of a request but its headers is read before its token is verified. Rejections are plain
//! text, because a client without a token has not started the protocol.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::Semaphore;

use super::rate::TokenBucket;
use super::{HttpAccess, REQUESTS_MAX, SESSIONS_MAX};

/// The session header of the older protocol revision.
const SESSION_HEADER: &str = "mcp-session-id";

/// The state of the access checks.
#[derive(Debug)]
pub(super) struct HttpAccessCheck {
    door: HttpAccess,
    began: Instant,
    bucket: Mutex<TokenBucket>,
    room: Arc<Semaphore>,
    sessions: Arc<LocalSessionManager>,
}

impl HttpAccessCheck {
    pub(super) fn new(access: HttpAccess, sessions: Arc<LocalSessionManager>) -> Self {
        Self {
            began: Instant::now(),
            bucket: Mutex::new(TokenBucket::new(access.rate)),
            room: Arc::new(Semaphore::new(REQUESTS_MAX)),
            door: access,
            sessions,
        }
    }

    /// Takes one request from the rate limit; returns the time to wait if none is left.
    fn take(&self) -> Result<(), Duration> {
        // A panic elsewhere leaves the bucket valid: it holds two independent numbers.
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(self.door.rate, self.began.elapsed())
    }

    /// Returns true if one more session can be opened.
    async fn has_room(&self) -> bool {
        self.sessions.sessions.read().await.len() < SESSIONS_MAX
    }
}

/// Middleware that forwards a request or rejects it.
pub(super) async fn check_access(
    State(gate): State<Arc<HttpAccessCheck>>,
    request: Request,
    next: Next,
) -> Response {
    // The token comes first: a client without one must not consume the rate limit of the others.
    if !has_valid_token(&gate.door, &request) {
        return unauthorized();
    }
    if let Err(wait) = gate.take() {
        return too_many_requests(wait);
    }
    // The permit is held until the handler returns.
    let Ok(_permit) = gate.room.try_acquire() else {
        return too_many_requests(Duration::from_secs(1));
    };
    // Only a request without a session can open one; existing sessions must not be cut off.
    let is_new = !request.headers().contains_key(SESSION_HEADER);
    if is_new && !gate.has_room().await {
        return too_many_requests(Duration::from_secs(60));
    }
    next.run(request).await
}

fn has_valid_token(access: &HttpAccess, request: &Request) -> bool {
    let mut headers = request.headers().get_all(AUTHORIZATION).iter();
    // Exactly one header: with two, a proxy may have checked the other one.
    let (Some(only), None) = (headers.next(), headers.next()) else {
        return false;
    };
    let scheme = b"bearer ";
    let (head, token) = only.as_bytes().split_at(scheme.len().min(only.len()));
    head.eq_ignore_ascii_case(scheme) && access.token.is(token.trim_ascii())
}

fn unauthorized() -> Response {
    let message = "this server requires a token: send `Authorization: Bearer TOKEN`\n";
    let mut response = (StatusCode::UNAUTHORIZED, message).into_response();
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn too_many_requests(wait: Duration) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    let message = format!("too many requests: retry in {seconds} s\n");
    let mut response = (StatusCode::TOO_MANY_REQUESTS, message).into_response();
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
