//! HTTP client for one configured endpoint: sends JSON or a query, and reads a bounded response.
//!
//! Shared rules of all endpoints: which hosts are allowed, how a key is sent, no redirects, and
//! neither the key nor the response text appears in messages.

use std::fmt;
use std::time::Duration;

use ureq::http::Response;
use ureq::{Agent, Body};

use crate::agent::{build_agent, describe_error};
use crate::origin::{EndpointError, EndpointOrigin, PlaintextScope};

/// Configured target of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The full URL, including the path.
    pub url: String,
    /// The environment variable with the key, if any.
    pub key_variable: Option<String>,
    pub key_style: KeyStyle,
    pub plain: PlaintextScope,
    /// Additional headers.
    pub headers: Vec<(&'static str, &'static str)>,
}

/// Header in which a key is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyStyle {
    /// `authorization: Bearer KEY`
    #[default]
    Bearer,
    /// `x-api-key: KEY`
    ApiKey,
    /// `x-subscription-token: KEY`
    SubscriptionToken,
}

/// Limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// From the first byte sent to the last received.
    pub timeout: Duration,
    /// Maximum size of a response in bytes.
    pub response_bytes_max: u64,
}

/// Failure of a call. The messages are ours, because a server's may repeat the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("cannot reach `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` refused the request with status {status}")]
    Refused { host: String, status: u16 },
}

/// A client for a target that passed all checks, with its key.
#[derive(Debug)]
pub struct EndpointClient {
    url: String,
    key: Option<ApiKeyHeader>,
    headers: Vec<(&'static str, &'static str)>,
    reach: EndpointOrigin,
    agent: Agent,
    limits: CallLimits,
}

/// A header that contains a key; never printed.
struct ApiKeyHeader {
    header: &'static str,
    value: String,
}

impl EndpointClient {
    /// Checks the target and reads its key from the environment, without any network access.
    pub fn open(target: &CallTarget, limits: CallLimits) -> Result<Self, EndpointError> {
        let reach = EndpointOrigin::of(&target.url)?;
        if target.url.contains(['?', '#']) {
            return Err(EndpointError::Url);
        }
        // Loopback traffic does not leave the machine, so encryption is not required there.
        let is_open = !reach.is_encrypted && !reach.is_loopback;
        let host = reach.host.clone();
        if is_open && target.plain == PlaintextScope::Loopback {
            return Err(EndpointError::Plain { host });
        }
        // Even if plaintext is allowed for texts, a key must not be exposed.
        if is_open && target.key_variable.is_some() {
            return Err(EndpointError::PlainKey { host });
        }
        let key = target.key_variable.as_deref();
        let key = key.map(|variable| ApiKeyHeader::read(variable, target.key_style));
        Ok(Self {
            url: target.url.clone(),
            key: key.transpose()?,
            headers: target.headers.clone(),
            agent: build_agent(&reach, Some(limits.timeout))?,
            reach,
            limits,
        })
    }

    /// Returns the full URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the host name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.reach.host
    }

    /// Sends the JSON `body` and returns the response body.
    pub fn post(&self, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut post = self.agent.post(&self.url).content_type("application/json");
        for (name, value) in &self.headers {
            post = post.header(*name, *value);
        }
        if let Some(key) = &self.key {
            post = post.header(key.header, &key.value);
        }
        self.receive(post.send(body))
    }

    /// Requests the URL with query parameters, which are percent-encoded, and returns the response
    /// body.
    pub fn get(&self, parameters: &[(&str, &str)]) -> Result<Vec<u8>, CallError> {
        let mut get = self.agent.get(&self.url);
        for (name, value) in parameters {
            get = get.query(*name, *value);
        }
        get = get.header("accept", "application/json");
        for (name, value) in &self.headers {
            get = get.header(*name, *value);
        }
        if let Some(key) = &self.key {
            get = get.header(key.header, &key.value);
        }
        self.receive(get.call())
    }

    fn receive(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Vec<u8>, CallError> {
        let mut answer = answer.map_err(|error| self.failed(&error))?;
        // Redirects end here, too: following one could send the key to another host.
        if answer.status() != 200 {
            return Err(CallError::Refused {
                host: self.host().to_owned(),
                status: answer.status().as_u16(),
            });
        }
        let body = answer.body_mut().with_config();
        let body = body.limit(self.limits.response_bytes_max).read_to_vec();
        body.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &ureq::Error) -> CallError {
        CallError::Unreachable {
            host: self.host().to_owned(),
            why: describe_error(error),
        }
    }
}

impl ApiKeyHeader {
    fn read(variable: &str, style: KeyStyle) -> Result<Self, EndpointError> {
        let is_key = |key: &String| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
        // A key with whitespace or control characters could inject headers.
        let key = std::env::var(variable).ok().filter(is_key);
        let key = key.ok_or_else(|| EndpointError::NoKey {
            variable: variable.to_owned(),
        })?;
        Ok(match style {
            KeyStyle::Bearer => Self {
                header: "authorization",
                value: format!("Bearer {key}"),
            },
            KeyStyle::ApiKey => Self {
                header: "x-api-key",
                value: key,
            },
            KeyStyle::SubscriptionToken => Self {
                header: "x-subscription-token",
                value: key,
            },
        })
    }
}

impl fmt::Debug for ApiKeyHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CallLimits = CallLimits {
        timeout: Duration::from_secs(1),
        response_bytes_max: 1,
    };

    fn target(url: &str) -> CallTarget {
        CallTarget {
            url: url.to_owned(),
            key_variable: None,
            key_style: KeyStyle::Bearer,
            plain: PlaintextScope::Loopback,
            headers: Vec::new(),
        }
    }

    fn open(target: &CallTarget) -> Result<EndpointClient, EndpointError> {
        EndpointClient::open(target, LIMITS)
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
            assert!(open(&target(url)).is_ok(), "{url}");
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
            assert_eq!(open(&target(url)).unwrap_err(), EndpointError::Url, "{url}");
        }
        let refused = open(&target("https://user:secret@h")).unwrap_err();
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
            let mut it = target(url);
            let refused = open(&it).unwrap_err();
            assert!(matches!(refused, EndpointError::Plain { .. }), "{url}");
            it.plain = PlaintextScope::Anywhere;
            assert!(open(&it).is_ok(), "{url}");
            it.key_variable = Some("PATH".to_owned());
            let refused = open(&it).unwrap_err();
            assert!(matches!(refused, EndpointError::PlainKey { .. }), "{url}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let mut it = target("https://h");
        // The only variable that is set wherever tests run.
        it.key_variable = Some("CARGO_PKG_NAME".to_owned());
        let shown = format!("{:?}", open(&it).unwrap());
        assert!(
            shown.contains("Key(..)") && !shown.contains("ken-http"),
            "{shown}"
        );
        it.key_variable = Some("KEN_NO_SUCH_VARIABLE".to_owned());
        let refused = open(&it).unwrap_err().to_string();
        assert!(refused.contains("KEN_NO_SUCH_VARIABLE"), "{refused}");
    }
}
