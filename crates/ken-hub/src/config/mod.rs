//! Settings of a hub process: addresses, limits, quotas, issuer.

mod audit_keys;
mod exports;
mod oidc;
mod proxies;
mod quotas;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::limits::HubLimits;
use crate::operator_log::OperatorLog;

pub use audit_keys::{AuditKeyError, AuditPublicKey, AuditSigningKey};
pub use exports::{
    AuditExportFormat, ExportSelection, ExportSettings, ExportSettingsError, ExportTarget,
    WebhookSecret,
};
pub use oidc::{ClaimedOrganization, OidcClient, OidcSettings};
pub use proxies::{TrustedProxy, TrustedProxyError, client_address};
pub use quotas::{DefaultQuotas, OrganizationQuotas, QuotaExceeded, WorkspaceUsage};

/// Settings of a hub process. All of them come from the operator, none from a tenant.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Address of the public listener.
    pub bind: SocketAddr,
    /// Address of the metrics listener. Metrics need no token, so it must not be public.
    pub metrics: Option<SocketAddr>,
    /// URL of the database.
    pub database: String,
    /// Maximum number of database connections of this process.
    pub connections: u32,
    /// Public URL of the hub, such as `https://ken.example.org`, without a trailing slash.
    pub public_url: Option<String>,
    /// Proxies whose `X-Forwarded-For` header names the client in the audit log.
    pub trusted_proxies: Vec<TrustedProxy>,
    pub limits: HubLimits,
    pub quotas: DefaultQuotas,
    /// Operator log.
    pub log: OperatorLog,
    /// Issuer whose access tokens are accepted in addition to the hub's own tokens.
    pub oidc: Option<OidcSettings>,
    /// Whether web pages for people are served.
    pub has_pages: bool,
    /// Exports of the audit log.
    pub exports: Vec<ExportSettings>,
    /// Key that signs checkpoints of the audit log.
    pub audit_key: Option<Arc<AuditSigningKey>>,
    /// Automatic pulls from peers. Without it, a hub connects to no other organization.
    pub federation: Option<FederationSettings>,
}

/// Settings of automatic pulls from peers.
#[derive(Clone, Copy, Debug)]
pub struct FederationSettings {
    /// Interval between two pulls of a peer.
    pub interval: Duration,
    /// Returns the token for a peer in an environment variable.
    pub token: fn(&str) -> Option<String>,
}

impl ServeSettings {
    /// Default number of database connections.
    pub const CONNECTIONS: u32 = 16;

    /// Default port.
    pub const PORT: u16 = 8750;

    /// Creates the default settings: localhost only, no metrics, no issuer.
    #[must_use]
    pub fn new(database: String) -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, Self::PORT)),
            metrics: None,
            database,
            connections: Self::CONNECTIONS,
            public_url: None,
            trusted_proxies: Vec::new(),
            limits: HubLimits::default(),
            quotas: DefaultQuotas::default(),
            log: OperatorLog::default(),
            oidc: None,
            has_pages: true,
            exports: Vec::new(),
            audit_key: None,
            federation: None,
        }
    }
}
