//! Configuration and validation of embedding endpoints.

use ken_http::{CallLimits, CallTarget, EndpointClient, EndpointError, KeyStyle, PlaintextScope};

use super::{ANSWER_BYTES_MAX, TIMEOUT};

/// Maximum number of components per vector.
const DIMENSION_MAX: usize = 8192;

/// Configuration of an embedding endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingEndpoint {
    pub dialect: EndpointDialect,
    /// Base URL without the path of the request: `http://localhost:11434`.
    pub url: String,
    /// The server's name of the model.
    pub model: String,
    /// Number of components per vector; [`HttpEmbedder::probe`](super::HttpEmbedder::probe) queries
    /// the server.
    pub dimension: usize,
    /// The environment variable with the key, if any.
    pub key_variable: Option<String>,
    pub plain: PlaintextScope,
}

/// API of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointDialect {
    OpenAi,
    Ollama,
}

/// Invalid configuration of an embedding endpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingEndpointError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("the model name of the endpoint is empty")]
    NoModel,
    #[error("{found} is not a valid dimension; use 1 to {DIMENSION_MAX}")]
    Dimension { found: usize },
}

/// An endpoint that passed all checks.
#[derive(Debug)]
pub(super) struct CheckedEndpoint {
    dialect: EndpointDialect,
    model: String,
    caller: EndpointClient,
}

impl EndpointDialect {
    pub const ALL: &[Self] = &[Self::OpenAi, Self::Ollama];

    /// Returns the name used in configuration and in model ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the dialect with this [`name`](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    fn url(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            // Users paste base URLs with and without `/v1`.
            Self::OpenAi => format!("{}/v1/embeddings", base.trim_end_matches("/v1")),
            Self::Ollama => format!("{base}/api/embed"),
        }
    }
}

impl CheckedEndpoint {
    pub(super) fn check(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbeddingEndpointError> {
        // The dialect's path is appended, so a query or fragment would absorb it.
        if endpoint.url.contains(['?', '#']) {
            return Err(EndpointError::Url.into());
        }
        let target = CallTarget {
            url: endpoint.dialect.url(&endpoint.url),
            key_variable: endpoint.key_variable.clone(),
            key_style: KeyStyle::Bearer,
            plain: endpoint.plain,
            headers: Vec::new(),
        };
        let limits = CallLimits {
            timeout: TIMEOUT,
            response_bytes_max: ANSWER_BYTES_MAX,
        };
        let caller = EndpointClient::open(&target, limits)?;
        if endpoint.model.trim().is_empty() {
            return Err(EmbeddingEndpointError::NoModel);
        }
        if endpoint.dimension == 0 || endpoint.dimension > DIMENSION_MAX {
            let found = endpoint.dimension;
            return Err(EmbeddingEndpointError::Dimension { found });
        }
        Ok(Self {
            dialect: endpoint.dialect,
            model: endpoint.model.clone(),
            caller,
        })
    }

    pub(super) fn dialect(&self) -> EndpointDialect {
        self.dialect
    }

    pub(super) fn caller(&self) -> &EndpointClient {
        &self.caller
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> EmbeddingEndpoint {
        EmbeddingEndpoint {
            dialect: EndpointDialect::OpenAi,
            url: url.to_owned(),
            model: "m".to_owned(),
            dimension: 3,
            key_variable: None,
            plain: PlaintextScope::Loopback,
        }
    }

    #[test]
    fn an_address_is_checked_before_the_path_is_appended() {
        assert!(CheckedEndpoint::check(&endpoint("https://h")).is_ok());
        for url in ["https://h?k=v", "https://h#f", "file:///etc/passwd", ""] {
            assert_eq!(
                CheckedEndpoint::check(&endpoint(url)).unwrap_err(),
                EmbeddingEndpointError::Endpoint(EndpointError::Url),
                "{url}"
            );
        }
    }

    #[test]
    fn the_rules_for_plain_text_and_keys_hold_for_models() {
        let mut it = endpoint("http://h");
        let refused = CheckedEndpoint::check(&it).unwrap_err();
        let host = "h".to_owned();
        assert_eq!(refused, EndpointError::Plain { host: host.clone() }.into());
        it.plain = PlaintextScope::Anywhere;
        assert!(CheckedEndpoint::check(&it).is_ok());
        // The only variable that is set wherever tests run.
        it.key_variable = Some("CARGO_PKG_NAME".to_owned());
        let refused = CheckedEndpoint::check(&it).unwrap_err();
        assert_eq!(refused, EndpointError::PlainKey { host }.into());
        it.url = "https://h".to_owned();
        let shown = format!("{:?}", CheckedEndpoint::check(&it).unwrap());
        assert!(
            shown.contains("Key(..)") && !shown.contains("ken-embed"),
            "{shown}"
        );
    }

    #[test]
    fn a_model_needs_a_name_and_a_dimension() {
        let nameless = EmbeddingEndpoint {
            model: " ".to_owned(),
            ..endpoint("https://h")
        };
        assert_eq!(
            CheckedEndpoint::check(&nameless).unwrap_err(),
            EmbeddingEndpointError::NoModel
        );
        for dimension in [0, DIMENSION_MAX + 1] {
            let it = EmbeddingEndpoint {
                dimension,
                ..endpoint("https://h")
            };
            let refused = EmbeddingEndpointError::Dimension { found: dimension };
            assert_eq!(CheckedEndpoint::check(&it).unwrap_err(), refused);
        }
    }

    #[test]
    fn the_path_is_the_dialects() {
        for base in [
            "https://h/x",
            "https://h/x/",
            "https://h/x/v1",
            "https://h/x/v1/",
        ] {
            assert_eq!(
                EndpointDialect::OpenAi.url(base),
                "https://h/x/v1/embeddings"
            );
        }
        assert_eq!(
            EndpointDialect::Ollama.url("http://h:1/"),
            "http://h:1/api/embed"
        );
    }
}
