//! Where a workspace of a hub is: `https://hub.example.org/WORKSPACE`, checked.

use std::fmt;
use std::net::IpAddr;

use crate::name::Name;

/// Bytes an address may have.
pub const ADDRESS_BYTES_MAX: usize = 2 * 1024;

/// The address of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Scheme, host and port.
    origin: String,
    host: String,
    /// What stands before the workspace: empty, or `/` and a path.
    path: String,
    workspace: Name,
    plain: Plain,
}

/// How far events and the token may travel unencrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plain {
    /// Only within this machine.
    #[default]
    Loopback,
    /// To any machine: the user said so.
    Anywhere,
}

/// Why a text is no address of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("an address has the form https://hub.example.org/WORKSPACE")]
    Form,
    #[error("the address holds a name or password; a token is given on its own")]
    Credentials,
    #[error("the address does not end with a workspace: small letters, digits, `.`, `_` and `-`")]
    Workspace,
    #[error("`{host}` is another machine and its address is not https")]
    Plain { host: String },
}

impl Address {
    /// Reads an address as somebody typed it.
    pub fn parse(text: &str, plain: Plain) -> Result<Self, AddressError> {
        let is_odd = |it: char| it.is_whitespace() || it.is_control() || "\\?#\"<>".contains(it);
        if ADDRESS_BYTES_MAX < text.len() || text.contains(is_odd) {
            return Err(AddressError::Form);
        }
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Form)?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(AddressError::Form),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(AddressError::Credentials);
        }
        let authority = authority.to_ascii_lowercase();
        let host = host_of(&authority).ok_or(AddressError::Form)?.to_owned();
        if !is_encrypted && !is_loopback(&host) && plain == Plain::Loopback {
            return Err(AddressError::Plain { host });
        }
        if path.starts_with('/') {
            return Err(AddressError::Form);
        }
        let path = path.trim_end_matches('/');
        let (before, workspace) = path.rsplit_once('/').unwrap_or(("", path));
        let workspace = workspace.parse().map_err(|_| AddressError::Workspace)?;
        if before
            .split('/')
            .any(|part| matches!(part, "." | "..") || (part.is_empty() && !before.is_empty()))
        {
            return Err(AddressError::Form);
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

    /// Returns scheme, host and port: what a token belongs to.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the name of the machine.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the workspace's name.
    #[must_use]
    pub fn workspace(&self) -> &str {
        self.workspace.as_str()
    }

    /// Returns how far what is said may travel unencrypted.
    #[must_use]
    pub fn plain(&self) -> Plain {
        self.plain
    }

    /// Returns where the workspace's events are read and written.
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

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", self.origin, self.path, self.workspace)
    }
}

/// Returns the host of an authority whose port, if it has one, is a port.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inside, behind) = rest.split_once(']')?;
            inside.parse::<std::net::Ipv6Addr>().ok()?;
            let host = &authority[..inside.len() + 2];
            (
                host,
                behind
                    .strip_prefix(':')
                    .or(behind.is_empty().then_some(""))?,
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
            let address = Address::parse(text, Plain::Loopback).expect(text);
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.events(), events);
            assert_eq!(Address::parse(shown, Plain::Loopback), Ok(address));
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
            let found = Address::parse(text, Plain::Anywhere);
            assert_eq!(found, Err(AddressError::Form), "{text}");
        }
        let long = format!("https://h/{}", "a".repeat(Name::CHARS_MAX + 1));
        for text in [
            "https://h",
            "https://h/",
            "https://h/W",
            "https://h/.w",
            "https://h/a%2f",
            &long,
        ] {
            let found = Address::parse(text, Plain::Anywhere);
            assert_eq!(found, Err(AddressError::Workspace), "{text}");
        }
        let found = Address::parse("https://me:secret@h/w", Plain::Anywhere);
        assert_eq!(found, Err(AddressError::Credentials));
    }

    #[test]
    fn plain_text_stays_on_this_machine_unless_somebody_says_otherwise() {
        for host in ["h", "127.0.0.1.h", "localhost.h", "0.0.0.0", "10.0.0.1"] {
            let text = format!("http://{host}/w");
            let found = Address::parse(&text, Plain::Loopback);
            let host = host.to_owned();
            assert_eq!(found, Err(AddressError::Plain { host }));
            assert!(Address::parse(&text, Plain::Anywhere).is_ok(), "{text}");
        }
    }
}
