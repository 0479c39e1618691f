//! A model behind an address the user configured: OpenAI's `/v1/embeddings` or Ollama's `/api/embed`.
//!
//! [`endpoint`] and [`caller`] decide whom we may talk to and how, [`wire`] what is said. A connection is
//! opened only by [`Http::embed`](Embedder::embed) and [`Http::probe`]; nobody is asked at start.
//!
//! Refuses redirects, plain text to other machines unless it was allowed, and a key over plain text in
//! any case. The key comes from an environment variable and is in no message and no `Debug` output;
//! neither is what the server answered, which may repeat it.

mod caller;
mod endpoint;
mod wire;

use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use crate::model::{EmbedError, Embedder, Model, Thresholds, check_lengths};
use crate::vector::Vector;
use endpoint::Address;

pub use caller::{CallError, Caller, KeyStyle, Limits, Target};
pub use endpoint::{Dialect, Endpoint, EndpointError, Plain, Reach};

/// Time one request may take from the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Texts in one request.
const BATCH_TEXTS_MAX: usize = 32;

/// Bytes of a text that are sent. A token has at least one, and 8,191 tokens are a common limit.
const TEXT_BYTES_SENT_MAX: usize = 8_000;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 32 << 20;

/// What a model gets that nobody measured.
const BLEND_UNKNOWN: f64 = 0.5;
const THRESHOLDS_UNKNOWN: Thresholds = Thresholds {
    duplicate: 0.85,
    relevant: 0.55,
    strict: 0.65,
};

/// What is embedded to learn a model's dimension.
const PROBE: &str = "dimension";

/// A model behind an endpoint.
#[derive(Debug)]
pub struct Http {
    address: Address,
    model: Model,
}

impl Http {
    /// Checks the endpoint and reads its key from the environment; talks to nobody.
    pub fn open(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let address = Address::check(endpoint)?;
        Ok(Self {
            model: describe(endpoint, &address),
            address,
        })
    }

    /// Asks the endpoint which dimension its vectors have, whatever the configuration says.
    pub fn probe(endpoint: &Endpoint) -> Result<usize, ProbeError> {
        let http = Self::open(endpoint)?;
        let vectors = http.ask(&[PROBE])?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    fn embed_batch(&self, texts: &[&str], vectors: &mut Vec<Vector>) -> Result<(), EmbedError> {
        let said: Vec<&str> = texts.iter().copied().filter(|it| !is_blank(it)).collect();
        let mut found = match said.is_empty() {
            true => Vec::new(),
            false => self.ask(&said)?,
        }
        .into_iter();
        for text in texts {
            let components = match is_blank(text) {
                true => vec![0.0; self.model.dimension],
                false => found.next().unwrap_or_default(),
            };
            if components.len() != self.model.dimension {
                return Err(EmbedError::Dimension {
                    found: components.len(),
                    wanted: self.model.dimension,
                });
            }
            vectors.push(Vector::quantise(&components));
        }
        Ok(())
    }

    /// Sends one request; the answer has as many vectors as there are texts.
    fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(|text| cut(text)).collect();
        let request = wire::request(self.address.model(), &texts);
        let caller = self.address.caller();
        let body = caller.post(&request).map_err(failed)?;
        let vectors = wire::parse(self.address.dialect(), &body, texts.len());
        vectors.ok_or_else(|| EmbedError::Answer {
            host: caller.host().to_owned(),
        })
    }
}

fn failed(error: CallError) -> EmbedError {
    match error {
        CallError::Unreachable { host, why } => EmbedError::Unreachable {
            host,
            why: why.to_owned(),
        },
        CallError::Refused { host, status } => EmbedError::Refused { host, status },
    }
}

impl Embedder for Http {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        check_lengths(texts)?;
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH_TEXTS_MAX) {
            self.embed_batch(batch, &mut vectors)?;
        }
        Ok(vectors)
    }
}

/// Why an endpoint did not tell its dimension.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// The same name on another server may be another model, so the server is part of the id.
fn describe(endpoint: &Endpoint, address: &Address) -> Model {
    let (kind, name) = (endpoint.dialect.name(), &endpoint.model);
    let url = address.caller().url();
    let at = url.split_once("://").map_or(url, |(_, at)| at);
    let dimension = endpoint.dimension;
    Model {
        id: Cow::Owned(format!("{kind}:{name}@{at}/{dimension}")),
        dimension,
        blend: BLEND_UNKNOWN,
        thresholds: THRESHOLDS_UNKNOWN,
    }
}

/// Makes a client that trusts whom the machine trusts and follows no redirect.
pub fn agent(reach: &Reach, whole: Option<Duration>) -> Result<Agent, EndpointError> {
    let mut config = Agent::config_builder()
        .timeout_global(whole)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(match reach.is_loopback {
            true => None,
            false => Proxy::try_from_env(),
        });
    if reach.is_encrypted {
        config = config.tls_config(tls()?);
    }
    Ok(config.build().into())
}

/// Trusts whom the machine trusts, so that a company's own authority works.
fn tls() -> Result<TlsConfig, EndpointError> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err(EndpointError::NoRoots);
    }
    let roots = roots
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_SENT_MAX)]
}

/// Returns whether no machine of that name could be found, which another try does not change.
pub fn is_unknown_name(error: &ureq::Error) -> bool {
    // The standard library has no kind of its own for it.
    let said = |error: &std::io::Error| error.to_string().starts_with("failed to lookup address");
    matches!(error, ureq::Error::HostNotFound)
        || matches!(error, ureq::Error::Io(error) if said(error))
}

/// Our own words for what went wrong: those of the client may quote what was sent.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enums; what is not named has a word too"
)]
#[must_use]
pub fn reason(error: &ureq::Error) -> &'static str {
    match error {
        ureq::Error::Timeout(_) => "it took too long",
        ureq::Error::HostNotFound => "its name is not known",
        ureq::Error::BodyExceedsLimit(_) => "its answer is too long",
        ureq::Error::ConnectionFailed => "no connection",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "it could not prove who it is",
        ureq::Error::Io(_) if is_unknown_name(error) => "its name is not known",
        ureq::Error::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused => "nobody listens there",
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "it took too long",
            _ => "the connection broke",
        },
        _ => "the request failed",
    }
}

#[cfg(test)]
mod tests {
    use std::net::ToSocketAddrs as _;

    use super::*;

    #[test]
    fn a_name_nobody_knows_is_told_from_a_connection_that_broke() {
        // Reserved for never being a name; whoever is asked, or nobody, the answer is no.
        let unknown = ("hub.invalid", 443).to_socket_addrs().unwrap_err();
        let unknown = ureq::Error::Io(unknown);
        assert!(is_unknown_name(&unknown));
        assert_eq!(reason(&unknown), "its name is not known");
        let broken = ureq::Error::Io(ErrorKind::ConnectionReset.into());
        assert!(!is_unknown_name(&broken));
        assert_eq!(reason(&broken), "the connection broke");
    }
}
