//! `ken ui`: web pages of this repository, for the person at this machine.

use std::io::{self, IsTerminal as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ken_core::values::id::IdSource as _;
use ken_engine::runtime::SystemRuntime;
use ken_ui::address::{EntryListQuery, InboxLane, PageAddress, RunListQuery};
use ken_ui::gate::{AllowedHosts, LocalSignIn};
use ken_ui::router;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::write_stderr_line;
use crate::ui::LocalSource;

const UI_EXAMPLES: &str = "\
Examples:
  ken ui                    open the start page in your browser
  ken ui src/pay.rs         a file with the entries about its lines
  ken ui L-7k2f             one entry
  ken ui inbox              everything that waits for a decision

The pages listen on this machine only and run until you press Ctrl-C. The printed link works once;
press Enter for another one. Decisions are recorded under your git identity.";

/// Timeout for requests in progress at shutdown.
const END: Duration = Duration::from_secs(2);

/// Time after which the file that opened the browser is deleted.
const LINK_FILE_LIFETIME: Duration = Duration::from_secs(10);

/// `ken ui`.
#[derive(Debug, Args)]
#[command(after_help = UI_EXAMPLES)]
pub(crate) struct UiArgs {
    /// What to open: an entry id, a path, `inbox`, `change`, `runs`, `health`
    /// [default: the start page]
    #[arg(value_name = "PLACE")]
    pub(crate) place: Option<String>,
    /// Open the browser even over SSH
    #[arg(long, conflicts_with = "no_open")]
    pub(crate) open: bool,
    /// Print the link only
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Port to listen on [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Revision that this branch is compared with [default: the default branch]
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
}

pub(super) fn run(session: &mut Session<'_>, args: &UiArgs) -> Result<CommandExit, CommandFailure> {
    // An agent that reads pages would leave no record of its exposure, and decisions are a
    // person's.
    if let Some(reader) = session.surroundings.reader() {
        let message = format!(
            "{} runs this command, and the pages are for people",
            reader.agent
        );
        return Err(CommandFailure::refused("person_needed", message)
            .with_hint("use `ken search`, `ken show` and `ken brief`, or MCP"));
    }
    let person = session.surroundings.person();
    let source = LocalSource::open(&session.surroundings, person, args.base.clone())?;
    let target = args.place.as_deref().map_or(PageAddress::Home, parse_place);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|e| CommandFailure::io("cannot start the server", &e))?;
    let served = runtime.block_on(serve(session, args, source, target));
    runtime.shutdown_timeout(END);
    served.map(|()| CommandExit::Fine)
}

async fn serve(
    session: &mut Session<'_>,
    args: &UiArgs,
    source: LocalSource,
    target: PageAddress,
) -> Result<(), CommandFailure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let failed = |e: io::Error| CommandFailure::io(format!("cannot listen on {address}"), &e);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    // Cookies ignore the port; a name of its own keeps them from other servers of this machine.
    let name = format!("ken-{}.localhost", &random_text()[..8]);
    let sign_in = Arc::new(LocalSignIn::new(port, random_text()));
    let link = |name: &str, target: &PageAddress| {
        let path = sign_in.issue(random_text(), target.clone());
        format!("http://{name}:{port}{path}")
    };
    session.printer.line(link(&name, &target))?;
    session.printer.hint(format_args!(
        "if your browser does not know this name: {}",
        link("127.0.0.1", &target)
    ))?;
    session.printer.flush()?;
    if args.open || (!args.no_open && has_desktop()) {
        open_browser(&link(&name, &target));
    }
    let stop = super::mcp::stop()?;
    let (asked, mut asks) = mpsc::unbounded_channel();
    if io::stdin().is_terminal() {
        // Reading blocks, and the thread ends with the process.
        std::thread::spawn(move || {
            let mut line = String::new();
            while io::stdin().read_line(&mut line).is_ok_and(|read| read > 0)
                && asked.send(()).is_ok()
            {
                line.clear();
            }
        });
    }
    let pages = router(
        source,
        AllowedHosts::local(&name, port),
        Arc::clone(&sign_in),
    );
    let ended = stop.clone();
    let server =
        axum::serve(listener, pages).with_graceful_shutdown(async move { ended.cancelled().await });
    let server = server.into_future();
    tokio::pin!(server);
    loop {
        tokio::select! {
            served = &mut server => return served.map_err(|e| CommandFailure::io("the server stopped", &e)),
            Some(()) = asks.recv() => write_stderr_line(&link(&name, &target)),
            // Open streams would delay a graceful end forever.
            () = stop.cancelled() => return Ok(()),
        }
    }
}

/// Returns the page that a place on the command line names.
fn parse_place(text: &str) -> PageAddress {
    match text {
        "inbox" => return PageAddress::Inbox { lane: None },
        "changed" => {
            return PageAddress::Inbox {
                lane: Some(InboxLane::Changed),
            };
        }
        "change" => return PageAddress::Change { base: None },
        "runs" => return PageAddress::Runs(RunListQuery::default()),
        "health" => return PageAddress::Health,
        "entries" => return PageAddress::Entries(EntryListQuery::default()),
        _ => {}
    }
    let is_id = text.split_once('-').is_some_and(|(prefix, rest)| {
        prefix.len() == 1 && !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric())
    });
    if is_id {
        return PageAddress::entry(text);
    }
    let (path, line) = text.rsplit_once(':').unwrap_or((text, ""));
    match path.trim_start_matches("./").trim_end_matches('/').parse() {
        Ok(path) => PageAddress::Path {
            path,
            lines: line.parse().ok(),
            revision: None,
        },
        Err(_) => PageAddress::Home,
    }
}

/// Returns 128 random bits. It ignores the fixed clock and seed of tests, which are guessable.
fn random_text() -> String {
    format!("{:032x}", SystemRuntime.random())
}

/// Returns whether a browser would open in front of the person.
fn has_desktop() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    let has_display =
        cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    io::stdout().is_terminal() && has_display && !is_set("SSH_CONNECTION")
}

/// Opens a link with the desktop's browser.
///
/// The link is passed in a private file: other users of the machine see arguments of processes.
fn open_browser(link: &str) {
    let Some(file) = write_link_file(link) else {
        return;
    };
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Without a browser, the printed link is enough.
    let _ = command.spawn();
    tokio::spawn(async move {
        tokio::time::sleep(LINK_FILE_LIFETIME).await;
        let _ = std::fs::remove_file(file);
    });
}

fn write_link_file(link: &str) -> Option<PathBuf> {
    let file = std::env::temp_dir().join(format!("ken-ui-{}.html", random_text()));
    let page = format!(
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Ken</a>"
    );
    write_private(&file, page.as_bytes()).ok().map(|()| file)
}

fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(file)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_entry_a_path_or_a_page() {
        for (place, href) in [
            ("inbox", "/inbox"),
            ("L-7k2f", "/e/L-7k2f"),
            ("src/pay.rs", "/at/src/pay.rs"),
            ("./src/", "/at/src"),
            ("src/pay.rs:14", "/at/src/pay.rs?lines=14-14"),
            ("../x", "/"),
        ] {
            assert_eq!(parse_place(place).href(), href, "{place}");
        }
    }
}
