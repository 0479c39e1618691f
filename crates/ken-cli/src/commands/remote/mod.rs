//! `ken remote`: manages the hubs this clone pushes to and pulls from, and what is exchanged with
//! other organizations.

pub(super) mod exchange;
#[cfg(feature = "remote")]
mod login;
mod peer;
mod publication;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ken_engine::EngineError;
use ken_engine::ledger_maintenance::{DoctorCheck, DoctorStatus};
use ken_engine::remote::{
    DEFAULT_NAME, HubAddress, HubToken, PlaintextPolicy, RejectionKind, Remote, RemoteError,
    RemoteName, RemoteStatus, TokenLocation, TokenSource, exposed_token_file,
};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::world::hub_token;
use exchange::{RejectedJson, describe_rejected, rejected_json};

#[cfg_attr(
    not(feature = "hub"),
    expect(unused_imports, reason = "publications of a hub use it")
)]
pub(crate) use publication::PolicyArgs;

/// Text below the options of `ken remote --help`.
pub(super) const REMOTE_HELP: &str = "\
Remotes are stored in the git directory of this clone; the repository itself cannot add one. The
token is read from a private file (see --token-stdin and --token-file), or from KEN_HUB_TOKEN.

Examples:
  ken remote add https://hub.example.org/payments --token-stdin < ~/.ken-token
  ken sync --remote";

/// `ken remote …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Add a hub, or replace the token of an existing one
    Add(AddRemoteArgs),
    /// Sign in to a hub in a browser, and store the token it grants
    #[cfg(feature = "remote")]
    Login(login::LoginArgs),
    /// List the hubs of this clone
    #[command(after_help = "Example:\n  ken remote list")]
    List,
    /// Show the sync state with a hub, without a request
    #[command(after_help = "Example:\n  ken remote show hub")]
    Show(RemoteArgs),
    /// Publish entries to other organizations: signed files in a folder
    #[command(subcommand)]
    Publication(publication::PublicationCommand),
    /// Read publications of other organizations; you approve each wording
    #[command(subcommand)]
    Peer(Box<peer::PeerCommand>),
    /// Remove a hub and its token; events on the hub stay
    #[command(after_help = "Example:\n  ken remote remove hub")]
    Remove {
        /// Name of the hub
        name: String,
    },
}

/// `ken remote add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken remote add https://hub.example.org/payments --token-stdin < ~/.ken-token"
)]
pub(crate) struct AddRemoteArgs {
    /// Optional name [default: hub] and the URL of a workspace, such as
    /// `https://hub.example.org/WORKSPACE`
    #[arg(value_names = ["NAME", "URL"], num_args = 1..=2, required = true)]
    pub(crate) words: Vec<String>,
    /// Read the token from standard input and store it in the git directory, readable only by you
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) token_stdin: bool,
    /// Read the token from FILE on every use; only you should be able to read it
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Allow unencrypted HTTP to another machine, for events and the token
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Argument that names a hub.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Name of the hub [default: the only one, or `hub`]
    #[arg(value_name = "NAME")]
    pub(crate) remote: Option<String>,
}

/// Maximum bytes read as a token from standard input.
const TOKEN_BYTES_READ_MAX: u64 = 64 * 1024;

/// JSON view of a remote.
#[derive(Serialize)]
struct RemoteObject {
    schema: &'static str,
    name: String,
    url: String,
    /// Source of the token: `stored`, `file`, `environment` or `none`.
    token: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    standing: Option<StandingObject>,
}

#[derive(Serialize)]
struct StandingObject {
    cursor: String,
    held: usize,
    waiting: usize,
    refused: Vec<RejectedJson>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: RemoteCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        RemoteCommand::Add(args) => add(session, &args),
        #[cfg(feature = "remote")]
        RemoteCommand::Login(args) => login::run(session, &args),
        RemoteCommand::List => list(session),
        RemoteCommand::Publication(command) => publication::run(session, command),
        RemoteCommand::Peer(command) => peer::run(session, *command),
        RemoteCommand::Show(args) => show(session, args.remote.as_deref()),
        RemoteCommand::Remove { name } => {
            let name: RemoteName = name.parse().map_err(wrong)?;
            session.read(|engine| Ok(engine.remove_remote(&name)?))?;
            let message =
                format_args!("removed `{name}`; events on the hub and in this clone are kept");
            session.printer.talk(message)?;
            Ok(CommandExit::Fine)
        }
    }
}

fn add(session: &mut Session<'_>, args: &AddRemoteArgs) -> Result<CommandExit, CommandFailure> {
    let (name, url) = match args.words.as_slice() {
        [url] => (DEFAULT_NAME, url),
        [name, url] => (name.as_str(), url),
        _ => {
            return Err(CommandFailure::usage("give a URL, or a name and a URL"));
        }
    };
    let name: RemoteName = name.parse().map_err(wrong)?;
    let plain = if args.insecure {
        PlaintextPolicy::Anywhere
    } else {
        PlaintextPolicy::Loopback
    };
    let address = HubAddress::parse(url, plain).map_err(|e| wrong(e.into()))?;
    let token = match &args.token_file {
        Some(path) => TokenSource::File(session.surroundings.start.join(path)),
        None if args.token_stdin => TokenSource::Store(read_token()?),
        None => TokenSource::PerCall,
    };
    let remote = session.read(|engine| Ok(engine.add_remote(&name, &address, &token)?))?;
    if session.is_json() {
        session.printer.json(&object(&remote, None))?;
        return Ok(CommandExit::Fine);
    }
    if let Some(path) = exposed_token_file(&remote) {
        session.printer.note(&exposed_token_message(path))?;
    }
    session.printer.line(&remote.name)?;
    session.printer.talk(format_args!(
        "added `{name}` at {address}; no events were sent yet"
    ))?;
    match token_word(&remote) {
        "none" => session.printer.hint(format_args!(
            "`ken remote login {name}` signs in; or set KEN_HUB_TOKEN, or run this again with --token-stdin"
        ))?,
        _ => session.printer.hint(format_args!(
            "`ken sync --remote {name}` pulls and pushes events"
        ))?,
    }
    Ok(CommandExit::Fine)
}

/// Returns the warning about a token file that others can read.
fn exposed_token_message(path: &Path) -> String {
    let path = path.display();
    format!(
        "other users of this machine can read or change the token in `{path}`; run `chmod 600` on it"
    )
}

/// Reads a token from standard input. Other users of the machine could see an argument.
fn read_token() -> Result<HubToken, CommandFailure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .take(TOKEN_BYTES_READ_MAX)
        .read_to_string(&mut text);
    read.map_err(|e| CommandFailure::io("cannot read the token", &e))?;
    let token = HubToken::parse(&text).map_err(|e| wrong(e.into()))?;
    token.check_form().map_err(|e| wrong(e.into()))?;
    Ok(token)
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let remotes = session.read(|engine| Ok(engine.remotes()?))?;
    if session.is_json() {
        for remote in &remotes {
            session.printer.json(&object(remote, None))?;
        }
        return Ok(CommandExit::Fine);
    }
    for remote in &remotes {
        session.printer.line(format_args!(
            "{:<12} {}",
            remote.name.to_string(),
            remote.address
        ))?;
    }
    if remotes.is_empty() {
        session.printer.talk("this clone has no remotes")?;
        session
            .printer
            .hint("`ken remote add https://hub.example.org/WORKSPACE` adds one")?;
    }
    Ok(CommandExit::Fine)
}

fn show(session: &mut Session<'_>, name: Option<&str>) -> Result<CommandExit, CommandFailure> {
    let (remote, standing) = session.read(|engine| {
        let remote = engine.remote(name)?;
        let standing = engine.remote_status(&remote)?;
        Ok((remote, standing))
    })?;
    if session.is_json() {
        session.printer.json(&object(&remote, Some(standing)))?;
        return Ok(CommandExit::Fine);
    }
    let mut line =
        |name: &str, value: String| session.printer.line(format_args!("{name:<12} {value}"));
    line("name", remote.name.to_string())?;
    line("address", remote.address.to_string())?;
    line("token", token_word(&remote).to_owned())?;
    line("cursor", standing.cursor.clone())?;
    line(
        "on hub",
        pluralize(standing.on_hub as u64, "event", "events"),
    )?;
    line(
        "to push",
        pluralize(standing.to_push as u64, "event", "events"),
    )?;
    for it in &standing.rejected {
        line(
            &ken_core::values::text::enum_label(&it.kind),
            describe_rejected(it),
        )?;
    }
    Ok(CommandExit::Fine)
}

/// Returns the sync state with each hub, without a request.
pub(super) fn checks(session: &mut Session<'_>) -> Result<Vec<DoctorCheck>, CommandFailure> {
    session.read(|engine| {
        let remotes = match engine.remotes() {
            Err(EngineError::Remote(error)) => return Ok(vec![broken(&error)]),
            other => other?,
        };
        let mut checks = Vec::with_capacity(remotes.len());
        for remote in &remotes {
            let standing = engine.remote_status(remote)?;
            let token = engine.remote_token(remote);
            let is_there = hub_token().is_some() && remote.token == TokenLocation::PerCall
                || matches!(token, Ok(Some(_)));
            checks.push(check(remote, &standing, is_there));
        }
        Ok(checks)
    })
}

fn broken(error: &RemoteError) -> DoctorCheck {
    DoctorCheck {
        name: "remote",
        status: DoctorStatus::Warning,
        message: error.to_string(),
        fix: error.hint(),
    }
}

fn check(remote: &Remote, standing: &RemoteStatus, has_token: bool) -> DoctorCheck {
    let name = &remote.name;
    let to_push = pluralize(standing.to_push as u64, "event to push", "events to push");
    let mut message = format!("`{name}` at {}: {to_push}", remote.address.origin());
    // Decisions of other people are left to their authors; nothing can be done about them here.
    let rejected = standing.rejected.iter();
    let refused = rejected
        .filter(|it| it.kind != RejectionKind::Awaiting)
        .count() as u64;
    if refused > 0 {
        let rejected = pluralize(refused, "event was", "events were");
        message = format!("{message}, {rejected} rejected");
    }
    let fix = match (has_token, refused) {
        (false, _) => {
            message = format!("{message}; no token");
            Some(
                "set KEN_HUB_TOKEN, or store one with `ken remote add NAME URL --token-stdin`"
                    .to_owned(),
            )
        }
        (true, 0) => None,
        (true, _) => Some(format!("ken remote show {name}")),
    };
    DoctorCheck {
        name: "remote",
        status: match fix {
            Some(_) => DoctorStatus::Warning,
            None => DoctorStatus::Ok,
        },
        message,
        fix,
    }
}

fn object(remote: &Remote, standing: Option<RemoteStatus>) -> RemoteObject {
    RemoteObject {
        schema: "ken.remote.v1",
        name: remote.name.to_string(),
        url: remote.address.to_string(),
        token: token_word(remote),
        standing: standing.map(|it| StandingObject {
            cursor: it.cursor,
            held: it.on_hub,
            waiting: it.to_push,
            refused: rejected_json(&it.rejected),
        }),
    }
}

/// Returns the source of a remote's token, never the token itself.
fn token_word(remote: &Remote) -> &'static str {
    match remote.token {
        TokenLocation::Stored => "stored",
        TokenLocation::File(_) => "file",
        TokenLocation::PerCall if hub_token().is_some() => "environment",
        TokenLocation::PerCall => "none",
    }
}

fn wrong(error: RemoteError) -> CommandFailure {
    EngineError::from(error).into()
}
