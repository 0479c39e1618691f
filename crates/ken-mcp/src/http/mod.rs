//! HTTP transport: one path behind access checks.
//!
//! Every request, from the first on, requires a token. `Host` and `Origin`, which every browser
//! sends, must be this machine or a configured name. Otherwise a web page in the user's browser
//! could reach the server (DNS rebinding).

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

use gate::{HttpAccessCheck, check_access};

pub use rate::{RateLimit, TokenBucket};
pub use token::{BearerToken, TOKEN_CHARS_MIN, WeakToken};

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// Maximum bytes of a request body.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Maximum concurrent requests; further ones receive `429 Too Many Requests`.
pub const REQUESTS_MAX: usize = 64;

/// Maximum open sessions of the older revision; the newer revision has none.
pub const SESSIONS_MAX: usize = 256;

/// The access policy: token, rate limit and allowed names.
#[derive(Clone, Debug)]
pub struct HttpAccess {
    pub token: BearerToken,
    pub rate: RateLimit,
    /// Allowed host names in addition to `localhost`.
    pub hosts: Vec<String>,
    /// Allowed origins in addition to this machine, as in `https://app.example.org:443`.
    pub origins: Vec<String>,
}

impl HttpAccess {
    /// Allows clients with `token` that address this machine by a local name.
    #[must_use]
    pub fn new(token: BearerToken) -> Self {
        Self {
            token,
            rate: RateLimit::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }
}

/// Returns true if `address` is reachable from this machine only.
#[must_use]
pub fn is_local(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

/// Serves on `listener` until `end` is cancelled; `make` creates the handler of each session.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    make: impl Fn() -> H + Send + Sync + 'static,
    access: HttpAccess,
    end: CancellationToken,
) -> io::Result<()> {
    let router = router(make, access, &end);
    let ended = end.clone();
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { ended.cancelled().await })
        .await
}

/// Returns the endpoint with its access checks, for a server that has other routes.
pub fn router<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    access: HttpAccess,
    end: &CancellationToken,
) -> Router {
    let sessions = Arc::new(LocalSessionManager::default());
    let own = |names: [&str; 3]| names.map(ToOwned::to_owned).into_iter();
    // A rebinding attack reaches this port with its own name in `Host`, which is not in the list.
    let hosts = own(["localhost", "127.0.0.1", "::1"]).chain(access.hosts.clone());
    let pages = own(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let config = config(pages.chain(access.origins.clone()), end).with_allowed_hosts(hosts);
    let service = StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config);
    let gate = Arc::new(HttpAccessCheck::new(access, sessions));
    Router::new()
        .nest_service(PATH, service)
        // The layer wraps the whole service, so that no route can be added without the checks.
        .layer(from_fn_with_state(gate, check_access))
}

/// Returns the endpoint without access checks, and every path one segment below it.
///
/// For a server with its own authentication, which attaches a
/// [`ProvenIdentity`](crate::ProvenIdentity) to the request. The endpoint is stateless, so any
/// process can answer any request. Origins other than `origins` are rejected; the `Host` header is
/// left to the authentication.
pub fn unauthenticated_router<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    origins: Vec<String>,
    end: &CancellationToken,
) -> Router {
    let config = config(origins.into_iter(), end)
        .disable_allowed_hosts()
        // Sessions would live in one process; behind a load balancer, the next request may reach
        // another.
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(make()), sessions, config);
    Router::new()
        .route_service(PATH, service.clone())
        // Two routes instead of `nest_service`: it would accept any number of further segments.
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
        // A child token: a canceled session must not stop the server.
        .with_cancellation_token(end.child_token())
}
