//! HTTP client that sends arbitrary requests, well formed or not.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::server::TOKEN;

/// Read timeout of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP response; status 0 if none was received.
#[derive(Debug)]
pub(crate) struct McpHttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Metadata of every request in the newer revision.
pub(crate) const REQUEST_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Returns a request that lists the tools.
pub(crate) fn tools_list_request() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{REQUEST_META}}}}}"#)
}

/// Returns the headers of an ordinary request for `method`.
pub(crate) fn request_headers(address: SocketAddr, method: &str) -> Vec<(String, String)> {
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

/// Sends one request on a new connection.
pub(crate) fn post(
    address: SocketAddr,
    headers: &[(String, String)],
    body: &[u8],
) -> McpHttpResponse {
    post_to(address, "/mcp", headers, body)
}

/// Sends one request to any path.
pub(crate) fn post_to(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> McpHttpResponse {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    send_raw(address, &[head.as_bytes(), body].concat())
}

/// Sends bytes that are not a request, then closes the sending side.
pub(crate) fn send_and_shut_down(address: SocketAddr, bytes: &[u8]) -> McpHttpResponse {
    let stream = TcpStream::connect(address).unwrap();
    (&stream).write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_response(stream)
}

/// Sends raw bytes and reads until the server closes.
fn send_raw(address: SocketAddr, bytes: &[u8]) -> McpHttpResponse {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that refuses a request may close before it has read all of it.
    let _ = stream.write_all(bytes);
    read_response(stream)
}

fn read_response(mut stream: TcpStream) -> McpHttpResponse {
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).unwrap();
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    let got = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = got.split_once("\r\n\r\n").unwrap_or((&got, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    McpHttpResponse {
        status: status.unwrap_or(0),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}
