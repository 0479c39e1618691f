//! The server process: listeners, middleware, graceful shutdown.
//!
//! Metrics and probes have a separate listener that needs no token and must not be public. Scrapers
//! therefore need no tenant's secret, and no metric label names a tenant.

mod listener;
mod middleware;
mod probes;
mod upkeep;

use std::future::{Future, IntoFuture as _};
use std::io;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::{self, AppState};
use crate::config::ServeSettings;
use crate::database::{self, DatabaseError, HubDatabase};
use crate::identity::IssuerKeysError;
use crate::limits::HubLimits;
use crate::mcp;
use crate::ui;
use listener::{LimitedListener, PeerConnection};

/// Timeout for closing the database connections at shutdown.
const POOL_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a hub could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("cannot use the OIDC issuer")]
    Issuer(#[from] IssuerKeysError),
    #[error(
        "`public_url` must start with https:// (or http:// on this machine) and must not end with a slash; it is required with an issuer"
    )]
    PublicUrl,
    #[error("cannot listen on {address}")]
    Listen {
        address: std::net::SocketAddr,
        source: io::Error,
    },
    #[error("the listener failed")]
    Serve(#[source] io::Error),
}

/// Connects to the database and builds the hub's state.
pub async fn open(settings: ServeSettings) -> Result<AppState, ServeError> {
    check_settings(&settings)?;
    let mut database_settings = database::DatabaseSettings::new(&settings.database);
    database_settings.connections_max = settings.connections;
    let database = HubDatabase::connect(&database_settings).await?;
    Ok(AppState::new(database, settings)?)
}

/// Serves requests on `listener` until `shutdown` is canceled.
///
/// On shutdown it accepts no more connections, waits for requests in flight up to the configured
/// grace period, and closes the database connections.
pub async fn serve(
    app: AppState,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    // Bind before serving: an address in use is an error of the configuration and must stop the
    // start instead of leaving a hub without metrics.
    let metrics = match app.settings.metrics {
        None => None,
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            let listener = bound.map_err(|source| ServeError::Listen { address, source })?;
            // The configured port may be 0, so the log names the port that was assigned.
            let at = listener.local_addr().unwrap_or(address);
            app.log_process(format_args!("metrics at http://{at}/metrics"));
            Some(listener)
        }
    };
    let instance = upkeep::note_start(&app).await?;
    let upkeep = tokio::spawn(upkeep::run(app.clone(), instance));
    let erasures = tokio::spawn(upkeep::run_erasures(app.clone()));
    upkeep::spawn_audit_tasks(&app);
    upkeep::spawn_federation(&app);
    let (ending, limits) = (app.shutting_down.clone(), *app.limiter.limits());
    let grace = limits.shutdown_grace;
    let public = serve_on(listener, router(app.clone()), limits, ending.clone());
    let probing = metrics.map(|listener| probes::spawn(&app, listener, ending.clone()));
    let probing = probing.transpose().map_err(ServeError::Serve)?;
    let private = async {
        match probing {
            Some(ended) => {
                let gone = |_| Err(io::Error::other("the probe listener failed"));
                ended.await.unwrap_or_else(gone)
            }
            None => Ok(()),
        }
    };
    let both = async { tokio::try_join!(public, private).map(|_| ()) };
    tokio::pin!(both);
    let ended = tokio::select! {
        ended = &mut both => ended,
        () = shutdown.cancelled() => {
            // Ends streams, which would outlast the grace period, and stops both listeners.
            // Requests in flight continue.
            ending.cancel();
            let left = app.limiter.in_flight();
            app.log_process(format_args!("shutting down, {left} requests in flight"));
            match tokio::time::timeout(grace, both).await {
                Ok(ended) => ended,
                Err(_) => {
                    let left = app.limiter.in_flight();
                    tracing::warn!(left, "requests were still in flight and were canceled");
                    app.log_process(format_args!("{left} requests were still in flight and were canceled"));
                    Ok(())
                }
            }
        }
    };
    // A listener that failed ends the process as well.
    ending.cancel();
    if tokio::time::timeout(POOL_CLOSE_TIMEOUT, upkeep)
        .await
        .is_err()
    {
        tracing::warn!("the background task did not end in time");
    }
    // Ends at the next statement; what it had begun is rolled back and done later.
    erasures.abort();
    // Ends the sessions in order, instead of leaving PostgreSQL to log broken connections.
    if tokio::time::timeout(POOL_CLOSE_TIMEOUT, app.database.pool().close())
        .await
        .is_err()
    {
        tracing::warn!("database connections did not close in time");
    }
    app.log_process(format_args!("stopped"));
    ended.map_err(ServeError::Serve)
}

/// Returns the public router with all middleware.
pub fn router(app: AppState) -> Router {
    let (api, _) = api::router(app.clone());
    let mut router = api.merge(mcp::routes(&app));
    if app.settings.has_pages {
        router = router.merge(ui::router(&app));
    }
    middleware::with_middleware(router, app)
}

impl AppState {
    /// Writes a line about the process to the operator log.
    fn log_process(&self, text: std::fmt::Arguments<'_>) {
        self.settings.log.log_process(self.clock.now(), text);
    }
}

/// Serves `router` on `listener` until `ending` is canceled.
fn serve_on(
    listener: TcpListener,
    router: Router,
    limits: HubLimits,
    ending: CancellationToken,
) -> impl Future<Output = io::Result<()>> {
    let service = router.into_make_service_with_connect_info::<PeerConnection>();
    axum::serve(LimitedListener::new(listener, limits), service)
        .with_graceful_shutdown(async move { ending.cancelled().await })
        .into_future()
}

/// Checks settings without starting a hub.
pub fn check_settings(settings: &ServeSettings) -> Result<(), ServeError> {
    check_public_url(settings)
}

/// Checks the public URL, which is required with an issuer.
fn check_public_url(settings: &ServeSettings) -> Result<(), ServeError> {
    let Some(url) = &settings.public_url else {
        // The metadata that sends clients to the issuer has to contain the hub's own address.
        return match settings.oidc {
            Some(_) => Err(ServeError::PublicUrl),
            None => Ok(()),
        };
    };
    // Without TLS, tokens would cross the network in plain text. The rest after the host is
    // checked, because `http://localhost.example.org` is a remote host.
    let is_local = ["http://localhost", "http://127.0.0.1", "http://[::1]"]
        .iter()
        .any(|origin| {
            let rest = url.strip_prefix(origin);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
    // The URL is inserted into a quoted string of `WWW-Authenticate`.
    let is_plain = url
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if (url.starts_with("https://") || is_local) && is_plain && !url.ends_with('/') {
        return Ok(());
    }
    Err(ServeError::PublicUrl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_is_called_by_an_encrypted_address_or_on_this_machine() {
        let cases = [
            ("https://ken.example.org", true),
            ("http://127.0.0.1:8750", true),
            ("http://localhost", true),
            ("http://ken.example.org", false),
            ("http://localhost.example.org", false),
            ("https://ken.example.org/", false),
            ("https://ken.example.org/\"x", false),
            ("ken.example.org", false),
        ];
        for (url, fits) in cases {
            let mut settings = ServeSettings::new(String::new());
            settings.public_url = Some(url.to_owned());
            assert_eq!(check_public_url(&settings).is_ok(), fits, "{url}");
        }
    }
}
