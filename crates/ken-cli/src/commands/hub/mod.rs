//! `ken hub`: administers the database of a hub.

#[cfg(feature = "hub")]
mod administer;
mod audit;
mod backup;
mod configuration;
#[cfg(feature = "hub")]
mod execution;
mod federation;
#[cfg(feature = "remote")]
mod health;
#[cfg(feature = "hub")]
mod output;
mod people;
mod person;
mod retention;
#[cfg(feature = "hub")]
mod secrets;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_core::values::actor::Actor;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
pub(crate) use audit::AuditArgs;
pub(crate) use backup::{BackupArgs, DrillArgs, RestoreArgs};
#[cfg(feature = "hub")]
pub(crate) use configuration::CheckArgs;
pub(crate) use configuration::ConfigurationCommand;
pub(crate) use federation::{HubPeerCommand, HubPublicationCommand};
#[cfg(feature = "hub")]
pub(crate) use people::AccountArgs;
pub(crate) use people::{AccountCommand, SessionCommand};
pub(crate) use person::HubPersonCommand;
pub(crate) use retention::{HoldCommand, RetentionCommand};

/// Database of the hub.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// URL of the PostgreSQL database [default: $KEN_DATABASE_URL]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database: Option<String>,
    /// File with the URL of the PostgreSQL database [default: $KEN_DATABASE_URL_FILE]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) database_file: Option<PathBuf>,
}

/// `ken hub …`.
#[derive(Debug, Args)]
pub(crate) struct HubArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(subcommand)]
    pub(crate) command: HubCommand,
}

/// `ken hub …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HubCommand {
    /// Create or update the database schema; connects as the owner
    Migrate(MigrateArgs),
    /// Write every event, token and audit record to a file, while hubs serve
    Backup(BackupArgs),
    /// Load a backup into an empty database; connects as the owner
    Restore(RestoreArgs),
    /// Restore a backup into a temporary database, verify it and delete it again
    Drill(DrillArgs),
    /// Check and list the settings of `ken serve`
    #[command(subcommand)]
    Config(ConfigurationCommand),
    /// Manage organizations
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Manage workspaces, usually one per repository
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Manage access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// List, describe and block accounts of people and programs
    #[command(subcommand)]
    Account(AccountCommand),
    /// List and end the browser sessions of people
    #[command(subcommand)]
    Session(SessionCommand),
    /// List people under opaque ids, export and erase what is stored about one
    #[command(subcommand)]
    Person(HubPersonCommand),
    /// Rebuild the derived data of a workspace from its events
    #[command(after_help = "Example:\n  ken hub rebuild acme payments")]
    Rebuild(WorkspaceArgs),
    /// Delete the derived data of a workspace; the next read rebuilds it
    #[command(after_help = "Example:\n  ken hub evict acme payments")]
    Evict(WorkspaceArgs),
    /// Show or set the quotas of an organization
    Quota(QuotaArgs),
    /// Accept a database that was restored from a backup
    AcceptRestore(AcceptRestoreArgs),
    /// List who did what, latest first; verify and export the audit log
    Audit(AuditArgs),
    /// Show, set and apply how long the hub keeps what is out of use
    #[command(subcommand)]
    Retention(RetentionCommand),
    /// Place, list and release legal holds, which beat retention and erasure
    #[command(subcommand)]
    Hold(HoldCommand),
    /// Manage what the organization publishes to other organizations
    #[command(subcommand)]
    Publication(HubPublicationCommand),
    /// Manage the publications of other organizations that this one reads
    #[command(subcommand)]
    Peer(HubPeerCommand),
    /// Show or set the people whose signed decisions anyone may push
    Signers(SignersArgs),
    /// Check that a running hub is alive; for health checks of containers
    #[cfg(feature = "remote")]
    Health(health::HealthArgs),
    /// Show the workspaces of an organization and their size
    #[command(after_help = "Example:\n  ken hub status acme")]
    Status {
        /// The organization
        organization: String,
    },
}

/// `ken hub migrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken hub migrate --plan\n  ken hub migrate")]
pub(crate) struct MigrateArgs {
    /// List the migrations that would run, and change nothing
    #[arg(long)]
    pub(crate) plan: bool,
}

/// Text below the options of `ken hub accept-restore --help`.
const ACCEPT_RESTORE_HELP: &str = "\
Example:
  ken hub accept-restore

A backup contains tokens that were revoked after it was made, so a hub refuses all tokens of a
restored database until you run this command. Without `--keep-tokens` they stay invalid: create new
ones, and the command is refused while a hub runs that did not find the database restored. With it,
first revoke again what was revoked since the backup.

The backup also brings back what was erased or redacted since, and lacks the holds and blocks placed
since: repeat them before you start the hub. It serves the words of its publications again, too, until
you run `ken hub publication update`.";

/// `ken hub accept-restore`.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT_RESTORE_HELP)]
pub(crate) struct AcceptRestoreArgs {
    /// Keep the tokens that were valid when the backup was made
    #[arg(long)]
    pub(crate) keep_tokens: bool,
}

/// `ken hub organization …`.
#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationCommand {
    /// Create an organization, unless it exists
    #[command(after_help = "Example:\n  ken hub organization add acme")]
    Add {
        /// Name: lowercase letters, digits, `.`, `_` and `-`
        name: String,
    },
    /// List every organization; connects as the owner
    #[command(after_help = "Example:\n  ken hub organization list")]
    List,
    /// Rename an organization; ids, tokens and data stay
    #[command(after_help = "Example:\n  ken hub organization rename acme acme-labs")]
    Rename {
        /// The organization
        organization: String,
        /// The new name
        name: String,
    },
    /// Remove an organization with its workspaces and tokens; it is erased after 30 days
    #[command(after_help = "Example:\n  ken hub organization remove acme")]
    Remove {
        /// The organization
        organization: String,
    },
    /// Restore a removed organization within 30 days
    #[command(after_help = "Example:\n  ken hub organization restore acme")]
    Restore {
        /// The removed organization
        organization: String,
    },
    /// Erase a removed organization now; only its audit log stays
    #[command(after_help = "Example:\n  ken hub organization purge acme")]
    Purge {
        /// The removed organization
        organization: String,
    },
}

/// `ken hub quota`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken hub quota acme\n  ken hub quota acme --workspaces 50 --events default"
)]
pub(crate) struct QuotaArgs {
    /// The organization
    pub(crate) organization: String,
    /// Maximum workspaces; `default` restores the hub's limit
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) workspaces: Option<MaxArg>,
    /// Maximum events per workspace
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) events: Option<MaxArg>,
    /// Maximum bytes per workspace: events, run notes and quarantined events
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) bytes: Option<MaxArg>,
    /// Maximum requests per minute and hub process
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) requests_per_minute: Option<MaxArg>,
}

/// `ken hub signers`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken hub signers acme\n  ken hub signers acme --set .ken/allowed_signers"
)]
pub(crate) struct SignersArgs {
    /// The organization
    pub(crate) organization: String,
    /// File in the format of OpenSSH's `allowed_signers` that replaces the list
    #[arg(long, value_name = "FILE", conflicts_with = "clear")]
    pub(crate) set: Option<PathBuf>,
    /// Remove the list
    #[arg(long)]
    pub(crate) clear: bool,
}

/// A limit: a number, or the hub's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaxArg {
    Default,
    Count(u64),
}

fn max(text: &str) -> Result<MaxArg, String> {
    match text {
        "default" => Ok(MaxArg::Default),
        count => count
            .parse()
            .map(MaxArg::Count)
            .map_err(|_| "expected a whole number or `default`".to_owned()),
    }
}

/// `ken hub workspace …`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Create a workspace, unless it exists
    #[command(after_help = "Example:\n  ken hub workspace add acme payments")]
    Add(WorkspaceArgs),
    /// List the workspaces of an organization and their size
    #[command(after_help = "Example:\n  ken hub workspace list acme")]
    List {
        /// The organization
        organization: String,
        /// List removed workspaces that are not erased yet
        #[arg(long)]
        removed: bool,
    },
    /// Rename a workspace; its id, tokens and data stay
    #[command(after_help = RENAME_HELP)]
    Rename {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// The new name
        name: String,
    },
    /// Remove a workspace: requests find it missing at once; it is erased after 30 days
    #[command(after_help = "Example:\n  ken hub workspace remove acme payments")]
    Remove(WorkspaceArgs),
    /// Restore a removed workspace within 30 days
    #[command(after_help = "Example:\n  ken hub workspace restore acme payments")]
    Restore(WorkspaceArgs),
    /// Erase a removed workspace now; only its audit log stays
    #[command(after_help = "Example:\n  ken hub workspace purge acme payments")]
    Purge(WorkspaceArgs),
}

/// Text below the options of `ken hub workspace rename --help`.
const RENAME_HELP: &str = "\
Example:
  ken hub workspace rename acme payments billing

For 30 days a client that still uses the former name is told the new one, and no other workspace can
have the former name.";

/// Arguments that name a workspace.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArgs {
    /// The organization
    pub(crate) organization: String,
    /// The workspace
    pub(crate) workspace: String,
}

/// `ken hub token …`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print its secret once
    Create(TokenArgs),
    /// List the tokens of an organization, without their secrets
    #[command(after_help = "Example:\n  ken hub token list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Replace a token: print the secret of its successor once, and let the old one end
    #[command(
        after_help = "Examples:\n  ken hub token rotate acme ID\n  ken hub token rotate acme ID --overlap 0"
    )]
    Rotate {
        /// The organization
        organization: String,
        /// Id of the token, as listed by `ken hub token list`
        id: String,
        /// Hours in which the old token stays valid; 0 revokes it immediately
        #[arg(long, value_name = "HOURS", default_value = "24", value_parser = clap::value_parser!(u16).range(0..=168))]
        overlap: u16,
    },
    /// Revoke a token, or every token of an actor, immediately
    #[command(
        after_help = "Examples:\n  ken hub token revoke acme ID\n  ken hub token revoke acme --actor human:ada@example.org"
    )]
    Revoke {
        /// The organization
        organization: String,
        /// Id of the token, as listed by `ken hub token list`
        #[arg(required_unless_present = "actor", conflicts_with = "actor")]
        id: Option<String>,
        /// Revoke all tokens of this actor, such as a person who leaves
        #[arg(long, value_name = "ACTOR")]
        actor: Option<Actor>,
    },
}

/// `ken hub token create`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken hub token create acme --role member --actor human:ada@example.org"
)]
pub(crate) struct TokenArgs {
    /// The organization
    pub(crate) organization: String,
    /// Role of the token holder
    #[arg(long, value_name = "ROLE", value_parser = ["peer", "reader", "agent", "member", "curator", "admin"])]
    pub(crate) role: String,
    /// Actor of the token holder: human:NAME, agent:NAME, ci:NAME, import:NAME or peer:NAME
    #[arg(long, value_name = "ACTOR")]
    pub(crate) actor: Actor,
    /// Workspace the token gives access to; may be repeated [default: every workspace]
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Vec<String>,
    /// Stronger role in one workspace; may be repeated
    #[arg(long, value_name = "WORKSPACE=ROLE")]
    pub(crate) workspace_role: Vec<String>,
    /// Days until the token expires
    #[arg(long, value_name = "DAYS", default_value = "90", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub(crate) days: u16,
    /// Display name [default: the actor]
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &HubArgs,
) -> Result<CommandExit, CommandFailure> {
    // Needs no database: a health check has no password.
    #[cfg(feature = "remote")]
    if let HubCommand::Health(args) = &args.command {
        return health::run(session, args);
    }
    #[cfg(feature = "hub")]
    if let HubCommand::Config(command) = &args.command {
        return execution::configuration::run(session, command, &args.database);
    }
    administer(session, args)
}

#[cfg(feature = "hub")]
fn administer(session: &mut Session<'_>, args: &HubArgs) -> Result<CommandExit, CommandFailure> {
    administer::run(session, args)
}

#[cfg(not(feature = "hub"))]
fn administer(_session: &mut Session<'_>, _args: &HubArgs) -> Result<CommandExit, CommandFailure> {
    Err(CommandFailure::usage("this build of ken has no hub")
        .with_hint("use a release, or build with the feature `hub`"))
}

#[cfg(feature = "hub")]
pub(super) use administer::{database, failed, hinted};
#[cfg(feature = "hub")]
pub(super) use secrets::{read_limited, read_secret};
