//! What every handler is given: the database, what embeds and guards, the limits, the clock.

use std::sync::Arc;

use ken_guard::Guard;
use tokio_util::sync::CancellationToken;

use super::caller::Places;
use super::events::Watch;
use crate::database::Database;
use crate::identity::{Identity, KeysError};
use crate::serve::limits::Load;
use crate::serve::metrics::Metrics;
use crate::serve::settings::Settings;
use crate::service::House;
use crate::world::World;

/// What every handler is given. A clone is the same hub.
#[derive(Clone, Debug)]
pub struct App {
    pub database: Database,
    pub guard: Arc<Guard>,
    pub settings: Arc<Settings>,
    pub metrics: Arc<Metrics>,
    pub world: World,
    pub identity: Arc<Identity>,
    pub load: Arc<Load>,
    /// Ends streams when the hub ends.
    pub ending: CancellationToken,
    pub(super) places: Arc<Places>,
    pub(crate) watch: Arc<Watch>,
}

/// Where RFC 9728 metadata is.
pub(super) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

impl App {
    /// Puts a hub together; talks to nobody.
    pub fn new(database: Database, settings: Settings) -> Result<Self, KeysError> {
        let identity = Identity::new(settings.oidc.clone())?;
        let world = database.world().clone();
        Ok(Self {
            database,
            guard: Arc::default(),
            metrics: Arc::new(Metrics::new()),
            world,
            identity: Arc::new(identity),
            load: Arc::new(Load::new(settings.limits.fitting(settings.connections))),
            ending: CancellationToken::new(),
            places: Arc::default(),
            watch: Arc::default(),
            settings: Arc::new(settings),
        })
    }

    /// Returns what use cases share.
    #[must_use]
    pub fn house(&self) -> House {
        House {
            world: self.world.clone(),
            guard: Arc::clone(&self.guard),
            quotas: self.settings.quotas,
        }
    }

    /// What `WWW-Authenticate` says: how to get in, and where to learn more.
    pub(super) fn challenge(&self, error: Option<&str>) -> String {
        let mut told = "Bearer realm=\"ken\"".to_owned();
        if let Some(error) = error {
            told.push_str(&format!(", error=\"{error}\""));
        }
        if let (Some(url), true) = (&self.settings.public_url, self.settings.oidc.is_some()) {
            told.push_str(&format!(", resource_metadata=\"{url}{RESOURCE_METADATA}\""));
        }
        told
    }
}
