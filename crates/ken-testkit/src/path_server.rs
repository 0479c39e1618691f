//! Minimal HTTP server on loopback that answers each request by its path.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

/// Serves the bytes `answer` returns for a path until the test ends; returns the base URL.
///
/// The bytes are the whole response, so that a test can also send a wrong one.
///
/// # Panics
///
/// If loopback has no free port.
pub fn serve_paths(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("the port is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("the listener stays open");
            let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n != 0) {
            }
            let path = head.split(' ').nth(1).unwrap_or_default();
            // The client may have closed the connection already.
            let _ = stream.write_all(&answer(path));
        }
    });
    format!("http://{address}")
}

/// Returns a response with status 200 and this body.
#[must_use]
pub fn ok_response(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Returns a response with status 404.
#[must_use]
pub fn not_found() -> Vec<u8> {
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
}

/// Returns a response that redirects to `to`.
#[must_use]
pub fn redirect_to(to: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}
