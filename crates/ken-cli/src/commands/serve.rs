//! `ken serve`: hub server on PostgreSQL, until a signal ends the program.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::Session;
use crate::commands::hub::DatabaseArgs;
use crate::failure::{CommandExit, CommandFailure};

/// Text below the options of `ken serve --help`.
const SERVE_HELP: &str = "\
Example:
  KEN_DATABASE_URL=postgres://ken@localhost/ken ken serve --bind 127.0.0.1:8750

The database is PostgreSQL 16 or newer with pgvector. Its URL contains a password, so pass it in
KEN_DATABASE_URL, not on the command line. Run `ken hub migrate` first; see docs/guides/operate-a-hub.md.";

/// `ken serve`.
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
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
    #[arg(
        long,
        value_name = "URL",
        requires = "oidc_audience",
        requires = "oidc_organization"
    )]
    pub(crate) oidc_issuer: Option<String>,
    /// Required audience of its tokens
    #[arg(long, value_name = "AUDIENCE", requires = "oidc_issuer")]
    pub(crate) oidc_audience: Option<String>,
    /// Organization of its tokens: NAME, or claim:PATH to read it from a claim
    #[arg(long, value_name = "NAME|claim:PATH", requires = "oidc_issuer")]
    pub(crate) oidc_organization: Option<String>,
    /// Claim that identifies the token holder
    #[arg(
        long,
        value_name = "PATH",
        default_value = "sub",
        requires = "oidc_issuer"
    )]
    pub(crate) oidc_subject_claim: String,
    /// Claim that only people have, such as email; without this option every token holder has at
    /// most the rights of an agent
    #[arg(long, value_name = "PATH", requires = "oidc_issuer")]
    pub(crate) oidc_person_claim: Option<String>,
    /// Claim that contains the roles
    #[arg(
        long,
        value_name = "PATH",
        default_value = "roles",
        requires = "oidc_issuer"
    )]
    pub(crate) oidc_roles_claim: String,
    /// Mapping of a claimed role to a role of the hub, such as ken-admins=admin; may be repeated
    #[arg(long, value_name = "CLAIMED=ROLE", requires = "oidc_issuer")]
    pub(crate) oidc_role: Vec<String>,
}

#[cfg(not(feature = "hub"))]
pub(super) fn run(
    _session: &mut Session<'_>,
    _args: &ServeArgs,
) -> Result<CommandExit, CommandFailure> {
    Err(CommandFailure::usage("this build of ken has no hub")
        .with_hint("use a release, or build with the feature `hub`"))
}

#[cfg(feature = "hub")]
pub(super) fn run(
    session: &mut Session<'_>,
    args: &ServeArgs,
) -> Result<CommandExit, CommandFailure> {
    use std::time::Duration;

    use ken_hub::server;
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    /// Timeout for work on other threads at shutdown.
    const END: Duration = Duration::from_secs(2);

    let settings = settings(args)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CommandFailure::io("cannot start the hub", &e))?;
    let served = runtime.block_on(async {
        let stop = super::mcp::stop()?;
        let bind = settings.bind;
        let app = server::open(settings).await.map_err(|e| failed(&e))?;
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

/// Converts the arguments to the hub's settings.
#[cfg(feature = "hub")]
fn settings(args: &ServeArgs) -> Result<ken_hub::config::ServeSettings, CommandFailure> {
    use ken_hub::operator_log::LogVerbosity;

    let database = super::hub::database(args.database.database.as_deref())?;
    let mut settings = ken_hub::config::ServeSettings::new(database);
    settings.bind = args.bind;
    settings.metrics = args.metrics;
    settings.connections = args.connections;
    settings.limits.connections_per_address = args.connections_per_address as usize;
    settings.public_url.clone_from(&args.public_url);
    let proxies = args.trusted_proxy.iter().map(|text| text.parse());
    settings.trusted_proxies = proxies
        .collect::<Result<_, ken_hub::config::TrustedProxyError>>()
        .map_err(CommandFailure::usage)?;
    settings.oidc = oidc(&args.oidc)?;
    settings.log = ken_hub::operator_log::OperatorLog::new(
        match args.log {
            LogArg::Quiet => LogVerbosity::Quiet,
            LogArg::Problems => LogVerbosity::Problems,
            LogArg::Requests => LogVerbosity::Requests,
        },
        crate::print::write_stderr_line,
    );
    Ok(settings)
}

/// Returns the identity provider, if one is configured.
#[cfg(feature = "hub")]
fn oidc(args: &OidcArgs) -> Result<Option<ken_hub::config::OidcSettings>, CommandFailure> {
    use std::collections::BTreeMap;

    use ken_hub::config::{ClaimedOrganization, OidcSettings};
    use ken_hub::ids::{Role, RoleError};

    let (Some(issuer), Some(audience), Some(organization)) = (
        &args.oidc_issuer,
        &args.oidc_audience,
        &args.oidc_organization,
    ) else {
        return Ok(None);
    };
    let role = |text: &String| {
        let (claimed, role) = text.split_once('=').ok_or_else(|| {
            CommandFailure::usage(format!("`{text}` is not a valid CLAIMED=ROLE"))
                .with_hint("such as --oidc-role ken-admins=admin")
        })?;
        let role = role
            .parse()
            .map_err(|e: RoleError| CommandFailure::usage(e))?;
        Ok((claimed.to_owned(), role))
    };
    let roles = args.oidc_role.iter().map(role);
    let roles = roles.collect::<Result<BTreeMap<String, Role>, CommandFailure>>()?;
    let needs_person = roles.values().any(|role| Role::Member <= *role);
    if needs_person && args.oidc_person_claim.is_none() {
        let message = "the roles member, curator and admin require --oidc-person-claim";
        return Err(CommandFailure::usage(message)
            .with_hint("name a claim that only people have, such as --oidc-person-claim email"));
    }
    Ok(Some(OidcSettings {
        issuer: issuer.clone(),
        audience: audience.clone(),
        keys: None,
        organization: match organization.strip_prefix("claim:") {
            Some(path) => ClaimedOrganization::Claim(path.to_owned()),
            None => ClaimedOrganization::Always(organization.clone()),
        },
        subject_claim: args.oidc_subject_claim.clone(),
        person_claim: args.oidc_person_claim.clone(),
        roles_claim: args.oidc_roles_claim.clone(),
        roles,
    }))
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
