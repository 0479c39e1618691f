//! Name lookup: the addresses of a host, by the system's resolver with a deadline.

use std::fmt::Debug;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Time for one lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Source of addresses.
pub trait NameLookup: Debug + Send + Sync {
    /// Returns every address of `host`; `None` if it does not resolve in time.
    fn addresses(&self, host: &str) -> Option<Vec<IpAddr>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNameLookup;

impl NameLookup for SystemNameLookup {
    fn addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let host = host.to_owned();
        // The system call has no timeout, so it runs on a thread that may outlive this call.
        thread::spawn(move || {
            let found = (host.as_str(), 0).to_socket_addrs();
            let found = found.map(|all| all.map(|it| it.ip()).collect::<Vec<_>>());
            // The receiver is gone after the deadline.
            let _late = sender.send(found.ok());
        });
        receiver.recv_timeout(LOOKUP_TIMEOUT).ok().flatten()
    }
}
