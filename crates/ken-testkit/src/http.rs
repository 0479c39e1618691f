//! A client of HTTP/1.1 that keeps its connection, and can let go of it in the middle of a request.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ken_core::event::Recorded;
use ken_remote::wire::Push;
use serde_json::Value;

/// Nobody waits longer for a hub: a test that hangs says nothing.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What a hub answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    /// Returns the body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

/// Returns the body of a push that offers events as they are.
///
/// # Panics
///
/// Never: what was recorded is JSON.
#[must_use]
pub fn push_body(copies: &[Recorded]) -> String {
    let push = Push::of(copies.iter().map(Recorded::line)).expect("lines are JSON");
    serde_json::to_string(&push).expect("plain data")
}

/// Where and how a client lets go of its connection.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// After this share of the request, in thousandths.
    Within(usize),
    /// When everything is sent and nothing read.
    BeforeTheAnswer,
}

/// Somebody who asks hubs in one organisation's name.
#[derive(Debug)]
pub struct Client {
    token: String,
    connection: Option<(SocketAddr, BufReader<TcpStream>)>,
}

impl Client {
    /// Asks with this token.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            connection: None,
        }
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    ///
    /// If nobody answers, or not to the end.
    pub fn get(&mut self, hub: SocketAddr, path: &str) -> io::Result<Answer> {
        self.ask(hub, &request("GET", hub, path, &self.token, None))
    }

    /// Sends and waits for the answer.
    ///
    /// # Errors
    ///
    /// If nobody answers, or not to the end.
    pub fn post(&mut self, hub: SocketAddr, path: &str, body: &str) -> io::Result<Answer> {
        self.ask(hub, &request("POST", hub, path, &self.token, Some(body)))
    }

    /// Sends a request and lets go: nobody learns what became of it.
    ///
    /// # Errors
    ///
    /// If not even that works.
    pub fn cut(&mut self, hub: SocketAddr, path: &str, body: &str, cut: Cut) -> io::Result<()> {
        let request = request("POST", hub, path, &self.token, Some(body));
        let bytes = match cut {
            Cut::Within(share) => request.len() * share / 1000,
            Cut::BeforeTheAnswer => request.len(),
        };
        let mut stream = connect(hub)?;
        stream.write_all(&request.as_bytes()[..bytes])?;
        stream.flush()
    }

    fn ask(&mut self, hub: SocketAddr, request: &str) -> io::Result<Answer> {
        // A connection on which something went wrong is not used again.
        let kept = self.connection.take().filter(|(to, _)| *to == hub);
        let mut stream = match kept {
            Some((_, stream)) => stream,
            None => BufReader::new(connect(hub)?),
        };
        stream.get_mut().write_all(request.as_bytes())?;
        let answer = read(&mut stream)?;
        self.connection = Some((hub, stream));
        Ok(answer)
    }
}

fn connect(hub: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&hub, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn request(method: &str, hub: SocketAddr, path: &str, token: &str, body: Option<&str>) -> String {
    let body = body.unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {hub}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let line = line(stream)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("`{line}` is no status")))?;
    let (mut length, mut chunked) = (0, false);
    loop {
        let line = self::line(stream)?.to_ascii_lowercase();
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
            let size = usize::from_str_radix(&self::line(stream)?, 16).map_err(io::Error::other)?;
            take(stream, size, &mut body)?;
            self::line(stream)?;
            if size == 0 {
                break;
            }
        }
    } else {
        take(stream, length, &mut body)?;
    }
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    Ok(Answer { status, body })
}

fn take(stream: &mut BufReader<TcpStream>, size: usize, body: &mut Vec<u8>) -> io::Result<()> {
    let from = body.len();
    body.resize(from + size, 0);
    stream.read_exact(&mut body[from..])
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}
