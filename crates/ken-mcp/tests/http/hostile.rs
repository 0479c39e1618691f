//! Malformed HTTP requests: the right error, no panic, no hang.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::client::{REQUEST_META, post, request_headers, send_and_shut_down, tools_list_request};
use super::server::McpTestServer;

/// Number of randomly changed requests.
const MUTATIONS: u32 = 10_000;

#[test]
fn what_is_no_request_is_an_error_of_the_client() {
    let server = McpTestServer::start();
    let deep = "[".repeat(200_000);
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{REQUEST_META},"name":"echo","arguments":{{"a":{}1{}}}}}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let bodies: [&[u8]; 9] = [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        br#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        deep.as_bytes(),
        nested.as_bytes(),
    ];
    for body in bodies {
        let answer = post(
            server.address,
            &request_headers(server.address, "tools/list"),
            body,
        );
        let start = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert!((400..500).contains(&answer.status), "{start}: {answer:?}");
    }
    for line in [
        "",
        "\r\n\r\n",
        "GET",
        "POST /mcp HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        let answer = send_and_shut_down(server.address, line.as_bytes()).status;
        assert!(answer < 500, "{line:?}: {answer}");
    }
    let answer = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        tools_list_request().as_bytes(),
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn ten_thousand_requests_changed_at_random_leave_a_server_that_answers() {
    let server = McpTestServer::with_rate_limit(1e9, 1e9);
    let calls = [
        tools_list_request(),
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{REQUEST_META},"name":"echo","arguments":{{"a":[1,"x",null]}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":"s","method":"server/discover","params":{{{REQUEST_META}}}}}"#
        ),
    ];
    let mut dice = RequestRng(0x9e37_79b9_7f4a_7c15);
    let mut line: Option<TcpStream> = None;
    let mut worst = 0;
    for n in 0..MUTATIONS {
        let call = &calls[n as usize % calls.len()];
        let body = mutate_body(call.as_bytes(), &mut dice);
        let method = ["tools/list", "tools/call", "server/discover"][n as usize % calls.len()];
        let (status, kept) = post_on(server.address, line.take(), method, &body);
        assert_ne!(
            status,
            0,
            "request {n} had no answer: {:?}",
            String::from_utf8_lossy(&body)
        );
        worst = worst.max(status);
        line = kept;
    }
    assert!(worst < 500, "an error of the server's own: {worst}");
    let answer = post(
        server.address,
        &request_headers(server.address, "tools/list"),
        tools_list_request().as_bytes(),
    );
    assert_eq!(answer.status, 200);
}

/// Sends a request on `line`, or on a new connection if there is none or it was closed.
fn post_on(
    address: SocketAddr,
    line: Option<TcpStream>,
    method: &str,
    body: &[u8],
) -> (u16, Option<TcpStream>) {
    let mut head = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in request_headers(address, method) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let request = [head.as_bytes(), b"\r\n", body].concat();
    if let Some(line) = line
        && let (status @ 1.., line) = send_and_read(line, &request)
    {
        return (status, line);
    }
    let line = TcpStream::connect(address).expect("the server listens");
    send_and_read(line, &request)
}

/// Sends a request and reads the response; returns the connection if it can be reused.
fn send_and_read(mut line: TcpStream, request: &[u8]) -> (u16, Option<TcpStream>) {
    line.set_read_timeout(Some(Duration::from_secs(20)))
        .and_then(|()| line.set_nodelay(true))
        .expect("a time limit");
    if line.write_all(request).is_err() {
        return (0, None);
    }
    let (mut got, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match line.read(&mut part) {
            Ok(0) | Err(_) => return (parse_status(&got), None),
            Ok(n) => got.extend_from_slice(&part[..n]),
        }
        let text = String::from_utf8_lossy(&got).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let chunked = head.contains("transfer-encoding: chunked");
        let whole = head
            .lines()
            .find_map(|it| it.strip_prefix("content-length: "))
            .is_some_and(|it| it.trim().parse() == Ok(body.len()));
        if whole || (chunked && body.ends_with("0\r\n\r\n")) {
            return (parse_status(&got), Some(line));
        }
    }
}

fn parse_status(got: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(got);
    text.split(' ')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .unwrap_or(0)
}

/// Changes a request in a few places: bytes, deletions, repetitions, unexpected values.
fn mutate_body(body: &[u8], dice: &mut RequestRng) -> Vec<u8> {
    const STRANGE: [&[u8]; 8] = [
        b"null",
        b"-1",
        b"1e999",
        b"\"\\ud800\"",
        b"{}",
        b"[[[[",
        b"\"../../etc/passwd\"",
        b"\xf0\x28",
    ];
    let mut body = body.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(body.len().max(1));
        match dice.below(4) {
            0 if at < body.len() => body[at] = dice.below(256) as u8,
            1 => {
                let end = (at + dice.below(12)).min(body.len());
                body.drain(at.min(end)..end);
            }
            2 => {
                let end = (at + dice.below(12)).min(body.len());
                let part = body[at.min(end)..end].to_vec();
                body.splice(at.min(body.len())..at.min(body.len()), part);
            }
            _ => {
                let strange = STRANGE[dice.below(STRANGE.len())];
                let at = at.min(body.len());
                body.splice(at..at, strange.iter().copied());
            }
        }
    }
    body
}

/// Pseudo-random generator (xorshift) with a fixed seed.
struct RequestRng(u64);

impl RequestRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
