//! Attacks on the availability of a hub, bounded in number and time, and the view of another tenant
//! meanwhile.
//!
//! Each attack is what one token or one client address can do. The attacker connects from
//! [`ATTACKER`], another loopback address than the tenant that is watched.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream as BlockingStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::http::TestHttpClient;

/// Address the attacker connects from.
pub const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Interval between two searches of the watched tenant, which stays below its own rate limit.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);

/// Interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(20);

/// Timeout of a probe and of an attacker's response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval between two bytes of a slow body.
const SLOW_BYTE: Duration = Duration::from_secs(1);

/// Bytes of a push body, as the hub limits it.
const PUSH_BYTES: usize = 8 << 20;

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubAttack {
    /// Pushes of millions of zeros, packed into 8 KB.
    PackedZeros,
    /// Connections with an unfinished request head. Needs no token.
    HalfOpenHeads,
    /// Requests whose body arrives byte by byte.
    SlowBodies,
    /// As many event streams as possible.
    EventStreams,
    /// Requests as fast as possible.
    RequestRate,
    /// Searches for thousands of words.
    LongSearches,
}

/// What is attacked, and with which token.
#[derive(Clone, Debug)]
pub struct AttackTarget {
    pub hub: SocketAddr,
    pub token: String,
    /// Path of a workspace that the token may access, such as `/v1/workspaces/shop`.
    pub workspace: String,
    /// A text of thousands of words that occur in the workspace.
    pub words: String,
}

/// Number of responses by status; 0 stands for a connection without a response.
pub type AttackCounts = BTreeMap<u16, usize>;

/// What another tenant saw.
#[derive(Clone, Debug, Default)]
pub struct TenantView {
    /// Durations of its searches.
    pub searches: Vec<Duration>,
    /// Searches without a good response.
    pub failed_searches: usize,
    /// Durations of readiness probes.
    pub probes: Vec<Duration>,
    /// Probes without a good response.
    pub failed_probes: usize,
}

/// A tenant whose searches are watched, and the probe listener.
#[derive(Clone, Debug)]
pub struct WatchedTenant {
    pub hub: SocketAddr,
    pub probes: SocketAddr,
    pub token: String,
    /// Path of its search.
    pub path: String,
    /// Bodies of its searches, sent in turn.
    pub bodies: Vec<String>,
}

impl HubAttack {
    /// Every attack.
    pub const ALL: [Self; 6] = [
        Self::PackedZeros,
        Self::HalfOpenHeads,
        Self::SlowBodies,
        Self::EventStreams,
        Self::RequestRate,
        Self::LongSearches,
    ];

    /// Returns a short description.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PackedZeros => "pushes of 8 MiB of zeros in 8 KB of gzip, 8 connections",
            Self::HalfOpenHeads => "4,200 half-open request heads",
            Self::SlowBodies => "24 bodies of one byte per second",
            Self::EventStreams => "40 event streams",
            Self::RequestRate => "requests without a pause, 8 connections",
            Self::LongSearches => "searches of 2,500 words, 8 connections",
        }
    }

    /// Returns the number of connections at full strength.
    fn connections(self) -> usize {
        match self {
            Self::PackedZeros | Self::RequestRate | Self::LongSearches => 8,
            Self::HalfOpenHeads => 4_200,
            Self::SlowBodies => 24,
            Self::EventStreams => 40,
        }
    }

    /// Runs the attack until `stop` is set, with the full number of connections divided by `part`.
    ///
    /// # Panics
    ///
    /// If no runtime can be started.
    #[must_use]
    pub fn run(self, target: &AttackTarget, part: usize, stop: &Arc<AtomicBool>) -> AttackCounts {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let counts: Arc<Mutex<AttackCounts>> = Arc::default();
        let request: Arc<[u8]> = self.request(target).into();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..self.connections().div_ceil(part))
                .map(|_| {
                    let (stop, counts) = (Arc::clone(stop), Arc::clone(&counts));
                    let (request, hub) = (Arc::clone(&request), target.hub);
                    tokio::spawn(async move {
                        while !stop.load(Ordering::Relaxed) {
                            let count = |status| *lock(&counts).entry(status).or_default() += 1;
                            let status = self.attack_once(hub, &request, &stop, &count).await;
                            let status = status.unwrap_or_default();
                            count(status);
                            if status == 0 {
                                // A refused connection is tried again, but not in a busy loop.
                                tokio::time::sleep(PROBE_INTERVAL).await;
                            }
                        }
                    })
                })
                .collect();
            for task in tasks {
                let _ = task.await;
            }
        });
        let counts = lock(&counts);
        counts.clone()
    }

    /// Returns the bytes that one connection sends.
    fn request(self, target: &AttackTarget) -> Vec<u8> {
        let (token, workspace) = (&target.token, &target.workspace);
        let head = |method: &str, path: &str, more: &str| {
            format!(
                "{method} {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
            )
        };
        let json = "Content-Type: application/json\r\n";
        let sized = |more: &str, body: &[u8]| format!("{more}Content-Length: {}\r\n", body.len());
        match self {
            Self::PackedZeros => {
                let body = pack_zeros();
                let more = sized(&format!("{json}Content-Encoding: gzip\r\n"), &body);
                let mut request = head("POST", &format!("{workspace}/events"), &more).into_bytes();
                request.extend_from_slice(&body);
                request
            }
            Self::HalfOpenHeads => b"GET /healthz HTTP/1.1\r\nHost: hub\r\nX-Slow: ".to_vec(),
            Self::SlowBodies => {
                let more = format!("{json}Content-Length: 1000\r\n");
                head("POST", &format!("{workspace}/search"), &more).into_bytes()
            }
            Self::EventStreams => {
                head("GET", &format!("{workspace}/events/stream"), "").into_bytes()
            }
            Self::RequestRate => head("GET", "/v1/workspaces", "").into_bytes(),
            Self::LongSearches => {
                let body = serde_json::json!({ "query": target.words }).to_string();
                let more = sized(json, body.as_bytes());
                (head("POST", &format!("{workspace}/search"), &more) + &body).into_bytes()
            }
        }
    }

    /// Attacks on one connection, counts the responses and returns the status of the last one.
    async fn attack_once(
        self,
        hub: SocketAddr,
        request: &[u8],
        stop: &AtomicBool,
        count: &(impl Fn(u16) + Sync),
    ) -> io::Result<u16> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((ATTACKER, 0)))?;
        let connecting = tokio::time::timeout(RESPONSE_TIMEOUT, socket.connect(hub));
        let mut stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
        stream.write_all(request).await?;
        match self {
            Self::PackedZeros | Self::RequestRate | Self::LongSearches => {
                // The same connection again and again, as long as the hub keeps it.
                let mut status = read_response(&mut stream).await?;
                while status < 400 && !stop.load(Ordering::Relaxed) {
                    count(status);
                    stream.write_all(request).await?;
                    status = read_response(&mut stream).await?;
                }
                Ok(status)
            }
            Self::HalfOpenHeads | Self::EventStreams => hold(&mut stream, stop).await,
            Self::SlowBodies => {
                while !stop.load(Ordering::Relaxed) {
                    stream.write_all(b" ").await?;
                    let waited = tokio::time::timeout(SLOW_BYTE, read_response(&mut stream));
                    if let Ok(answered) = waited.await {
                        return answered;
                    }
                }
                Ok(0)
            }
        }
    }
}

impl WatchedTenant {
    /// Searches and probes for a while, one after the other each.
    ///
    /// # Panics
    ///
    /// If a thread panics.
    #[must_use]
    pub fn watch(&self, lasts: Duration) -> TenantView {
        let until = Instant::now() + lasts;
        std::thread::scope(|scope| {
            let searching = scope.spawn(|| self.search_until(until));
            let probing = scope.spawn(|| self.probe_until(until));
            let mut view = searching.join().expect("a thread");
            (view.probes, view.failed_probes) = probing.join().expect("a thread");
            view
        })
    }

    fn search_until(&self, until: Instant) -> TenantView {
        let mut client = TestHttpClient::new(&self.token);
        let mut view = TenantView::default();
        for body in self.bodies.iter().cycle() {
            let began = Instant::now();
            if began >= until {
                break;
            }
            let answer = client.post(self.hub, &self.path, body);
            let took = began.elapsed();
            view.searches.push(took);
            std::thread::sleep(SEARCH_INTERVAL.saturating_sub(took));
            if !answer.is_ok_and(|answer| answer.status == 200) {
                view.failed_searches += 1;
            }
        }
        view
    }

    fn probe_until(&self, until: Instant) -> (Vec<Duration>, usize) {
        let (mut times, mut failed) = (Vec::new(), 0);
        while Instant::now() < until {
            let began = Instant::now();
            let is_ready = probe(self.probes).unwrap_or_default();
            times.push(began.elapsed());
            failed += usize::from(!is_ready);
            std::thread::sleep(PROBE_INTERVAL);
        }
        (times, failed)
    }
}

impl TenantView {
    /// Returns the time that 95 of 100 searches do not exceed.
    #[must_use]
    pub fn search_p95(&self) -> Duration {
        p95(&self.searches)
    }

    /// Returns the time that 95 of 100 probes do not exceed, and the longest one.
    #[must_use]
    pub fn probe_times(&self) -> (Duration, Duration) {
        let longest = self.probes.iter().max().copied();
        (p95(&self.probes), longest.unwrap_or_default())
    }
}

fn p95(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = times.len() * 95 / 100;
    times.get(at).copied().unwrap_or_default()
}

/// Asks for readiness on a new connection, as an orchestrator does.
fn probe(address: SocketAddr) -> io::Result<bool> {
    let mut stream = BlockingStream::connect_timeout(&address, RESPONSE_TIMEOUT)?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: hub\r\n\r\n")?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told.contains(" 200 "))
}

/// Keeps a connection until the hub closes it or the attack stops. Returns the status if there was
/// a response.
async fn hold(stream: &mut TcpStream, stop: &AtomicBool) -> io::Result<u16> {
    let (mut buffer, mut status) = ([0; 4096], 0);
    while !stop.load(Ordering::Relaxed) {
        match tokio::time::timeout(PROBE_INTERVAL * 10, stream.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Ok(0)) => break,
            Ok(read) => status = status_of(&buffer[..read?]).unwrap_or(status),
        }
    }
    Ok(status)
}

/// Reads one response and returns its status.
async fn read_response(stream: &mut TcpStream) -> io::Result<u16> {
    let (mut told, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let reading = tokio::time::timeout(RESPONSE_TIMEOUT, stream.read(&mut buffer));
        let read = reading.await.map_err(|_| io::ErrorKind::TimedOut)??;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        told.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&told).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|it| it.split_whitespace().next()?.parse().ok());
        let whole = head.len() + 4 + length.unwrap_or(0_usize);
        if told.len() >= whole {
            return status_of(&told).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
    }
}

fn status_of(bytes: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(bytes);
    let rest = text.strip_prefix("HTTP/1.1 ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Packs a push whose list has as many zeros as a body may have bytes.
#[must_use]
pub fn pack_zeros() -> Vec<u8> {
    let zeros = "0,".repeat((PUSH_BYTES - 64) / 2);
    let body = format!(r#"{{"events":[{zeros}0]}}"#);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let packed = packer.write_all(body.as_bytes());
    packed
        .and_then(|()| packer.finish())
        .expect("memory does not fail")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A count is changed in one step, so poison means nothing here.
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
