//! The protocol over HTTP: one path, behind a gate.
//!
//! Whoever speaks to it shows a token, from the first request on. `Host` and `Origin`, which every browser sends, must
//! be this machine or one that was named, so that no page of somebody else's reaches it through the user's browser.

mod gate;
mod rate;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use gate::{Gate, guarded};

pub use rate::{Bucket, Rate};
pub use token::{TOKEN_CHARS_MIN, Token, WeakToken};

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";

/// Bytes a request may have.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Requests that are answered at once; who comes beyond is told to come again.
pub const REQUESTS_MAX: usize = 64;

/// Conversations of the older revision that are held open; the newer has none.
pub const SESSIONS_MAX: usize = 256;

/// Who may come in, and how often.
#[derive(Clone, Debug)]
pub struct Door {
    pub token: Token,
    pub rate: Rate,
    /// Names beside `localhost` under which this server may be called.
    pub hosts: Vec<String>,
    /// Pages beside those of this machine that may call it, as in `https://app.example.org:443`.
    pub origins: Vec<String>,
}

impl Door {
    /// Lets in whoever has `token` and calls this machine by its own name.
    #[must_use]
    pub fn new(token: Token) -> Self {
        Self {
            token,
            rate: Rate::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }
}

/// Returns whether only this machine can reach `address`.
#[must_use]
pub fn is_local(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

/// Answers at `listener` until `end` is called; `make` gives a handler for each conversation.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    make: impl Fn() -> H + Send + Sync + 'static,
    door: Door,
    end: CancellationToken,
) -> io::Result<()> {
    let router = router(make, door, &end);
    let ended = end.clone();
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { ended.cancelled().await })
        .await
}

/// Returns the path with its gate, for a server that has others beside it.
pub fn router<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    door: Door,
    end: &CancellationToken,
) -> Router {
    let sessions = Arc::new(LocalSessionManager::default());
    let own = |names: [&str; 3]| names.map(ToOwned::to_owned).into_iter();
    let hosts = own(["localhost", "127.0.0.1", "::1"]).chain(door.hosts.clone());
    let pages = own(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let config = config(pages.chain(door.origins.clone()), end).with_allowed_hosts(hosts);
    let service = StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config);
    let gate = Arc::new(Gate::new(door, sessions));
    Router::new()
        .nest_service(PATH, service)
        .layer(from_fn_with_state(gate, guarded))
}

/// Returns the path without a gate, and below it every path of one more part, for a server that puts its own gate
/// before them and says with [`Proven`](crate::Proven) who came through.
///
/// Nothing is kept between requests, so any process answers any of them. Pages of other servers than `origins` are
/// refused; by which name the server is called is for the gate to say.
pub fn ungated<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    origins: Vec<String>,
    end: &CancellationToken,
) -> Router {
    let config = config(origins.into_iter(), end)
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(make()), sessions, config);
    Router::new()
        .route_service(PATH, service.clone())
        .route_service(&format!("{PATH}/{{workspace}}"), service)
}

fn config(
    origins: impl Iterator<Item = String>,
    end: &CancellationToken,
) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_cancellation_token(end.child_token())
}
