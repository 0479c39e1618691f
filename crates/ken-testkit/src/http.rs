//! Minimal HTTP/1.1 client that keeps its connection and can drop it in the middle of a request.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ken_core::ledger::event::RecordedEvent;
use ken_remote::wire::PushRequest;
use serde_json::Value;

/// Timeout of all socket operations, so that a test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A response of a hub.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub body: String,
}

impl HttpResponse {
    /// Parses the body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not valid JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

/// Returns the request body of a push.
///
/// # Panics
///
/// Never: recorded events are JSON.
#[must_use]
pub fn push_body(copies: &[RecordedEvent]) -> String {
    let push = PushRequest::of(copies.iter().map(RecordedEvent::line)).expect("lines are JSON");
    serde_json::to_string(&push).expect("plain data")
}

/// Point at which a client drops its connection.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionCut {
    /// After this fraction of the request, in thousandths.
    WithinRequest(usize),
    /// After sending everything and before reading the response.
    BeforeResponse,
}

/// A client with the token of one organization.
#[derive(Debug)]
pub struct TestHttpClient {
    token: String,
    connection: Option<(SocketAddr, BufReader<TcpStream>)>,
}

impl TestHttpClient {
    /// Creates a client with this token.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            connection: None,
        }
    }

    /// Sends a GET request and reads the response.
    ///
    /// # Errors
    ///
    /// If the hub does not send a complete response.
    pub fn get(&mut self, hub: SocketAddr, path: &str) -> io::Result<HttpResponse> {
        self.ask(hub, &format_request("GET", hub, path, &self.token, None))
    }

    /// Sends a POST request and reads the response.
    ///
    /// # Errors
    ///
    /// If the hub does not send a complete response.
    pub fn post(&mut self, hub: SocketAddr, path: &str, body: &str) -> io::Result<HttpResponse> {
        self.ask(
            hub,
            &format_request("POST", hub, path, &self.token, Some(body)),
        )
    }

    /// Sends a request and drops the connection without reading the response.
    ///
    /// # Errors
    ///
    /// If the hub cannot be reached.
    pub fn cut(
        &mut self,
        hub: SocketAddr,
        path: &str,
        body: &str,
        cut: ConnectionCut,
    ) -> io::Result<()> {
        let request = format_request("POST", hub, path, &self.token, Some(body));
        let bytes = match cut {
            ConnectionCut::WithinRequest(share) => request.len() * share / 1000,
            ConnectionCut::BeforeResponse => request.len(),
        };
        let mut stream = connect(hub)?;
        stream.write_all(&request.as_bytes()[..bytes])?;
        stream.flush()
    }

    fn ask(&mut self, hub: SocketAddr, request: &str) -> io::Result<HttpResponse> {
        // `read_body` discards the connection if anything below fails.
        let kept = self.connection.take().filter(|(to, _)| *to == hub);
        let mut stream = match kept {
            Some((_, stream)) => stream,
            None => BufReader::new(connect(hub)?),
        };
        stream.get_mut().write_all(request.as_bytes())?;
        let answer = read_response(&mut stream)?;
        self.connection = Some((hub, stream));
        Ok(answer)
    }
}

fn connect(hub: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&hub, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // Nagle's algorithm would delay small requests.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn format_request(
    method: &str,
    hub: SocketAddr,
    path: &str,
    token: &str,
    body: Option<&str>,
) -> String {
    let body = body.unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {hub}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn read_response(stream: &mut BufReader<TcpStream>) -> io::Result<HttpResponse> {
    let line = read_line(stream)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("`{line}` is no status")))?;
    let (mut length, mut chunked) = (0, false);
    loop {
        let line = read_line(stream)?.to_ascii_lowercase();
        match line.split_once(':') {
            None => break,
            Some(("content-length", value)) => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let size = usize::from_str_radix(&read_line(stream)?, 16).map_err(io::Error::other)?;
            // A line break follows each chunk, also the empty last one.
            read_body(stream, size, &mut body)?;
            read_line(stream)?;
            if size == 0 {
                break;
            }
        }
    } else {
        read_body(stream, length, &mut body)?;
    }
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    Ok(HttpResponse { status, body })
}

fn read_body(stream: &mut BufReader<TcpStream>, size: usize, body: &mut Vec<u8>) -> io::Result<()> {
    let from = body.len();
    body.resize(from + size, 0);
    stream.read_exact(&mut body[from..])
}

fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}
