//! `ken serve` and `ken hub`: an organisation's hub, and looking after it.

use std::net::SocketAddr;

use clap::{Args, Subcommand, ValueEnum};
use ken_core::actor::Actor;

/// What stands behind `ken serve --help`.
pub(crate) const SERVE_HELP: &str = "\
The database is a PostgreSQL 16 or newer with pgvector. Its address, with a password in it, belongs into
KEN_DATABASE_URL and not on the command line. `ken hub migrate` prepares it; docs/operations.md says more.";

/// `ken serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8750", value_parser = address)]
    pub(crate) bind: SocketAddr,
    /// Where to tell metrics, which need no token; nowhere without
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Connections to the database this process may have
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) connections: u32,
    /// The address others call this hub by, such as `https://hub.example.org`
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// What to write to standard error: nothing, what was refused or failed, or every request
    #[arg(long, value_name = "HOW", default_value = "problems")]
    pub(crate) log: LogArg,
    #[command(flatten)]
    pub(crate) oidc: OidcArgs,
}

/// How much a hub writes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    Quiet,
    Problems,
    Requests,
}

/// Reads where to listen.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    let parsed = text.parse();
    parsed.map_err(|_| {
        "name an address and a port, such as 127.0.0.1:8750, or 0.0.0.0:8750 for every network"
            .to_owned()
    })
}

/// Whose access tokens are taken beside the hub's own.
#[derive(Debug, Args)]
pub(crate) struct OidcArgs {
    /// An identity provider, exactly as its tokens name it
    #[arg(
        long,
        value_name = "URL",
        requires = "oidc_audience",
        requires = "oidc_organisation"
    )]
    pub(crate) oidc_issuer: Option<String>,
    /// What its tokens must be meant for
    #[arg(long, value_name = "AUDIENCE", requires = "oidc_issuer")]
    pub(crate) oidc_audience: Option<String>,
    /// The organisation its tokens are for: NAME, or claim:PATH where a token says so itself
    #[arg(long, value_name = "NAME|claim:PATH", requires = "oidc_issuer")]
    pub(crate) oidc_organisation: Option<String>,
    /// The claim that names somebody, the same in every token of theirs
    #[arg(
        long,
        value_name = "PATH",
        default_value = "sub",
        requires = "oidc_issuer"
    )]
    pub(crate) oidc_subject_claim: String,
    /// The claim only people have, such as email; without it whoever comes by a token of the provider is at most an agent
    #[arg(long, value_name = "PATH", requires = "oidc_issuer")]
    pub(crate) oidc_person_claim: Option<String>,
    /// The claim that holds the roles
    #[arg(
        long,
        value_name = "PATH",
        default_value = "roles",
        requires = "oidc_issuer"
    )]
    pub(crate) oidc_roles_claim: String,
    /// What a claimed role is here, such as ken-admins=admin; may be given often
    #[arg(long, value_name = "CLAIMED=ROLE", requires = "oidc_issuer")]
    pub(crate) oidc_role: Vec<String>,
}

/// Which database.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// The database [default: $KEN_DATABASE_URL]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database: Option<String>,
}

/// `ken hub …`.
#[derive(Debug, Args)]
pub(crate) struct HubArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(subcommand)]
    pub(crate) command: HubCommand,
}

/// What is done to a hub's database.
#[derive(Debug, Subcommand)]
pub(crate) enum HubCommand {
    /// Bring the database up to this build; connects as its owner
    Migrate,
    /// Look after organisations
    #[command(subcommand)]
    Organisation(OrganisationCommand),
    /// Look after workspaces, each one repository's
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Look after tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Make everything that follows from a workspace's log again
    Rebuild(WorkspaceArgs),
    /// Throw away what follows from a workspace's log; whoever reads next brings it back
    Evict(WorkspaceArgs),
    /// Show or change how much an organisation may use
    Quota(QuotaArgs),
    /// Show an organisation's workspaces and how much they hold
    Status {
        /// The organisation
        organisation: String,
    },
}

/// `ken hub organisation …`.
#[derive(Debug, Subcommand)]
pub(crate) enum OrganisationCommand {
    /// Make an organisation, where there is none of that name
    Add {
        /// Its name: small letters, digits, `.`, `_` and `-`
        name: String,
    },
    /// List every organisation; connects as the database's owner
    List,
}

/// `ken hub quota`.
#[derive(Debug, Args)]
pub(crate) struct QuotaArgs {
    /// The organisation
    pub(crate) organisation: String,
    /// Workspaces it may have; `default` for as many as the hub allows anybody
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) workspaces: Option<MaxArg>,
    /// Events each of its workspaces may hold
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) events: Option<MaxArg>,
    /// Bytes of events each of its workspaces may hold
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) bytes: Option<MaxArg>,
    /// Requests it may send to each hub process in a minute
    #[arg(long, value_name = "COUNT|default", value_parser = max)]
    pub(crate) requests_per_minute: Option<MaxArg>,
}

/// How much is allowed, as somebody typed it.
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
            .map_err(|_| "name a whole number, or `default`".to_owned()),
    }
}

/// `ken hub workspace …`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace, where the organisation has none of that name
    Add(WorkspaceArgs),
    /// List an organisation's workspaces and how much they hold
    List {
        /// The organisation
        organisation: String,
    },
}

/// A workspace of an organisation.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArgs {
    /// The organisation
    pub(crate) organisation: String,
    /// The workspace's name
    pub(crate) workspace: String,
}

/// `ken hub token …`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print its secret, once
    Create(TokenArgs),
    /// List an organisation's tokens, without their secrets
    List {
        /// The organisation
        organisation: String,
    },
    /// End a token now
    Revoke {
        /// The organisation
        organisation: String,
        /// The token's id, as `ken hub token list` shows it
        id: String,
    },
}

/// `ken hub token create`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// The organisation
    pub(crate) organisation: String,
    /// What the token may do
    #[arg(long, value_name = "ROLE", value_parser = ["reader", "agent", "curator", "admin"])]
    pub(crate) role: String,
    /// In whose name it acts: human:NAME, agent:NAME, ci:NAME, import:NAME or peer:NAME
    #[arg(long, value_name = "ACTOR")]
    pub(crate) actor: Actor,
    /// A workspace it may enter; every one without. May be given often
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Vec<String>,
    /// Days until it ends
    #[arg(long, value_name = "DAYS", default_value = "90", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub(crate) days: u16,
    /// What people call it [default: the actor]
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
}
