//! HTTP client for one workspace of a hub, with limits on time and size.
//!
//! The client follows no redirects, so the token reaches only the configured machine. Text from a
//! server is shown shortened and without control characters. No message contains the token or an
//! event.

use std::fmt;
use std::io::Read as _;
use std::time::Duration;

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use ken_core::ledger::event::LINE_BYTES_MAX;
use ken_core::values::text::truncate;
use ken_http::{EndpointError, EndpointOrigin, build_agent, describe_error, is_host_not_found};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

use crate::address::HubAddress;
use crate::hub::{HubClient, HubError};
use crate::token::HubToken;
use crate::wire::{
    EventVerdict, LogCursor, PULL_EVENTS_MAX, PullResponse, PushRequest, PushResponse, problem,
};

/// Time limit for one request, from the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum attempts per request. With `RETRY_DELAY_FIRST` they take 7.5 seconds, in which a hub
/// can restart.
pub const ATTEMPTS_MAX: u32 = 5;
/// The delay before the first retry; it doubles with every retry.
const RETRY_DELAY_FIRST: Duration = Duration::from_millis(500);
/// The longest delay a server may request.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(30);
/// Maximum bytes of a response, compressed or not: a full page of the longest lines.
const ANSWER_BYTES_MAX: usize = PULL_EVENTS_MAX as usize * (LINE_BYTES_MAX + 1) + ENVELOPE_BYTES;
const ENVELOPE_BYTES: usize = 4 * 1024;
/// Minimum size of a body that is compressed.
const COMPRESS_BYTES_MIN: usize = 1024;
/// Maximum characters shown of a server's text.
const SERVER_TEXT_CHARS_MAX: usize = 200;

/// The parts of a problem response (RFC 9457) that the client uses.
#[derive(Debug, Default, Deserialize)]
struct ProblemDetails {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    /// The new name of a renamed workspace.
    #[serde(default)]
    name: String,
    /// The verdicts, if every event was refused.
    events: Option<Vec<EventVerdict>>,
}

impl ProblemDetails {
    /// Parses a response body; returns an empty problem if it has another form.
    fn read(body: &[u8]) -> Self {
        // A proxy in between may answer with HTML.
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn slug(&self) -> &str {
        self.kind.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the hub's explanation, sanitized for display.
    fn told(&self) -> String {
        match self.detail.as_str() {
            "" => sanitize(&self.title),
            detail => sanitize(detail),
        }
    }
}

/// The action before a retry: reports the reason and waits.
struct RetryWait(Box<RetryCallback>);

/// Receives the reason for a retry and the delay before it.
type RetryCallback = dyn Fn(&HubError, Duration);

impl fmt::Debug for RetryWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wait")
    }
}

/// The outcome of one attempt.
enum RequestAttempt {
    Done(Vec<u8>),
    /// The server answered with an error status.
    Status(u16, Vec<u8>),
    /// A retry may succeed, after the delay the server requested, if any.
    Retry(HubError, Option<Duration>),
    Failed(HubError),
}

/// An HTTP client for one workspace of a hub.
#[derive(Debug)]
pub struct HttpHubClient {
    events: String,
    hub: String,
    workspace: String,
    token: HubToken,
    agent: Agent,
    wait: RetryWait,
}

impl HttpHubClient {
    /// Creates a client; does not connect yet.
    pub fn open(address: &HubAddress, token: HubToken) -> Result<Self, EndpointError> {
        let events = address.events();
        Ok(Self {
            agent: build_agent(&EndpointOrigin::of(&events)?, Some(TIMEOUT))?,
            events,
            hub: address.origin().to_owned(),
            workspace: address.workspace().to_owned(),
            token,
            wait: RetryWait(Box::new(|_, pause| std::thread::sleep(pause))),
        })
    }

    /// Replaces the wait before a retry; `wait` receives the reason and the delay.
    #[must_use]
    pub fn with_retry_callback(self, wait: impl Fn(&HubError, Duration) + 'static) -> Self {
        let callback = RetryWait(Box::new(wait));
        Self {
            wait: callback,
            ..self
        }
    }

    /// Sends a request until it succeeds, fails permanently or exceeds [`ATTEMPTS_MAX`].
    fn ask(&self, send: impl Fn() -> RequestAttempt) -> Result<(u16, Vec<u8>), HubError> {
        let mut pause = RETRY_DELAY_FIRST;
        let mut tries = 1;
        loop {
            match send() {
                RequestAttempt::Done(body) => return Ok((200, body)),
                RequestAttempt::Status(status, body) => return Ok((status, body)),
                RequestAttempt::Failed(error) => return Err(error),
                RequestAttempt::Retry(error, _) if tries >= ATTEMPTS_MAX => return Err(error),
                RequestAttempt::Retry(error, retry_delay) => {
                    (self.wait.0)(&error, retry_delay.unwrap_or(pause).min(RETRY_DELAY_MAX));
                    pause *= 2;
                    tries += 1;
                }
            }
        }
    }

    /// Classifies the response of one attempt.
    fn read(&self, sent: Result<Response<Body>, ureq::Error>) -> RequestAttempt {
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return self.broken(&error),
        };
        let status = answer.status().as_u16();
        let retry_delay = retry_after(answer.headers());
        let is_packed = header(answer.headers(), "content-encoding") == Some("gzip");
        let reader = answer.body_mut().with_config();
        let raw = match reader.limit(ANSWER_BYTES_MAX as u64).read_to_vec() {
            Ok(raw) => raw,
            Err(error) => return self.broken(&error),
        };
        // Decompressed with a limit of its own: a small response could otherwise expand until it
        // fills the memory.
        let body = if is_packed {
            decompress(&raw)
        } else {
            Some(raw)
        };
        match body {
            None => RequestAttempt::Failed(
                self.unclear("the response cannot be decompressed or is too large"),
            ),
            Some(body) if status == 200 => RequestAttempt::Done(body),
            Some(body) if is_transient(status) => RequestAttempt::Retry(
                self.refused(status, &ProblemDetails::read(&body)),
                retry_delay,
            ),
            Some(body) => RequestAttempt::Status(status, body),
        }
    }

    /// Classifies a connection error.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "not our enum; what is not named is not worth another try"
    )]
    fn broken(&self, error: &ureq::Error) -> RequestAttempt {
        let unreachable = HubError::Unreachable {
            hub: self.hub.clone(),
            why: describe_error(error),
        };
        // An unknown host will not recover within seconds. A broken connection may, and so may a
        // host that refuses one: a hub that restarts does not listen for some seconds.
        match error {
            error if is_host_not_found(error) => RequestAttempt::Failed(unreachable),
            ureq::Error::Io(_) | ureq::Error::Timeout(_) => {
                RequestAttempt::Retry(unreachable, None)
            }
            _ => RequestAttempt::Failed(unreachable),
        }
    }

    /// Converts an error response to an error.
    fn refused(&self, status: u16, problem: &ProblemDetails) -> HubError {
        let (hub, told) = (self.hub.clone(), problem.told());
        match (status, problem.slug()) {
            (401, _) => HubError::Token { hub, told },
            (403, problem::QUOTA) => HubError::Quota { hub, told },
            (403, _) => HubError::Forbidden { hub, told },
            (404, problem::RENAMED) => HubError::Renamed {
                hub,
                workspace: self.workspace.clone(),
                now: sanitize(&problem.name),
            },
            (404, _) => HubError::NoWorkspace {
                hub,
                workspace: self.workspace.clone(),
            },
            (409, problem::CURSOR_UNKNOWN) => HubError::CursorUnknown { hub },
            (413, _) => HubError::TooLarge { hub, told },
            (429, _) => HubError::Busy { hub, told },
            (502..=504, _) => HubError::Unavailable { hub, told },
            // Following a redirect could send the token to another machine.
            (300..=399, _) => {
                self.unclear("it redirects, and Ken never sends a token to another address")
            }
            (status, _) => HubError::Refused { hub, status, told },
        }
    }

    fn unclear(&self, why: &'static str) -> HubError {
        HubError::Answer {
            hub: self.hub.clone(),
            why,
        }
    }

    fn parsed<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, HubError> {
        serde_json::from_slice(body)
            .map_err(|_| self.unclear("the response has an unexpected format"))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.secret())
    }
}

impl HubClient for HttpHubClient {
    fn push(&mut self, lines: &[&str]) -> Result<PushResponse, HubError> {
        let push = PushRequest::of(lines.iter().copied())
            .map_err(|_| self.unclear("an event is not JSON"))?;
        let body = serde_json::to_vec(&push).expect("a push serializes to JSON");
        let packed = (body.len() >= COMPRESS_BYTES_MIN).then(|| compress(&body));
        let (status, answer) = self.ask(|| {
            let post = self
                .agent
                .post(&self.events)
                .content_type("application/json")
                .header("authorization", self.bearer())
                .header("accept-encoding", "gzip");
            self.read(match &packed {
                Some(packed) => post.header("content-encoding", "gzip").send(&packed[..]),
                None => post.send(&body[..]),
            })
        })?;
        let mut pushed: PushResponse = match status {
            200 => self.parsed(&answer)?,
            status => {
                let problem = ProblemDetails::read(&answer);
                match problem.events {
                    // The hub refused every event: a complete answer with an error status.
                    Some(events) if status == 422 => PushResponse {
                        events,
                        cursor: None,
                    },
                    Some(_) | None => return Err(self.refused(status, &problem)),
                }
            }
        };
        // Verdicts are matched by position. With a missing one, all later ones would be assigned
        // to the wrong events.
        if pushed.events.len() != lines.len() {
            return Err(self.unclear("the response does not have a verdict for every event"));
        }
        for answered in &mut pushed.events {
            answered.reason = answered.reason.take().map(|it| sanitize(&it));
        }
        Ok(pushed)
    }

    fn token(&self) -> Option<&HubToken> {
        Some(&self.token)
    }

    fn pull(&mut self, after: LogCursor, limit: u32) -> Result<PullResponse, HubError> {
        let url = format!("{}?after={after}&limit={limit}", self.events);
        let (status, answer) = self.ask(|| {
            let get = self
                .agent
                .get(&url)
                .header("authorization", self.bearer())
                .header("accept-encoding", "gzip");
            self.read(get.call())
        })?;
        if status != 200 {
            return Err(self.refused(status, &ProblemDetails::read(&answer)));
        }
        self.parsed(&answer)
    }
}

/// Sanitizes a server's text for display: short, one line, no terminal control characters.
fn sanitize(words: &str) -> String {
    let plain = |it: char| if it.is_control() { ' ' } else { it };
    // One character more than the limit, so that `truncate` sees that the text is too long.
    let line: String = words
        .chars()
        .take(SERVER_TEXT_CHARS_MAX + 1)
        .map(plain)
        .collect();
    truncate(&line, SERVER_TEXT_CHARS_MAX)
}

/// Returns true if a status is temporary, so that a retry may succeed.
fn is_transient(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the delay a server requests, if it is given in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = header(headers, "retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn compress(body: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(body, Compression::fast());
    let read = encoder.read_to_end(&mut packed);
    read.expect("reading memory does not fail");
    packed
}

/// Decompresses a response; returns `None` if it is corrupt or too long.
fn decompress(packed: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let decoder = GzDecoder::new(packed);
    // One byte more than the limit distinguishes "exactly at the limit" from "too long".
    let mut limited = decoder.take(ANSWER_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut body).ok()?;
    (body.len() <= ANSWER_BYTES_MAX).then_some(body)
}
