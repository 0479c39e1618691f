//! A hub over HTTP: one workspace, one token, bounded in time and size.
//!
//! Follows no redirect, so the token reaches the machine it was given for and no other. What a server says is
//! shown only as a short sentence or reason without control characters; neither the token nor an event is in any message.

use std::fmt;
use std::io::Read as _;
use std::time::Duration;

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use ken_core::event::LINE_BYTES_MAX;
use ken_core::text::shortened;
use ken_embed::{EndpointError, Reach, agent, is_unknown_name, reason};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

use crate::address::Address;
use crate::hub::{Hub, HubError};
use crate::token::Token;
use crate::wire::{Answered, Cursor, PULL_EVENTS_MAX, Pulled, Push, Pushed, problem};

/// Time one request may take from the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Times a request is sent before its failure counts.
pub const TRIES_MAX: u32 = 5;
/// How long the first wait before another try is; each next one is twice as long.
const WAIT_FIRST: Duration = Duration::from_millis(500);
/// The longest wait a server may ask for.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer that are read, packed or not: a full page of the longest lines.
const ANSWER_BYTES_MAX: usize = PULL_EVENTS_MAX as usize * (LINE_BYTES_MAX + 1) + ENVELOPE_BYTES;
const ENVELOPE_BYTES: usize = 4 * 1024;
/// Bytes below which a body travels as it is.
const PACK_BYTES_MIN: usize = 1024;
/// Characters of a server's words that are shown.
const WORDS_CHARS_MAX: usize = 200;

/// What a hub says instead of an answer, as far as it matters here (RFC 9457).
#[derive(Debug, Default, Deserialize)]
struct Problem {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    /// What became of each event, where every one was refused.
    events: Option<Vec<Answered>>,
}

impl Problem {
    /// Reads what a server said; a proxy may have said something else.
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn slug(&self) -> &str {
        self.kind.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the hub's own words, as they may be shown.
    fn told(&self) -> String {
        match self.detail.as_str() {
            "" => shown(&self.title),
            detail => shown(detail),
        }
    }
}

/// What is done before a request is sent again: says why, and waits.
struct Wait(Box<Waiting>);

/// Hears why a request is sent again, and how long to wait before.
type Waiting = dyn Fn(&HubError, Duration);

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wait")
    }
}

/// What one try came to.
enum Try {
    Done(Vec<u8>),
    /// The server answered, but not with what was asked for.
    Status(u16, Vec<u8>),
    /// Worth another try, perhaps after as long as the server says.
    Later(HubError, Option<Duration>),
    Failed(HubError),
}

/// One workspace of a hub, over HTTP.
#[derive(Debug)]
pub struct Client {
    events: String,
    hub: String,
    workspace: String,
    token: Token,
    agent: Agent,
    wait: Wait,
}

impl Client {
    /// Prepares to speak to a workspace; talks to nobody yet.
    pub fn open(address: &Address, token: Token) -> Result<Self, EndpointError> {
        let events = address.events();
        Ok(Self {
            agent: agent(&Reach::of(&events)?, Some(TIMEOUT))?,
            events,
            hub: address.origin().to_owned(),
            workspace: address.workspace().to_owned(),
            token,
            wait: Wait(Box::new(|_, pause| std::thread::sleep(pause))),
        })
    }

    /// Lets `wait` pass the time before another try; it hears why there is one, and how long to wait.
    #[must_use]
    pub fn waiting_with(self, wait: impl Fn(&HubError, Duration) + 'static) -> Self {
        let wait = Wait(Box::new(wait));
        Self { wait, ..self }
    }

    /// Sends a request until it is answered or was tried often enough.
    fn ask(&self, send: impl Fn() -> Try) -> Result<(u16, Vec<u8>), HubError> {
        let mut pause = WAIT_FIRST;
        let mut tries = 1;
        loop {
            match send() {
                Try::Done(body) => return Ok((200, body)),
                Try::Status(status, body) => return Ok((status, body)),
                Try::Failed(error) => return Err(error),
                Try::Later(error, _) if TRIES_MAX <= tries => return Err(error),
                Try::Later(why, asked) => {
                    (self.wait.0)(&why, asked.unwrap_or(pause).min(WAIT_MAX));
                    pause *= 2;
                    tries += 1;
                }
            }
        }
    }

    /// Reads what came back from one try.
    fn read(&self, sent: Result<Response<Body>, ureq::Error>) -> Try {
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return self.broken(&error),
        };
        let status = answer.status().as_u16();
        let asked = retry_after(answer.headers());
        let is_packed = header(answer.headers(), "content-encoding") == Some("gzip");
        let body = answer.body_mut().with_config();
        let body = match body.limit(ANSWER_BYTES_MAX as u64).read_to_vec() {
            Ok(body) => body,
            Err(error) => return self.broken(&error),
        };
        let body = match is_packed {
            true => unpacked(&body),
            false => Some(body),
        };
        match body {
            None => Try::Failed(self.unclear("its answer cannot be unpacked, or is too long")),
            Some(body) if status == 200 => Try::Done(body),
            Some(body) if is_passing(status) => {
                Try::Later(self.refused(status, &Problem::read(&body)), asked)
            }
            Some(body) => Try::Status(status, body),
        }
    }

    /// Sorts a failure of the connection.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "not our enum; what is not named is not worth another try"
    )]
    fn broken(&self, error: &ureq::Error) -> Try {
        let unreachable = HubError::Unreachable {
            hub: self.hub.clone(),
            why: reason(error),
        };
        // Whoever is not there now is not there in a second either; a connection that broke may well come back.
        match error {
            error if is_unknown_name(error) => Try::Failed(unreachable),
            ureq::Error::Io(it) if it.kind() != std::io::ErrorKind::ConnectionRefused => {
                Try::Later(unreachable, None)
            }
            ureq::Error::Timeout(_) => Try::Later(unreachable, None),
            _ => Try::Failed(unreachable),
        }
    }

    /// Turns an answer that is none into an error.
    fn refused(&self, status: u16, problem: &Problem) -> HubError {
        let (hub, told) = (self.hub.clone(), problem.told());
        match (status, problem.slug()) {
            (401, _) => HubError::Token { hub, told },
            (403, problem::QUOTA) => HubError::Quota { hub, told },
            (403, _) => HubError::Forbidden { hub, told },
            (404, _) => HubError::NoWorkspace {
                hub,
                workspace: self.workspace.clone(),
            },
            (409, problem::CURSOR_UNKNOWN) => HubError::CursorUnknown { hub },
            (413, _) => HubError::TooLarge { hub, told },
            (429, _) => HubError::Busy { hub, told },
            (502..=504, _) => HubError::Unavailable { hub, told },
            (300..=399, _) => {
                self.unclear("it sends callers elsewhere, and a token goes nowhere else")
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
        serde_json::from_slice(body).map_err(|_| self.unclear("its answer has another form"))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.secret())
    }
}

impl Hub for Client {
    fn push(&mut self, lines: &[&str]) -> Result<Pushed, HubError> {
        let push = Push::of(lines.iter().copied());
        let push = push.map_err(|_| self.unclear("an event is not JSON"))?;
        let body = serde_json::to_vec(&push).expect("lines are plain data");
        let packed = (PACK_BYTES_MIN <= body.len()).then(|| packed(&body));
        let (status, answer) = self.ask(|| {
            let post = self.agent.post(&self.events);
            let post = post.content_type("application/json");
            let post = post.header("authorization", self.bearer());
            let post = post.header("accept-encoding", "gzip");
            self.read(match &packed {
                Some(packed) => post.header("content-encoding", "gzip").send(&packed[..]),
                None => post.send(&body[..]),
            })
        })?;
        let mut pushed: Pushed = match status {
            200 => self.parsed(&answer)?,
            status => {
                let problem = Problem::read(&answer);
                match problem.events {
                    Some(events) if status == 422 => Pushed {
                        events,
                        cursor: None,
                    },
                    Some(_) | None => return Err(self.refused(status, &problem)),
                }
            }
        };
        if pushed.events.len() != lines.len() {
            return Err(self.unclear("it did not answer for every event"));
        }
        for answered in &mut pushed.events {
            answered.reason = answered.reason.take().map(|it| shown(&it));
        }
        Ok(pushed)
    }

    fn pull(&mut self, after: Cursor, limit: u32) -> Result<Pulled, HubError> {
        let url = format!("{}?after={after}&limit={limit}", self.events);
        let (status, answer) = self.ask(|| {
            let get = self.agent.get(&url);
            let get = get.header("authorization", self.bearer());
            self.read(get.header("accept-encoding", "gzip").call())
        })?;
        if status != 200 {
            return Err(self.refused(status, &Problem::read(&answer)));
        }
        self.parsed(&answer)
    }
}

/// Returns a server's words as they may be shown: short, on one line, nothing a terminal obeys.
fn shown(words: &str) -> String {
    let plain = |it: char| if it.is_control() { ' ' } else { it };
    let words: String = words.chars().take(WORDS_CHARS_MAX + 1).map(plain).collect();
    shortened(&words, WORDS_CHARS_MAX)
}

/// Returns whether a server that answers so may well answer otherwise in a moment.
fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns how long the server asks to wait, where it says so in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = header(headers, "retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(body, Compression::fast());
    let read = encoder.read_to_end(&mut packed);
    read.expect("reading memory does not fail");
    packed
}

/// Unpacks an answer, unless it is broken or too long.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let decoder = GzDecoder::new(packed);
    let mut limited = decoder.take(ANSWER_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut body).ok()?;
    (body.len() <= ANSWER_BYTES_MAX).then_some(body)
}
