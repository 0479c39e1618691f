//! `ken hub account` and `ken hub session`: execution.

use ken_core::values::time::Timestamp;
use ken_hub::administration::{Administration, AdministrationError};
use ken_hub::identity::accounts::{AccountDescription, AccountRecord};
use ken_hub::identity::sign_ins::SignInRecord;
use serde::Serialize;

use crate::commands::Session;
use crate::commands::hub::{AccountArgs, AccountCommand, SessionCommand, output};
use crate::failure::CommandFailure;
use crate::print::{BOLD, TableCell, TextTable, WARN, pluralize};

/// JSON view of an account.
#[derive(Serialize)]
struct AccountObject {
    schema: &'static str,
    actor: String,
    owner: Option<String>,
    description: Option<String>,
    blocked_at: Option<String>,
    /// Valid tokens.
    tokens: u64,
    sessions: u64,
    used_at: Option<String>,
    /// Whether the owner is blocked.
    orphaned: bool,
}

/// JSON view of a change of an account.
#[derive(Serialize)]
struct AccountChangeObject {
    schema: &'static str,
    actor: String,
    revoked_tokens: Vec<String>,
    /// Programs that the actor is responsible for.
    owned: Vec<String>,
}

/// JSON view of a session.
#[derive(Serialize)]
struct SessionObject {
    schema: &'static str,
    id: String,
    actor: String,
    created_at: String,
    used_at: String,
    expires_at: String,
    /// Whether it was made with a token of the hub.
    has_token: bool,
    address: Option<String>,
}

/// Result of a command; the outer error is a failure to print it.
type Done = Result<Result<(), AdministrationError>, CommandFailure>;

pub(in crate::commands::hub) async fn account(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &AccountCommand,
) -> Done {
    match command {
        AccountCommand::List { organization } => match hub.accounts(organization).await {
            Ok(all) => print_accounts(session, &all)?,
            Err(error) => return Ok(Err(error)),
        },
        AccountCommand::Describe(args) => {
            let AccountArgs {
                organization,
                actor,
            } = &args.account;
            let account = AccountDescription {
                actor: actor.clone(),
                owner: args.owner.clone(),
                description: args.text.clone(),
            };
            if let Err(error) = hub.describe_account(organization, &account).await {
                return Ok(Err(error));
            }
            changed(session, actor.to_string(), "described", (vec![], vec![]))?;
        }
        AccountCommand::Block(AccountArgs {
            organization,
            actor,
        }) => {
            let ended = match hub.block_account(organization, actor).await {
                Ok(ended) => ended,
                Err(error) => return Ok(Err(error)),
            };
            let tokens = ended.tokens.iter().map(|it| it.id.to_string()).collect();
            let owned = ended.owned.iter().map(ToString::to_string).collect();
            changed(session, actor.to_string(), "blocked", (tokens, owned))?;
        }
        AccountCommand::Unblock(AccountArgs {
            organization,
            actor,
        }) => {
            let done = match hub.unblock_account(organization, actor).await {
                Ok(true) => "unblocked",
                Ok(false) => "was not blocked:",
                Err(error) => return Ok(Err(error)),
            };
            changed(session, actor.to_string(), done, (vec![], vec![]))?;
        }
    }
    Ok(Ok(()))
}

pub(in crate::commands::hub) async fn session(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &SessionCommand,
) -> Done {
    match command {
        SessionCommand::List {
            organization,
            actor,
        } => match hub.sessions(organization, actor.as_ref()).await {
            Ok(all) => print_sessions(session, all)?,
            Err(error) => return Ok(Err(error)),
        },
        SessionCommand::End { organization, id } => {
            let actor = match hub.end_session(organization, id).await {
                Ok(actor) => actor,
                Err(error) => return Ok(Err(error)),
            };
            let told = format!("ended the session {id} of {actor}");
            session.printer.talk(told)?;
        }
    }
    Ok(Ok(()))
}

fn changed(
    session: &mut Session<'_>,
    actor: String,
    done: &str,
    (revoked_tokens, owned): (Vec<String>, Vec<String>),
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&AccountChangeObject {
            schema: "ken.hub.account_change.v1",
            actor,
            revoked_tokens,
            owned,
        });
    }
    let count = revoked_tokens.len() as u64;
    let tokens = match count {
        0 => String::new(),
        count => format!(", {} revoked", pluralize(count, "token", "tokens")),
    };
    session
        .printer
        .talk(format_args!("{done} {actor}{tokens}"))?;
    for program in owned {
        session.printer.note(&format!(
            "{actor} is responsible for {program}, which goes on; name another owner"
        ))?;
    }
    Ok(())
}

fn print_accounts(session: &mut Session<'_>, all: &[AccountRecord]) -> Result<(), CommandFailure> {
    let text = |at: Option<Timestamp>| at.map(|it| it.to_string());
    if session.is_json() {
        for account in all {
            session.printer.json(&AccountObject {
                schema: "ken.hub.account.v1",
                actor: account.actor.to_string(),
                owner: account.owner.as_ref().map(ToString::to_string),
                description: account.description.clone(),
                blocked_at: text(account.blocked_at),
                tokens: account.tokens,
                sessions: account.sign_ins,
                used_at: text(account.used_at),
                orphaned: account.is_orphaned,
            })?;
        }
        return Ok(());
    }
    let heads = ["ACTOR", "TOKENS", "SESSIONS", "LAST USED", "OWNER", "STATE"];
    let mut table = TextTable::new(&heads, 0);
    for account in all {
        let state = match (account.blocked_at, account.is_orphaned) {
            (Some(_), _) => "blocked",
            (None, true) => "its owner is blocked",
            (None, false) => "",
        };
        let owner = account.owner.as_ref().map(ToString::to_string);
        table.push(vec![
            TableCell::styled(BOLD, account.actor.to_string()),
            account.tokens.to_string().into(),
            account.sign_ins.to_string().into(),
            text(account.used_at)
                .unwrap_or_else(|| "never".to_owned())
                .into(),
            owner.unwrap_or_default().into(),
            TableCell::styled(WARN, state),
        ]);
    }
    output::print(session, &table)
}

fn print_sessions(session: &mut Session<'_>, all: Vec<SignInRecord>) -> Result<(), CommandFailure> {
    if session.is_json() {
        for found in all {
            session.printer.json(&SessionObject {
                schema: "ken.hub.session.v1",
                id: found.id.to_string(),
                actor: found.actor,
                created_at: found.created_at.to_string(),
                used_at: found.used_at.to_string(),
                expires_at: found.expires_at.to_string(),
                has_token: found.has_token,
                address: found.address,
            })?;
        }
        return Ok(());
    }
    if all.is_empty() {
        return session.printer.talk("nobody is signed in");
    }
    let heads = ["SESSION", "ACTOR", "LAST USED", "EXPIRES", "ADDRESS"];
    let mut table = TextTable::new(&heads, 1);
    for found in all {
        table.push(vec![
            found.id.to_string().into(),
            TableCell::styled(BOLD, found.actor),
            found.used_at.to_string().into(),
            found.expires_at.to_string().into(),
            found.address.unwrap_or_default().into(),
        ]);
    }
    output::print(session, &table)
}
