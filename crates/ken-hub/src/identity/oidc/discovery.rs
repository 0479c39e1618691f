//! Addresses of an issuer, from its discovery document (OpenID Connect Discovery 1.0).
//!
//! Keys and sign-ins share one cached document, so neither makes the other ask again.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::cache::IssuerCache;
use super::keys::{IssuerKeysError, check_address, get_json, run_blocking};

/// Time for which the addresses are used without another fetch.
const FRESH: Duration = Duration::from_secs(600);

/// Source and cache of an issuer's addresses.
#[derive(Debug)]
pub(super) struct Discovery {
    issuer: String,
    cache: IssuerCache<ProviderAddresses>,
}

/// Addresses of an issuer. A provider of keys only has no endpoints.
#[derive(Debug, Deserialize)]
pub(super) struct ProviderAddresses {
    issuer: String,
    jwks_uri: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
}

impl Discovery {
    /// Validates the issuer. Fetches nothing yet.
    pub(super) fn new(issuer: &str) -> Result<Self, IssuerKeysError> {
        check_address(issuer)?;
        Ok(Self {
            issuer: issuer.to_owned(),
            cache: IssuerCache::default(),
        })
    }

    /// Returns the addresses; fetches them if they are not cached.
    pub(super) async fn get(&self) -> Result<Arc<ProviderAddresses>, IssuerKeysError> {
        let issuer = self.issuer.clone();
        let fetch = run_blocking(move || discover(&issuer));
        self.cache.get(|_, age| age < FRESH, fetch).await
    }
}

impl ProviderAddresses {
    pub(super) fn keys(&self) -> Result<&str, IssuerKeysError> {
        required(self.jwks_uri.as_deref())
    }

    pub(super) fn authorization(&self) -> Result<&str, IssuerKeysError> {
        required(self.authorization_endpoint.as_deref())
    }

    pub(super) fn token(&self) -> Result<&str, IssuerKeysError> {
        required(self.token_endpoint.as_deref())
    }
}

fn required(address: Option<&str>) -> Result<&str, IssuerKeysError> {
    let missing = IssuerKeysError::InvalidResponse("its discovery document lacks an address");
    address.ok_or(missing)
}

fn discover(issuer: &str) -> Result<ProviderAddresses, IssuerKeysError> {
    let base = issuer.trim_end_matches('/');
    let found: ProviderAddresses = get_json(&format!("{base}/.well-known/openid-configuration"))?;
    // Required by OpenID Connect Discovery: otherwise another issuer's document could provide the
    // keys.
    if found.issuer != issuer {
        return Err(IssuerKeysError::InvalidResponse("it names another issuer"));
    }
    let addresses = [
        &found.jwks_uri,
        &found.authorization_endpoint,
        &found.token_endpoint,
    ];
    for address in addresses.into_iter().flatten() {
        check_address(address)?;
    }
    Ok(found)
}
