//! Sends JSON to one address somebody configured, and reads a bounded answer.
//!
//! What every user of an endpoint shares: whom we may talk to, how a key travels, that no redirect is
//! followed, and that neither the key nor the answer's text is in any message.

use std::fmt;
use std::time::Duration;

use ureq::Agent;

use super::endpoint::{EndpointError, Plain, Reach};
use super::{agent, reason};

/// A place to send to, as a configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The whole address, path included.
    pub url: String,
    /// The environment variable that holds the key, if there is one.
    pub key_variable: Option<String>,
    pub key_style: KeyStyle,
    pub plain: Plain,
    /// Headers beside those every request has.
    pub headers: Vec<(&'static str, &'static str)>,
}

/// How a key is shown to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyStyle {
    /// `authorization: Bearer KEY`
    #[default]
    Bearer,
    /// `x-api-key: KEY`
    ApiKey,
}

/// What one call may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte sent to the last received.
    pub timeout: Duration,
    /// Bytes of an answer that are read.
    pub answer_bytes_max: u64,
}

/// Why there is no answer. Our own words: a server's may repeat what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("cannot ask `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` refused, with status {status}")]
    Refused { host: String, status: u16 },
}

/// A target that passed every check, with its key.
#[derive(Debug)]
pub struct Caller {
    url: String,
    key: Option<Key>,
    headers: Vec<(&'static str, &'static str)>,
    reach: Reach,
    agent: Agent,
    limits: Limits,
}

/// A header with a key in it; never shown.
struct Key {
    header: &'static str,
    value: String,
}

impl Caller {
    /// Checks the target and reads its key from the environment; talks to nobody.
    pub fn open(target: &Target, limits: Limits) -> Result<Self, EndpointError> {
        let reach = Reach::of(&target.url)?;
        if target.url.contains(['?', '#']) {
            return Err(EndpointError::Url);
        }
        let is_open = !reach.is_encrypted && !reach.is_loopback;
        let host = reach.host.clone();
        if is_open && target.plain == Plain::Loopback {
            return Err(EndpointError::Plain { host });
        }
        if is_open && target.key_variable.is_some() {
            return Err(EndpointError::PlainKey { host });
        }
        let key = target.key_variable.as_deref();
        let key = key.map(|variable| Key::read(variable, target.key_style));
        Ok(Self {
            url: target.url.clone(),
            key: key.transpose()?,
            headers: target.headers.clone(),
            agent: agent(&reach, Some(limits.timeout))?,
            reach,
            limits,
        })
    }

    /// Returns the whole address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the name of the machine that is asked.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.reach.host
    }

    /// Sends `body`, which is JSON, and returns the answer's.
    pub fn post(&self, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut post = self.agent.post(&self.url).content_type("application/json");
        for (name, value) in &self.headers {
            post = post.header(*name, *value);
        }
        if let Some(key) = &self.key {
            post = post.header(key.header, &key.value);
        }
        let mut answer = post.send(body).map_err(|error| self.failed(&error))?;
        if answer.status() != 200 {
            return Err(CallError::Refused {
                host: self.host().to_owned(),
                status: answer.status().as_u16(),
            });
        }
        let body = answer.body_mut().with_config();
        let body = body.limit(self.limits.answer_bytes_max).read_to_vec();
        body.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &ureq::Error) -> CallError {
        CallError::Unreachable {
            host: self.host().to_owned(),
            why: reason(error),
        }
    }
}

impl Key {
    fn read(variable: &str, style: KeyStyle) -> Result<Self, EndpointError> {
        let is_key = |key: &String| !key.is_empty() && key.bytes().all(|it| it.is_ascii_graphic());
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
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
