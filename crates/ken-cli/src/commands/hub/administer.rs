//! Execution of `ken hub`, in builds with the `hub` feature.

use std::error::Error;
use std::time::Instant;

use ken_hub::administration::{Administration, AdministrationError, ChangeOutcome, TokenListing};
use ken_hub::config::OrganizationQuotas;
use ken_hub::database::{DatabaseError, HubDatabase, causes};
use ken_hub::identity::tokens::{IssueTokenError, RotateTokenError, TokenSpec};
use ken_hub::ids::{Role, RoleError};
use serde::Serialize;
use tokio::runtime::Builder;

use super::super::Session;
use super::execution::{audit, backup, federation, people, person, retention};
use super::{output, read_secret};
use crate::commands::hub::{
    DatabaseArgs, HubArgs, HubCommand, MaxArg, MigrateArgs, OrganizationCommand, QuotaArgs,
    SignersArgs, TokenArgs, TokenCommand, WorkspaceArgs, WorkspaceCommand,
};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::world::{database_url, database_url_file};

#[derive(Serialize)]
struct MigratedObject {
    schema: &'static str,
    run: Vec<&'static str>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &HubArgs,
) -> Result<CommandExit, CommandFailure> {
    let url = database(&args.database)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CommandFailure::io("cannot reach the database", &e))?;
    runtime.block_on(act(session, &url, &args.command))?;
    Ok(CommandExit::Fine)
}

/// Returns the URL of the database, from the arguments or the environment.
pub(in crate::commands) fn database(args: &DatabaseArgs) -> Result<String, CommandFailure> {
    if let Some(url) = &args.database {
        return Ok(url.clone());
    }
    if let Some(path) = &args.database_file {
        return read_secret(path);
    }
    if let Some(url) = database_url() {
        return Ok(url);
    }
    if let Some(path) = database_url_file() {
        return read_secret(&path);
    }
    Err(
        CommandFailure::usage("no database URL was given").with_hint(
            "set KEN_DATABASE_URL, such as postgres://ken@localhost/ken, or KEN_DATABASE_URL_FILE",
        ),
    )
}

async fn act(
    session: &mut Session<'_>,
    url: &str,
    command: &HubCommand,
) -> Result<(), CommandFailure> {
    match command {
        // Connects as the owner of the tables; the server uses a role with fewer rights.
        HubCommand::Migrate(MigrateArgs { plan: true }) => migration_plan(session, url).await,
        HubCommand::Migrate(MigrateArgs { plan: false }) => migrate(session, url).await,
        HubCommand::Backup(args) => backup::back_up(session, url, args).await,
        HubCommand::Restore(args) => backup::restore(session, url, args).await,
        HubCommand::Drill(args) => backup::drill(session, url, args).await,
        // These run before a database is opened.
        #[cfg(feature = "remote")]
        HubCommand::Health(_) => Ok(()),
        HubCommand::Config(_) => Ok(()),
        HubCommand::Organization(OrganizationCommand::List) => {
            let rows = HubDatabase::organizations(url).await;
            output::organizations(session, &rows.map_err(|e| administered(&e.into()))?)
        }
        HubCommand::Organization(
            OrganizationCommand::Add { .. }
            | OrganizationCommand::Rename { .. }
            | OrganizationCommand::Remove { .. }
            | OrganizationCommand::Restore { .. }
            | OrganizationCommand::Purge { .. },
        )
        | HubCommand::Workspace(_)
        | HubCommand::Token(_)
        | HubCommand::Account(_)
        | HubCommand::Session(_)
        | HubCommand::Person(_)
        | HubCommand::Rebuild(_)
        | HubCommand::Evict(_)
        | HubCommand::Quota(_)
        | HubCommand::AcceptRestore(_)
        | HubCommand::Audit(_)
        | HubCommand::Retention(_)
        | HubCommand::Hold(_)
        | HubCommand::Publication(_)
        | HubCommand::Peer(_)
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
pub(super) type Done = Result<Result<(), AdministrationError>, CommandFailure>;

/// Returns the inner error of a command, as `?` does with the outer one.
macro_rules! attempt {
    ($done:expr) => {
        match $done {
            Ok(it) => it,
            Err(error) => return Ok(Err(error)),
        }
    };
}
pub(super) use attempt;

async fn administer(session: &mut Session<'_>, hub: &Administration, command: &HubCommand) -> Done {
    match command {
        // These do not administer an organization; `act` has handled them.
        HubCommand::Migrate(_)
        | HubCommand::Backup(_)
        | HubCommand::Restore(_)
        | HubCommand::Drill(_)
        | HubCommand::Config(_) => {}
        #[cfg(feature = "remote")]
        HubCommand::Health(_) => {}
        HubCommand::Organization(command) => return organization(session, hub, command).await,
        HubCommand::Workspace(command) => return workspace(session, hub, command).await,
        HubCommand::Token(command) => return token(session, hub, command).await,
        HubCommand::Publication(command) => {
            return federation::publication(session, hub, command).await;
        }
        HubCommand::Peer(command) => return federation::peer(session, hub, command).await,
        HubCommand::Account(command) => return people::account(session, hub, command).await,
        HubCommand::Session(command) => return people::session(session, hub, command).await,
        HubCommand::Person(command) => return person::run(session, hub, command).await,
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
            if !attempt!(hub.accept_restore(args.keep_tokens).await) {
                let message =
                    "a hub runs on this database and did not find it restored; nothing changed";
                return Err(CommandFailure::refused("in_use", message)
                    .with_hint("if you restored it, stop every hub, wait two minutes and run the command again"));
            }
            output::restore_accepted(session, args.keep_tokens)?;
        }
        HubCommand::Signers(args) => return signers(session, hub, args).await,
        HubCommand::Audit(args) => return audit::run(session, hub, args).await,
        HubCommand::Retention(command) => return retention::run(session, hub, command).await,
        HubCommand::Hold(command) => return retention::run_hold(session, hub, command).await,
        HubCommand::Status { organization } => {
            let rows = attempt!(hub.list_workspaces(organization).await);
            output::workspaces(session, &rows)?;
        }
    }
    Ok(Ok(()))
}

async fn organization(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &OrganizationCommand,
) -> Done {
    const SCHEMA: &str = "ken.hub.organization.v1";
    match command {
        OrganizationCommand::List => {}
        OrganizationCommand::Add { name } => {
            let made = attempt!(hub.add_organization(name).await);
            let known = matches!(made, ChangeOutcome::Unchanged(_));
            let id = made.into_inner().0.to_string();
            output::done(session, SCHEMA, id, ("organization", name), known)?;
        }
        OrganizationCommand::Rename { organization, name } => {
            let id = attempt!(hub.rename_organization(organization, name).await);
            let told = format!("renamed organization `{organization}` to `{name}`");
            output::changed(session, SCHEMA, id.0, name, (&told, None))?;
            if !session.is_json() {
                session.printer.hint(
                    "a hub that names the organization with `--oidc-organization`, and claims of the issuer, need the new name",
                )?;
            }
        }
        OrganizationCommand::Remove { organization } => {
            let removed = attempt!(hub.remove_organization(organization).await);
            let told = format!("removed organization `{organization}`, its workspaces and tokens");
            let erase_at = Some(removed.erase_at);
            output::changed(
                session,
                SCHEMA,
                removed.id.0,
                organization,
                (&told, erase_at),
            )?;
        }
        OrganizationCommand::Restore { organization } => {
            let restored = attempt!(hub.restore_organization(organization).await);
            let told = format!("restored organization `{organization}`");
            output::changed(session, SCHEMA, restored.id.0, organization, (&told, None))?;
        }
        OrganizationCommand::Purge { organization } => {
            let erased = attempt!(hub.purge_organization(organization).await);
            let told = format!("erased organization `{organization}`");
            output::changed(session, SCHEMA, erased.id.0, organization, (&told, None))?;
        }
    }
    Ok(Ok(()))
}

async fn workspace(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &WorkspaceCommand,
) -> Done {
    const SCHEMA: &str = "ken.hub.workspace.v1";
    match command {
        WorkspaceCommand::Add(it) => {
            let made = attempt!(hub.add_workspace(&it.organization, &it.workspace).await);
            let known = matches!(made, ChangeOutcome::Unchanged(_));
            let id = made.into_inner().0.to_string();
            output::done(session, SCHEMA, id, ("workspace", &it.workspace), known)?;
        }
        WorkspaceCommand::List {
            organization,
            removed: false,
        } => {
            let rows = attempt!(hub.list_workspaces(organization).await);
            output::workspaces(session, &rows)?;
        }
        WorkspaceCommand::List {
            organization,
            removed: true,
        } => {
            let removed = attempt!(hub.removed_workspaces(organization).await);
            output::removed_workspaces(session, &removed)?;
        }
        WorkspaceCommand::Rename {
            workspace:
                WorkspaceArgs {
                    organization,
                    workspace,
                },
            name,
        } => {
            let renaming = hub.rename_workspace(organization, workspace, name);
            let renamed = attempt!(renaming.await);
            let told = format!("renamed workspace `{workspace}` to `{name}`");
            output::changed(session, SCHEMA, renamed.id.0, name, (&told, None))?;
            if !session.is_json() {
                session.printer.hint(
                    "clients with the former name are told the new one: `ken remote remove NAME`, then `ken remote add NAME URL`",
                )?;
            }
        }
        WorkspaceCommand::Remove(it) => {
            let removed = attempt!(hub.remove_workspace(&it.organization, &it.workspace).await);
            let (id, name) = (removed.workspace.id.0, removed.workspace.name.as_str());
            let told = format!("removed workspace `{name}`");
            output::changed(session, SCHEMA, id, name, (&told, Some(removed.erase_at)))?;
        }
        WorkspaceCommand::Restore(it) => {
            let restoring = hub.restore_workspace(&it.organization, &it.workspace);
            let restored = attempt!(restoring.await).workspace;
            let told = format!("restored workspace `{}`", restored.name);
            let name = restored.name.as_str();
            output::changed(session, SCHEMA, restored.id.0, name, (&told, None))?;
        }
        WorkspaceCommand::Purge(it) => {
            let erased = attempt!(hub.purge_workspace(&it.organization, &it.workspace).await);
            let (id, name) = (erased.workspace.id.0, erased.workspace.name.as_str());
            let told = format!("erased workspace `{name}`");
            output::changed(session, SCHEMA, id, name, (&told, None))?;
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

/// JSON view of a migration that has not run.
#[derive(Serialize)]
struct PlannedObject {
    schema: &'static str,
    name: &'static str,
    /// `expand` or `contract`.
    kind: &'static str,
    /// Migration that a hub must contain to serve afterwards; absent if any hub can.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'static str>,
}

/// Lists the migrations that would run.
async fn migration_plan(session: &mut Session<'_>, url: &str) -> Result<(), CommandFailure> {
    let planned = HubDatabase::pending_migrations(url).await;
    let planned = planned.map_err(|e| administered(&e.into()))?;
    for migration in planned {
        let (name, needs) = (migration.name, migration.oldest_hub());
        if session.is_json() {
            let schema = "ken.hub.planned_migration.v1";
            let kind = migration.kind_name();
            session.printer.json(&PlannedObject {
                schema,
                name,
                kind,
                needs,
            })?;
            continue;
        }
        let effect = match needs {
            None => "running hubs keep serving".to_owned(),
            Some(oldest) => format!("hubs without `{oldest}` must be stopped first"),
        };
        let kind = migration.kind_name();
        session
            .printer
            .line(format_args!("{name}  {kind}: {effect}"))?;
    }
    if planned.is_empty() {
        return session.printer.talk("the database schema is up to date");
    }
    let count = pluralize(planned.len() as u64, "migration", "migrations");
    session
        .printer
        .talk(format_args!("{count} would run; nothing was changed"))
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
        TokenCommand::Rotate {
            organization,
            id,
            overlap,
        } => {
            let rotated = attempt!(hub.rotate_token(organization, id, *overlap).await);
            let secret = rotated.secret.reveal();
            if session.is_json() {
                output::token(session, &rotated.new, Some(secret))?;
                return Ok(Ok(()));
            }
            session.printer.line(secret)?;
            let end = match overlap {
                0 => "revoked".to_owned(),
                hours => {
                    let hours = pluralize(u64::from(*hours), "hour", "hours");
                    format!("valid for another {hours} at most")
                }
            };
            let (new, old) = (rotated.new.token.id, rotated.old.token.id);
            session
                .printer
                .talk(format_args!("token {new} replaces {old}, which is {end}"))?;
            session.printer.hint(SECRET_HINT)?;
        }
        TokenCommand::Revoke {
            organization,
            id: Some(id),
            ..
        } => return revoke_token(session, hub, organization, id).await,
        TokenCommand::Revoke {
            organization,
            actor: Some(actor),
            ..
        } => {
            let revoked = attempt!(hub.revoke_actor(organization, actor).await);
            for listed in &revoked {
                if session.is_json() {
                    output::token(session, listed, None)?;
                } else {
                    session.printer.line(listed.token.id)?;
                }
            }
            if !session.is_json() {
                let count = pluralize(revoked.len() as u64, "token", "tokens");
                session
                    .printer
                    .talk(format_args!("revoked {count} of {actor}"))?;
                session.printer.hint(
                    "access tokens of an OpenID Connect issuer end with the account there; `ken guard revoke` disables what an author wrote",
                )?;
            }
        }
        // Refused by the parser: one of the two is required.
        TokenCommand::Revoke {
            id: None,
            actor: None,
            ..
        } => {}
    }
    Ok(Ok(()))
}

async fn revoke_token(
    session: &mut Session<'_>,
    hub: &Administration,
    organization: &str,
    id: &str,
) -> Done {
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
    Ok(Ok(()))
}

/// Hint below a secret.
const SECRET_HINT: &str =
    "the secret is shown only once; `ken remote add URL --token-stdin` stores it in a clone";

async fn create_token(session: &mut Session<'_>, hub: &Administration, args: &TokenArgs) -> Done {
    let role = args.role.parse();
    let workspace_roles = args.workspace_role.iter().map(|it| workspace_role(it));
    let workspace_roles = workspace_roles.collect::<Result<_, CommandFailure>>()?;
    let new = TokenSpec {
        workspace_roles,
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
    session.printer.hint(SECRET_HINT)?;
    let others = attempt!(hub.tokens(&args.organization).await);
    let is_other = |it: &&TokenListing| {
        it.token.id != token.id && it.token.actor == token.actor && it.token.is_live(hub.now())
    };
    let others = others.iter().filter(is_other).count() as u64;
    if others > 0 {
        let count = pluralize(others, "other valid token", "other valid tokens");
        session.printer.note(&format!(
            "{} has {count}; `ken hub token list {}` lists them, `ken hub token rotate` replaces one",
            token.actor, args.organization
        ))?;
    }
    Ok(Ok(()))
}

/// Parses a role in one workspace.
fn workspace_role(text: &str) -> Result<(String, Role), CommandFailure> {
    let (workspace, role) = text.split_once('=').ok_or_else(|| {
        CommandFailure::usage(format!("`{text}` is not a valid WORKSPACE=ROLE"))
            .with_hint("such as --workspace-role payments=curator")
    })?;
    let role = role
        .parse()
        .map_err(|e: RoleError| CommandFailure::usage(e))?;
    Ok((workspace.to_owned(), role))
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
        AdministrationError::OrganizationRemoved(..) => failure.with_hint(
            "`ken hub organization restore NAME` restores it, `ken hub organization purge NAME` erases it now",
        ),
        AdministrationError::NoRemovedOrganization(_) => {
            failure.with_hint("`ken hub organization list` lists organizations")
        }
        AdministrationError::NoRemovedWorkspace(_) => failure
            .with_hint("`ken hub workspace list ORGANIZATION --removed` lists removed workspaces"),
        AdministrationError::NoWorkspace(_)
        | AdministrationError::Token(IssueTokenError::NoWorkspace(_)) => {
            failure.with_hint("`ken hub workspace list ORGANIZATION` lists workspaces")
        }
        AdministrationError::NoToken(_) => {
            failure.with_hint("`ken hub token list ORGANIZATION` lists token ids")
        }
        AdministrationError::QuotaExceeded(_)
        | AdministrationError::Rotate(RotateTokenError::QuotaExceeded(_))
        | AdministrationError::Token(IssueTokenError::QuotaExceeded(_)) => {
            failure.with_hint("`ken hub quota ORGANIZATION` shows and sets the quotas")
        }
        AdministrationError::NoSession(_) => {
            failure.with_hint("`ken hub session list ORGANIZATION` lists sessions")
        }
        AdministrationError::NoHold(_) => {
            failure.with_hint("`ken hub hold list ORGANIZATION` lists the holds")
        }
        AdministrationError::NoListedPerson(_) => {
            failure.with_hint("`ken hub person list ORGANIZATION` lists people; name one by id")
        }
        AdministrationError::PersonHeld => {
            failure.with_hint("`ken hub hold list ORGANIZATION` lists the holds")
        }
        AdministrationError::NoPerson => failure.with_hint(
            "name yourself with `--by human:NAME`: the redactions are written in your name",
        ),
        AdministrationError::Federation(error) => match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        },
        AdministrationError::Service(_)
        | AdministrationError::GraceEnded(_)
        | AdministrationError::Account(_)
        | AdministrationError::ListPerson(_)
        | AdministrationError::WorkspaceRenamed { .. }
        | AdministrationError::OrganizationNameTaken(_)
        | AdministrationError::NameTaken(_)
        | AdministrationError::Rotate(_)
        | AdministrationError::Signers(_)
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
