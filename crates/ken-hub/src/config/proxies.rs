//! Proxies whose `X-Forwarded-For` header is believed.

use std::net::IpAddr;
use std::str::FromStr;

/// A proxy, or a network of proxies: `10.0.0.7` or `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy {
    address: IpAddr,
    /// Length of the network's prefix in bits.
    prefix: u8,
}

/// Error for a text that names no proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid address or network, such as 10.0.0.7 or 10.0.0.0/8")]
pub struct TrustedProxyError(String);

impl TrustedProxy {
    fn contains(&self, address: IpAddr) -> bool {
        let (own, other, bits) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let host = bits - u32::from(self.prefix);
        // A shift by all 128 bits is not defined; a prefix of 0 contains every address.
        own.checked_shr(host) == other.checked_shr(host)
    }
}

impl FromStr for TrustedProxy {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<Self, TrustedProxyError> {
        let wrong = || TrustedProxyError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), |it| it.parse().map_err(|_| wrong()))?;
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Self { address, prefix })
    }
}

/// Returns the address of a client: the peer, or what trusted proxies report of it.
///
/// Every proxy appends the address it saw, so the header is read from its end. The first address
/// that is no trusted proxy is the client; anything before it may be the client's invention.
#[must_use]
pub fn client_address(proxies: &[TrustedProxy], peer: IpAddr, forwarded: &[&str]) -> IpAddr {
    let is_trusted = |address: IpAddr| proxies.iter().any(|it| it.contains(address));
    if !is_trusted(peer) {
        return peer.to_canonical();
    }
    let hops = forwarded.iter().flat_map(|line| line.split(','));
    let hops: Vec<&str> = hops.map(str::trim).collect();
    let mut nearest = peer;
    for hop in hops.into_iter().rev() {
        let Ok(address) = hop.parse::<IpAddr>() else {
            break;
        };
        nearest = address;
        if !is_trusted(address) {
            break;
        }
    }
    nearest.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_reports_another_address() {
        let proxies: Vec<TrustedProxy> = ["10.0.0.0/8", "::1"]
            .map(|it| it.parse().expect("a network"))
            .to_vec();
        let client = |peer: &str, forwarded: &[&str]| {
            client_address(&proxies, peer.parse().expect("an address"), forwarded).to_string()
        };
        assert_eq!(client("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(client("10.0.0.7", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("::ffff:10.0.0.7", &["198.51.100.1"]), "198.51.100.1");
        // The client wrote the first one itself.
        assert_eq!(
            client("10.0.0.7", &["1.2.3.4, 198.51.100.1, 10.1.1.1"]),
            "198.51.100.1"
        );
        assert_eq!(
            client("10.0.0.7", &["1.2.3.4", "198.51.100.1"]),
            "198.51.100.1"
        );
        assert_eq!(client("10.0.0.7", &["nonsense"]), "10.0.0.7");
        assert_eq!(client("10.0.0.7", &[]), "10.0.0.7");
        assert_eq!(client("::1", &["2001:db8::1"]), "2001:db8::1");
    }

    #[test]
    fn networks_parse_or_say_why() {
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0", "10.0.0.0/x", "proxy"] {
            assert!(wrong.parse::<TrustedProxy>().is_err(), "{wrong}");
        }
        let all: TrustedProxy = "::/0".parse().expect("a network");
        assert!(all.contains("2001:db8::1".parse().expect("an address")));
    }
}
