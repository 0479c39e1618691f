//! `ken remote`: which hubs this clone exchanges events with.

use std::io::Read as _;

use ken_engine::Error;
use ken_engine::remote::{
    Address, DEFAULT_NAME, Plain, Remote, RemoteError, RemoteName, Standing, Token, TokenPlace,
    TokenSource,
};
use ken_engine::upkeep::{Check, Health};
use serde::Serialize;

use super::Session;
use super::exchange::{ToldObject, said_of, told};
use crate::args::{AddRemoteArgs, RemoteCommand};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::world::hub_token;

/// Bytes of standard input that may be a token.
const TOKEN_BYTES_READ_MAX: u64 = 64 * 1024;

/// A remote as programs read it.
#[derive(Serialize)]
struct RemoteObject {
    schema: &'static str,
    name: String,
    url: String,
    /// Where its token is: `stored`, `file`, `environment` or `none`.
    token: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    standing: Option<StandingObject>,
}

#[derive(Serialize)]
struct StandingObject {
    cursor: String,
    held: usize,
    waiting: usize,
    refused: Vec<ToldObject>,
}

pub(super) fn run(session: &mut Session<'_>, command: RemoteCommand) -> Result<Exit, Failure> {
    match command {
        RemoteCommand::Add(args) => add(session, &args),
        RemoteCommand::List => list(session),
        RemoteCommand::Show(args) => show(session, args.remote.as_deref()),
        RemoteCommand::Remove { name } => {
            let name: RemoteName = name.parse().map_err(wrong)?;
            session.read(|engine| Ok(engine.remove_remote(&name)?))?;
            let said = format_args!(
                "forgot `{name}`; what it holds stays there, and what is here stays here"
            );
            session.printer.talk(said)?;
            Ok(Exit::Fine)
        }
    }
}

fn add(session: &mut Session<'_>, args: &AddRemoteArgs) -> Result<Exit, Failure> {
    let (name, url) = match args.words.as_slice() {
        [url] => (DEFAULT_NAME, url),
        [name, url] => (name.as_str(), url),
        _ => return Err(Failure::usage("give an address, or a name and an address")),
    };
    let name: RemoteName = name.parse().map_err(wrong)?;
    let plain = match args.insecure {
        true => Plain::Anywhere,
        false => Plain::Loopback,
    };
    let address = Address::parse(url, plain).map_err(|e| wrong(e.into()))?;
    let token = match &args.token_file {
        Some(path) => TokenSource::File(session.surroundings.start.join(path)),
        None if args.token_stdin => TokenSource::Store(read_token()?),
        None => TokenSource::Given,
    };
    let remote = session.read(|engine| Ok(engine.add_remote(&name, &address, &token)?))?;
    if session.is_json() {
        session.printer.json(&object(&remote, None))?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&remote.name)?;
    session
        .printer
        .talk(format_args!("`{name}` is {address}; nothing was sent yet"))?;
    match token_word(&remote) {
        "none" => session
            .printer
            .hint("set KEN_HUB_TOKEN, or run this again with --token-stdin")?,
        _ => session.printer.hint(format_args!(
            "`ken sync --remote {name}` exchanges events with it"
        ))?,
    }
    Ok(Exit::Fine)
}

/// Reads a token from standard input: an argument could be seen by others on this machine.
fn read_token() -> Result<Token, Failure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .take(TOKEN_BYTES_READ_MAX)
        .read_to_string(&mut text);
    read.map_err(|e| Failure::io("cannot read the token", &e))?;
    let token = Token::parse(&text).map_err(|e| wrong(e.into()))?;
    token.check_form().map_err(|e| wrong(e.into()))?;
    Ok(token)
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let remotes = session.read(|engine| Ok(engine.remotes()?))?;
    if session.is_json() {
        for remote in &remotes {
            session.printer.json(&object(remote, None))?;
        }
        return Ok(Exit::Fine);
    }
    for remote in &remotes {
        session.printer.line(format_args!(
            "{:<12} {}",
            remote.name.to_string(),
            remote.address
        ))?;
    }
    if remotes.is_empty() {
        session.printer.talk("no remote was added here")?;
        session
            .printer
            .hint("`ken remote add https://hub.example.org/WORKSPACE` adds one")?;
    }
    Ok(Exit::Fine)
}

fn show(session: &mut Session<'_>, name: Option<&str>) -> Result<Exit, Failure> {
    let (remote, standing) = session.read(|engine| {
        let remote = engine.remote(name)?;
        let standing = engine.remote_standing(&remote)?;
        Ok((remote, standing))
    })?;
    if session.is_json() {
        session.printer.json(&object(&remote, Some(standing)))?;
        return Ok(Exit::Fine);
    }
    let mut line =
        |name: &str, value: String| session.printer.line(format_args!("{name:<12} {value}"));
    line("name", remote.name.to_string())?;
    line("address", remote.address.to_string())?;
    line("token", token_word(&remote).to_owned())?;
    line("read to", standing.cursor.clone())?;
    line("holds", counted(standing.held as u64, "event", "events"))?;
    line(
        "waiting",
        counted(standing.waiting as u64, "event to send", "events to send"),
    )?;
    for it in &standing.refused {
        line(&ken_core::text::word(&it.why), said_of(it))?;
    }
    Ok(Exit::Fine)
}

/// Says how this clone stands to each hub, without asking it.
pub(super) fn checks(session: &mut Session<'_>) -> Result<Vec<Check>, Failure> {
    session.read(|engine| {
        let remotes = match engine.remotes() {
            Err(Error::Remote(error)) => return Ok(vec![broken(&error)]),
            other => other?,
        };
        let mut checks = Vec::with_capacity(remotes.len());
        for remote in &remotes {
            let standing = engine.remote_standing(remote)?;
            let token = engine.remote_token(remote);
            let is_there = hub_token().is_some() && remote.token == TokenPlace::Given
                || matches!(token, Ok(Some(_)));
            checks.push(check(remote, &standing, is_there));
        }
        Ok(checks)
    })
}

fn broken(error: &RemoteError) -> Check {
    Check {
        name: "remote",
        status: Health::Warning,
        message: error.to_string(),
        fix: error.hint(),
    }
}

fn check(remote: &Remote, standing: &Standing, has_token: bool) -> Check {
    let name = &remote.name;
    let waiting = counted(standing.waiting as u64, "event to send", "events to send");
    let mut message = format!("`{name}` at {}: {waiting}", remote.address.origin());
    let refused = standing.refused.len() as u64;
    if 0 < refused {
        let refused = counted(refused, "event did", "events did");
        message = format!("{message}, {refused} not get through");
    }
    let fix = match (has_token, refused) {
        (false, _) => {
            message = format!("{message}; there is no token for it");
            Some(
                "set KEN_HUB_TOKEN, or keep one with `ken remote add NAME URL --token-stdin`"
                    .to_owned(),
            )
        }
        (true, 0) => None,
        (true, _) => Some(format!("ken remote show {name}")),
    };
    Check {
        name: "remote",
        status: match fix {
            Some(_) => Health::Warning,
            None => Health::Ok,
        },
        message,
        fix,
    }
}

fn object(remote: &Remote, standing: Option<Standing>) -> RemoteObject {
    RemoteObject {
        schema: "ken.remote.v1",
        name: remote.name.to_string(),
        url: remote.address.to_string(),
        token: token_word(remote),
        standing: standing.map(|it| StandingObject {
            cursor: it.cursor,
            held: it.held,
            waiting: it.waiting,
            refused: told(&it.refused),
        }),
    }
}

/// Says where a remote's token comes from; nothing of the token itself.
fn token_word(remote: &Remote) -> &'static str {
    match remote.token {
        TokenPlace::Stored => "stored",
        TokenPlace::File(_) => "file",
        TokenPlace::Given if hub_token().is_some() => "environment",
        TokenPlace::Given => "none",
    }
}

fn wrong(error: RemoteError) -> Failure {
    Error::from(error).into()
}
