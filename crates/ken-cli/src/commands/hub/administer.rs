//! What `ken hub` does, where this build has a hub.

use std::error::Error;
use std::time::Instant;

use ken_hub::administration::{Administration, AdministrationError, Made};
use ken_hub::database::{Database, DatabaseError, Quotas, causes};
use ken_hub::identity::RoleError;
use ken_hub::identity::tokens::{NewToken, NewTokenError};
use serde::Serialize;
use tokio::runtime::Builder;

use super::super::Session;
use super::told;
use crate::args::{
    HubArgs, HubCommand, MaxArg, OrganisationCommand, QuotaArgs, TokenArgs, TokenCommand,
    WorkspaceArgs, WorkspaceCommand,
};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::world::database_url;

#[derive(Serialize)]
struct MigratedObject {
    schema: &'static str,
    run: Vec<&'static str>,
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
    match command {
        // The owner's: whoever owns the tables is not who serves them.
        HubCommand::Migrate => migrate(session, url).await,
        HubCommand::Organisation(OrganisationCommand::List) => {
            let rows = Database::organisations(url).await;
            told::organisations(session, &rows.map_err(|e| administered(&e.into()))?)
        }
        HubCommand::Organisation(OrganisationCommand::Add { .. })
        | HubCommand::Workspace(_)
        | HubCommand::Token(_)
        | HubCommand::Rebuild(_)
        | HubCommand::Evict(_)
        | HubCommand::Quota(_)
        | HubCommand::Status { .. } => {
            let hub = Administration::open(url).await;
            let hub = hub.map_err(|e| administered(&e))?;
            administer(session, &hub, command)
                .await?
                .map_err(|e| administered(&e))
        }
    }
}

/// What an operator did, or why not; outside it, whether it could be told.
type Done = Result<Result<(), AdministrationError>, Failure>;

macro_rules! attempt {
    ($done:expr) => {
        match $done {
            Ok(it) => it,
            Err(error) => return Ok(Err(error)),
        }
    };
}

async fn administer(session: &mut Session<'_>, hub: &Administration, command: &HubCommand) -> Done {
    match command {
        HubCommand::Migrate | HubCommand::Organisation(OrganisationCommand::List) => {}
        HubCommand::Organisation(OrganisationCommand::Add { name }) => {
            let made = attempt!(hub.add_organisation(name).await);
            let known = matches!(made, Made::Known(_));
            let id = made.into_inner().0.to_string();
            let what = ("organisation", name.as_str());
            told::done(session, "ken.hub.organisation.v1", id, what, known)?;
        }
        HubCommand::Workspace(WorkspaceCommand::Add(WorkspaceArgs {
            organisation,
            workspace,
        })) => {
            let made = attempt!(hub.add_workspace(organisation, workspace).await);
            let known = matches!(made, Made::Known(_));
            let id = made.into_inner().0.to_string();
            let what = ("workspace", workspace.as_str());
            told::done(session, "ken.hub.workspace.v1", id, what, known)?;
        }
        HubCommand::Token(command) => return token(session, hub, command).await,
        HubCommand::Rebuild(args) => {
            let began = Instant::now();
            let rebuilding = hub.rebuild(&args.organisation, &args.workspace);
            let rebuilt = attempt!(rebuilding.await);
            told::rebuilt(session, &rebuilt, began.elapsed().as_secs_f64())?;
        }
        HubCommand::Evict(args) => {
            let evicting = hub.evict(&args.organisation, &args.workspace);
            told::evicted(session, &attempt!(evicting.await))?;
        }
        HubCommand::Quota(args) => return quota(session, hub, args).await,
        HubCommand::Workspace(WorkspaceCommand::List { organisation })
        | HubCommand::Status { organisation } => {
            let rows = attempt!(hub.status(organisation).await);
            told::workspaces(session, &rows)?;
        }
    }
    Ok(Ok(()))
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

async fn quota(session: &mut Session<'_>, hub: &Administration, args: &QuotaArgs) -> Done {
    let organisation = args.organisation.as_str();
    let wishes = [
        args.workspaces,
        args.events,
        args.bytes,
        args.requests_per_minute,
    ];
    if wishes.iter().all(Option::is_none) {
        let allowed = attempt!(hub.quotas(organisation).await);
        told::quotas(session, organisation, &allowed)?;
        return Ok(Ok(()));
    }
    let change = |quotas: &mut Quotas| {
        let places = [
            &mut quotas.workspaces_max,
            &mut quotas.events_max,
            &mut quotas.bytes_max,
            &mut quotas.requests_per_minute,
        ];
        for (place, wish) in places.into_iter().zip(wishes) {
            match wish {
                None => {}
                Some(MaxArg::Default) => *place = None,
                Some(MaxArg::Count(max)) => *place = Some(max),
            }
        }
    };
    let allowed = attempt!(hub.set_quotas(organisation, change).await);
    told::quotas(session, organisation, &allowed)?;
    if args.requests_per_minute.is_some() {
        let told = "hubs that run ask for the rate anew within a minute; the rest holds at once";
        session.printer.talk(told)?;
    }
    Ok(Ok(()))
}

async fn token(session: &mut Session<'_>, hub: &Administration, command: &TokenCommand) -> Done {
    match command {
        TokenCommand::Create(args) => return create_token(session, hub, args).await,
        TokenCommand::List { organisation } => {
            let tokens = attempt!(hub.tokens(organisation).await);
            told::tokens(session, &tokens, hub.now())?;
        }
        TokenCommand::Revoke { organisation, id } => {
            let revoked = attempt!(hub.revoke_token(organisation, id).await);
            let known = matches!(revoked, Made::Known(_));
            let listed = revoked.into_inner();
            if session.is_json() {
                told::token(session, &listed, None)?;
                return Ok(Ok(()));
            }
            let token = &listed.token;
            session.printer.line(token.id)?;
            match token.revoked_at {
                Some(at) if known => session
                    .printer
                    .talk(format_args!("it was revoked before, at {at}"))?,
                Some(_) | None => session.printer.talk(format_args!(
                    "the {}'s token of {} opens nothing any more",
                    token.role, token.actor
                ))?,
            }
        }
    }
    Ok(Ok(()))
}

async fn create_token(session: &mut Session<'_>, hub: &Administration, args: &TokenArgs) -> Done {
    let role = args.role.parse();
    let new = NewToken {
        role: role.map_err(|e: RoleError| Failure::usage(e))?,
        actor: Some(args.actor.clone()),
        workspaces: Some(args.workspace.clone()).filter(|it| !it.is_empty()),
        days: args.days,
        name: args.name.clone(),
    };
    let made = attempt!(hub.create_token(&args.organisation, new).await);
    let (listed, secret) = made;
    if session.is_json() {
        told::token(session, &listed, Some(secret.reveal()))?;
        return Ok(Ok(()));
    }
    session.printer.line(secret.reveal())?;
    let token = &listed.token;
    let days = counted(args.days.into(), "day", "days");
    session.printer.talk(format_args!(
        "token {} for {}, role {}; it ends in {days}",
        token.id, token.actor, token.role
    ))?;
    session.printer.hint(
        "it is shown this once; `ken remote add URL --token-stdin` keeps it where it is used",
    )?;
    Ok(Ok(()))
}

/// Sorts what an operator's command ran into.
fn administered(error: &AdministrationError) -> Failure {
    let failure = failed(error);
    if let Some(error) = error.database() {
        return hinted(failure, error);
    }
    match error {
        AdministrationError::NoOrganisation(_) => failure.with_hint(
            "`ken hub organisation list` shows which there are, `ken hub organisation add NAME` makes one",
        ),
        AdministrationError::NoWorkspace(_)
        | AdministrationError::Token(NewTokenError::NoWorkspace(_)) => {
            failure.with_hint("`ken hub workspace list ORGANISATION` shows which there are")
        }
        AdministrationError::NoToken(_) => {
            failure.with_hint("`ken hub token list ORGANISATION` shows their ids")
        }
        AdministrationError::Beyond(_) | AdministrationError::Token(NewTokenError::Beyond(_)) => {
            failure.with_hint("`ken hub quota ORGANISATION` shows what is allowed and changes it")
        }
        AdministrationError::Token(_)
        | AdministrationError::Database(_)
        | AdministrationError::Name(_)
        | AdministrationError::Identity(_)
        | AdministrationError::Store(_) => failure,
    }
}

/// Adds what to do about a database that could not be used, where that is known.
pub(in crate::commands) fn hinted(failure: Failure, error: &DatabaseError) -> Failure {
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Tells an error with its causes; an address of a database, which may hold a password, is never among them.
pub(in crate::commands) fn failed(error: &(dyn Error + 'static)) -> Failure {
    let mut failure = Failure::usage(error);
    failure.causes = causes(error);
    failure.without_secrets()
}
