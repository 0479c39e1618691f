//! A server for the official conformance suite: what its scenarios call, behind our own transport
//! and gate.
//!
//! It is built for tests and never ships. `conformance TOKEN` prints the address it listens at and
//! answers until its standard input ends.

#![expect(clippy::print_stdout, reason = "the address is the only thing it says")]

mod content;
mod handler;
mod rounds;

use std::io::{self, Read as _};

use ken_mcp::http::{BearerToken, HttpAccess, RateLimit, serve};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use handler::Fixture;

/// The suite asks more at once than agents do.
const RATE: RateLimit = RateLimit {
    per_second: 1_000.0,
    burst: 1_000.0,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let token = std::env::args().nth(1).ok_or("usage: conformance TOKEN")?;
    let door = HttpAccess {
        rate: RATE,
        ..HttpAccess::new(BearerToken::new(&token)?)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let (fixture, end) = (Fixture::default(), CancellationToken::new());
    let ended = end.clone();
    std::thread::spawn(move || {
        // Whoever started us holds the other end; when it is gone, so are we.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ended.cancel();
    });
    serve(listener, move || fixture.clone(), door, end).await?;
    Ok(())
}
