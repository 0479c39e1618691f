//! `ken remote login`: a person confirms this machine in a browser, and it gets a token.

use std::time::{Duration, Instant};

use clap::Args;
use ken_engine::remote::{
    DEFAULT_NAME, HubAddress, PlaintextPolicy, Remote, RemoteName, TokenSource,
};
use ken_remote::device::{DeviceCode, DeviceError, DevicePoll, DeviceSignIn, DeviceToken};
use serde::Serialize;

use super::wrong;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken remote login`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken remote login\n  ken remote login https://hub.example.org/payments\n\nThe token has your role, expires after 30 days, and an admin can revoke it. It is stored in the git\ndirectory of this clone, readable only by you."
)]
pub(crate) struct LoginArgs {
    /// Name of a hub of this clone, or the URL of a workspace to add [default: the only hub]
    #[arg(value_name = "NAME|URL")]
    pub(crate) hub: Option<String>,
    /// Allow unencrypted HTTP to another machine
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Result of a sign-in, `ken.login.v1`.
#[derive(Serialize)]
struct LoginObject<'a> {
    schema: &'static str,
    name: String,
    url: String,
    actor: &'a str,
    role: &'a str,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &LoginArgs,
) -> Result<CommandExit, CommandFailure> {
    let (name, address) = target(session, args)?;
    let sign_in = DeviceSignIn::open(&address).map_err(|e| failed(&e))?;
    let device = sign_in
        .request_code(&machine_name())
        .map_err(|e| failed(&e))?;
    show_code(session, &device)?;
    let granted = wait(&sign_in, &device)?;
    let token = TokenSource::Store(granted.token.clone());
    let remote = session.read(|engine| Ok(engine.add_remote(&name, &address, &token)?))?;
    report(session, &remote, &granted)
}

/// Returns the hub to sign in to: one of this clone, or a new one.
fn target(
    session: &mut Session<'_>,
    args: &LoginArgs,
) -> Result<(RemoteName, HubAddress), CommandFailure> {
    let plain = if args.insecure {
        PlaintextPolicy::Anywhere
    } else {
        PlaintextPolicy::Loopback
    };
    match args.hub.as_deref() {
        Some(url) if url.contains("://") => {
            let name: RemoteName = DEFAULT_NAME.parse().map_err(wrong)?;
            let address = HubAddress::parse(url, plain).map_err(|e| wrong(e.into()))?;
            Ok((name, address))
        }
        named => {
            let remote = session.read(|engine| Ok(engine.remote(named)?))?;
            Ok((remote.name, remote.address))
        }
    }
}

/// Returns the name of this machine, which the page shows to the person.
fn machine_name() -> String {
    let name = std::env::var("HOSTNAME").ok();
    let name = name.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let name = name.map(|it| it.trim().to_owned());
    let name = name.filter(|it| !it.is_empty());
    name.unwrap_or_else(|| "a machine without a name".to_owned())
}

fn show_code(session: &mut Session<'_>, device: &DeviceCode) -> Result<(), CommandFailure> {
    let page = device.verification_uri_complete.as_ref();
    let page = page.unwrap_or(&device.verification_uri);
    session.printer.talk(format_args!("Open {page}"))?;
    session.printer.talk(format_args!(
        "and confirm the code {} within {} minutes.",
        device.user_code,
        device.expires_in / 60
    ))?;
    Ok(())
}

/// Waits for the decision of the person.
fn wait(sign_in: &DeviceSignIn, device: &DeviceCode) -> Result<DeviceToken, CommandFailure> {
    let began = Instant::now();
    let patience = Duration::from_secs(device.expires_in);
    loop {
        match sign_in.poll(device).map_err(|e| failed(&e))? {
            DevicePoll::Granted(granted) => return Ok(*granted),
            DevicePoll::Pending(_) if began.elapsed() > patience => {
                return Err(failed(&DeviceError::Expired));
            }
            DevicePoll::Pending(pause) => std::thread::sleep(pause),
        }
    }
}

fn report(
    session: &mut Session<'_>,
    remote: &Remote,
    granted: &DeviceToken,
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        session.printer.json(&LoginObject {
            schema: "ken.login.v1",
            name: remote.name.to_string(),
            url: remote.address.to_string(),
            actor: &granted.actor,
            role: &granted.role,
        })?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&remote.name)?;
    session.printer.talk(format_args!(
        "signed in to {} as {} with the role {}",
        remote.address, granted.actor, granted.role
    ))?;
    session.printer.hint(format_args!(
        "`ken sync --remote {}` pulls and pushes events",
        remote.name
    ))?;
    Ok(CommandExit::Fine)
}

fn failed(error: &DeviceError) -> CommandFailure {
    let mut failure = CommandFailure::usage(error.to_string());
    failure.code = "login";
    match error {
        DeviceError::Expired | DeviceError::Refused => failure.with_hint("run it again"),
        DeviceError::Unsupported(_) => {
            failure.with_hint("use a token of an admin: `ken remote add URL --token-stdin`")
        }
        DeviceError::Endpoint(_) | DeviceError::Unreachable(_) | DeviceError::InvalidAnswer => {
            failure
        }
    }
}
