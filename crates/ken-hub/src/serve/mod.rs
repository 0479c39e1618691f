//! The process: limits, health, metrics, an orderly end.
//!
//! Metrics are told on a listener of their own, which needs no token and is never the public one: a scraper holds no
//! secret of a tenant's, and what is counted names none.

mod around;
mod door;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod settings;

use std::future::{Future, IntoFuture as _};
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::{self, App};
use crate::database::{self, Database, DatabaseError};
use crate::identity::KeysError;
use door::Door;
pub use settings::Settings;

/// What closing the connections to the database may take.
const CLOSING: Duration = Duration::from_secs(5);

/// Why a hub could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the issuer of access tokens cannot be used")]
    Issuer(#[from] KeysError),
    #[error(
        "`public_url` must begin with https:// (or http:// on this machine) and have no slash at its end; it is needed with an issuer"
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

/// Connects to the database and puts the hub together.
pub async fn open(settings: Settings) -> Result<App, ServeError> {
    check_public_url(&settings)?;
    let mut how = database::Settings::new(&settings.database);
    how.connections_max = settings.connections;
    let database = Database::connect(&how).await?;
    Ok(App::new(database, settings)?)
}

/// Answers at `listener` until `shutdown` is cancelled: takes no more connections, lets what is under way finish within
/// its limit, closes the connections to the database.
pub async fn serve(
    app: App,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let metrics = match app.settings.metrics {
        None => None,
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            let bound = bound.map_err(|source| ServeError::Listen { address, source })?;
            let at = bound.local_addr().unwrap_or(address);
            app.say(format_args!("metrics at http://{at}/metrics"));
            Some(bound)
        }
    };
    let (ending, patience) = (app.ending.clone(), app.load.limits().ending);
    let silence = app.load.limits().silence;
    let public = answer(listener, router(app.clone()), silence, ending.clone());
    let private = async {
        match metrics {
            Some(listener) => {
                let router = private_router(app.clone());
                answer(listener, router, silence, ending.clone()).await
            }
            None => Ok(()),
        }
    };
    let both = async { tokio::try_join!(public, private).map(|_| ()) };
    tokio::pin!(both);
    let ended = tokio::select! {
        ended = &mut both => ended,
        () = shutdown.cancelled() => {
            // Streams end, new connections are not taken, what is under way goes on.
            ending.cancel();
            let left = app.load.under_way();
            app.say(format_args!("ending, {left} requests under way"));
            match tokio::time::timeout(patience, both).await {
                Ok(ended) => ended,
                Err(_) => {
                    let left = app.load.under_way();
                    tracing::warn!(left, "requests were still under way and were given up");
                    app.say(format_args!("{left} requests were still under way and were given up"));
                    Ok(())
                }
            }
        }
    };
    if tokio::time::timeout(CLOSING, app.database.pool().close())
        .await
        .is_err()
    {
        tracing::warn!("connections to the database did not close in time");
    }
    app.say(format_args!("ended"));
    ended.map_err(ServeError::Serve)
}

/// Returns everything the hub answers, with its limits around it.
pub fn router(app: App) -> Router {
    let (api, _) = api::router(app.clone());
    around::around(api, app)
}

impl App {
    /// Says what becomes of the process.
    fn say(&self, text: std::fmt::Arguments<'_>) {
        self.settings.log.say(self.world.now(), text);
    }
}

fn answer(
    listener: TcpListener,
    router: Router,
    silence: Duration,
    ending: CancellationToken,
) -> impl Future<Output = io::Result<()>> {
    axum::serve(Door::new(listener, silence), router)
        .with_graceful_shutdown(async move { ending.cancelled().await })
        .into_future()
}

/// What scrapers and orchestrators ask, on an address of its own.
fn private_router(app: App) -> Router {
    let health = get(|| async { "ok\n" });
    Router::new()
        .route("/metrics", get(tell_metrics))
        .route("/healthz", health)
        .with_state(app)
}

async fn tell_metrics(State(app): State<App>) -> impl IntoResponse {
    let text = app.metrics.text(app.load.under_way(), app.database.pool());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// An issuer's tokens name the hub they are for, so the hub must know its own name.
fn check_public_url(settings: &Settings) -> Result<(), ServeError> {
    let Some(url) = &settings.public_url else {
        return match settings.oidc {
            Some(_) => Err(ServeError::PublicUrl),
            None => Ok(()),
        };
    };
    let local = ["http://localhost", "http://127.0.0.1", "http://[::1]"]
        .iter()
        .any(|it| {
            let rest = url.strip_prefix(it);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
    let plain = url.bytes().all(|it| it.is_ascii_graphic() && it != b'"');
    if (url.starts_with("https://") || local) && plain && !url.ends_with('/') {
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
            let mut settings = Settings::new(String::new());
            settings.public_url = Some(url.to_owned());
            assert_eq!(check_public_url(&settings).is_ok(), fits, "{url}");
        }
    }
}
