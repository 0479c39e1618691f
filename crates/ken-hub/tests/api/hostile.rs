//! Hostile requests: every response is a 4xx problem, never a 5xx, and the hub keeps answering.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::IdSource as _;
use ken_testkit::build::{EventWriter, SeededIds};
use serde_json::json;

use crate::hub::{ApiHubEnvironment, ApiResponse, bearer};

/// Number of mutations; ten thousand under `KEN_LONG=1`.
fn mutation_count() -> usize {
    if ken_testkit::laws::is_long() {
        10_000
    } else {
        1_500
    }
}

const EVENTS_PATH: &str = "/v1/workspaces/shop/events";

fn post_raw(hub: &ApiHubEnvironment, path: &str, token: &str, body: &[u8]) -> ApiResponse {
    let token = bearer(token);
    let headers = [
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
    ];
    hub.send("POST", path, &headers, Some(body))
}

#[test]
fn bodies_that_are_no_bodies_are_refused_with_the_right_problem() {
    let hub = ApiHubEnvironment::start();
    let admin = hub.acme.admin.clone();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!(r#"{{"name":"{}"}}"#, "a".repeat(2 << 20));
    let cases: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        ("empty", Vec::new(), 400, "malformed"),
        ("no JSON", b"{".to_vec(), 400, "malformed"),
        (
            "invalid UTF-8",
            b"{\"name\":\"\xff\xfe\"}".to_vec(),
            400,
            "malformed",
        ),
        (
            "a lone surrogate",
            br#"{"name":"\ud800"}"#.to_vec(),
            400,
            "malformed",
        ),
        ("too deep", deep.into_bytes(), 400, "malformed"),
        ("too long", long.into_bytes(), 413, "too-large"),
        (
            "a key twice",
            br#"{"name":"a","name":"b"}"#.to_vec(),
            422,
            "invalid",
        ),
        (
            "unknown member",
            br#"{"name":"a","x":1}"#.to_vec(),
            422,
            "invalid",
        ),
        ("no object", b"[]".to_vec(), 422, "invalid"),
        ("null", b"null".to_vec(), 422, "invalid"),
        ("a number", br#"{"name":7}"#.to_vec(), 422, "invalid"),
        ("no name", br#"{"name":"A B"}"#.to_vec(), 422, "invalid"),
        ("NUL", br#"{"name":"a\u0000b"}"#.to_vec(), 422, "invalid"),
        (
            "an id",
            br#"{"name":"0193324e-7a3b-7c00-8000-000000000001"}"#.to_vec(),
            422,
            "invalid",
        ),
    ];
    for (name, body, status, slug) in cases {
        let answer = post_raw(&hub, "/v1/workspaces", &admin, &body);
        assert_eq!(answer.status, status, "{name}: {}", answer.text());
        answer.problem(slug);
    }
    let token = bearer(&admin);
    for kind in [
        "text/plain",
        "application/xml",
        "application/json; charset=utf-16",
    ] {
        let headers = [("authorization", token.as_str()), ("content-type", kind)];
        let answer = hub.send("POST", "/v1/workspaces", &headers, Some(b"{}"));
        assert_eq!(answer.status, 415, "{kind}");
        answer.problem("media-type");
    }
}

#[test]
fn a_push_that_is_too_much_is_refused_before_it_is_read() {
    let hub = ApiHubEnvironment::start();
    let many = vec!["{}"; ken_remote::wire::PUSH_EVENTS_MAX + 1].join(",");
    let body = format!(r#"{{"events":[{many}]}}"#);
    let answer = hub.post(EVENTS_PATH, &hub.acme.agent, &body);
    assert_eq!(answer.status, 413, "{}", answer.text());
    let fat = format!(r#"{{"events":["{}"]}}"#, "x".repeat(9 << 20));
    let answer = hub.post(EVENTS_PATH, &hub.acme.agent, &fat);
    assert_eq!(answer.status, 413, "{}", answer.text());
    // A few bytes that decompress to a huge body.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..64 {
        packer.write_all(&zeros).expect("packed");
    }
    let bomb = packer.finish().expect("packed");
    let token = bearer(&hub.acme.agent);
    let headers = [
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let answer = hub.send("POST", EVENTS_PATH, &headers, Some(&bomb));
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[test]
fn addresses_full_of_metacharacters_name_nothing() {
    let hub = ApiHubEnvironment::start();
    let names = [
        "'%20OR%201=1%20--",
        "shop'%3B%20DROP%20TABLE%20ken.events%3B%20--",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e",
        "shop%00",
        "%ff%fe",
        "%F0%9F%92%A3",
        "$1",
        "%25s%25n",
        "{workspace}",
        "SHOP",
        "shop%20",
    ];
    for name in names {
        for tail in ["", "/events", "/audit", "/events/stream"] {
            let path = format!("/v1/workspaces/{name}{tail}");
            let answer = hub.get(&path.replace(['{', '}'], "%7B"), &hub.acme.admin);
            assert_eq!(answer.status, 404, "{path}: {}", answer.text());
            answer.problem("not-found");
        }
    }
    for query in [
        "?after=%00",
        "?after='--",
        "?after=0.x",
        "?after=99999999999999999999.01JCPQ3W6M7Y2K8T4D5F6G7H8J",
        "?limit=0",
        "?limit=-1",
        "?limit=1001",
        "?limit=4294967297",
        "?limit=1e3",
        "?limit=%27",
        "?limit=1&limit=2",
        "?unknown=1",
        "?after=%ff",
    ] {
        let answer = hub.get(&format!("{EVENTS_PATH}{query}"), &hub.acme.admin);
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
        answer.problem("malformed");
    }
    for path in [
        "/v1/tokens?after=x",
        "/v1/audit?after=%00",
        "/v1/workspaces?after=A",
    ] {
        assert_eq!(hub.get(path, &hub.acme.admin).status, 400, "{path}");
    }
}

#[test]
fn unknown_addresses_and_methods_are_problems_too() {
    let hub = ApiHubEnvironment::start();
    let admin = bearer(&hub.acme.admin);
    let headers = [("authorization", admin.as_str())];
    for path in [
        "/v2",
        "/v1",
        "/v1/workspaces/",
        "/v1/workspaces/shop/events/x/y",
        "/mcp2",
    ] {
        hub.send("GET", path, &headers, None).problem("not-found");
    }
    for (method, path) in [
        ("DELETE", "/v1/workspaces"),
        ("PATCH", "/v1/workspaces/shop"),
        ("PUT", EVENTS_PATH),
        ("TRACE", "/healthz"),
        ("BREW", "/v1/tokens"),
    ] {
        let answer = hub.send(method, path, &headers, None);
        assert_eq!(answer.status, 405, "{method} {path}");
        answer.problem("method-not-allowed");
        assert!(!answer.header("allow").is_empty(), "{method} {path}");
    }
}

#[test]
fn events_of_unknown_types_are_kept_from_curators_and_refused_from_agents() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(3);
    scribe.by("agent:tester");
    // Complete lines with valid checksums, of a type that a newer build may know.
    let newer = [
        scribe.foreign("entry.invented", &[]),
        scribe.foreign("x.y", &[]),
    ];
    let answer = hub.push(&hub.acme, &hub.acme.agent, &newer);
    assert_eq!(answer.status, 422, "{}", answer.text());
    answer.problem("refused");
    // A type is text of the sender, which may be a secret.
    assert!(!answer.text().contains("invented"), "{}", answer.text());
    let answer = hub.push(&hub.acme, &hub.acme.curator, &newer);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let pulled = hub.get(EVENTS_PATH, &hub.acme.reader).text();
    for copy in &newer {
        assert!(pulled.contains(copy.line()), "{pulled}");
    }
}

/// Changes a few bytes, duplicates or drops a range, or inserts a problematic sequence.
fn mutate(text: &[u8], ids: &mut SeededIds) -> Vec<u8> {
    const NASTY: [&[u8]; 14] = [
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\u0000",
        b"{",
        b"[[[[",
        b"\"",
        b"null",
        b"-1",
        b"1e999",
        b"\\ud800",
        b"99999999999999999999",
        b"');--",
        b",\"v\":1",
    ];
    let mut bytes = text.to_vec();
    let count = 1 + ids.random() as usize % 4;
    for _ in 0..count {
        let at = ids.random() as usize % (bytes.len() + 1);
        let piece = NASTY[ids.random() as usize % NASTY.len()];
        match ids.random() % 5 {
            0 if at < bytes.len() => bytes[at] = ids.random() as u8,
            1 => drop(bytes.splice(at..at, piece.iter().copied())),
            2 => bytes.truncate(at),
            3 => {
                let to = (at + ids.random() as usize % 40).min(bytes.len());
                bytes.drain(at..to);
            }
            _ => {
                let to = (at + ids.random() as usize % 40).min(bytes.len());
                let again: Vec<u8> = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

#[test]
fn random_mutations_of_good_requests_never_make_the_hub_fail() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(11);
    let copies: Vec<RecordedEvent> = (0..3)
        .map(|n| {
            let told = format!("Batch {n} of the import must run before the nightly report");
            scribe.propose(&told).1
        })
        .collect();
    let lines: Vec<&str> = copies.iter().map(RecordedEvent::line).collect();
    let bodies = [
        (
            EVENTS_PATH,
            format!(r#"{{"events":[{}]}}"#, lines.join(",")),
        ),
        ("/v1/workspaces", json!({"name": "fuzz"}).to_string()),
        (
            "/v1/workspaces/shop/search",
            json!({"query": "what runs before the nightly report", "limit": 3}).to_string(),
        ),
        (
            "/v1/workspaces/shop/runs",
            json!({"task": "mutations", "agents": [{"agent": "agent:a"}]}).to_string(),
        ),
        (
            "/v1/tokens",
            json!({"name": "fuzz", "role": "agent", "workspaces": ["shop"], "expires_in_days": 3})
                .to_string(),
        ),
    ];
    let mut ids = SeededIds::new(17);
    let mut seen = [0_usize; 6];
    for n in 0..mutation_count() {
        let (path, good) = &bodies[n % bodies.len()];
        let body = mutate(good.as_bytes(), &mut ids);
        let answer = post_raw(&hub, path, &hub.acme.admin, &body);
        let shown = String::from_utf8_lossy(&body).into_owned();
        assert!(answer.status < 500, "{path} {}: {shown}", answer.text());
        seen[usize::from(answer.status / 100)] += 1;
    }
    // The mutations are neither all valid nor all invalid.
    assert!(seen[4] > mutation_count() / 4, "{seen:?}");
    assert_eq!(hub.get(EVENTS_PATH, &hub.acme.reader).status, 200);
}

/// Sends raw bytes and returns the first line of the response.
fn send_raw(hub: &ApiHubEnvironment, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(hub.address).expect("connected");
    let patience = Some(Duration::from_secs(5));
    stream.set_read_timeout(patience).expect("a time limit");
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    let told = String::from_utf8_lossy(&told).into_owned();
    told.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn bytes_that_are_no_http_are_refused_or_cut_off() {
    let hub = ApiHubEnvironment::start();
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(70_000));
    let many: String = (0..300).map(|n| format!("X-{n}: y\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    let cases: [&[u8]; 7] = [
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/workspaces HTTP/1.1\r\nAuthorization: Bearer \xff\xfe\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        long.as_bytes(),
        many.as_bytes(),
    ];
    for bytes in cases {
        let told = send_raw(&hub, bytes);
        let fine =
            told.is_empty() || told.starts_with("HTTP/1.1 4") || told.starts_with("HTTP/1.0 4");
        assert!(fine, "{told}");
    }
    assert_eq!(hub.send("GET", "/healthz", &[], None).status, 200);
}
