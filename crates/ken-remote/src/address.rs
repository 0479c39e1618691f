//! Addresses of hub workspaces: `https://hub.example.org/WORKSPACE`, validated.

use std::fmt;
use std::net::IpAddr;

use crate::name::HubName;

/// Maximum bytes of an address.
pub const ADDRESS_BYTES_MAX: usize = 2 * 1024;

/// The address of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAddress {
    /// Scheme, host and port.
    origin: String,
    host: String,
    /// The path before the workspace: empty, or `/` and a path.
    path: String,
    workspace: HubName,
    plain: PlaintextPolicy,
}

/// Policy for unencrypted connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaintextPolicy {
    /// Allowed within this machine only.
    #[default]
    Loopback,
    /// Allowed to any machine, at the user's request.
    Anywhere,
}

/// Error: a text that is not the address of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubAddressError {
    #[error("the address must have the form https://hub.example.org/WORKSPACE")]
    Form,
    #[error("the address must not contain a user name or password; pass the token separately")]
    Credentials,
    #[error(
        "the address must end with a workspace name: lowercase letters, digits, `.`, `_` and `-`"
    )]
    Workspace,
    #[error("`{host}` is another machine, and its address does not use https")]
    Plain { host: String },
}

impl HubAddress {
    /// Parses an address typed by the user.
    pub fn parse(text: &str, plain: PlaintextPolicy) -> Result<Self, HubAddressError> {
        // Browsers and HTTP libraries disagree on `\`, which could move the token to another host.
        // A query or fragment has no meaning here.
        let is_odd = |it: char| it.is_whitespace() || it.is_control() || "\\?#\"<>".contains(it);
        if text.len() > ADDRESS_BYTES_MAX || text.contains(is_odd) {
            return Err(HubAddressError::Form);
        }
        let (scheme, rest) = text.split_once("://").ok_or(HubAddressError::Form)?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(HubAddressError::Form),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(HubAddressError::Credentials);
        }
        let authority = authority.to_ascii_lowercase();
        let host = parse_host(&authority)
            .ok_or(HubAddressError::Form)?
            .to_owned();
        if !is_encrypted && !is_loopback(&host) && plain == PlaintextPolicy::Loopback {
            return Err(HubAddressError::Plain { host });
        }
        if path.starts_with('/') {
            return Err(HubAddressError::Form);
        }
        let segments = path.trim_end_matches('/');
        let (before, workspace) = segments.rsplit_once('/').unwrap_or(("", segments));
        let workspace = workspace.parse().map_err(|_| HubAddressError::Workspace)?;
        // `..` and empty segments could resolve to a path other than the displayed one.
        if before
            .split('/')
            .any(|part| matches!(part, "." | "..") || (part.is_empty() && !before.is_empty()))
        {
            return Err(HubAddressError::Form);
        }
        let scheme = if is_encrypted { "https" } else { "http" };
        Ok(Self {
            origin: format!("{scheme}://{authority}"),
            host,
            path: match before {
                "" => String::new(),
                before => format!("/{before}"),
            },
            workspace,
            plain,
        })
    }

    /// Returns scheme, host and port: the scope of a token.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the host name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the name of the workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        self.workspace.as_str()
    }

    /// Returns the policy for unencrypted connections.
    #[must_use]
    pub fn plain(&self) -> PlaintextPolicy {
        self.plain
    }

    /// Returns the address of the hub, without the workspace.
    #[must_use]
    pub fn base(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// Returns the URL of the workspace's events.
    #[must_use]
    pub fn events(&self) -> String {
        let Self {
            origin,
            path,
            workspace,
            ..
        } = self;
        format!("{origin}{path}/v1/workspaces/{workspace}/events")
    }
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", self.origin, self.path, self.workspace)
    }
}

/// Returns the host of an authority, or `None` if host or port is invalid.
fn parse_host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']')?;
            inside.parse::<std::net::Ipv6Addr>().ok()?;
            let host = &authority[..inside.len() + 2];
            (
                host,
                after.strip_prefix(':').or(after.is_empty().then_some(""))?,
            )
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_name = |it: u8| it.is_ascii_alphanumeric() || b".-_".contains(&it);
    let is_host = host.starts_with('[') || (!host.is_empty() && host.bytes().all(is_name));
    let is_port = port.is_empty() && !authority.ends_with(':') || port.parse::<u16>().is_ok();
    (is_host && is_port).then_some(host)
}

fn is_loopback(host: &str) -> bool {
    // Other names may resolve to this machine today and to another one tomorrow, so only
    // `localhost` and loopback addresses count.
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_its_events() {
        for (text, shown, events) in [
            (
                "https://Hub.example.org/pay",
                "https://hub.example.org/pay",
                "https://hub.example.org/v1/workspaces/pay/events",
            ),
            (
                "https://h:8443/ken/pay.api/",
                "https://h:8443/ken/pay.api",
                "https://h:8443/ken/v1/workspaces/pay.api/events",
            ),
            (
                "http://127.0.0.1:8750/w",
                "http://127.0.0.1:8750/w",
                "http://127.0.0.1:8750/v1/workspaces/w/events",
            ),
            (
                "http://[::1]:5/w",
                "http://[::1]:5/w",
                "http://[::1]:5/v1/workspaces/w/events",
            ),
        ] {
            let address = HubAddress::parse(text, PlaintextPolicy::Loopback).expect(text);
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.events(), events);
            assert_eq!(
                HubAddress::parse(shown, PlaintextPolicy::Loopback),
                Ok(address)
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let form = [
            "",
            "hub/w",
            "file:///w",
            "https:///w",
            "https://h:x/w",
            "https://h:/w",
            "https://h:99999/w",
            "https://[::1/w",
            "https://[x]/w",
            "https://h/w?x=1",
            "https://h/w#x",
            "https://h\\@evil/w",
            "https://h/../w",
            "https://h//w",
            "https://h /w",
        ];
        for text in form {
            let found = HubAddress::parse(text, PlaintextPolicy::Anywhere);
            assert_eq!(found, Err(HubAddressError::Form), "{text}");
        }
        let long = format!("https://h/{}", "a".repeat(HubName::CHARS_MAX + 1));
        for text in [
            "https://h",
            "https://h/",
            "https://h/W",
            "https://h/.w",
            "https://h/a%2f",
            &long,
        ] {
            let found = HubAddress::parse(text, PlaintextPolicy::Anywhere);
            assert_eq!(found, Err(HubAddressError::Workspace), "{text}");
        }
        let found = HubAddress::parse("https://me:secret@h/w", PlaintextPolicy::Anywhere);
        assert_eq!(found, Err(HubAddressError::Credentials));
    }

    #[test]
    fn plain_text_stays_on_this_machine_unless_somebody_says_otherwise() {
        for host in ["h", "127.0.0.1.h", "localhost.h", "0.0.0.0", "10.0.0.1"] {
            let text = format!("http://{host}/w");
            let found = HubAddress::parse(&text, PlaintextPolicy::Loopback);
            let host = host.to_owned();
            assert_eq!(found, Err(HubAddressError::Plain { host }));
            assert!(
                HubAddress::parse(&text, PlaintextPolicy::Anywhere).is_ok(),
                "{text}"
            );
        }
    }
}
