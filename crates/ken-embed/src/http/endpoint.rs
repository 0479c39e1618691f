//! Whom we may talk to: the configured endpoint, checked.

use std::net::IpAddr;

use ureq::http::Uri;

use super::caller::{Caller, KeyStyle, Limits, Target};
use super::{ANSWER_BYTES_MAX, TIMEOUT};

/// Components a vector may have.
const DIMENSION_MAX: usize = 8192;

/// What a configuration says about an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub dialect: Dialect,
    /// Where the server is, without the path of the request: `http://localhost:11434`.
    pub url: String,
    /// The name the server knows the model by.
    pub model: String,
    /// Components its vectors have; [`Http::probe`](super::Http::probe) asks the server.
    pub dimension: usize,
    /// The environment variable that holds the key, if there is one.
    pub key_variable: Option<String>,
    pub plain: Plain,
}

/// The language an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    OpenAi,
    Ollama,
}

/// How far a text may travel unencrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Plain {
    /// Only within this machine.
    #[default]
    Loopback,
    /// To any machine: the user said so.
    Anywhere,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("the endpoint's address is not of the form `https://host[:port][/path]`")]
    Url,
    #[error(
        "the endpoint's address holds a name or password; keys belong into an environment variable"
    )]
    Credentials,
    #[error(
        "`{host}` is another machine and its address is not `https`; texts would travel in the open"
    )]
    Plain { host: String },
    #[error("the key would travel in the open to `{host}`")]
    PlainKey { host: String },
    #[error("the environment variable `{variable}` holds no key")]
    NoKey { variable: String },
    #[error("the endpoint's model has no name")]
    NoModel,
    #[error("{found} is no dimension; it is from 1 to {DIMENSION_MAX}")]
    Dimension { found: usize },
    #[error("this machine trusts no certificate authority")]
    NoRoots,
}

/// An endpoint that passed every check.
#[derive(Debug)]
pub(super) struct Address {
    dialect: Dialect,
    model: String,
    caller: Caller,
}

/// How far a request to an address goes, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    pub host: String,
    /// The host with its port.
    pub authority: String,
    pub is_encrypted: bool,
    pub is_loopback: bool,
}

impl Dialect {
    pub const ALL: &[Self] = &[Self::OpenAi, Self::Ollama];

    /// The dialect's name in configuration and in ids of models.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// Finds a dialect by its [`name`](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    fn url(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            Self::OpenAi => format!("{}/v1/embeddings", base.trim_end_matches("/v1")),
            Self::Ollama => format!("{base}/api/embed"),
        }
    }
}

impl Address {
    pub(super) fn check(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        if endpoint.url.contains(['?', '#']) {
            return Err(EndpointError::Url);
        }
        let target = Target {
            url: endpoint.dialect.url(&endpoint.url),
            key_variable: endpoint.key_variable.clone(),
            key_style: KeyStyle::Bearer,
            plain: endpoint.plain,
            headers: Vec::new(),
        };
        let limits = Limits {
            timeout: TIMEOUT,
            answer_bytes_max: ANSWER_BYTES_MAX,
        };
        let caller = Caller::open(&target, limits)?;
        if endpoint.model.trim().is_empty() {
            return Err(EndpointError::NoModel);
        }
        if endpoint.dimension == 0 || DIMENSION_MAX < endpoint.dimension {
            let found = endpoint.dimension;
            return Err(EndpointError::Dimension { found });
        }
        Ok(Self {
            dialect: endpoint.dialect,
            model: endpoint.model.clone(),
            caller,
        })
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }
}

impl Reach {
    /// Reads an address of the web without credentials.
    pub fn of(url: &str) -> Result<Self, EndpointError> {
        let uri: Uri = url.parse().map_err(|_| EndpointError::Url)?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EndpointError::Url),
        };
        let authority = uri.authority().ok_or(EndpointError::Url)?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(EndpointError::Url);
        }
        Ok(Self {
            host: authority.host().to_owned(),
            authority: authority.as_str().to_owned(),
            is_encrypted,
            is_loopback: is_loopback(authority.host()),
        })
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint {
            dialect: Dialect::OpenAi,
            url: url.to_owned(),
            model: "m".to_owned(),
            dimension: 3,
            key_variable: None,
            plain: Plain::Loopback,
        }
    }

    #[test]
    fn only_web_addresses_without_credentials_are_taken() {
        for url in [
            "https://h",
            "https://h:1/p",
            "http://localhost:1",
            "http://127.0.0.9",
            "http://[::1]:5/",
        ] {
            assert!(Address::check(&endpoint(url)).is_ok(), "{url}");
        }
        for url in [
            "",
            "h",
            "localhost:1",
            "file:///etc/passwd",
            "ftp://h",
            "https://h?k=v",
            "https:///p",
        ] {
            assert_eq!(
                Address::check(&endpoint(url)).unwrap_err(),
                EndpointError::Url,
                "{url}"
            );
        }
        let refused = Address::check(&endpoint("https://user:secret@h")).unwrap_err();
        assert_eq!(refused, EndpointError::Credentials);
    }

    #[test]
    fn plain_text_leaves_the_machine_only_where_allowed_and_never_with_a_key() {
        for url in [
            "http://h",
            "http://127.0.0.1.h",
            "http://localhost.h",
            "http://0.0.0.0",
            "http://10.0.0.1",
        ] {
            let mut it = endpoint(url);
            let refused = Address::check(&it).unwrap_err();
            assert!(matches!(refused, EndpointError::Plain { .. }), "{url}");
            it.plain = Plain::Anywhere;
            assert!(Address::check(&it).is_ok(), "{url}");
            it.key_variable = Some("PATH".to_owned());
            let refused = Address::check(&it).unwrap_err();
            assert!(matches!(refused, EndpointError::PlainKey { .. }), "{url}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let mut it = endpoint("https://h");
        // The one variable that is set wherever a test runs.
        it.key_variable = Some("CARGO_PKG_NAME".to_owned());
        let shown = format!("{:?}", Address::check(&it).unwrap());
        assert!(
            shown.contains("Key(..)") && !shown.contains("ken-embed"),
            "{shown}"
        );
        it.key_variable = Some("KEN_NO_SUCH_VARIABLE".to_owned());
        let refused = Address::check(&it).unwrap_err().to_string();
        assert!(refused.contains("KEN_NO_SUCH_VARIABLE"), "{refused}");
    }

    #[test]
    fn a_model_needs_a_name_and_a_dimension() {
        let nameless = Endpoint {
            model: " ".to_owned(),
            ..endpoint("https://h")
        };
        assert_eq!(
            Address::check(&nameless).unwrap_err(),
            EndpointError::NoModel
        );
        for dimension in [0, DIMENSION_MAX + 1] {
            let it = Endpoint {
                dimension,
                ..endpoint("https://h")
            };
            let refused = EndpointError::Dimension { found: dimension };
            assert_eq!(Address::check(&it).unwrap_err(), refused);
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
            assert_eq!(Dialect::OpenAi.url(base), "https://h/x/v1/embeddings");
        }
        assert_eq!(Dialect::Ollama.url("http://h:1/"), "http://h:1/api/embed");
    }
}
