//! Shared state of all handlers: database, guard, limits, clock.

use std::sync::Arc;

use ken_guard::Guard;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::caller::WorkspaceCache;
use super::events::LogNotifier;
use super::refusals::RecentRefusals;
use crate::clock::HubClock;
use crate::config::ServeSettings;
use crate::database::{HubDatabase, ReadinessProbe};
use crate::identity::{Authenticator, IssuerKeysError};
use crate::limits::LoadLimiter;
use crate::metrics::HubMetrics;
use crate::service::ServiceContext;

/// Shared state of all handlers. Clones refer to the same hub.
#[derive(Clone, Debug)]
pub struct AppState {
    pub database: HubDatabase,
    pub guard: Arc<Guard>,
    pub settings: Arc<ServeSettings>,
    pub metrics: Arc<HubMetrics>,
    pub clock: HubClock,
    pub identity: Arc<Authenticator>,
    pub limiter: Arc<LoadLimiter>,
    /// Answers the readiness check of this runtime.
    pub readiness: Arc<ReadinessProbe>,
    /// Canceled when the process shuts down: ends streams and fails the readiness check.
    pub shutting_down: CancellationToken,
    /// Wakes the background task that erases what was removed.
    pub(crate) erasure_due: Arc<Notify>,
    pub(super) workspace_cache: Arc<WorkspaceCache>,
    pub(crate) log_notifier: Arc<LogNotifier>,
    pub(crate) recent_refusals: Arc<RecentRefusals>,
}

/// Path of the RFC 9728 metadata.
pub(super) const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

impl AppState {
    /// Builds the state without any I/O.
    pub fn new(database: HubDatabase, settings: ServeSettings) -> Result<Self, IssuerKeysError> {
        let identity = Authenticator::new(settings.oidc.clone())?;
        // The database stamps rows with the same clock, so a test moves both at once.
        let clock = database.clock().clone();
        Ok(Self {
            readiness: Arc::new(database.readiness_probe()),
            database,
            guard: Arc::default(),
            metrics: Arc::new(HubMetrics::new()),
            clock,
            identity: Arc::new(identity),
            // One organization must not be able to occupy every database connection.
            limiter: Arc::new(LoadLimiter::new(
                settings.limits.for_connections(settings.connections),
            )),
            shutting_down: CancellationToken::new(),
            erasure_due: Arc::default(),
            workspace_cache: Arc::default(),
            log_notifier: Arc::default(),
            recent_refusals: Arc::default(),
            settings: Arc::new(settings),
        })
    }

    /// Returns the context that use cases share.
    #[must_use]
    pub fn service_context(&self) -> ServiceContext {
        ServiceContext {
            clock: self.clock.clone(),
            guard: Arc::clone(&self.guard),
            quotas: self.settings.quotas,
            signers: None,
        }
    }

    /// Returns the value of `WWW-Authenticate`: the scheme, the error, and the metadata address.
    pub(super) fn challenge(&self, error: Option<&str>) -> String {
        let mut challenge = "Bearer realm=\"ken\"".to_owned();
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\""));
        }
        // The metadata route exists only under the same two conditions.
        if let (Some(url), true) = (&self.settings.public_url, self.settings.oidc.is_some()) {
            challenge.push_str(&format!(
                ", resource_metadata=\"{url}{RESOURCE_METADATA_PATH}\""
            ));
        }
        challenge
    }
}
