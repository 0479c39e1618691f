//! `ken serve`: hub server on PostgreSQL, until a signal ends the program.

#[cfg(feature = "hub")]
mod layers;
#[cfg(feature = "hub")]
mod settings;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use super::Session;
use crate::commands::hub::DatabaseArgs;
use crate::failure::{CommandExit, CommandFailure};

/// Text below the options of `ken serve --help`.
const SERVE_HELP: &str = "\
Examples:
  KEN_DATABASE_URL=postgres://ken@localhost/ken ken serve --bind 127.0.0.1:8750
  ken serve --config /etc/ken/hub.toml

The database is PostgreSQL 16 or newer with pgvector. Its URL contains a password, so pass it in
KEN_DATABASE_URL or in a file, not on the command line. Run `ken hub migrate` first; see
docs/guides/operate-a-hub.md. Every option is also a key of the file and an environment variable:
docs/reference/hub-configuration.md.";

/// `ken serve`.
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
    /// TOML file with settings; options and environment variables take precedence [default:
    /// $KEN_SERVE_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8750", value_parser = address)]
    pub(crate) bind: SocketAddr,
    /// Address that serves metrics and health probes without a token [default: none]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Maximum open connections per client address; raise it behind a reverse proxy
    #[arg(long, value_name = "COUNT", default_value = "256", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) connections_per_address: u32,
    /// Maximum database connections of this process
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) connections: u32,
    /// Public URL of this hub, such as `https://hub.example.org`
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Proxy whose `X-Forwarded-For` header names the client in the audit log; may be repeated
    #[arg(long, value_name = "ADDRESS[/PREFIX]")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Log to standard error: nothing, refused and failed requests, or every request
    #[arg(long, value_name = "HOW", default_value = "problems")]
    pub(crate) log: LogArg,
    /// Serve the API only, without web pages for people
    #[arg(long)]
    pub(crate) no_ui: bool,
    /// File with exports of the audit log to files, syslog and webhooks (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) exports_file: Option<PathBuf>,
    /// File with the private key that signs checkpoints of the audit log (Ed25519 in PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_key_file: Option<PathBuf>,
    /// Minutes between pulls of the peers of every organization [default: none, `ken hub peer pull`
    /// pulls]
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) federate: Option<u32>,
    #[command(flatten)]
    pub(crate) oidc: OidcArgs,
}

/// Log level of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    Quiet,
    Problems,
    Requests,
}

/// Parses an address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    let parsed = text.parse();
    parsed.map_err(|_| {
        "expected an address and a port, such as 127.0.0.1:8750, or 0.0.0.0:8750 for every network"
            .to_owned()
    })
}

/// Identity provider whose access tokens the hub accepts besides its own.
#[derive(Debug, Args)]
pub(crate) struct OidcArgs {
    /// Issuer URL of an identity provider, exactly as in its tokens
    #[arg(long, value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,
    /// Required audience of its tokens
    #[arg(long, value_name = "AUDIENCE")]
    pub(crate) oidc_audience: Option<String>,
    /// Organization of its tokens: NAME, or claim:PATH to read it from a claim
    #[arg(long, value_name = "NAME|claim:PATH")]
    pub(crate) oidc_organization: Option<String>,
    /// Claim that identifies the token holder
    #[arg(long, value_name = "PATH", default_value = "sub")]
    pub(crate) oidc_subject_claim: String,
    /// Claim that only people have, such as email; without this option every token holder has at
    /// most the rights of an agent
    #[arg(long, value_name = "PATH")]
    pub(crate) oidc_person_claim: Option<String>,
    /// Claim that contains the roles
    #[arg(long, value_name = "PATH", default_value = "roles")]
    pub(crate) oidc_roles_claim: String,
    /// Mapping of a claimed role or group to a role of the hub, such as ken-admins=admin, or to a
    /// role in one workspace, such as payers=curator@payments; may be repeated
    #[arg(long, value_name = "CLAIMED=ROLE[@WORKSPACE]")]
    pub(crate) oidc_role: Vec<String>,
    /// Client of this hub at the identity provider, for people who sign in to the web pages
    #[arg(long, value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,
    /// File with the secret of the client; a public client has none
    #[arg(long, value_name = "FILE")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// Scopes to request besides openid
    #[arg(
        long,
        value_name = "SCOPES",
        default_value = "profile email offline_access"
    )]
    pub(crate) oidc_scopes: String,
}

/// `ken serve`, with the settings that were typed.
#[derive(Debug)]
pub(crate) struct ServeCommand {
    #[cfg(feature = "hub")]
    args: ServeArgs,
    #[cfg(feature = "hub")]
    typed: layers::LayerValues,
}

impl Args for ServeCommand {
    fn augment_args(command: Command) -> Command {
        ServeArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServeArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for ServeCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let args = ServeArgs::from_arg_matches(matches)?;
        #[cfg(not(feature = "hub"))]
        let _ = args;
        Ok(Self {
            #[cfg(feature = "hub")]
            args,
            #[cfg(feature = "hub")]
            typed: layers::typed_values(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the settings in effect with this file, for `ken hub config check`.
#[cfg(feature = "hub")]
pub(super) fn check_configuration(
    file: Option<&std::path::Path>,
    database: &DatabaseArgs,
) -> Result<(ken_hub::config::ServeSettings, Vec<EffectiveSetting>), CommandFailure> {
    let mut typed = layers::LayerValues::new();
    if let Some(url) = &database.database {
        typed.insert("database".to_owned(), vec![url.into()]);
    }
    if let Some(path) = &database.database_file {
        typed.insert("database_file".to_owned(), vec![path.into()]);
    }
    let named = file.map(PathBuf::from).or_else(crate::world::serve_config);
    let (args, effective) = layers::combine(&typed, named.as_deref())?;
    Ok((settings::convert(&args)?, effective))
}

#[cfg(feature = "hub")]
pub(crate) use layers::{EffectiveSetting, SettingDefinition, SettingSource};

#[cfg(not(feature = "hub"))]
pub(super) fn run(
    _session: &mut Session<'_>,
    _command: &ServeCommand,
) -> Result<CommandExit, CommandFailure> {
    Err(CommandFailure::usage("this build of ken has no hub")
        .with_hint("use a release, or build with the feature `hub`"))
}

#[cfg(feature = "hub")]
pub(super) fn run(
    session: &mut Session<'_>,
    command: &ServeCommand,
) -> Result<CommandExit, CommandFailure> {
    use std::time::Duration;

    use ken_hub::server;
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    /// Timeout for work on other threads at shutdown.
    const END: Duration = Duration::from_secs(2);

    let named = command.args.config.clone();
    let named = named.or_else(crate::world::serve_config);
    let (args, _) = layers::combine(&command.typed, named.as_deref())?;
    let settings = settings::convert(&args)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CommandFailure::io("cannot start the hub", &e))?;
    let served = runtime.block_on(async {
        let stop = super::mcp::stop()?;
        let bind = settings.bind;
        let app = server::open(settings).await.map_err(|e| failed(&e))?;
        if let Some(found) = app.database.newer_schema() {
            session.printer.note(&format!(
                "the database has schema version {found}, which is newer than this hub and compatible with it; upgrade the hub"
            ))?;
        }
        if let Some(role) = app.database.privileged_login() {
            session.printer.note(&format!(
                "the database login `{role}` can read every organization; the hub switches to a restricted role, but use a dedicated login in production (docs/guides/operate-a-hub.md)"
            ))?;
        }
        let cannot = |e| listen_failure(bind, &e);
        let listener = TcpListener::bind(bind).await.map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        session
            .printer
            .talk(format_args!("{} listening on http://{bound}", app.clock.now()))?;
        let served = server::serve(app, listener, stop).await;
        served.map_err(|e| failed(&e))
    });
    runtime.shutdown_timeout(END);
    served.map(|()| CommandExit::Fine)
}

#[cfg(feature = "hub")]
fn failed(error: &ken_hub::server::ServeError) -> CommandFailure {
    use ken_hub::server::ServeError;

    let failure = super::hub::failed(error);
    match error {
        ServeError::Database(error) => super::hub::hinted(failure, error),
        ServeError::Listen { address, source } => listen_failure(*address, source),
        ServeError::Issuer(_) | ServeError::PublicUrl | ServeError::Serve(_) => failure,
    }
}

/// Returns the failure to listen on an address.
#[cfg(feature = "hub")]
fn listen_failure(address: SocketAddr, error: &std::io::Error) -> CommandFailure {
    let failure = CommandFailure::io(format!("cannot listen on {address}"), error);
    let taken =
        "another program uses this address; choose another one with `--bind` or `--metrics`";
    let foreign = "this machine does not have this address; 0.0.0.0 means all its addresses";
    let hints = [
        (std::io::ErrorKind::AddrInUse, taken),
        (std::io::ErrorKind::AddrNotAvailable, foreign),
    ];
    match hints.into_iter().find(|(kind, _)| *kind == error.kind()) {
        Some((_, hint)) => failure.with_hint(hint),
        None => failure,
    }
}

#[cfg(all(test, feature = "hub"))]
mod tests {
    use clap::Args as _;
    use ken_hub::config::ServeSettings;
    use ken_hub::identity::tokens;

    use crate::commands::hub::TokenArgs;

    use super::ServeArgs;

    #[test]
    fn defaults_of_the_command_line_match_those_of_the_hub() {
        let default_of = |command: &clap::Command, id: &str| {
            let mut all = command.get_arguments();
            let found = all.find(|it| it.get_id() == id).expect("an argument");
            let values = found.get_default_values();
            values[0].to_str().expect("text").to_owned()
        };
        let serve = ServeArgs::augment_args(clap::Command::new("serve"));
        let hub = ServeSettings::new(String::new());
        assert_eq!(default_of(&serve, "bind"), hub.bind.to_string());
        assert_eq!(
            default_of(&serve, "connections"),
            hub.connections.to_string()
        );
        assert_eq!(
            default_of(&serve, "connections_per_address"),
            hub.limits.connections_per_address.to_string()
        );
        let token = TokenArgs::augment_args(clap::Command::new("create"));
        assert_eq!(default_of(&token, "days"), tokens::DAYS.to_string());
        let create = |days: u16| {
            let days = days.to_string();
            let words = ["create", "acme", "--role", "reader", "--actor", "human:x"];
            let words = words.into_iter().chain(["--days", &days]);
            token.clone().try_get_matches_from(words).is_ok()
        };
        assert!(create(tokens::DAYS_MAX) && !create(tokens::DAYS_MAX + 1));
    }
}
