//! The issuer's keys: fetched when they are needed, kept for a while, asked for again no oftener than an issuer bears.
//!
//! A key nobody has seen leads to the issuer once in [`UNKNOWN_AFTER`]; an issuer that does not answer is asked again
//! after a time that doubles. Keys that were fetched serve as long as [`KEPT_MAX`] while the issuer is away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::crypto::ring::default_provider;
use serde::Deserialize;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::token::{Jwk, Key};

/// How long fetched keys are taken as they are.
const FRESH: Duration = Duration::from_secs(600);

/// How long fetched keys serve while the issuer does not answer.
const KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);

/// How long after a fetch an unknown key leads to the next.
const UNKNOWN_AFTER: Duration = Duration::from_secs(30);

/// What an issuer that did not answer is left alone for, at first and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// Time one request to the issuer may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// Keys of an issuer that are kept.
const KEYS_MAX: usize = 64;

/// Why the keys cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("`{0}` is not an address of keys: it must be https, or http on this machine")]
    Address(String),
    #[error("the issuer does not answer: {0}")]
    Away(String),
    #[error("what the issuer answered is not what it should be: {0}")]
    Answer(&'static str),
}

/// Where keys come from, and what was fetched last.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    address: Option<String>,
    held: Mutex<Held>,
    /// Held by whoever asks the issuer.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    keys: Arc<Vec<Key>>,
    fetched: Option<Instant>,
    /// When the issuer failed last, and how long it is left alone.
    failed: Option<(Instant, Duration)>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Keys {
    /// Remembers where to ask; asks nobody yet.
    pub(super) fn new(issuer: &str, address: Option<&str>) -> Result<Self, KeysError> {
        check_address(issuer)?;
        address.map(check_address).transpose()?;
        Ok(Self {
            issuer: issuer.to_owned(),
            address: address.map(ToOwned::to_owned),
            held: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the keys among which `id` should be; asks the issuer where it is not among those we have.
    ///
    /// One at a time asks; whoever comes meanwhile is served from what we have, and waits only where that is nothing.
    pub(super) async fn get(&self, id: Option<&str>) -> Result<Arc<Vec<Key>>, KeysError> {
        if !self.held().must_ask(id) {
            return self.held().serve();
        }
        let asking = match self.asking.try_lock() {
            Ok(asking) => asking,
            Err(_) if self.held().serve().is_ok() => return self.held().serve(),
            Err(_) => self.asking.lock().await,
        };
        if self.held().must_ask(id) {
            let (issuer, address) = (self.issuer.clone(), self.address.clone());
            let fetched = tokio::task::spawn_blocking(move || fetch(&issuer, address.as_deref()));
            let fetched = fetched.await;
            let fetched = fetched.unwrap_or_else(|error| Err(KeysError::Away(error.to_string())));
            self.held().take(fetched);
        }
        drop(asking);
        self.held().serve()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn take(&mut self, fetched: Result<Vec<Key>, KeysError>) {
        match fetched {
            Ok(keys) => {
                *self = Self {
                    keys: Arc::new(keys),
                    fetched: Some(Instant::now()),
                    failed: None,
                };
            }
            Err(error) => {
                tracing::warn!(%error, "the issuer's keys could not be fetched");
                let before = self.failed.map(|(_, wait)| wait * 2);
                let wait = before.unwrap_or(BACK_OFF.0).min(BACK_OFF.1);
                self.failed = Some((Instant::now(), wait));
            }
        }
    }

    fn must_ask(&self, id: Option<&str>) -> bool {
        if self.failed.is_some_and(|(at, wait)| at.elapsed() < wait) {
            return false;
        }
        let Some(fetched) = self.fetched else {
            return true;
        };
        let known = id.is_none_or(|id| self.keys.iter().any(|key| key.id.as_deref() == Some(id)));
        let limit = if known { FRESH } else { UNKNOWN_AFTER };
        limit <= fetched.elapsed()
    }

    fn serve(&self) -> Result<Arc<Vec<Key>>, KeysError> {
        match self.fetched {
            Some(fetched) if fetched.elapsed() < KEPT_MAX => Ok(Arc::clone(&self.keys)),
            Some(_) | None => Err(KeysError::Away("its keys are not known yet".to_owned())),
        }
    }
}

/// Asks the issuer; takes as long as that takes.
fn fetch(issuer: &str, address: Option<&str>) -> Result<Vec<Key>, KeysError> {
    let address = match address {
        Some(address) => address.to_owned(),
        None => discover(issuer)?,
    };
    let set: KeySet = ask(&address)?;
    if KEYS_MAX < set.keys.len() {
        return Err(KeysError::Answer("it has too many keys"));
    }
    // A key we do not know how to read does not make the others useless.
    let read = |key| serde_json::from_value::<Jwk>(key).ok().and_then(Key::read);
    Ok(set.keys.into_iter().filter_map(read).collect())
}

fn discover(issuer: &str) -> Result<String, KeysError> {
    let base = issuer.trim_end_matches('/');
    let found: Discovery = ask(&format!("{base}/.well-known/openid-configuration"))?;
    if found.issuer != issuer {
        return Err(KeysError::Answer("it names another issuer"));
    }
    check_address(&found.jwks_uri)?;
    Ok(found.jwks_uri)
}

fn ask<T: serde::de::DeserializeOwned>(address: &str) -> Result<T, KeysError> {
    let encrypted = check_address(address)?;
    let away = |error: ureq::Error| KeysError::Away(error.to_string());
    let mut config = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false);
    if encrypted {
        config = config.tls_config(tls()?);
    } else {
        config = config.proxy(None);
    }
    let agent: Agent = config.build().into();
    let answer = agent.get(address).call().map_err(away)?;
    if answer.status() != 200 {
        return Err(KeysError::Away(format!("status {}", answer.status())));
    }
    let mut body = answer.into_body();
    let bytes = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
    serde_json::from_slice(&bytes.map_err(away)?)
        .map_err(|_| KeysError::Answer("it is no such JSON"))
}

/// Returns whether an address is encrypted; plain text is for this machine only.
fn check_address(address: &str) -> Result<bool, KeysError> {
    let wrong = || KeysError::Address(address.to_owned());
    let uri: Uri = address.parse().map_err(|_| wrong())?;
    let host = uri.host().ok_or_else(wrong)?;
    let local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") if local => Ok(false),
        Some(_) | None => Err(wrong()),
    }
}

/// Trusts whom the machine trusts, so that a company's own authority works.
fn tls() -> Result<TlsConfig, KeysError> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err(KeysError::Away(
            "this machine trusts no authority".to_owned(),
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
