//! Hosts of endpoints: which addresses are valid, and whether traffic to them is encrypted.

use std::net::IpAddr;

use ureq::http::Uri;

/// Hosts to which texts may be sent unencrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlaintextScope {
    /// Only to this machine.
    #[default]
    Loopback,
    /// To any machine, as configured by the user.
    Anywhere,
}

/// Endpoint that must not be called, or cannot be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("the endpoint URL must have the form `https://host[:port][/path]`")]
    Url,
    #[error(
        "the endpoint URL contains a user name or password; pass keys in an environment variable"
    )]
    Credentials,
    #[error(
        "`{host}` is a remote host and its URL is not `https`; texts would be sent unencrypted"
    )]
    Plain { host: String },
    #[error("the key would be sent unencrypted to `{host}`")]
    PlainKey { host: String },
    #[error("the environment variable `{variable}` does not contain a key")]
    NoKey { variable: String },
    #[error("this machine has no trusted certificate authorities")]
    NoRoots,
}

/// Host and transport security of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointOrigin {
    pub host: String,
    /// The host with its port.
    pub authority: String,
    pub is_encrypted: bool,
    pub is_loopback: bool,
}

impl EndpointOrigin {
    /// Parses an `http` or `https` URL without credentials.
    pub fn of(url: &str) -> Result<Self, EndpointError> {
        let uri: Uri = url.parse().map_err(|_| EndpointError::Url)?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EndpointError::Url),
        };
        let authority = uri.authority().ok_or(EndpointError::Url)?;
        // Credentials in a URL would end up in the model id and in messages.
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
    // IPv6 addresses are in brackets.
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}
