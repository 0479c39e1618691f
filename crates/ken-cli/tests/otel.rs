//! OpenTelemetry export to a local collector: one request arrives, with the span in it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

/// Maximum wait of the collector for a connection.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a request.
const REQUEST_BYTES_MAX: usize = 1 << 20;

const QUERY: &str = "zebra canary question about retried charges";

/// Accepts one request and answers it; returns its path and body, or `None` after the timeout.
fn collect_request(listener: &TcpListener) -> Option<(String, Value)> {
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + COLLECTOR_TIMEOUT;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            Err(_) => return None,
        }
    };
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(COLLECTOR_TIMEOUT)).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).unwrap();
        bytes.extend_from_slice(&part[..read]);
        assert!(read > 0 && bytes.len() < REQUEST_BYTES_MAX);
        let Some(head) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else {
            continue;
        };
        let told = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let length = told
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.unwrap().trim().parse().unwrap();
        if head + 4 + length <= bytes.len() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").unwrap();
            let path = told.split_whitespace().nth(1).unwrap().to_owned();
            return Some((path, serde_json::from_slice(&bytes[head + 4..]).unwrap()));
        }
    }
}

fn repository_with_entry() -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    let _ = env.run(["init"]).success();
    let add = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "A retried charge needs its key",
        "--cite",
        "pr:1",
    ];
    let _ = env.run(add).success();
    env
}

#[test]
fn a_search_is_exported_by_its_name_in_the_trace_of_whoever_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let env = repository_with_entry()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
        .env(
            "TRACEPARENT",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        );
    let collector = thread::spawn(move || collect_request(&listener));
    let run = env.run(["search", QUERY]);
    assert!(!run.stderr.contains("otel"), "{run}");
    let (path, body) = collector.join().unwrap().expect("an export");
    assert_eq!(path, "/v1/traces");
    let resource = &body["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0]["value"]["stringValue"],
        "ken"
    );
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let search = spans
        .iter()
        .find(|it| it["name"] == "search_memory")
        .expect("the search");
    assert_eq!(search["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    let attributes = search["attributes"].as_array().unwrap();
    let operation = attributes
        .iter()
        .find(|it| it["key"] == "gen_ai.operation.name")
        .unwrap();
    assert_eq!(operation["value"]["stringValue"], "search_memory");
    let root = spans
        .iter()
        .find(|it| it["name"] == "ken")
        .expect("the command");
    assert_eq!(root["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(search["parentSpanId"], root["spanId"]);
    let told = body.to_string();
    for word in ["zebra", "canary", "needs its key", "example.org"] {
        assert!(!told.contains(word), "{word}: {told}");
    }
}

#[test]
fn nothing_is_sent_where_the_environment_says_no_and_an_absent_collector_harms_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let env = repository_with_entry()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
        .env("OTEL_SDK_DISABLED", "true");
    let _ = env.run(["list"]).success();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");
    drop(listener);
    let env = repository_with_entry().env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
    let run = env.run(["list"]).success();
    assert!(
        run.stdout.contains("A retried charge needs its key"),
        "{run}"
    );
}
