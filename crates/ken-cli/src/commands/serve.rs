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
        let cannot = |e| Failure::io(format!("cannot listen on {bind}"), &e);
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
    super::hub::failed(error)
}

/// Returns what was typed as a hub knows it.
#[cfg(feature = "hub")]
fn settings(args: &ServeArgs) -> Result<ken_hub::serve::Settings, Failure> {
    let database = super::hub::database(args.database.database.as_deref())?;
    let mut settings = ken_hub::serve::Settings::new(database);
    settings.bind = args.bind;
    settings.metrics = args.metrics;
    settings.connections = args.connections;
    settings.public_url.clone_from(&args.public_url);
    settings.oidc = oidc(&args.oidc)?;
    Ok(settings)
}

/// Returns the issuer whose access tokens are taken, if one was named.
#[cfg(feature = "hub")]
fn oidc(args: &crate::args::OidcArgs) -> Result<Option<ken_hub::serve::settings::Oidc>, Failure> {
    use ken_hub::identity::RoleError;
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
        roles: args
            .oidc_role
            .iter()
            .map(role)
            .collect::<Result<_, Failure>>()?,
    }))
}
