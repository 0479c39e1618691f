//! A small internet: a table of names, a table of dials, a clock, and servers on loopback.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ken_fetch::{EgressPolicy, FetchBudget, FetchClock, FetchGateway, NameLookup, SocketDialer};

/// A public address; the dial table leads it to loopback.
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Names with the answers of consecutive lookups; the last answer stays.
#[derive(Debug, Default)]
pub(crate) struct TableNames {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl NameLookup for TableNames {
    fn addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let queue = answers.get_mut(host)?;
        if queue.len() > 1 {
            queue.pop_front()
        } else {
            queue.front().cloned()
        }
    }
}

/// Checked addresses with the loopback sockets behind them.
#[derive(Debug, Default)]
pub(crate) struct TableDialer {
    targets: Mutex<BTreeMap<SocketAddr, SocketAddr>>,
    pub(crate) inside: Mutex<Vec<SocketAddr>>,
    pub(crate) outside: Mutex<Vec<SocketAddr>>,
}

impl SocketDialer for TableDialer {
    fn target(&self, checked: SocketAddr) -> Option<SocketAddr> {
        let target = self.targets.lock().unwrap().get(&checked).copied();
        let log = if target.is_some() {
            &self.inside
        } else {
            &self.outside
        };
        log.lock().unwrap().push(checked);
        target
    }
}

/// A clock that moves only when somebody sleeps.
#[derive(Debug)]
pub(crate) struct TestClock {
    now: Mutex<u64>,
    pub(crate) slept: Mutex<Vec<Duration>>,
}

impl TestClock {
    pub(crate) fn advance(&self, time: Duration) {
        *self.now.lock().unwrap() += time.as_millis() as u64;
    }
}

impl FetchClock for TestClock {
    fn now_ms(&self) -> u64 {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, time: Duration) {
        self.slept.lock().unwrap().push(time);
        self.advance(time);
    }
}

pub(crate) struct World {
    pub(crate) names: Arc<TableNames>,
    pub(crate) dialer: Arc<TableDialer>,
    pub(crate) clock: Arc<TestClock>,
}

/// A request as a server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) head: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            names: Arc::default(),
            dialer: Arc::default(),
            clock: Arc::new(TestClock {
                now: Mutex::new(1_790_000_000_000),
                slept: Mutex::default(),
            }),
        }
    }

    pub(crate) fn name(&self, host: &str, answers: &[&[&str]]) {
        let parse = |all: &&[&str]| all.iter().map(|it| it.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.names
            .answers
            .lock()
            .unwrap()
            .insert(host.to_owned(), answers);
    }

    /// Starts a server for `host` at a public address; `answer` writes the raw response.
    pub(crate) fn serve(
        &self,
        host: &str,
        address: &str,
        answer: impl Fn(&Seen, &mut TcpStream) + Send + 'static,
    ) -> Arc<Mutex<Vec<Seen>>> {
        self.name(host, &[&[address]]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        for port in [80, 443] {
            let checked = SocketAddr::new(address.parse().unwrap(), port);
            self.dialer.targets.lock().unwrap().insert(checked, target);
        }
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let log = Arc::clone(&seen);
        // Ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read_request(&stream) else {
                    continue;
                };
                log.lock().unwrap().push(request.clone());
                answer(&request, &mut stream);
            }
        });
        seen
    }

    /// A gateway that may ask the given hosts, also without encryption.
    pub(crate) fn gateway(&self, hosts: &[&str], budget: FetchBudget) -> FetchGateway {
        let hosts: Vec<String> = hosts.iter().map(|it| (*it).to_owned()).collect();
        let policy = EgressPolicy::new(hosts.clone(), []).with_plain_http(hosts);
        self.gateway_with(policy, budget)
    }

    pub(crate) fn gateway_with(&self, policy: EgressPolicy, budget: FetchBudget) -> FetchGateway {
        let (names, dialer, clock) = (
            Arc::clone(&self.names),
            Arc::clone(&self.dialer),
            Arc::clone(&self.clock),
        );
        FetchGateway::new(policy, budget, Some("https://bot.example.org"))
            .with_ports(names, dialer, clock)
    }

    pub(crate) fn assert_no_dial_outside(&self) {
        let outside = self.dialer.outside.lock().unwrap();
        assert!(outside.is_empty(), "dialed {outside:?}");
    }

    pub(crate) fn assert_no_dial(&self) {
        self.assert_no_dial_outside();
        let inside = self.dialer.inside.lock().unwrap();
        assert!(inside.is_empty(), "dialed {inside:?}");
    }
}

/// A budget that no test reaches by accident.
pub(crate) fn ample() -> FetchBudget {
    FetchBudget {
        pages_per_run: 1_000,
        pages_per_day: 1_000,
        bytes_per_run: 1 << 30,
        bytes_per_day: 1 << 30,
        time_per_run: Duration::from_secs(1_000_000),
        time_per_day: Duration::from_secs(1_000_000),
    }
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Seen { path, head })
}

/// Writes a response; `robots.txt` does not exist unless `path` is served for it.
pub(crate) fn respond(stream: &mut TcpStream, status: &str, headers: &[&str], body: &[u8]) {
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    if !headers.iter().any(|it| it.starts_with("Content-Length")) {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    // The client may hang up at any time; that is the point of most tests.
    let _gone = stream.write_all(head.as_bytes());
    let _gone = stream.write_all(body);
    let _gone = stream.flush();
}

pub(crate) fn no_robots(seen: &Seen, stream: &mut TcpStream) -> bool {
    let is_robots = seen.path == "/robots.txt";
    if is_robots {
        respond(
            stream,
            "404 Not Found",
            &["Content-Type: text/plain"],
            b"none",
        );
    }
    is_robots
}
