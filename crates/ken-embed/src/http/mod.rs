//! Backend for an HTTP endpoint: OpenAI's `/v1/embeddings` or Ollama's `/api/embed`.
//!
//! [`endpoint`] checks the configuration, [`ken_http`] decides which hosts are allowed and calls
//! them, [`wire`] defines the formats. Only [`HttpEmbedder::embed`](Embedder::embed) and
//! [`HttpEmbedder::probe`] open a connection; startup opens none.

mod endpoint;
mod wire;

use std::borrow::Cow;
use std::time::Duration;

use ken_http::CallError;

use crate::model::{EmbedError, Embedder, EmbeddingModel, ModelThresholds, check_lengths};
use crate::vector::Vector;
use endpoint::CheckedEndpoint;

pub use endpoint::{EmbeddingEndpoint, EmbeddingEndpointError, EndpointDialect};

/// Timeout of one request from the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of texts per request.
const BATCH_TEXTS_MAX: usize = 32;

/// Maximum bytes of a text that are sent. A token has at least one byte, and 8,191 tokens are a
/// common limit.
const TEXT_BYTES_SENT_MAX: usize = 8_000;

/// Maximum size of a response in bytes.
const ANSWER_BYTES_MAX: u64 = 32 << 20;

/// Defaults for models that were not measured.
const BLEND_DEFAULT: f64 = 0.5;
const THRESHOLDS_DEFAULT: ModelThresholds = ModelThresholds {
    duplicate: 0.85,
    relevant: 0.55,
    strict: 0.65,
    // Not measured: no less than an explicit query needs.
    joint: 0.55,
    sums: None,
};

/// Text embedded to determine a model's dimension.
const PROBE_TEXT: &str = "dimension";

/// A model behind an endpoint.
#[derive(Debug)]
pub struct HttpEmbedder {
    address: CheckedEndpoint,
    model: EmbeddingModel,
}

impl HttpEmbedder {
    /// Checks the endpoint and reads its key from the environment, without any network access.
    pub fn open(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbeddingEndpointError> {
        let address = CheckedEndpoint::check(endpoint)?;
        Ok(Self {
            model: describe_model(endpoint, &address),
            address,
        })
    }

    /// Queries the endpoint for the dimension of its vectors, regardless of the configuration.
    pub fn probe(endpoint: &EmbeddingEndpoint) -> Result<usize, ProbeError> {
        let http = Self::open(endpoint)?;
        let vectors = http.ask(&[PROBE_TEXT])?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    fn embed_batch(&self, texts: &[&str], vectors: &mut Vec<Vector>) -> Result<(), EmbedError> {
        // Blank texts are not sent: some servers reject a whole batch with an empty text.
        let non_blank: Vec<&str> = texts.iter().copied().filter(|it| !is_blank(it)).collect();
        let answer = if non_blank.is_empty() {
            Vec::new()
        } else {
            self.ask(&non_blank)?
        };
        let mut found = answer.into_iter();
        for text in texts {
            let components = if is_blank(text) {
                vec![0.0; self.model.dimension]
            } else {
                found.next().unwrap_or_default()
            };
            // The server may switch the model behind a name; its vectors must not be mixed.
            if components.len() != self.model.dimension {
                return Err(EmbedError::Dimension {
                    found: components.len(),
                    wanted: self.model.dimension,
                });
            }
            vectors.push(Vector::quantize(&components));
        }
        Ok(())
    }

    /// Sends one request; returns as many vectors as texts.
    fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(|text| truncate_text(text)).collect();
        let request = wire::encode_request(self.address.model(), &texts);
        let caller = self.address.caller();
        let body = caller.post(&request).map_err(to_embed_error)?;
        let vectors = wire::parse_response(self.address.dialect(), &body, texts.len());
        vectors.ok_or_else(|| EmbedError::Answer {
            host: caller.host().to_owned(),
        })
    }
}

fn to_embed_error(error: CallError) -> EmbedError {
    match error {
        CallError::Unreachable { host, why } => EmbedError::Unreachable {
            host,
            why: why.to_owned(),
        },
        CallError::Refused { host, status } => EmbedError::Refused { host, status },
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &EmbeddingModel {
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

/// Failure to determine the dimension of an endpoint.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Endpoint(#[from] EmbeddingEndpointError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Describes the model of an endpoint. The server is part of the id, because the same name on
/// another server may be another model.
fn describe_model(endpoint: &EmbeddingEndpoint, address: &CheckedEndpoint) -> EmbeddingModel {
    let (kind, name) = (endpoint.dialect.name(), &endpoint.model);
    let url = address.caller().url();
    // Without the scheme: the switch from http to https does not change the vectors.
    let at = url.split_once("://").map_or(url, |(_, at)| at);
    let dimension = endpoint.dimension;
    EmbeddingModel {
        id: Cow::Owned(format!("{kind}:{name}@{at}/{dimension}")),
        dimension,
        blend: BLEND_DEFAULT,
        thresholds: THRESHOLDS_DEFAULT,
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn truncate_text(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_SENT_MAX)]
}
