//! `ken mcp`: serves until the agent closes its end, or somebody ends the program.
//!
//! Standard output belongs to the protocol; whatever else is said goes to standard error.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::time::Duration;

use ken_core::id::IdSource as _;
use ken_engine::world::SystemWorld;
use ken_mcp::http::{self, Door, Token};
use ken_mcp::{CancellationToken, Server, stdio};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::Session;
use crate::args::McpArgs;
use crate::failure::{Exit, Failure};
use crate::mcp::Local;
use crate::print::Printer;
use crate::world::mcp_token;

/// What an agent's end waits for: work that was begun. Reading standard input may wait for ever.
const END: Duration = Duration::from_secs(2);

pub(super) fn run(session: &mut Session<'_>, args: &McpArgs) -> Result<Exit, Failure> {
    let local = Local::new(&session.surroundings)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::io("cannot serve", &e))?;
    let served = match args.http {
        None => {
            if io::stdin().is_terminal() {
                let said = "an agent speaks here: `ken mcp --help` says how it is told to";
                session.printer.talk(said)?;
            }
            on_stdio(&runtime, local)
        }
        Some(address) => on_http(&runtime, session.printer, local, (address, args)),
    };
    runtime.shutdown_timeout(END);
    served.map(|()| Exit::Fine)
}

fn on_stdio(runtime: &Runtime, local: Local) -> Result<(), Failure> {
    runtime.block_on(async {
        let stop = stop()?;
        let served = stdio::serve_here(Server::new(local), stop).await;
        served.map_err(|error| Failure::io("serving ended", &io::Error::other(error)))
    })
}

fn on_http(
    runtime: &Runtime,
    printer: &mut Printer,
    local: Local,
    (address, args): (SocketAddr, &McpArgs),
) -> Result<(), Failure> {
    if !http::is_local(&address) && args.allow_host.is_empty() {
        let message = format!("{address} can be reached from other machines");
        let hint =
            "listen on 127.0.0.1, or say under which name others call this one: --allow-host NAME";
        return Err(Failure::usage(message).with_hint(hint));
    }
    let (token, is_own) = match mcp_token() {
        Some(token) => (token, false),
        None => (made_up(), true),
    };
    let mut door =
        Door::new(Token::new(&token).map_err(|e| Failure::usage(format!("KEN_MCP_TOKEN: {e}")))?);
    door.hosts.clone_from(&args.allow_host);
    door.origins.clone_from(&args.allow_origin);
    runtime.block_on(async {
        let failed = |e: io::Error| Failure::io(format!("cannot listen on {address}"), &e);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        printer.talk(format_args!("listening on http://{bound}{}", http::PATH))?;
        if is_own {
            printer.talk(format_args!("token: {token}"))?;
        }
        let server = Server::new(local);
        let served = http::serve(listener, move || server.clone(), door, stop()?).await;
        served.map_err(|e| Failure::io("serving ended", &e))
    })
}

/// Returns a token nobody can guess, whatever clock and dice a test sets.
fn made_up() -> String {
    format!("{:032x}{:032x}", SystemWorld.random(), SystemWorld.random())
}

/// Returns what is called when somebody ends the program.
pub(super) fn stop() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let called = stop.clone();
    let mut ended = Ended::new().map_err(|e| Failure::io("cannot wait for signals", &e))?;
    tokio::spawn(async move {
        ended.wait().await;
        called.cancel();
    });
    Ok(stop)
}

/// Signals that end the program.
#[cfg(unix)]
struct Ended {
    term: tokio::signal::unix::Signal,
    int: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Ended {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Ended;

#[cfg(not(unix))]
impl Ended {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&mut self) {
        // Where it cannot be waited for, the program ends at once, as it would without us.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
