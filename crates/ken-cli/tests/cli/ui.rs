//! `ken ui` as a child process: access with the one-time link only, and thousands of malformed
//! requests. `tools/ui` tests the pages in a browser.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use ken_testkit::test_env::TestEnvironment;

use super::support::{add_lesson, commit_all, repository_with_ledger, write_pay_source};

/// Mutated requests in total.
const REQUESTS: usize = 10_000;

/// Clients that send them at the same time.
const CLIENTS: usize = 4;

/// Time after which a request counts as unanswered.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct UiServer {
    child: Child,
    pub(super) address: String,
    cookie: String,
}

impl UiServer {
    /// Starts the server and signs in with its link.
    pub(super) fn start(env: &TestEnvironment) -> Self {
        let mut ken = env.ken();
        let ken = ken.args(["ui", "--no-open"]);
        let mut child = ken
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ken ui");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let link = lines.next().expect("a line").expect("text");
        let (name, path) = link
            .strip_prefix("http://")
            .and_then(|it| it.split_once('/'))
            .expect("a link");
        let port = name.rsplit_once(':').expect("a port").1;
        let mut server = Self {
            child,
            address: format!("127.0.0.1:{port}"),
            cookie: String::new(),
        };
        let entered = server.send("GET", &format!("/{path}"), "", b"");
        let cookie = entered.split("\r\n").find_map(|line| {
            let value = line.strip_prefix("set-cookie: ")?;
            Some(value.split(';').next()?.to_owned())
        });
        server.cookie = cookie.expect("a cookie");
        server
    }

    /// Sends a request and returns the whole response; of a stream, its beginning.
    pub(super) fn send(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        if !self.cookie.is_empty() {
            let _ = write!(request, "Cookie: {}\r\n", self.cookie);
        }
        let _ = write!(request, "{headers}\r\n");
        // The server may answer and close before it read everything.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            answer.extend_from_slice(&buffer[..read]);
            if answer
                .windows(24)
                .any(|it| it.eq_ignore_ascii_case(b"content-type: text/event"))
            {
                break;
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(super) fn status(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> u16 {
        let answer = self.send(method, target, headers, body);
        let status = answer.strip_prefix("HTTP/1.1 ").and_then(|it| it.get(..3));
        status
            .and_then(|it| it.parse().ok())
            .unwrap_or_else(|| panic!("no status for {method} {target}: {answer:?}"))
    }

    /// Ends the server and returns what it wrote to standard error.
    pub(super) fn end(mut self) -> String {
        self.child.kill().expect("it runs");
        let mut errors = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        let _ = pipe.read_to_string(&mut errors);
        let _ = self.child.wait();
        errors
    }
}

fn repository() -> (TestEnvironment, String) {
    let env = repository_with_ledger();
    write_pay_source(&env);
    commit_all(&env, "code");
    let id = add_lesson(&env, "Charging twice is safe");
    let _ = add_lesson(&env, "A refund is written before it is sent");
    let _ = env
        .run(["run", "open", "review-1", "--agent", "a"])
        .success();
    (env, id)
}

#[test]
fn pages_need_the_link_and_write_as_the_person() {
    let (env, id) = repository();
    let mut server = UiServer::start(&env);
    let origin = format!("Origin: http://{}\r\n", server.address);
    assert_eq!(server.status("GET", &format!("/e/{id}"), "", b""), 200);
    let body = format!("entry={id}");
    assert_eq!(
        server.status("POST", "/do/confirm", &origin, body.as_bytes()),
        303
    );
    assert_eq!(
        server.status("POST", "/do/confirm", "", body.as_bytes()),
        403
    );
    let document = server.send("GET", &format!("/e/{id}?format=json"), "", b"");
    assert!(
        document.contains("\"schema\":\"ken.entry.v1\""),
        "{document}"
    );
    let cookie = std::mem::take(&mut server.cookie);
    assert_eq!(server.status("GET", &format!("/e/{id}"), "", b""), 401);
    assert_eq!(
        server.status("POST", "/do/confirm", &origin, body.as_bytes()),
        401
    );
    server.cookie = cookie;
    let _ = server.end();
    let log = env.run(["log", &id]).success().stdout;
    assert!(log.contains("human:ada@example.org"), "{log}");
}

#[test]
fn buttons_promote_deduplicate_and_sweep() {
    let (env, id) = repository();
    let twin = add_lesson(&env, "Charging twice is safe.");
    let add = ["add", "--kind", "learning", "--cite", "pr:1", "--scope"];
    let add = add.into_iter().chain(["thread", "--thread", "billing"]);
    let threaded = add.chain(["--statement", "Invoices are numbered per year"]);
    let threaded = env.run(threaded).success().line();
    let server = UiServer::start(&env);
    let page = |target: &str| server.send("GET", target, "", b"");
    let origin = format!("Origin: http://{}\r\n", server.address);
    let press = |action: &str, body: &str| {
        let target = format!("/do/{action}");
        let status = server.status("POST", &target, &origin, body.as_bytes());
        assert_eq!(status, 303, "{action} {body}");
    };

    let entry = page(&format!("/e/{id}"));
    assert!(entry.contains(">learning<"), "{entry}");
    assert!(entry.contains("class=\"pct\""), "{entry}");
    assert!(!entry.contains("/do/promote"), "{entry}");
    assert!(page(&format!("/e/{threaded}")).contains("/do/promote"));
    press("promote", &format!("entry={threaded}"));
    assert!(!page(&format!("/e/{threaded}")).contains("/do/promote"));

    let health = page("/health");
    for service in ["dedup", "stale_sweep"] {
        assert!(health.contains(&format!("value=\"{service}\"")), "{health}");
        press("maintain", &format!("service={service}"));
    }
    let _ = server.end();
    let merged = [&id, &twin].map(|it| env.run(["show", it]).success().stdout);
    assert!(
        merged.iter().any(|it| it.contains("merged into")),
        "{merged:?}"
    );
    let ran = env
        .run(["health", "maintain", "--format", "json"])
        .success();
    let services = ran.json()["services"].as_array().expect("a list").clone();
    let swept = services.iter().find(|it| it["service"] == "stale_sweep");
    assert_eq!(swept.expect("it is listed")["due"], false);
}

#[test]
fn a_folder_counts_entries_and_an_entry_lists_its_dependents() {
    let (env, id) = repository();
    let learn = |statement: &str, anchor: &str| {
        let args = ["add", "--kind", "learning", "--cite", "pr:1", "--anchor"];
        env.run(args.into_iter().chain([anchor, "--statement", statement]))
            .success()
            .line()
    };
    let _ = learn("Payments are in one file", "src/pay.rs");
    let about = learn("All code is below src", "src");
    let _ = env
        .run(["entry", "link", &about, &id, "--rel", "depends-on"])
        .success();
    let server = UiServer::start(&env);
    let page = server.send("GET", "/at/src", "", b"");
    assert!(page.contains(&about), "{page}");
    let near = server.send("GET", &format!("/e/{id}/near"), "", b"");
    assert!(near.contains(&about), "{near}");
    let _ = server.end();
}

#[test]
fn an_agent_is_refused() {
    let (env, _) = repository();
    let run = env.run(["ui", "--no-open", "--by", "agent:codex"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("the pages are for people"), "{run}");
}

/// A generator of numbers with a fixed start, so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let value = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(value).expect("31 bits") % limit
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Pages that answer quickly; the others are sent less often.
const QUICK: &[&str] = &[
    "/",
    "/entries",
    "/entries?q=charge",
    "/entries?kind=learning&status=candidate&sort=new",
    "/e/ID",
    "/e/ID/history",
    "/at",
    "/at/src",
    "/at/src/pay.rs",
    "/at/src/pay.rs?rev=HEAD&lines=1-9",
    "/runs",
    "/runs?outcome=succeeded&skip=1",
    "/runs/id/review-1",
    "/norms?path=src/pay.rs",
    "/settings",
    "/add?anchor=src/pay.rs",
    "/stats",
    "/live?topic=ledger&topic=file:src/pay.rs",
    "/static/0123456789abcdef.css",
    "/favicon.ico",
    "/enter/0123",
];

const SLOW: &[&str] = &[
    "/inbox",
    "/inbox?lane=changed",
    "/inbox?lane=duplicates",
    "/health",
    "/change?base=HEAD",
    "/documents",
    "/brief?task=charge&path=src/pay.rs&role=reviewer",
    "/e/ID/near",
    "/impact",
    "/people",
    "/forage",
    "/runs/compare?a=review-1&b=x",
];

const FORMS: &[&str] = &[
    "confirm",
    "edit",
    "cite",
    "accept-code",
    "reanchor",
    "retract",
    "restore",
    "archive",
    "status",
    "overlay",
    "link",
    "feedback",
    "release",
    "approve",
    "promote",
    "keep-one",
    "keep-both",
    "keep-scoped",
    "dismiss-contradiction",
    "merge",
    "supersede",
    "dismiss-duplicate",
    "add",
    "accept-claims",
    "reject-claims",
    "revoke",
    "forage-domain",
    "undo",
    "nothing",
];

const FIELDS: &[&str] = &[
    "entry=ID",
    "back=/inbox",
    "revision=01",
    "statement=A+claim",
    "reason=obsolete",
    "note=x",
    "citation=pr:7",
    "to=src/pay.rs",
    "status=verified",
    "overlay=pin",
    "state=on",
    "relation=refines",
    "verdict=helpful",
    "digest=00",
    "first=ID",
    "second=ID",
    "first_tag=a",
    "second_tag=b",
    "kind=learning",
    "anchors=src/pay.rs%23charge",
    "citations=pr:1",
    "tags=a",
    "claim=c-1",
    "source=author:agent:a",
    "host=docs.example.org",
    "decision=trust",
    "step=01KDYAMXQ8EV7BZJ26205ZR7J2",
    "redact=on",
    "signature=x",
];

const HEADERS: &[&str] = &[
    "",
    "",
    "",
    "Accept: application/json\r\n",
    "Ken-Regions: 1\r\n",
    "Accept-Encoding: gzip\r\n",
    "Sec-Fetch-Site: same-origin\r\n",
    "Sec-Fetch-Site: cross-site\r\n",
    "Origin: null\r\n",
    "Cookie: ken_settings=dark.zed.nokeys\r\n",
    "Cookie: \u{fc}=;;=\r\n",
    "Range: bytes=0-1\r\n",
];

const TOKENS: &[&str] = &[
    "%",
    "%00",
    "%ff",
    "%0d%0aX:y",
    "..",
    "../",
    "%2e%2e%2f",
    "//",
    "?",
    "#",
    "&",
    "=",
    "-",
    "--output=/tmp/x",
    "'",
    "\"",
    "<svg/onload=x>",
    "%F0%9F%92%A9",
    "%E2%80%AE",
    "18446744073709551616",
    "-1",
    "0",
    "L-",
    "L-7k2f5qm3",
    "HEAD~99",
    "@{-1}",
    ":(glob)**",
    "\u{202e}",
    "a=b",
    "+",
    ";",
    "%25",
];

/// Changes a text at random places.
fn mutate(numbers: &mut Numbers, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..numbers.below(4) {
        let mut at = numbers.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match numbers.below(6) {
            0 => text.truncate(at),
            1 => text.insert_str(at, &numbers.of(TOKENS).repeat(1 + numbers.below(3))),
            2 => text = format!("{text}{}", &text[at..].to_owned()),
            3 => text.insert_str(at, &"A".repeat(numbers.below(5_000))),
            4 => {
                text = text.replacen(
                    numbers.of(&["/", "=", "&", "-", "e"]),
                    numbers.of(TOKENS),
                    1,
                );
            }
            _ => text.insert_str(at, numbers.of(TOKENS)),
        }
    }
    text
}

/// Sends one mutated request and returns a description of it with its status.
fn send_mutated(server: &UiServer, numbers: &mut Numbers, id: &str) -> (String, u16) {
    let headers = numbers.of(HEADERS);
    if numbers.below(3) == 0 {
        let fields: Vec<&str> = (0..numbers.below(9)).map(|_| numbers.of(FIELDS)).collect();
        let body = mutate(numbers, &fields.join("&").replace("ID", id));
        let form = numbers.of(FORMS).to_owned();
        let target = if numbers.below(8) == 0 {
            printable(&mutate(numbers, &format!("/do/{form}")))
        } else {
            format!("/do/{form}")
        };
        let headers = format!("Origin: http://{}\r\n{headers}", server.address);
        let status = server.status("POST", &target, &headers, body.as_bytes());
        return (format!("POST {target} {body}"), status);
    }
    let page = if numbers.below(40) == 0 {
        numbers.of(SLOW)
    } else {
        numbers.of(QUICK)
    };
    let mut target = printable(&mutate(numbers, &page.replace("ID", id)));
    if !target.starts_with('/') {
        target.insert(0, '/');
    }
    let method = numbers.of(&["GET", "GET", "GET", "GET", "HEAD", "PUT", "POST"]);
    let status = server.status(method, &target, headers, b"");
    (format!("{method} {target}"), status)
}

/// Encodes what would end the request line; everything else reaches the server as it is.
fn printable(target: &str) -> String {
    target.replace([' ', '\r', '\n', '\t'], "%20")
}

#[test]
fn mutated_requests_never_cause_a_server_error() {
    let (env, id) = repository();
    let server = UiServer::start(&env);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (server, id) = (&server, &id);
            scope.spawn(move || {
                let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15 + client as u64);
                for _ in 0..REQUESTS / CLIENTS {
                    let (request, status) = send_mutated(server, &mut numbers, id);
                    assert!((200..500).contains(&status), "{status}: {request}");
                }
            });
        }
    });
    assert_eq!(server.status("GET", "/", "", b""), 200);
    let errors = server.end();
    assert!(!errors.contains("panicked"), "{errors}");
    let _ = env.run(["doctor"]).success();
}
