//! Signing keys of an issuer: fetched on demand, cached, and fetched again at a limited rate.
//!
//! An unknown key id triggers at most one fetch per [`UNKNOWN_AFTER`]. After a failed fetch the
//! next one waits for a time that doubles. Cached keys are used for up to [`KEPT_MAX`] while the
//! issuer is unreachable.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::crypto::ring::default_provider;
use serde::Deserialize;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::token::{Jwk, VerificationKey};

/// Time during which cached keys are used without another fetch.
const FRESH: Duration = Duration::from_secs(600);

/// Maximum age of cached keys while the issuer is unreachable.
const KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Minimum time between a fetch and the next one because of an unknown key.
const UNKNOWN_AFTER: Duration = Duration::from_secs(30);

/// First and maximum wait after a failed fetch.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// Timeout of a request to the issuer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of a response in bytes.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// Maximum number of keys per issuer.
const KEYS_MAX: usize = 64;

/// Error of fetching an issuer's keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssuerKeysError {
    #[error(
        "`{0}` is not a valid issuer or key address: it must be https, or http on this machine"
    )]
    InvalidAddress(String),
    #[error("the issuer does not respond: {0}")]
    Unreachable(String),
    #[error("the response of the issuer is not valid: {0}")]
    InvalidResponse(&'static str),
}

/// Source and cache of an issuer's keys.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    issuer: String,
    address: Option<String>,
    cache: Mutex<KeyCache>,
    /// Held during a fetch.
    fetch_lock: tokio::sync::Mutex<()>,
    /// Number of failed fetches.
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct KeyCache {
    keys: Arc<Vec<VerificationKey>>,
    fetched: Option<Instant>,
    /// Time of the last failed fetch, and the wait after it.
    failed: Option<(Instant, Duration)>,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    jwks_uri: String,
}

impl IssuerKeys {
    /// Validates the addresses. Fetches nothing yet.
    pub(super) fn new(issuer: &str, address: Option<&str>) -> Result<Self, IssuerKeysError> {
        check_address(issuer)?;
        address.map(check_address).transpose()?;
        Ok(Self {
            issuer: issuer.to_owned(),
            address: address.map(ToOwned::to_owned),
            cache: Mutex::default(),
            fetch_lock: tokio::sync::Mutex::default(),
            failures: AtomicU64::new(0),
        })
    }

    /// Returns the issuer's keys; fetches them first if `id` is not among the cached ones.
    ///
    /// Only one fetch runs at a time. Concurrent requests use the cached keys, and wait only if
    /// there are none.
    pub(super) async fn get(
        &self,
        id: Option<&str>,
    ) -> Result<Arc<Vec<VerificationKey>>, IssuerKeysError> {
        if !self.lock_cache().needs_fetch(id) {
            return self.lock_cache().cached_keys();
        }
        let guard = match self.fetch_lock.try_lock() {
            Ok(guard) => guard,
            // Waiting would let a slow issuer block requests that cached keys can answer.
            Err(_) if self.lock_cache().cached_keys().is_ok() => {
                return self.lock_cache().cached_keys();
            }
            Err(_) => self.fetch_lock.lock().await,
        };
        // Checked again under the mutex: another request may have fetched the keys meanwhile.
        if self.lock_cache().needs_fetch(id) {
            let (issuer, address) = (self.issuer.clone(), self.address.clone());
            let task = tokio::task::spawn_blocking(move || fetch(&issuer, address.as_deref()));
            let joined = task.await;
            let fetched =
                joined.unwrap_or_else(|error| Err(IssuerKeysError::Unreachable(error.to_string())));
            if fetched.is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            self.lock_cache().store_fetched(fetched);
        }
        drop(guard);
        self.lock_cache().cached_keys()
    }

    /// Returns the number of failed fetches.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn lock_cache(&self) -> MutexGuard<'_, KeyCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyCache {
    fn store_fetched(&mut self, fetched: Result<Vec<VerificationKey>, IssuerKeysError>) {
        match fetched {
            Ok(keys) => {
                *self = Self {
                    keys: Arc::new(keys),
                    fetched: Some(Instant::now()),
                    failed: None,
                };
            }
            Err(error) => {
                tracing::warn!(%error, "cannot fetch the keys of the issuer");
                // The cached keys stay: an unreachable issuer must not lock everyone out.
                let doubled = self.failed.map(|(_, wait)| wait * 2);
                let wait = doubled.unwrap_or(BACK_OFF.0).min(BACK_OFF.1);
                self.failed = Some((Instant::now(), wait));
            }
        }
    }

    fn needs_fetch(&self, id: Option<&str>) -> bool {
        if self.failed.is_some_and(|(at, wait)| at.elapsed() < wait) {
            return false;
        }
        let Some(fetched) = self.fetched else {
            return true;
        };
        // Anyone can send tokens with made-up key ids. The limit keeps them from flooding the
        // issuer.
        let is_known =
            id.is_none_or(|id| self.keys.iter().any(|key| key.id.as_deref() == Some(id)));
        let limit = if is_known { FRESH } else { UNKNOWN_AFTER };
        fetched.elapsed() >= limit
    }

    fn cached_keys(&self) -> Result<Arc<Vec<VerificationKey>>, IssuerKeysError> {
        match self.fetched {
            Some(fetched) if fetched.elapsed() < KEPT_MAX => Ok(Arc::clone(&self.keys)),
            Some(_) | None => Err(IssuerKeysError::Unreachable(
                "its keys are not loaded yet".to_owned(),
            )),
        }
    }
}

/// Fetches the keys from the issuer. Blocks.
fn fetch(issuer: &str, address: Option<&str>) -> Result<Vec<VerificationKey>, IssuerKeysError> {
    let address = match address {
        Some(address) => address.to_owned(),
        None => discover(issuer)?,
    };
    let set: JwkSet = get_json(&address)?;
    if set.keys.len() > KEYS_MAX {
        return Err(IssuerKeysError::InvalidResponse("it has too many keys"));
    }
    // Keys of unsupported types are skipped; the others remain usable.
    let read = |key| {
        serde_json::from_value::<Jwk>(key)
            .ok()
            .and_then(VerificationKey::from_jwk)
    };
    Ok(set.keys.into_iter().filter_map(read).collect())
}

fn discover(issuer: &str) -> Result<String, IssuerKeysError> {
    let base = issuer.trim_end_matches('/');
    let found: DiscoveryDocument = get_json(&format!("{base}/.well-known/openid-configuration"))?;
    // Required by OpenID Connect Discovery: otherwise another issuer's document could provide the
    // keys.
    if found.issuer != issuer {
        return Err(IssuerKeysError::InvalidResponse("it names another issuer"));
    }
    check_address(&found.jwks_uri)?;
    Ok(found.jwks_uri)
}

fn get_json<T: serde::de::DeserializeOwned>(address: &str) -> Result<T, IssuerKeysError> {
    let encrypted = check_address(address)?;
    let away = |error: ureq::Error| IssuerKeysError::Unreachable(error.to_string());
    // Redirects are refused: they could lead from a checked address to an unencrypted or internal
    // one.
    let mut config = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false);
    if encrypted {
        config = config.tls_config(tls()?);
    } else {
        // Unencrypted addresses are on this machine; a proxy would carry the request elsewhere.
        config = config.proxy(None);
    }
    let agent: Agent = config.build().into();
    let answer = agent.get(address).call().map_err(away)?;
    if answer.status() != 200 {
        return Err(IssuerKeysError::Unreachable(format!(
            "status {}",
            answer.status()
        )));
    }
    let mut body = answer.into_body();
    let bytes = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
    serde_json::from_slice(&bytes.map_err(away)?)
        .map_err(|_| IssuerKeysError::InvalidResponse("it is not the expected JSON"))
}

/// Returns whether an address uses TLS. Unencrypted addresses must be on this machine.
fn check_address(address: &str) -> Result<bool, IssuerKeysError> {
    let wrong = || IssuerKeysError::InvalidAddress(address.to_owned());
    let uri: Uri = address.parse().map_err(|_| wrong())?;
    let host = uri.host().ok_or_else(wrong)?;
    let local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") if local => Ok(false),
        Some(_) | None => Err(wrong()),
    }
}

/// Returns a TLS configuration with the machine's root certificates, so that a company's own
/// authority works.
fn tls() -> Result<TlsConfig, IssuerKeysError> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err(IssuerKeysError::Unreachable(
            "this machine has no trusted root certificates".to_owned(),
        ));
    }
    let roots = roots
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_encryption_or_from_this_machine() {
        let cases = [
            ("https://id.example.org/keys", Some(true)),
            ("http://127.0.0.1:4000/keys", Some(false)),
            ("http://localhost/keys", Some(false)),
            ("http://id.example.org/keys", None),
            ("http://127.0.0.1.example.org/keys", None),
            ("http://localhost@example.org/", None),
            ("ftp://localhost/keys", None),
            ("/keys", None),
            ("", None),
        ];
        for (address, fits) in cases {
            assert_eq!(check_address(address).ok(), fits, "{address}");
        }
    }
}
