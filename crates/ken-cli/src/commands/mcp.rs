//! `ken mcp`: MCP server on standard input and output, or over HTTP.
//!
//! It runs until the agent closes the connection or a signal ends the program. Stdout belongs to
//! the protocol; every other message goes to stderr.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use ken_core::values::id::IdSource as _;
use ken_engine::runtime::SystemRuntime;
use ken_mcp::http::{self, BearerToken, HttpAccess};
use ken_mcp::{CancellationToken, McpServer, stdio};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::mcp::LocalKnowledge;
use crate::print::Printer;
use crate::world::mcp_token;

/// Default address of the HTTP server.
const ADDRESS: &str = "127.0.0.1:7433";

const MCP_EXAMPLES: &str = "\
Examples:
  ken mcp                                  serve on standard input and output, as agents start it
  ken mcp -C /path/to/repository           for an agent that starts it in another folder
  KEN_MCP_TOKEN=… ken mcp --http           serve http://127.0.0.1:7433/mcp to clients with the token";

/// `ken mcp`.
#[derive(Debug, Args)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct McpArgs {
    /// Serve over HTTP on ADDR instead; clients send the token in KEN_MCP_TOKEN, or the printed one
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// Host name that clients may use in requests; may be repeated [default: this machine only]
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Web origin that may send requests, such as `https://app.example.org`; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
}

/// Timeout for calls in progress at shutdown. A blocked read of standard input never ends.
const END: Duration = Duration::from_secs(2);

pub(super) fn run(
    session: &mut Session<'_>,
    args: &McpArgs,
) -> Result<CommandExit, CommandFailure> {
    let local = LocalKnowledge::new(&session.surroundings)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandFailure::io("cannot start the MCP server", &e))?;
    let served = match args.http {
        None => {
            if io::stdin().is_terminal() {
                let message = "waiting for MCP messages on standard input; see `ken mcp --help`";
                session.printer.talk(message)?;
            }
            on_stdio(&runtime, local)
        }
        Some(address) => on_http(&runtime, session.printer, local, (address, args)),
    };
    runtime.shutdown_timeout(END);
    served.map(|()| CommandExit::Fine)
}

fn on_stdio(runtime: &Runtime, local: LocalKnowledge) -> Result<(), CommandFailure> {
    runtime.block_on(async {
        let stop = stop()?;
        let served = stdio::serve_stdio(McpServer::new(local), stop).await;
        served
            .map_err(|error| CommandFailure::io("the MCP server stopped", &io::Error::other(error)))
    })
}

fn on_http(
    runtime: &Runtime,
    printer: &mut Printer,
    local: LocalKnowledge,
    (address, args): (SocketAddr, &McpArgs),
) -> Result<(), CommandFailure> {
    if !http::is_local(&address) && args.allow_host.is_empty() {
        let message = format!("{address} is reachable from other machines");
        let hint = "listen on 127.0.0.1, or name the host that clients use: --allow-host NAME";
        return Err(CommandFailure::usage(message).with_hint(hint));
    }
    let (token, is_own) = match mcp_token() {
        Some(token) => (token, false),
        None => (random_token(), true),
    };
    let mut access = HttpAccess::new(
        BearerToken::new(&token)
            .map_err(|e| CommandFailure::usage(format!("KEN_MCP_TOKEN: {e}")))?,
    );
    access.hosts.clone_from(&args.allow_host);
    access.origins.clone_from(&args.allow_origin);
    runtime.block_on(async {
        let failed = |e: io::Error| CommandFailure::io(format!("cannot listen on {address}"), &e);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        printer.talk(format_args!("listening on http://{bound}{}", http::PATH))?;
        if is_own {
            printer.talk(format_args!("token: {token}"))?;
        }
        let server = McpServer::new(local);
        let served = http::serve(listener, move || server.clone(), access, stop()?).await;
        served.map_err(|e| CommandFailure::io("the MCP server stopped", &e))
    })
}

/// Returns a random token. It ignores the fixed clock and seed of tests, which are guessable.
fn random_token() -> String {
    format!(
        "{:032x}{:032x}",
        SystemRuntime.random(),
        SystemRuntime.random()
    )
}

/// Returns a token that is cancelled when a signal ends the program.
pub(super) fn stop() -> Result<CancellationToken, CommandFailure> {
    let stop = CancellationToken::new();
    let called = stop.clone();
    let mut ended = Ended::new().map_err(|e| CommandFailure::io("cannot wait for signals", &e))?;
    tokio::spawn(async move {
        ended.wait().await;
        called.cancel();
    });
    Ok(stop)
}

/// Listener for the signals that end the program.
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
        // Without a handler, the signal ends the program at once, which is the system's default.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
