//! Scratch hub: a database of its own, `ken serve` on loopback, and an HTTP client for it.
//!
//! `psql` creates and drops the database. Without the address of a server in `KEN_TEST_POSTGRES` or
//! `DATABASE_URL`, the cases that need a hub do not run; a server that cannot be used is an error.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::check::Answer;
use super::scratch::Scratch;

/// Longest time until a started hub accepts connections.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Longest time that one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

const POLL_EVERY: Duration = Duration::from_millis(50);

/// Longest answer that the client reads.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Hub {
    server: String,
    database: String,
    scratch: Scratch,
    port: u16,
    child: Option<Child>,
}

/// Returns the address of the PostgreSQL server to test with.
pub(crate) fn server_address() -> Option<String> {
    ["KEN_TEST_POSTGRES", "DATABASE_URL"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .filter(|address| !address.is_empty())
}

impl Hub {
    /// Creates a database and starts a hub on it.
    pub(crate) fn start(ken: &Path, server: &str) -> Result<Self, String> {
        let database = format!("ken_referee_{}", std::process::id());
        psql(server, &format!("CREATE DATABASE {database}"))?;
        let address = with_database(server, &database)?;
        let scratch = Scratch::create("hub", ken, Some(&address))?;
        let mut hub = Self {
            server: server.to_owned(),
            database,
            scratch,
            port: free_port()?,
            child: None,
        };
        let migrated = hub
            .scratch
            .run(&["ken", "hub", "migrate"], ".", &BTreeMap::new(), "")?;
        if migrated.code != 0 {
            return Err(format!("`ken hub migrate` failed: {}", migrated.error));
        }
        hub.serve()?;
        Ok(hub)
    }

    pub(crate) fn database(&self) -> Result<String, String> {
        with_database(&self.server, &self.database)
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills the hub without notice, as a crash would, and starts it again.
    pub(crate) fn restart(&mut self) -> Result<(), String> {
        self.kill();
        self.serve()
    }

    fn serve(&mut self) -> Result<(), String> {
        let log = self.scratch.root().join("hub.log");
        let log = File::create(log).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = self.scratch.command("ken", ".");
        command
            .args(["serve", "--bind", &format!("127.0.0.1:{}", self.port)])
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        let child = command.spawn();
        self.child = Some(child.map_err(|error| format!("cannot start the hub: {error}"))?);
        let end = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > end {
                let log = self.scratch.root().join("hub.log");
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("the hub does not listen: {log}"));
            }
            thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends one request and returns status and body.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n",
            self.port,
            body.len()
        );
        if let Some(token) = token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        let sent = || -> std::io::Result<Vec<u8>> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(REQUEST_LIMIT))?;
            stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
            let mut bytes = Vec::new();
            stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = sent().map_err(|error| format!("{method} {path}: {error}"))?;
        parse_response(&String::from_utf8_lossy(&bytes))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.kill();
        // A database that stays behind on a throw-away server harms no later run.
        let _ = psql(
            &self.server,
            &format!("DROP DATABASE {} WITH (FORCE)", self.database),
        );
    }
}

fn parse_response(text: &str) -> Result<Answer, String> {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or("the answer has no head")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    Ok(Answer {
        code: status.ok_or("the answer has no status")?,
        out: if is_chunked {
            unchunk(body)
        } else {
            body.to_owned()
        },
        error: String::new(),
    })
}

/// Joins the chunks of a body; ends at the first one that is not whole.
fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        whole.push_str(chunk);
        body = rest.get(size + 2..).unwrap_or("");
    }
    whole
}

/// Returns the address of another database on the same server.
fn with_database(server: &str, database: &str) -> Result<String, String> {
    let (address, options) = match server.split_once('?') {
        Some((address, options)) => (address, format!("?{options}")),
        None => (server, String::new()),
    };
    let start = address.find("://").map_or(0, |at| at + 3);
    let host = address[start..].split('/').next().unwrap_or_default();
    if host.is_empty() {
        return Err("the address of the PostgreSQL server names no host".to_owned());
    }
    Ok(format!("{}{host}/{database}{options}", &address[..start]))
}

fn psql(server: &str, statement: &str) -> Result<(), String> {
    let program = std::env::var_os("PGBIN").map_or_else(
        || PathBuf::from("psql"),
        |folder| PathBuf::from(folder).join("psql"),
    );
    let done = Command::new(program)
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, server])
        .output()
        .map_err(|error| format!("cannot start psql: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!(
        "psql failed: {}",
        String::from_utf8_lossy(&done.stderr)
    ))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_database_is_on_the_same_server() {
        for (server, expected) in [
            ("postgres://u@h:1/postgres", "postgres://u@h:1/scratch"),
            ("postgres://u:p@h", "postgres://u:p@h/scratch"),
            (
                "postgres://h/x?sslmode=off",
                "postgres://h/scratch?sslmode=off",
            ),
        ] {
            assert_eq!(with_database(server, "scratch"), Ok(expected.to_owned()));
        }
        assert!(with_database("postgres://", "scratch").is_err());
    }

    #[test]
    fn a_response_is_read_with_and_without_chunks() {
        let plain = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        for (text, code, out) in [(plain, 404, "{}"), (chunked, 200, "abcd")] {
            let answer = parse_response(text).expect("a response");
            assert_eq!((answer.code, answer.out.as_str()), (code, out));
        }
        assert!(parse_response("nothing").is_err());
    }
}
