//! `ken serve`: an organisation's hub, until somebody ends the program.

use super::Session;
use crate::args::ServeArgs;
use crate::failure::{Exit, Failure};

#[cfg(not(feature = "hub"))]
pub(super) fn run(_session: &mut Session<'_>, _args: &ServeArgs) -> Result<Exit, Failure> {
    Err(Failure::usage("this ken was built without a hub")
        .with_hint("releases have it; build with the feature `hub`"))
}

#[cfg(feature = "hub")]
pub(super) fn run(session: &mut Session<'_>, args: &ServeArgs) -> Result<Exit, Failure> {
    use std::time::Duration;

    use ken_hub::serve;
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    /// What is still under way on other threads may take this long once everything else has ended.
    const END: Duration = Duration::from_secs(2);

    let settings = settings(args)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::io("cannot serve", &e))?;
    let served = runtime.block_on(async {
        let stop = super::mcp::stop()?;
        let bind = settings.bind;
        let app = serve::open(settings).await.map_err(|e| failed(&e))?;
        if let Some(role) = app.database.overseer() {
            session.printer.note(&format!(
                "the hub logs in as `{role}`, which could see every organisation if it did not become another role; fit to try it, in earnest give it a role of its own (docs/operations.md)"
            ))?;
        }
        let cannot = |e| unheard(bind, &e);
        let listener = TcpListener::bind(bind).await.map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        session
            .printer
            .talk(format_args!("listening on http://{bound}"))?;
        let served = serve::serve(app, listener, stop).await;
        served.map_err(|e| failed(&e))
    });
    runtime.shutdown_timeout(END);
    served.map(|()| Exit::Fine)
}

#[cfg(feature = "hub")]
fn failed(error: &ken_hub::serve::ServeError) -> Failure {
    use ken_hub::serve::ServeError;

    let failure = super::hub::failed(error);
    match error {
        ServeError::Database(error) => super::hub::hinted(failure, error),
        ServeError::Listen { address, source } => unheard(*address, source),
        ServeError::Issuer(_) | ServeError::PublicUrl | ServeError::Serve(_) => failure,
    }
}

/// Says why nobody is heard at an address.
#[cfg(feature = "hub")]
fn unheard(address: std::net::SocketAddr, error: &std::io::Error) -> Failure {
    let failure = Failure::io(format!("cannot listen on {address}"), error);
    let taken =
        "another program listens there; `--bind` (or `--metrics`) names another ADDRESS:PORT";
    let foreign = "this machine has no such address; 0.0.0.0 stands for all it has";
    let hints = [
        (std::io::ErrorKind::AddrInUse, taken),
        (std::io::ErrorKind::AddrNotAvailable, foreign),
    ];
    match hints.into_iter().find(|(kind, _)| *kind == error.kind()) {
        Some((_, hint)) => failure.with_hint(hint),
        None => failure,
    }
}

/// Returns what was typed as a hub knows it.
#[cfg(feature = "hub")]
fn settings(args: &ServeArgs) -> Result<ken_hub::serve::Settings, Failure> {
    use ken_hub::serve::log::Telling;

    use crate::args::LogArg;

    let database = super::hub::database(args.database.database.as_deref())?;
    let mut settings = ken_hub::serve::Settings::new(database);
    settings.bind = args.bind;
    settings.metrics = args.metrics;
    settings.connections = args.connections;
    settings.public_url.clone_from(&args.public_url);
    settings.oidc = oidc(&args.oidc)?;
    settings.log = ken_hub::serve::log::Log::new(
        match args.log {
            LogArg::Quiet => Telling::Quiet,
            LogArg::Problems => Telling::Problems,
            LogArg::Requests => Telling::Requests,
        },
        crate::print::aside,
    );
    Ok(settings)
}

/// Returns the issuer whose access tokens are taken, if one was named.
#[cfg(feature = "hub")]
fn oidc(args: &crate::args::OidcArgs) -> Result<Option<ken_hub::serve::settings::Oidc>, Failure> {
    use std::collections::BTreeMap;

    use ken_hub::identity::{Role, RoleError};
    use ken_hub::serve::settings::{ClaimedOrganisation, Oidc};

    let (Some(issuer), Some(audience), Some(organisation)) = (
        &args.oidc_issuer,
        &args.oidc_audience,
        &args.oidc_organisation,
    ) else {
        return Ok(None);
    };
    let role = |text: &String| {
        let (claimed, role) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{text}` is not of the form CLAIMED=ROLE"))
                .with_hint("such as --oidc-role ken-admins=admin")
        })?;
        let role = role.parse().map_err(|e: RoleError| Failure::usage(e))?;
        Ok((claimed.to_owned(), role))
    };
    let roles = args.oidc_role.iter().map(role);
    let roles = roles.collect::<Result<BTreeMap<String, Role>, Failure>>()?;
    let speaks = roles.values().any(|role| Role::Curator <= *role);
    if speaks && args.oidc_person_claim.is_none() {
        let told = "curators and admins are people, and no claim tells people from programs";
        return Err(Failure::usage(told)
            .with_hint("name the claim only people have, such as --oidc-person-claim email"));
    }
    Ok(Some(Oidc {
        issuer: issuer.clone(),
        audience: audience.clone(),
        keys: None,
        organisation: match organisation.strip_prefix("claim:") {
            Some(path) => ClaimedOrganisation::Claim(path.to_owned()),
            None => ClaimedOrganisation::Always(organisation.clone()),
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
    use ken_hub::identity::tokens;
    use ken_hub::serve::Settings;

    use crate::args::{ServeArgs, TokenArgs};

    #[test]
    fn what_holds_where_nothing_is_said_is_what_the_hub_says() {
        let said = |command: &clap::Command, id: &str| {
            let mut all = command.get_arguments();
            let found = all.find(|it| it.get_id() == id).expect("an argument");
            let values = found.get_default_values();
            values[0].to_str().expect("text").to_owned()
        };
        let serve = ServeArgs::augment_args(clap::Command::new("serve"));
        let hub = Settings::new(String::new());
        assert_eq!(said(&serve, "bind"), hub.bind.to_string());
        assert_eq!(said(&serve, "connections"), hub.connections.to_string());
        let token = TokenArgs::augment_args(clap::Command::new("create"));
        assert_eq!(said(&token, "days"), tokens::DAYS.to_string());
        let create = |days: u16| {
            let days = days.to_string();
            let words = ["create", "acme", "--role", "reader", "--actor", "human:x"];
            let words = words.into_iter().chain(["--days", &days]);
            token.clone().try_get_matches_from(words).is_ok()
        };
        assert!(create(tokens::DAYS_MAX) && !create(tokens::DAYS_MAX + 1));
    }
}
