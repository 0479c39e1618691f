//! What `ken hub` does, where this build has a hub.

use std::error::Error;

use ken_hub::administration::{Administration, AdministrationError, NewToken};
use ken_hub::database::{Database, DatabaseError, WorkspaceRow};
use ken_hub::identity::RoleError;
use ken_hub::identity::tokens::Token;
use serde::Serialize;
use tokio::runtime::Builder;

use super::super::Session;
use crate::args::{
    HubArgs, HubCommand, OrganisationCommand, TokenArgs, TokenCommand, WorkspaceArgs,
    WorkspaceCommand,
};
use crate::failure::{Exit, Failure};
use crate::print::{counted, visible};
use crate::world::database_url;

/// Something that was made or changed, as programs read it.
#[derive(Serialize)]
struct DoneObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
}

#[derive(Serialize)]
struct MigratedObject {
    schema: &'static str,
    run: Vec<&'static str>,
}

/// A token as programs read it.
#[derive(Serialize)]
struct TokenObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    actor: String,
    role: &'static str,
    /// Every workspace without.
    workspaces: Option<Vec<String>>,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    /// Shown once, where the token was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

/// A workspace as programs read it.
#[derive(Serialize)]
struct WorkspaceObject<'a> {
    schema: &'static str,
    id: String,
    name: &'a str,
    events: u64,
    bytes: u64,
    /// Whether its entries stand ready, or are made again when somebody asks.
    warm: bool,
    appended_at: Option<String>,
}

pub(super) fn run(session: &mut Session<'_>, args: &HubArgs) -> Result<Exit, Failure> {
    let url = database(args.database.database.as_deref())?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::io("cannot reach the database", &e))?;
    runtime.block_on(act(session, &url, &args.command))?;
    Ok(Exit::Fine)
}

/// Returns the database's address, as typed or as the environment says.
pub(in crate::commands) fn database(typed: Option<&str>) -> Result<String, Failure> {
    let url = typed.map(ToOwned::to_owned).or_else(database_url);
    url.ok_or_else(|| {
        Failure::usage("no database is named")
            .with_hint("set KEN_DATABASE_URL, such as postgres://ken@localhost/ken")
    })
}

async fn act(session: &mut Session<'_>, url: &str, command: &HubCommand) -> Result<(), Failure> {
    if let HubCommand::Migrate = command {
        return migrate(session, url).await;
    }
    let hub = Administration::open(url)
        .await
        .map_err(|e| administered(&e))?;
    match command {
        HubCommand::Migrate => Ok(()),
        HubCommand::Organisation(OrganisationCommand::Add { name }) => {
            let made = hub.add_organisation(name).await;
            let id = made.map_err(|e| administered(&e))?.0.to_string();
            done(session, "ken.hub.organisation.v1", id, name)
        }
        HubCommand::Workspace(WorkspaceCommand::Add(WorkspaceArgs {
            organisation,
            workspace,
        })) => {
            let made = hub.add_workspace(organisation, workspace).await;
            let id = made.map_err(|e| administered(&e))?.0.to_string();
            done(session, "ken.hub.workspace.v1", id, workspace)
        }
        HubCommand::Token(command) => token(session, &hub, command).await,
        HubCommand::Rebuild(WorkspaceArgs {
            organisation,
            workspace,
        }) => {
            let found = hub.rebuild(organisation, workspace).await;
            let found = found.map_err(|e| administered(&e))?;
            done(
                session,
                "ken.hub.rebuilt.v1",
                found.id.0.to_string(),
                workspace,
            )
        }
        HubCommand::Evict(WorkspaceArgs {
            organisation,
            workspace,
        }) => {
            let found = hub.evict(organisation, workspace).await;
            let found = found.map_err(|e| administered(&e))?;
            done(
                session,
                "ken.hub.evicted.v1",
                found.id.0.to_string(),
                workspace,
            )
        }
        HubCommand::Status { organisation } => {
            let rows = hub.status(organisation).await;
            status(session, &rows.map_err(|e| administered(&e))?)
        }
    }
}

async fn migrate(session: &mut Session<'_>, url: &str) -> Result<(), Failure> {
    let run = Database::migrate(url).await;
    let run = run.map_err(|e| administered(&e.into()))?;
    if session.is_json() {
        let schema = "ken.hub.migrated.v1";
        return session.printer.json(&MigratedObject { schema, run });
    }
    for name in &run {
        session.printer.line(name)?;
    }
    match run.len() {
        0 => session
            .printer
            .talk("the database is at this build's version"),
        count => {
            let migrations = counted(count as u64, "migration", "migrations");
            session.printer.talk(format_args!("ran {migrations}"))
        }
    }
}

/// Answers with the id of what was made or changed.
fn done(
    session: &mut Session<'_>,
    schema: &'static str,
    id: String,
    name: &str,
) -> Result<(), Failure> {
    if session.is_json() {
        return session.printer.json(&DoneObject { schema, id, name });
    }
    session.printer.line(id)
}

async fn token(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &TokenCommand,
) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create_token(session, hub, args).await,
        TokenCommand::List { organisation } => {
            let tokens = hub.tokens(organisation).await;
            for token in tokens.map_err(|e| administered(&e))? {
                if session.is_json() {
                    session.printer.json(&token_object(&token, None))?;
                } else {
                    session.printer.line(token_line(&token))?;
                }
            }
            Ok(())
        }
        TokenCommand::Revoke { organisation, id } => {
            let token = hub.revoke_token(organisation, id).await;
            let token = token.map_err(|e| administered(&e))?;
            if session.is_json() {
                return session.printer.json(&token_object(&token, None));
            }
            session.printer.line(token.id)?;
            session.printer.talk("it opens nothing any more")
        }
    }
}

async fn create_token(
    session: &mut Session<'_>,
    hub: &Administration,
    args: &TokenArgs,
) -> Result<(), Failure> {
    let new = NewToken {
        role: args
            .role
            .parse()
            .map_err(|e: RoleError| Failure::usage(e))?,
        actor: args.actor.clone(),
        workspaces: args.workspace.clone(),
        days: args.days,
        name: args.name.clone(),
    };
    let made = hub.create_token(&args.organisation, &new).await;
    let (token, secret) = made.map_err(|e| administered(&e))?;
    if session.is_json() {
        let object = token_object(&token, Some(secret.reveal()));
        return session.printer.json(&object);
    }
    session.printer.line(secret.reveal())?;
    let days = counted(args.days, "day", "days");
    session.printer.talk(format_args!(
        "token {} for {}, role {}; it ends in {days}",
        token.id, token.actor, token.role
    ))?;
    session
        .printer
        .hint("it is shown this once; `ken remote add URL --token-stdin` keeps it where it is used")
}

fn token_line(token: &Token) -> String {
    let until = match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "without end".to_owned(),
    };
    let (id, role, actor) = (token.id, token.role.name(), &token.actor);
    format!("{id}  {role:<8}{actor}  {until}  {}", visible(&token.name))
}

fn token_object<'a>(token: &'a Token, secret: Option<&'a str>) -> TokenObject<'a> {
    let workspaces = token.workspaces.as_ref();
    TokenObject {
        schema: "ken.hub.token.v1",
        id: token.id.to_string(),
        name: &token.name,
        actor: token.actor.to_string(),
        role: token.role.name(),
        workspaces: workspaces.map(|these| these.iter().map(|it| it.0.to_string()).collect()),
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.map(|at| at.to_string()),
        revoked_at: token.revoked_at.map(|at| at.to_string()),
        secret,
    }
}

fn status(session: &mut Session<'_>, rows: &[WorkspaceRow]) -> Result<(), Failure> {
    for row in rows {
        if session.is_json() {
            session.printer.json(&WorkspaceObject {
                schema: "ken.hub.workspace.v1",
                id: row.id.0.to_string(),
                name: row.name.as_str(),
                events: row.events,
                bytes: row.bytes,
                warm: row.is_warm,
                appended_at: row.appended_at.map(|at| at.to_string()),
            })?;
            continue;
        }
        let (name, events) = (row.name.as_str(), counted(row.events, "event", "events"));
        let warm = if row.is_warm { "" } else { "  evicted" };
        let last = row
            .appended_at
            .map(|at| format!("  last {at}"))
            .unwrap_or_default();
        session.printer.line(format_args!(
            "{name:<24}{events}, {} bytes{last}{warm}",
            row.bytes
        ))?;
    }
    if rows.is_empty() && !session.is_json() {
        session
            .printer
            .talk("the organisation has no workspace yet")?;
        session
            .printer
            .hint("`ken hub workspace add ORGANISATION NAME` makes one")?;
    }
    Ok(())
}

/// Sorts what an operator's command ran into.
fn administered(error: &AdministrationError) -> Failure {
    let failure = failed(error);
    match error {
        AdministrationError::NoOrganisation(_) => {
            failure.with_hint("`ken hub organisation add NAME` makes one")
        }
        AdministrationError::NoWorkspace(_) => {
            failure.with_hint("`ken hub status ORGANISATION` lists them")
        }
        AdministrationError::NoToken(_) => {
            failure.with_hint("`ken hub token list ORGANISATION` shows their ids")
        }
        AdministrationError::Database(DatabaseError::Connect(_)) => {
            failure.with_hint("is PostgreSQL running there, and is the address right?")
        }
        AdministrationError::Database(_)
        | AdministrationError::Taken(_)
        | AdministrationError::Actor(_)
        | AdministrationError::TokenName
        | AdministrationError::Name(_)
        | AdministrationError::Identity(_)
        | AdministrationError::Store(_) => failure,
    }
}

/// Tells an error with its causes; an address of a database, which may hold a password, is never among them.
pub(in crate::commands) fn failed(error: &dyn Error) -> Failure {
    let mut failure = Failure::usage(error);
    let mut source = error.source();
    while let Some(cause) = source {
        failure.causes.push(cause.to_string());
        source = cause.source();
    }
    failure.without_secrets()
}
