//! Connections: certificate authorities, proxies, timeouts, and descriptions of their errors.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use crate::origin::{EndpointError, EndpointOrigin};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates a client that uses the system's certificate authorities and follows no redirects.
pub fn build_agent(
    reach: &EndpointOrigin,
    whole: Option<Duration>,
) -> Result<Agent, EndpointError> {
    let mut config = Agent::config_builder()
        .timeout_global(whole)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        // A proxy cannot reach this machine's loopback interface.
        .proxy(if reach.is_loopback {
            None
        } else {
            Proxy::try_from_env()
        });
    if reach.is_encrypted {
        config = config.tls_config(system_tls()?);
    }
    Ok(config.build().into())
}

/// Returns a TLS configuration with the system's certificate authorities, so that a company's own
/// authority works.
pub fn system_tls() -> Result<TlsConfig, EndpointError> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err(EndpointError::NoRoots);
    }
    let roots = roots
        .iter()
        .map(|root| Certificate::from_der(root).to_owned());
    // Passed explicitly, because this process installs no default provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// Returns whether the host name does not resolve, so that a retry is pointless.
pub fn is_host_not_found(error: &ureq::Error) -> bool {
    // The standard library has no error kind for it.
    let is_lookup =
        |error: &std::io::Error| error.to_string().starts_with("failed to lookup address");
    matches!(error, ureq::Error::HostNotFound)
        || matches!(error, ureq::Error::Io(error) if is_lookup(error))
}

/// Returns our own description of an error, because the client's may quote the request.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "not our enums; what is not named has a word too"
)]
#[must_use]
pub fn describe_error(error: &ureq::Error) -> &'static str {
    match error {
        ureq::Error::Timeout(_) => "timeout",
        ureq::Error::HostNotFound => "unknown host",
        ureq::Error::BodyExceedsLimit(_) => "the response is too long",
        ureq::Error::ConnectionFailed => "no connection",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "TLS verification failed",
        ureq::Error::Io(_) if is_host_not_found(error) => "unknown host",
        ureq::Error::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused => "connection refused",
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "timeout",
            _ => "connection lost",
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
        // A reserved name that never resolves, with or without a network.
        let unknown = ("hub.invalid", 443).to_socket_addrs().unwrap_err();
        let unknown = ureq::Error::Io(unknown);
        assert!(is_host_not_found(&unknown));
        assert_eq!(describe_error(&unknown), "unknown host");
        let broken = ureq::Error::Io(ErrorKind::ConnectionReset.into());
        assert!(!is_host_not_found(&broken));
        assert_eq!(describe_error(&broken), "connection lost");
    }
}
