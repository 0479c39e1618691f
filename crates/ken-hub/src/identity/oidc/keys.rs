//! Signing keys of an issuer: fetched on demand, cached, and fetched again at a limited rate.
//!
//! An unknown key id triggers at most one fetch per [`UNKNOWN_AFTER`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use serde::Deserialize;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::cache::IssuerCache;
use super::discovery::Discovery;
use super::token::{Jwk, VerificationKey};

/// Time during which cached keys are used without another fetch.
const FRESH: Duration = Duration::from_secs(600);

/// Minimum time between a fetch and the next one because of an unknown key.
const UNKNOWN_AFTER: Duration = Duration::from_secs(30);

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
    /// `None` if the discovery document names it.
    address: Option<String>,
    cache: IssuerCache<Vec<VerificationKey>>,
    /// Number of failed fetches.
    failures: AtomicU64,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<serde_json::Value>,
}

impl IssuerKeys {
    /// Validates the address. Fetches nothing yet.
    pub(super) fn new(address: Option<&str>) -> Result<Self, IssuerKeysError> {
        address.map(check_address).transpose()?;
        Ok(Self {
            address: address.map(ToOwned::to_owned),
            cache: IssuerCache::default(),
            failures: AtomicU64::new(0),
        })
    }

    /// Returns the issuer's keys; fetches them first if `id` is not among the cached ones.
    pub(super) async fn get(
        &self,
        discovery: &Discovery,
        id: Option<&str>,
    ) -> Result<Arc<Vec<VerificationKey>>, IssuerKeysError> {
        let fetch = async {
            let fetched = self.fetch(discovery).await;
            if fetched.is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            fetched
        };
        // Anyone can send tokens with made-up key ids. The limit keeps them from flooding the
        // issuer.
        let is_fresh = |keys: &Vec<VerificationKey>, age: Duration| {
            let is_known = id.is_none_or(|id| keys.iter().any(|key| key.id.as_deref() == Some(id)));
            age < if is_known { FRESH } else { UNKNOWN_AFTER }
        };
        self.cache.get(is_fresh, fetch).await
    }

    /// Returns the number of failed fetches.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    async fn fetch(&self, discovery: &Discovery) -> Result<Vec<VerificationKey>, IssuerKeysError> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => discovery.get().await?.keys()?.to_owned(),
        };
        run_blocking(move || fetch_keys(&address)).await
    }
}

/// Fetches the keys from the issuer. Blocks.
fn fetch_keys(address: &str) -> Result<Vec<VerificationKey>, IssuerKeysError> {
    let set: JwkSet = get_json(address)?;
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

/// Runs a request to the issuer on a thread that may block.
pub(super) async fn run_blocking<T: Send + 'static>(
    request: impl FnOnce() -> Result<T, IssuerKeysError> + Send + 'static,
) -> Result<T, IssuerKeysError> {
    let joined = tokio::task::spawn_blocking(request).await;
    joined.unwrap_or_else(|error| Err(IssuerKeysError::Unreachable(error.to_string())))
}

/// Fetches a document of the issuer. Blocks.
pub(super) fn get_json<T: serde::de::DeserializeOwned>(
    address: &str,
) -> Result<T, IssuerKeysError> {
    let answer = agent(address)?.get(address).call().map_err(unreachable)?;
    if answer.status() != 200 {
        let status = format!("status {}", answer.status());
        return Err(IssuerKeysError::Unreachable(status));
    }
    read_json(answer.into_body())
}

/// Answer to a form.
#[derive(Debug)]
pub(super) enum FormAnswer<T> {
    Json(T),
    /// The issuer refused it: its fields are not valid, or not anymore.
    Refused,
}

/// Sends a form to the issuer, with the credentials `basic` of a client if it has any. Blocks.
pub(super) fn post_form<T: serde::de::DeserializeOwned>(
    address: &str,
    body: &str,
    basic: Option<&str>,
) -> Result<FormAnswer<T>, IssuerKeysError> {
    let mut request = agent(address)?
        .post(address)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json");
    if let Some(basic) = basic {
        request = request.header("authorization", format!("Basic {basic}"));
    }
    let answer = request.send(body).map_err(unreachable)?;
    match answer.status().as_u16() {
        200 => read_json(answer.into_body()).map(FormAnswer::Json),
        400 | 401 | 403 => Ok(FormAnswer::Refused),
        status => Err(IssuerKeysError::Unreachable(format!("status {status}"))),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "errors are handed over by `map_err`"
)]
fn unreachable(error: ureq::Error) -> IssuerKeysError {
    IssuerKeysError::Unreachable(error.to_string())
}

fn read_json<T: serde::de::DeserializeOwned>(mut body: ureq::Body) -> Result<T, IssuerKeysError> {
    let bytes = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
    serde_json::from_slice(&bytes.map_err(unreachable)?)
        .map_err(|_| IssuerKeysError::InvalidResponse("it is not the expected JSON"))
}

/// Returns a client for an address of the issuer.
fn agent(address: &str) -> Result<Agent, IssuerKeysError> {
    let encrypted = check_address(address)?;
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
    Ok(config.build().into())
}

/// Returns whether an address uses TLS. Unencrypted addresses must be on this machine.
pub(super) fn check_address(address: &str) -> Result<bool, IssuerKeysError> {
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
