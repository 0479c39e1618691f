//! Connections to checked addresses only.
//!
//! The client's resolver and connector are both replaced: the resolver returns the addresses that
//! were checked, and the connector refuses any other. So a second lookup cannot lead elsewhere,
//! even if a later version of the client resolved names again.

use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport,
};

/// Maximum number of addresses that are tried. The client's list has room for 16.
const ADDRESSES_MAX: usize = 8;

/// Way to a checked address.
pub trait SocketDialer: Debug + Send + Sync {
    /// Returns the socket address that is dialed for a checked one; `None` refuses it.
    fn target(&self, checked: SocketAddr) -> Option<SocketAddr>;
}

/// Dials the checked address itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectDialer;

impl SocketDialer for DirectDialer {
    fn target(&self, checked: SocketAddr) -> Option<SocketAddr> {
        Some(checked)
    }
}

/// The host of one request with its checked addresses: the client's resolver and connector.
#[derive(Clone)]
pub(crate) struct PinnedHost {
    host: String,
    addresses: Arc<[SocketAddr]>,
    dialer: Arc<dyn SocketDialer>,
}

impl PinnedHost {
    pub(crate) fn new(
        host: &str,
        addresses: Vec<SocketAddr>,
        dialer: Arc<dyn SocketDialer>,
    ) -> Self {
        Self {
            host: host.to_owned(),
            addresses: addresses.into_iter().take(ADDRESSES_MAX).collect(),
            dialer,
        }
    }
}

impl Debug for PinnedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedHost")
            .field("host", &self.host)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

impl Resolver for PinnedHost {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        // Only this name was checked: the addresses must not answer for another one.
        if uri.host() != Some(self.host.as_str()) {
            return Err(Error::HostNotFound);
        }
        let mut all = self.empty();
        for address in self.addresses.iter() {
            all.push(*address);
        }
        Ok(all)
    }
}

impl<In: Transport> Connector<In> for PinnedHost {
    type Out = <TcpConnector as Connector<In>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let mut addrs = self.empty();
        for address in &details.addrs {
            // Checked again here: this is the last code before the socket.
            if !self.addresses.contains(address) {
                return Err(Error::ConnectionFailed);
            }
            let target = self.dialer.target(*address);
            addrs.push(target.ok_or(Error::ConnectionFailed)?);
        }
        let details = ConnectionDetails {
            uri: details.uri,
            addrs,
            config: details.config,
            request_level: details.request_level,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
        };
        TcpConnector::default().connect(&details, None)
    }
}
