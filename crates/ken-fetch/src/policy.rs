//! Egress policy: which URLs may be requested. Decided before any name is looked up.

use url::{Host, Url};

use crate::refusal::FetchRefusal;

/// Endings of names that never belong to a public host (RFC 6761, 6762, 7686, 8375, 9476).
const LOCAL_ENDINGS: [&str; 11] = [
    "alt",
    "arpa",
    "corp",
    "example",
    "home",
    "internal",
    "invalid",
    "lan",
    "local",
    "localhost",
    "onion",
];

/// Ending of names for tests; a public resolver never knows them.
const TEST_ENDING: &str = "test";

const HTTPS_PORT: u16 = 443;
const HTTP_PORT: u16 = 80;

/// Hosts that may be asked. Without any allowed host, nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressPolicy {
    allow: Vec<String>,
    deny: Vec<String>,
    plain_http: Vec<String>,
}

/// A URL that the policy allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchUrl {
    url: Url,
    host: String,
    port: u16,
}

impl EgressPolicy {
    /// Allows `allow` and every host below each of them, but not `deny` and what is below those.
    pub fn new(
        allow: impl IntoIterator<Item = String>,
        deny: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            allow: allow.into_iter().filter_map(|it| normalize(&it)).collect(),
            deny: deny.into_iter().filter_map(|it| normalize(&it)).collect(),
            plain_http: Vec::new(),
        }
    }

    /// Allows unencrypted requests to the named hosts, which must be allowed as well.
    #[must_use]
    pub fn with_plain_http(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.plain_http = hosts.into_iter().filter_map(|it| normalize(&it)).collect();
        self
    }

    /// Denies further hosts, each with every host below it.
    pub fn deny_also(&mut self, hosts: impl IntoIterator<Item = String>) {
        self.deny
            .extend(hosts.into_iter().filter_map(|it| normalize(&it)));
    }

    /// Returns the URL of a path of a host, unencrypted only where the policy allows it.
    #[must_use]
    pub fn url_of(&self, host: &str, path: &str) -> String {
        let is_plain = normalize(host).is_some_and(|it| self.plain_http.contains(&it));
        let scheme = if is_plain { "http" } else { "https" };
        format!("{scheme}://{host}{path}")
    }

    /// Checks a URL without any network access.
    pub fn check(&self, text: &str) -> Result<FetchUrl, FetchRefusal> {
        let url = Url::parse(text).map_err(|_| FetchRefusal::Malformed)?;
        self.check_url(url)
    }

    pub(crate) fn check_url(&self, mut url: Url) -> Result<FetchUrl, FetchRefusal> {
        if !matches!(url.scheme(), "https" | "http") {
            return Err(FetchRefusal::Scheme);
        }
        // `https://allowed.org@other.org` shows one host and asks another.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchRefusal::Credentials);
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            // The parser recognizes octal, hexadecimal, decimal and shortened spellings as well.
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => return Err(FetchRefusal::AddressLiteral),
            None => return Err(FetchRefusal::Malformed),
        };
        // `example.org.` is the same host as `example.org`, but would be compared as another.
        let host = normalize(&host).ok_or(FetchRefusal::Malformed)?;
        if is_local_name(&host) {
            return Err(FetchRefusal::LocalName(host));
        }
        // Denied hosts first: a repository can only add some, and they win over the user's list.
        if self.deny.iter().any(|rule| covers(rule, &host)) {
            return Err(FetchRefusal::Denied(host));
        }
        if !self.allow.iter().any(|rule| covers(rule, &host)) {
            return Err(FetchRefusal::NotAllowed(host));
        }
        let port = match url.scheme() {
            "https" => HTTPS_PORT,
            // Compared exactly, unlike `allow`: an exception for one host is none for those below
            // it.
            _ if self.plain_http.contains(&host) => HTTP_PORT,
            _ => return Err(FetchRefusal::Scheme),
        };
        // Other ports of an allowed host belong to services that are no web site.
        // `port` is `None` for the default of the scheme.
        if let Some(other) = url.port() {
            return Err(FetchRefusal::Port(other));
        }
        // A fragment is never sent, but would make one page look like two in a chain of redirects.
        url.set_fragment(None);
        url.set_host(Some(&host))
            .map_err(|_| FetchRefusal::Malformed)?;
        Ok(FetchUrl { url, host, port })
    }
}

impl FetchUrl {
    /// Returns the host name in lower case, without a final dot.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the whole URL without a fragment.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the path with its query, as `robots.txt` compares it.
    #[must_use]
    pub fn path(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns the target of a redirect, unchecked.
    pub(crate) fn join(&self, location: &str) -> Option<Url> {
        self.url.join(location).ok()
    }

    /// Returns the URL of the host's `robots.txt`, unchecked.
    pub(crate) fn robots(&self) -> Option<Url> {
        self.url.join("/robots.txt").ok()
    }
}

/// Returns a host name as it is compared; `None` if it is not one.
fn normalize(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('.').to_lowercase();
    // Parsing maps international names to their ASCII form, so that rules compare with URLs.
    match Host::parse(&host).ok()? {
        Host::Domain(name) => Some(name),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// Returns whether `host` is `rule` or below it.
fn covers(rule: &str, host: &str) -> bool {
    host.strip_suffix(rule)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_local_name(host: &str) -> bool {
    // A name without a dot is completed by the resolver with a domain of the local network.
    let last = host.rsplit('.').next().unwrap_or(host);
    !host.contains('.') || last == TEST_ENDING || LOCAL_ENDINGS.contains(&last)
}
