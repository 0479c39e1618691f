//! Access control: tokens, origins, paths, body size, rate and connection limits.

use std::io::Write as _;
use std::net::TcpStream;

use ken_mcp::http::{BODY_BYTES_MAX, SESSIONS_MAX};

use super::client::{post, post_to, request_headers, tools_list_request};
use super::server::{McpTestServer, TOKEN};

#[test]
fn whoever_has_the_token_is_answered() {
    let server = McpTestServer::start();
    let answer = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        tools_list_request().as_bytes(),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("echo"), "{answer:?}");
}

#[test]
fn nobody_else_is_whatever_the_header_looks_like() {
    let server = McpTestServer::start();
    let plain = request_headers(server.address, "tools/list");
    let without: Vec<_> = plain
        .iter()
        .filter(|(name, _)| name != "authorization")
        .cloned()
        .collect();
    let with = |shown: &str| {
        let mut all = without.clone();
        all.push(("authorization".to_owned(), shown.to_owned()));
        all
    };
    let mut twice = with(&format!("Bearer {TOKEN}"));
    twice.push(("authorization".to_owned(), format!("Bearer {TOKEN}")));
    let shown = [
        without.clone(),
        with(""),
        with("Bearer"),
        with("Bearer "),
        with(TOKEN),
        with(&format!("Basic {TOKEN}")),
        with(&format!("Bearer {TOKEN}x")),
        with(&format!("Bearer {}", &TOKEN[1..])),
        twice,
    ];
    for shown in shown {
        let answer = post(server.address, &shown, tools_list_request().as_bytes());
        assert_eq!(answer.status, 401, "{shown:?}: {answer:?}");
        assert!(
            answer.head.contains("www-authenticate: bearer"),
            "{answer:?}"
        );
        assert!(!answer.body.contains("echo"), "{answer:?}");
    }
    let lower = with(&format!("bearer {TOKEN}"));
    assert_eq!(
        post(server.address, &lower, tools_list_request().as_bytes()).status,
        200
    );
}

#[test]
fn a_page_of_somebody_else_is_refused() {
    let server = McpTestServer::start();
    let port = server.address.port();
    let cases = [
        ("host", "evil.example.org".to_owned(), 403),
        ("host", format!("127.0.0.1.evil.example.org:{port}"), 403),
        ("host", format!("localhost:{port}"), 200),
        ("origin", "https://evil.example.org".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        (
            "origin",
            "http://localhost.evil.example.org".to_owned(),
            403,
        ),
        ("origin", "file:///etc".to_owned(), 403),
        ("origin", format!("http://localhost:{port}"), 200),
    ];
    for (name, value, status) in cases {
        let mut all = request_headers(server.address, "tools/list");
        all.retain(|(known, _)| known != name);
        all.push((name.to_owned(), value.clone()));
        let answer = post(server.address, &all, tools_list_request().as_bytes());
        assert_eq!(answer.status, status, "{name}: {value}: {answer:?}");
    }
}

#[test]
fn there_is_one_path() {
    let server = McpTestServer::start();
    for path in [
        "/",
        "/mcpx",
        "/../mcp/../etc/passwd",
        "/.well-known/x",
        "//mcp",
    ] {
        let answer = post_to(
            server.address,
            path,
            &request_headers(server.address, "tools/list"),
            tools_list_request().as_bytes(),
        );
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let server = McpTestServer::start();
    let body = format!("{}{}", tools_list_request(), " ".repeat(BODY_BYTES_MAX));
    let answer = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        body.as_bytes(),
    );
    // A client that is still sending may see the connection close before it reads the response.
    assert!([413, 0].contains(&answer.status), "{answer:?}");
    let again = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        tools_list_request().as_bytes(),
    );
    assert_eq!(again.status, 200);
}

#[test]
fn who_comes_too_often_is_told_when_to_come_again() {
    let server = McpTestServer::with_rate_limit(0.01, 3.0);
    let ask = || {
        post(
            server.address,
            &request_headers(server.address, "tools/list"),
            tools_list_request().as_bytes(),
        )
    };
    for _ in 0..3 {
        assert_eq!(ask().status, 200);
    }
    let refused = ask();
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
    // Requests without a token do not consume the rate of those with one.
    let nobody = post(
        server.address,
        &[("host".to_owned(), server.address.to_string())],
        b"{}",
    );
    assert_eq!(nobody.status, 401);
}

#[test]
fn a_client_that_sends_half_a_request_holds_nobody_up() {
    let server = McpTestServer::start();
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..32 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n")
            .unwrap();
        slow.push(stream);
    }
    let answer = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        tools_list_request().as_bytes(),
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn conversations_of_the_older_revision_are_bounded() {
    let server = McpTestServer::with_rate_limit(10_000.0, 10_000.0);
    let mut all = request_headers(server.address, "initialize");
    all.retain(|(name, _)| !name.starts_with("mcp-"));
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    // The response body is a stream, so only its head is read.
    let mut held = Vec::new();
    let mut begun = 0;
    for _ in 0..=SESSIONS_MAX {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let mut head = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", begin.len());
        for (name, value) in &all {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream
            .write_all(format!("{head}\r\n{begin}").as_bytes())
            .unwrap();
        begun += usize::from(read_status(&mut stream) == 200);
        held.push(stream);
    }
    assert_eq!(begun, SESSIONS_MAX);
}

fn read_status(stream: &mut TcpStream) -> u16 {
    let mut first = [0; 12];
    std::io::Read::read_exact(stream, &mut first).expect("an answer comes");
    let text = String::from_utf8_lossy(&first).into_owned();
    text.split(' ')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .expect("it has a status")
}
