//! The gateway: one request after another, each checked from policy to content type.

use std::fmt::{self, Debug};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, Response};
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::{Connector as _, RustlsConnector};

use crate::address::is_public_address;
use crate::body::{BODY_BYTES_MAX, ContentEncoding, read_body};
use crate::budget::{BudgetUse, FetchBudget};
use crate::clock::FetchClock;
use crate::dial::{PinnedHost, SocketDialer};
use crate::media::{PageFormat, decode, is_opted_out, parse_content_type};
use crate::names::NameLookup;
use crate::policy::{EgressPolicy, FetchUrl};
use crate::refusal::FetchRefusal;
use crate::robots::{ROBOTS_BYTES_MAX, ROBOTS_TOKEN, RobotsRules};
use crate::state::FetchState;

mod manners;

// Each read and the whole request have a limit: a host that sends one byte per read would keep the
// first limit forever.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
const HEADER_BYTES_MAX: usize = 32 << 10;
const REDIRECTS_MAX: usize = 5;
const ROBOTS_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
const ACCEPT: &str = "text/markdown, text/plain;q=0.9, text/html;q=0.8";

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    /// The URL after redirects.
    pub url: String,
    pub host: String,
    pub format: PageFormat,
    pub text: String,
    /// When it was read, in milliseconds since the Unix epoch.
    pub read_ms: u64,
}

/// One attempt, for the log. It has neither the path nor the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchAttempt {
    pub host: String,
    /// `ok`, or the name of the refusal.
    pub verdict: &'static str,
    pub bytes: u64,
    pub millis: u64,
}

/// Reads pages of allowed hosts.
pub struct FetchGateway {
    policy: EgressPolicy,
    budget: FetchBudget,
    user_agent: String,
    names: Arc<dyn NameLookup>,
    dialer: Arc<dyn SocketDialer>,
    clock: Arc<dyn FetchClock>,
    tls: Option<TlsConfig>,
    run: BudgetUse,
    state: FetchState,
    attempts: Vec<FetchAttempt>,
}

impl FetchGateway {
    /// Creates a gateway. `contact` is a URL or address that the user gives to hosts.
    pub fn new(policy: EgressPolicy, budget: FetchBudget, contact: Option<&str>) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        // A control character would start another header.
        let contact = contact.filter(|it| it.bytes().all(|byte| byte.is_ascii_graphic()));
        let user_agent = match contact {
            Some(contact) => format!("{ROBOTS_TOKEN}/{version} (+{contact})"),
            None => format!("{ROBOTS_TOKEN}/{version}"),
        };
        Self {
            policy,
            budget,
            user_agent,
            names: Arc::new(crate::names::SystemNameLookup),
            dialer: Arc::new(crate::dial::DirectDialer),
            clock: Arc::new(crate::clock::SystemFetchClock),
            tls: None,
            run: BudgetUse::default(),
            state: FetchState::default(),
            attempts: Vec::new(),
        }
    }

    /// Continues with the state of earlier processes.
    #[must_use]
    pub fn with_state(mut self, state: FetchState) -> Self {
        self.state = state;
        self
    }

    /// Replaces the sources of names, connections and time.
    #[must_use]
    pub fn with_ports(
        mut self,
        names: Arc<dyn NameLookup>,
        dialer: Arc<dyn SocketDialer>,
        clock: Arc<dyn FetchClock>,
    ) -> Self {
        self.names = names;
        self.dialer = dialer;
        self.clock = clock;
        self
    }

    /// Denies further hosts; there is no way to allow more.
    pub fn deny_also(&mut self, hosts: impl IntoIterator<Item = String>) {
        self.policy.deny_also(hosts);
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &EgressPolicy {
        &self.policy
    }

    /// Returns the state to store.
    #[must_use]
    pub fn state(&self) -> &FetchState {
        &self.state
    }

    /// Returns the attempts so far, and forgets them.
    pub fn take_attempts(&mut self) -> Vec<FetchAttempt> {
        std::mem::take(&mut self.attempts)
    }

    /// Returns the bytes read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.run.bytes
    }

    /// Reads a page, over at most five redirects.
    pub fn fetch(&mut self, url: &str) -> Result<FetchedPage, FetchRefusal> {
        // Both checks come before anything is counted or logged: a refused URL is no attempt.
        let url = self.policy.check(url)?;
        let started = self.clock.now_ms();
        let bytes = self.run.bytes;
        self.budget.check(self.run, *self.state.spent(started))?;
        let asked = url.host().to_owned();
        let result = self.fetch_page(url);
        let (host, verdict) = match &result {
            Ok(page) => (page.host.clone(), "ok"),
            Err(refusal) => (asked, refusal.name()),
        };
        self.push_attempt(host, verdict, started, bytes);
        result
    }

    fn push_attempt(&mut self, host: String, verdict: &'static str, started: u64, bytes: u64) {
        self.attempts.push(FetchAttempt {
            host,
            verdict,
            bytes: self.run.bytes - bytes,
            millis: self.clock.now_ms().saturating_sub(started),
        });
    }

    fn fetch_page(&mut self, first: FetchUrl) -> Result<FetchedPage, FetchRefusal> {
        // Taken before the request: a process that is killed has spent it.
        self.spend(1, 0, 0);
        let mut seen = vec![first.as_str().to_owned()];
        let mut url = first;
        loop {
            self.check_robots(&url)?;
            let response = self.request_with_retry(&url)?;
            let status = response.status().as_u16();
            if response.status().is_redirection() {
                url = self.redirect_target(&url, response.headers())?;
                check_redirects(&mut seen, &url)?;
                continue;
            }
            if status != 200 {
                return Err(FetchRefusal::Status(status));
            }
            return self.read_page(&url, response);
        }
    }

    /// Checks the target of a redirect as strictly as the first URL.
    fn redirect_target(
        &self,
        from: &FetchUrl,
        headers: &HeaderMap,
    ) -> Result<FetchUrl, FetchRefusal> {
        let location = header(headers, "location").ok_or(FetchRefusal::RedirectTarget)?;
        let target = from.join(location).ok_or(FetchRefusal::RedirectTarget)?;
        // Also where the policy allows plain HTTP: on an unencrypted path, anyone in between could
        // answer with a page of their own.
        if from.is_encrypted() && target.scheme() == "http" {
            return Err(FetchRefusal::Downgrade);
        }
        self.policy.check_url(target)
    }

    fn read_page(
        &mut self,
        url: &FetchUrl,
        response: Response<ureq::Body>,
    ) -> Result<FetchedPage, FetchRefusal> {
        let headers = response.headers();
        let (format, charset) = parse_content_type(header(headers, "content-type"))?;
        // Before the body is read: of a page that must not be used, nothing is kept.
        let tags = all_headers(headers, "x-robots-tag");
        if is_opted_out(&tags, &all_headers(headers, "content-signal")) {
            return Err(FetchRefusal::OptedOut);
        }
        let left = self
            .budget
            .bytes_left(self.run, *self.state.spent(self.clock.now_ms()));
        let bytes = self.read_response(response, left.min(BODY_BYTES_MAX))?;
        Ok(FetchedPage {
            url: url.as_str().to_owned(),
            host: url.host().to_owned(),
            format,
            text: decode(&bytes, charset)?,
            read_ms: self.clock.now_ms(),
        })
    }

    /// Reads a body and takes it from the budget, also when it is refused.
    fn read_response(
        &mut self,
        response: Response<ureq::Body>,
        max: u64,
    ) -> Result<Vec<u8>, FetchRefusal> {
        let encoding = ContentEncoding::parse(header(response.headers(), "content-encoding"))?;
        let length = header(response.headers(), "content-length").and_then(|it| it.parse().ok());
        // Refused before the body is read; the header may lie, so reading is bounded, too.
        if length.is_some_and(|length: u64| length > max) {
            return Err(FetchRefusal::TooLarge(max));
        }
        let started = self.clock.now_ms();
        // The client's own limit is off: `read_body` has limits that tell a bomb from a large page.
        let body = response.into_body().into_with_config().limit(u64::MAX);
        let read = read_body(body.reader(), encoding, max, describe_io);
        let bytes = match &read {
            Ok(bytes) => bytes.len() as u64,
            // Charged in full, so that a host cannot send bombs for free.
            Err(FetchRefusal::TooLarge(_) | FetchRefusal::Bomb) => max,
            Err(_) => 0,
        };
        let millis = self.clock.now_ms().saturating_sub(started);
        self.spend(0, bytes, millis);
        read
    }

    /// Sends one GET request to the checked addresses of a host.
    fn request(&mut self, url: &FetchUrl) -> Result<Response<ureq::Body>, FetchRefusal> {
        // Resolved for every request: an answer that was checked is never used for another one.
        let addresses = self.resolve(url)?;
        self.wait_for_turn(url.host())?;
        let started = self.clock.now_ms();
        let agent = self.agent(url, addresses)?;
        let request = agent
            .get(url.as_str())
            .header("user-agent", &self.user_agent)
            .header("accept", ACCEPT)
            .header("accept-encoding", "gzip");
        let response = request
            .call()
            .map_err(|error| FetchRefusal::Unreachable(ken_http::describe_error(&error)));
        let millis = self.clock.now_ms().saturating_sub(started);
        self.spend(0, 0, millis);
        response
    }

    /// Returns the addresses of a host; one that is not public refuses the host, because a mixture
    /// of public and private addresses is an attack.
    fn resolve(&self, url: &FetchUrl) -> Result<Vec<SocketAddr>, FetchRefusal> {
        let host = url.host();
        let found = self.names.addresses(host).unwrap_or_default();
        if found.is_empty() {
            return Err(FetchRefusal::Unresolved(host.to_owned()));
        }
        if !found.iter().all(|it| is_public_address(*it)) {
            return Err(FetchRefusal::NotPublic(host.to_owned()));
        }
        let addresses = found.into_iter();
        Ok(addresses
            .map(|it| SocketAddr::new(it, url.port()))
            .collect())
    }

    fn agent(&mut self, url: &FetchUrl, addresses: Vec<SocketAddr>) -> Result<Agent, FetchRefusal> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT))
            .max_response_header_size(HEADER_BYTES_MAX)
            .max_redirects(0)
            .http_status_as_error(false)
            // A proxy of the environment would resolve the name again, without our checks.
            .proxy(None);
        if url.is_encrypted() {
            config = config.tls_config(self.tls()?);
        }
        // A new client per request, because a pooled connection would skip the checks.
        let pinned = PinnedHost::new(url.host(), addresses, Arc::clone(&self.dialer));
        let connector = ().chain(pinned.clone()).chain(RustlsConnector::default());
        Ok(Agent::with_parts(config.build(), connector, pinned))
    }

    /// Returns the TLS configuration, loaded on first use: that reads the machine's certificates.
    fn tls(&mut self) -> Result<TlsConfig, FetchRefusal> {
        if self.tls.is_none() {
            self.tls = Some(ken_http::system_tls().map_err(|_| FetchRefusal::Tls)?);
        }
        self.tls.clone().ok_or(FetchRefusal::Tls)
    }

    fn spend(&mut self, pages: u32, bytes: u64, millis: u64) {
        self.run.add(pages, bytes, millis);
        let now = self.clock.now_ms();
        self.state.spent(now).add(pages, bytes, millis);
    }

    /// Reads the host's `robots.txt` if it is not known, and compares the path with it.
    fn check_robots(&mut self, url: &FetchUrl) -> Result<(), FetchRefusal> {
        let now = self.clock.now_ms();
        let known = self.state.host(url.host(), now);
        let rules = match &known.robots {
            Some(rules) if known.robots_until > now => rules.clone(),
            _ => {
                // An error leaves no rules behind: only the host's answer, or its silence, is kept
                // for a day.
                let rules = self.read_robots(url)?;
                let known = self.state.host(url.host(), now);
                known.robots = Some(rules.clone());
                known.robots_until = now + ROBOTS_KEPT_MS;
                rules
            }
        };
        if rules.refuses_ai_input {
            return Err(FetchRefusal::OptedOut);
        }
        if rules.allows(&url.path()) {
            Ok(())
        } else {
            Err(FetchRefusal::Robots)
        }
    }

    /// Reads `robots.txt`: a 4xx allows everything, an error or silence nothing (RFC 9309).
    fn read_robots(&mut self, page: &FetchUrl) -> Result<RobotsRules, FetchRefusal> {
        let mut url = self
            .policy
            .check_url(page.robots().ok_or(FetchRefusal::Malformed)?)?;
        let mut seen = vec![url.as_str().to_owned()];
        loop {
            let response = match self.request(&url) {
                Ok(response) => response,
                Err(FetchRefusal::Unreachable(_)) => return Ok(RobotsRules::disallow_all()),
                Err(refusal) => return Err(refusal),
            };
            match response.status().as_u16() {
                200..=299 => {
                    let body = self.read_response(response, BODY_BYTES_MAX);
                    let Ok(mut body) = body else {
                        return Ok(RobotsRules::disallow_all());
                    };
                    // Cut, not refused: RFC 9309 asks for at least this much to be obeyed.
                    body.truncate(ROBOTS_BYTES_MAX);
                    return Ok(RobotsRules::parse(&String::from_utf8_lossy(&body)));
                }
                300..=399 => {
                    let target = self.redirect_target(&url, response.headers());
                    let Ok(target) = target else {
                        return Ok(RobotsRules::disallow_all());
                    };
                    url = target;
                    if check_redirects(&mut seen, &url).is_err() {
                        return Ok(RobotsRules::disallow_all());
                    }
                }
                // "Too many requests" is no permission.
                429 => return Ok(RobotsRules::disallow_all()),
                400..=499 => return Ok(RobotsRules::default()),
                _ => return Ok(RobotsRules::disallow_all()),
            }
        }
    }
}

impl Debug for FetchGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchGateway")
            .field("policy", &self.policy)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// Adds a redirect target to those seen, unless it is one of them or one too many.
fn check_redirects(seen: &mut Vec<String>, target: &FetchUrl) -> Result<(), FetchRefusal> {
    if seen.iter().any(|it| it == target.as_str()) {
        return Err(FetchRefusal::RedirectLoop);
    }
    if seen.len() > REDIRECTS_MAX {
        return Err(FetchRefusal::RedirectLimit);
    }
    seen.push(target.as_str().to_owned());
    Ok(())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn all_headers(headers: &HeaderMap, name: &str) -> Vec<String> {
    let all = headers.get_all(name).iter();
    all.filter_map(|it| it.to_str().ok())
        .map(str::to_owned)
        .collect()
}

fn describe_io(error: io::Error) -> &'static str {
    ken_http::describe_error(&ureq::Error::from(error))
}
