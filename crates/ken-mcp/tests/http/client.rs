//! A client that sends what it is told to, well formed or not.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::server::TOKEN;

/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The metadata every request of the newer revision carries.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Returns a request to list tools.
pub(crate) fn listing() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#)
}

/// The headers of an ordinary request for `method`.
pub(crate) fn headers(address: SocketAddr, method: &str) -> Vec<(String, String)> {
    [
        ("host", address.to_string()),
        ("authorization", format!("Bearer {TOKEN}")),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", method.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Sends one request on a connection of its own.
pub(crate) fn post(address: SocketAddr, headers: &[(String, String)], body: &[u8]) -> Answer {
    send(address, "/mcp", headers, body)
}

/// Sends one request to any path.
pub(crate) fn send(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Answer {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    raw(address, &[head.as_bytes(), body].concat())
}

/// Sends bytes that are no request and goes away.
pub(crate) fn junk(address: SocketAddr, bytes: &[u8]) -> Answer {
    let stream = TcpStream::connect(address).unwrap();
    (&stream).write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    answer(stream)
}

/// Sends bytes as they are and reads until the server closes.
fn raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that refuses a request may close before it has read all of it.
    let _ = stream.write_all(bytes);
    answer(stream)
}

fn answer(mut stream: TcpStream) -> Answer {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    let got = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = got.split_once("\r\n\r\n").unwrap_or((&got, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}
