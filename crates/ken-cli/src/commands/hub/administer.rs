//! Execution of `ken hub`, in builds with the `hub` feature.

use std::error::Error;
use std::time::Instant;

use ken_hub::administration::{Administration, AdministrationError, ChangeOutcome};
use ken_hub::config::OrganizationQuotas;
use ken_hub::database::{DatabaseError, HubDatabase, causes};
use ken_hub::identity::tokens::{IssueTokenError, TokenSpec};
use ken_hub::ids::RoleError;
use serde::Serialize;
use tokio::runtime::Builder;

use super::super::Session;
use super::{audit, output};
use crate::commands::hub::{
    HubArgs, HubCommand, MaxArg, OrganizationCommand, QuotaArgs, SignersArgs, TokenArgs,
    TokenCommand, WorkspaceArgs, WorkspaceCommand,
};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::world::database_url;

#[derive(Serialize)]
struct MigratedObject {
    schema: &'static str,
    run: Vec<&'static str>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &HubArgs,
) -> Result<CommandExit, CommandFailure> {
    let url = database(args.database.database.as_deref())?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CommandFailure::io("cannot reach the database", &e))?;
    runtime.block_on(act(session, &url, &args.command))?;
    Ok(CommandExit::Fine)
}

/// Returns the URL of the database, from the arguments or the environment.
pub(in crate::commands) fn database(typed: Option<&str>) -> Result<String, CommandFailure> {
    let url = typed.map(ToOwned::to_owned).or_else(database_url);
    url.ok_or_else(|| {
        CommandFailure::usage("no database URL was given")
            .with_hint("set KEN_DATABASE_URL, such as postgres://ken@localhost/ken")
    })
}

async fn act(
    session: &mut Session<'_>,
    url: &str,
    command: &HubCommand,
) -> Result<(), CommandFailure> {
    match command {
        // Connects as the owner of the tables; the server uses a role with fewer rights.
        HubCommand::Migrate => migrate(session, url).await,
        // Runs before a database is opened.
        #[cfg(feature = "remote")]
        HubCommand::Health(_) => Ok(()),
        HubCommand::Organization(OrganizationCommand::List) => {
            let rows = HubDatabase::organizations(url).await;
            output::organizations(session, &rows.map_err(|e| administered(&e.into()))?)
        }
        HubCommand::Organization(OrganizationCommand::Add { .. })
        | HubCommand::Workspace(_)
        | HubCommand::Token(_)
        | HubCommand::Rebuild(_)
        | HubCommand::Evict(_)
        | HubCommand::Quota(_)
        | HubCommand::AcceptRestore(_)
        | HubCommand::Audit(_)
        | HubCommand::Signers(_)
        | HubCommand::Status { .. } => {
            let hub = Administration::open(url).await;
            let hub = hub.map_err(|e| administered(&e))?;
            let hub = hub.by(session.surroundings.named_actor());
            administer(session, &hub, command)
                .await?
                .map_err(|e| administered(&e))
        }
    }
}

/// Result of an administrative command; the outer error is a failure to print it.
type Done = Result<Result<(), AdministrationError>, CommandFailure>;

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
        HubCommand::Migrate | HubCommand::Organization(OrganizationCommand::List) => {}
        #[cfg(feature = "remote")]
        HubCommand::Health(_) => {}
        HubCommand::Organization(OrganizationCommand::Add { name }) => {
            let made = attempt!(hub.add_organization(name).await);
            let known = matches!(made, ChangeOutcome::Unchanged(_));
            let id = made.into_inner().0.to_string();
            let what = ("organization", name.as_str());
            output::done(session, "ken.hub.organization.v1", id, what, known)?;
        }
        HubCommand::Workspace(WorkspaceCommand::Add(WorkspaceArgs {
            organization,
            workspace,
        })) => {
            let made = attempt!(hub.add_workspace(organization, workspace).await);
            let known = matches!(made, ChangeOutcome::Unchanged(_));
            let id = made.into_inner().0.to_string();
            let what = ("workspace", workspace.as_str());
            output::done(session, "ken.hub.workspace.v1", id, what, known)?;
        }
        HubCommand::Token(command) => return token(session, hub, command).await,
        HubCommand::Rebuild(args) => {
            let began = Instant::now();
            let rebuilding = hub.rebuild(&args.organization, &args.workspace);
            let rebuilt = attempt!(rebuilding.await);
            output::rebuilt(session, &rebuilt, began.elapsed().as_secs_f64())?;
        }
        HubCommand::Evict(args) => {
            let evicting = hub.evict(&args.organization, &args.workspace);
            output::evicted(session, &attempt!(evicting.await))?;
        }
        HubCommand::Quota(args) => return quota(session, hub, args).await,
        HubCommand::AcceptRestore(args) => {
            attempt!(hub.accept_restore(args.keep_tokens).await);
            output::restore_accepted(session, args.keep_tokens)?;
        }
        HubCommand::Signers(args) => return signers(session, hub, args).await,
        HubCommand::Audit(args) => {
            let workspace = args.workspace.as_deref();
            let filter = audit::filter(args);
            let records = hub.audit_records(&args.organization, workspace, &filter, args.limit);
            audit::print(session, &attempt!(records.await))?;
        }
        HubCommand::Workspace(WorkspaceCommand::List { organization })
        | HubCommand::Status { organization } => {
            let rows = attempt!(hub.list_workspaces(organization).await);
            output::workspaces(session, &rows)?;
        }
    }
    Ok(Ok(()))
}

async fn migrate(session: &mut Session<'_>, url: &str) -> Result<(), CommandFailure> {
    let run = HubDatabase::migrate(url).await;
    let run = run.map_err(|e| administered(&e.into()))?;
    if session.is_json() {
        let schema = "ken.hub.migrated.v1";
        return session.printer.json(&MigratedObject { schema, run });
    }
    for name in &run {
        session.printer.line(name)?;
    }
    match run.len() {
        0 => session.printer.talk("the database schema is up to date"),
        count => {
            let migrations = pluralize(count as u64, "migration", "migrations");
            session.printer.talk(format_args!("ran {migrations}"))
        }
    }
}

async fn quota(session: &mut Session<'_>, hub: &Administration, args: &QuotaArgs) -> Done {
    let organization = args.organization.as_str();
    let limits = [
        args.workspaces,
        args.events,
        args.bytes,
        args.requests_per_minute,
    ];
    if limits.iter().all(Option::is_none) {
        let allowed = attempt!(hub.quotas(organization).await);
        output::quotas(session, organization, &allowed)?;
        return Ok(Ok(()));
    }
    let change = |quotas: &mut OrganizationQuotas| {
        let places = [
            &mut quotas.workspaces_max,
            &mut quotas.events_max,
            &mut quotas.bytes_max,
            &mut quotas.requests_per_minute,
        ];
        for (place, limit) in places.into_iter().zip(limits) {
            match limit {
                None => {}
                Some(MaxArg::Default) => *place = None,
                Some(MaxArg::Count(max)) => *place = Some(max),
            }
        }
    };
    let allowed = attempt!(hub.set_quotas(organization, change).await);
    output::quotas(session, organization, &allowed)?;
    if args.requests_per_minute.is_some() {
        let effect = "running hubs apply the new rate within a minute, other quotas immediately";
        session.printer.talk(effect)?;
    }
    Ok(Ok(()))
}

async fn signers(session: &mut Session<'_>, hub: &Administration, args: &SignersArgs) -> Done {
    let organization = args.organization.as_str();
    if args.set.is_none() && !args.clear {
        let text = attempt!(hub.signers(organization).await);
        match text {
            Some(text) => session.printer.text(text)?,
            None => session.printer.talk("the organization has no signers")?,
        }
        return Ok(Ok(()));
    }
    let text = match &args.set {
        None => None,
        Some(path) => {
            let read = std::fs::read_to_string(path);
            let shown = format!("cannot read `{}`", path.display());
            Some(read.map_err(|e| CommandFailure::io(&shown, &e))?)
        }
    };
    attempt!(hub.set_signers(organization, text.as_deref()).await);
    let done = if text.is_some() { "set" } else { "removed" };
    session
        .printer
        .talk(format_args!("{done} the signers of `{organization}`"))?;
    Ok(Ok(()))
}

async fn token(session: &mut Session<'_>, hub: &Administration, command: &TokenCommand) -> Done {
    match command {
        TokenCommand::Create(args) => return create_token(session, hub, args).await,
        TokenCommand::List { organization } => {
            let tokens = attempt!(hub.tokens(organization).await);
            output::tokens(session, &tokens, hub.now())?;
        }
        TokenCommand::Revoke { organization, id } => {
            let revoked = attempt!(hub.revoke_token(organization, id).await);
            let known = matches!(revoked, ChangeOutcome::Unchanged(_));
            let listed = revoked.into_inner();
            if session.is_json() {
                output::token(session, &listed, None)?;
                return Ok(Ok(()));
            }
            let token = &listed.token;
            session.printer.line(token.id)?;
            match token.revoked_at {
                Some(at) if known => session
                    .printer
                    .talk(format_args!("already revoked at {at}"))?,
                Some(_) | None => session.printer.talk(format_args!(
                    "revoked the {} token of {}",
                    token.role, token.actor
                ))?,
            }
        }
    }
    Ok(Ok(()))
}

async fn create_token(session: &mut Session<'_>, hub: &Administration, args: &TokenArgs) -> Done {
    let role = args.role.parse();
    let new = TokenSpec {
        role: role.map_err(|e: RoleError| CommandFailure::usage(e))?,
        actor: Some(args.actor.clone()),
        workspaces: Some(args.workspace.clone()).filter(|it| !it.is_empty()),
        days: args.days,
        name: args.name.clone(),
    };
    let made = attempt!(hub.create_token(&args.organization, new).await);
    let (listed, secret) = made;
    if session.is_json() {
        output::token(session, &listed, Some(secret.reveal()))?;
        return Ok(Ok(()));
    }
    session.printer.line(secret.reveal())?;
    let token = &listed.token;
    let days = pluralize(args.days.into(), "day", "days");
    session.printer.talk(format_args!(
        "token {} for {}, role {}; expires in {days}",
        token.id, token.actor, token.role
    ))?;
    session.printer.hint(
        "the secret is shown only once; `ken remote add URL --token-stdin` stores it in a clone",
    )?;
    Ok(Ok(()))
}

/// Converts an administration error to a failure with an exit code.
fn administered(error: &AdministrationError) -> CommandFailure {
    let failure = failed(error);
    if let Some(error) = error.database() {
        return hinted(failure, error);
    }
    match error {
        AdministrationError::NoOrganization(_) => failure.with_hint(
            "`ken hub organization list` lists organizations, `ken hub organization add NAME` creates one",
        ),
        AdministrationError::NoWorkspace(_)
        | AdministrationError::Token(IssueTokenError::NoWorkspace(_)) => {
            failure.with_hint("`ken hub workspace list ORGANIZATION` lists workspaces")
        }
        AdministrationError::NoToken(_) => {
            failure.with_hint("`ken hub token list ORGANIZATION` lists token ids")
        }
        AdministrationError::QuotaExceeded(_) | AdministrationError::Token(IssueTokenError::QuotaExceeded(_)) => {
            failure.with_hint("`ken hub quota ORGANIZATION` shows and sets the quotas")
        }
        AdministrationError::Signers(_)
        | AdministrationError::TooManySigners
        | AdministrationError::Token(_)
        | AdministrationError::Database(_)
        | AdministrationError::Name(_)
        | AdministrationError::Identity(_)
        | AdministrationError::Store(_) => failure,
    }
}

/// Adds a hint to a database error, if its fix is known.
pub(in crate::commands) fn hinted(
    failure: CommandFailure,
    error: &DatabaseError,
) -> CommandFailure {
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Converts an error with its causes to a failure. No cause contains the URL of the database,
/// which may include a password.
pub(in crate::commands) fn failed(error: &(dyn Error + 'static)) -> CommandFailure {
    let mut failure = CommandFailure::usage(error);
    failure.causes = causes(error);
    failure.without_secrets()
}
