//! Conversion of the arguments of `ken serve` to the hub's settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ken_hub::config::{
    AuditSigningKey, ClaimedOrganization, ExportSettings, FederationSettings, OidcClient,
    OidcSettings, ServeSettings, TrustedProxyError,
};
use ken_hub::database::HubName;
use ken_hub::ids::{Role, RoleError};
use ken_hub::operator_log::{LogVerbosity, OperatorLog};

use super::{LogArg, OidcArgs, ServeArgs};
use crate::commands::hub::{database, read_limited, read_secret};
use crate::failure::CommandFailure;
use crate::print::write_stderr_line;

/// Maximum size of a file of exports in bytes.
const EXPORTS_BYTES_MAX: u64 = 256 << 10;

/// Converts the arguments to the hub's settings; reads the files with secrets.
pub(super) fn convert(args: &ServeArgs) -> Result<ServeSettings, CommandFailure> {
    // Before files are read: a mistake in the settings is easier to see than a missing file.
    let issuer = oidc(&args.oidc)?;
    let mut settings = ServeSettings::new(database(&args.database)?);
    settings.bind = args.bind;
    settings.metrics = args.metrics;
    settings.connections = args.connections;
    settings.limits.connections_per_address = args.connections_per_address as usize;
    settings.public_url.clone_from(&args.public_url);
    let proxies = args.trusted_proxy.iter().map(|text| text.parse());
    settings.trusted_proxies = proxies
        .collect::<Result<_, TrustedProxyError>>()
        .map_err(CommandFailure::usage)?;
    settings.has_pages = !args.no_ui;
    settings.oidc = issuer;
    settings.exports = exports(args.exports_file.as_deref())?;
    settings.audit_key = audit_key(args.audit_key_file.as_deref())?;
    settings.federation = args.federate.map(|minutes| FederationSettings {
        interval: Duration::from_secs(u64::from(minutes) * 60),
        token: crate::world::variable,
    });
    settings.log = OperatorLog::new(
        match args.log {
            LogArg::Quiet => LogVerbosity::Quiet,
            LogArg::Problems => LogVerbosity::Problems,
            LogArg::Requests => LogVerbosity::Requests,
        },
        write_stderr_line,
    );
    Ok(settings)
}

/// Reads the exports of the audit log, if there are any.
fn exports(path: Option<&Path>) -> Result<Vec<ExportSettings>, CommandFailure> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text = read_limited(path, EXPORTS_BYTES_MAX)?;
    // As in the hub's file of settings: a relative path starts at the file that names it.
    let folder = path.parent().unwrap_or(Path::new(""));
    let parsed = ExportSettings::parse(&text, folder, |it| read_secret(it).ok());
    parsed.map_err(|e| CommandFailure::usage(format_args!("`{}`: {e}", path.display())))
}

/// Reads the key that signs the audit log, if there is one.
fn audit_key(path: Option<&Path>) -> Result<Option<Arc<AuditSigningKey>>, CommandFailure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let key = AuditSigningKey::from_pem(&read_secret(path)?);
    let wrong = |e| CommandFailure::usage(format_args!("`{}`: {e}", path.display()));
    key.map(|it| Some(Arc::new(it))).map_err(wrong)
}

/// Returns the identity provider, if one is configured.
fn oidc(args: &OidcArgs) -> Result<Option<OidcSettings>, CommandFailure> {
    // Not checked by the argument parser: the options may come from different layers.
    args.check()?;
    let (Some(issuer), Some(audience), Some(organization)) = (
        &args.oidc_issuer,
        &args.oidc_audience,
        &args.oidc_organization,
    ) else {
        return Ok(None);
    };
    let ClaimedRoleMapping {
        roles,
        workspace_roles,
    } = claimed_roles(&args.oidc_role)?;
    let granted = workspace_roles.values().flatten().map(|(_, role)| role);
    let needs_person = roles
        .values()
        .chain(granted)
        .any(|role| Role::Member <= *role);
    if needs_person && args.oidc_person_claim.is_none() {
        let message = "the roles member, curator and admin require --oidc-person-claim";
        return Err(CommandFailure::usage(message)
            .with_hint("name a claim that only people have, such as --oidc-person-claim email"));
    }
    Ok(Some(OidcSettings {
        client: client(args)?,
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
        workspace_roles,
    }))
}

/// Roles of the hub for claimed roles: in the organization, and in single workspaces.
#[derive(Debug, Default)]
struct ClaimedRoleMapping {
    roles: BTreeMap<String, Role>,
    workspace_roles: BTreeMap<String, Vec<(String, Role)>>,
}

/// Parses the mappings of claimed roles: `CLAIMED=ROLE` or `CLAIMED=ROLE@WORKSPACE`.
fn claimed_roles(texts: &[String]) -> Result<ClaimedRoleMapping, CommandFailure> {
    let mut mapping = ClaimedRoleMapping::default();
    for text in texts {
        let wrong = || {
            CommandFailure::usage(format!("`{text}` is not a valid CLAIMED=ROLE[@WORKSPACE]"))
                .with_hint(
                    "such as --oidc-role ken-admins=admin, or --oidc-role payers=curator@payments",
                )
        };
        // Names of groups may contain `=`, names of roles and workspaces do not.
        let (claimed, granted) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (role, workspace) = match granted.split_once('@') {
            Some((role, workspace)) => (role, Some(workspace)),
            None => (granted, None),
        };
        let role: Role = role
            .parse()
            .map_err(|e: RoleError| CommandFailure::usage(e))?;
        let Some(workspace) = workspace else {
            // Of two roles for the same claim, the stronger applies.
            let known = mapping.roles.entry(claimed.to_owned()).or_insert(role);
            *known = role.max(*known);
            continue;
        };
        if role == Role::Admin {
            let message = "the role admin concerns the whole organization, not a workspace";
            return Err(CommandFailure::usage(message));
        }
        if workspace.parse::<HubName>().is_err() {
            return Err(wrong());
        }
        let granted = mapping.workspace_roles.entry(claimed.to_owned());
        granted.or_default().push((workspace.to_owned(), role));
    }
    Ok(mapping)
}

/// Returns the client with which people sign in, if one is configured.
fn client(args: &OidcArgs) -> Result<Option<OidcClient>, CommandFailure> {
    let Some(id) = &args.oidc_client_id else {
        return Ok(None);
    };
    let secret = args.oidc_client_secret_file.as_deref().map(read_secret);
    Ok(Some(OidcClient {
        id: id.clone(),
        secret: secret.transpose()?,
        scopes: args.oidc_scopes.clone(),
    }))
}

impl OidcArgs {
    /// Checks that options that need each other are set together.
    fn check(&self) -> Result<(), CommandFailure> {
        let issuer = ("--oidc-issuer", self.oidc_issuer.is_some());
        let audience = ("--oidc-audience", self.oidc_audience.is_some());
        let organization = ("--oidc-organization", self.oidc_organization.is_some());
        let person = ("--oidc-person-claim", self.oidc_person_claim.is_some());
        let client = ("--oidc-client-id", self.oidc_client_id.is_some());
        let secret = self.oidc_client_secret_file.is_some();
        let secret = ("--oidc-client-secret-file", secret);
        let roles = ("--oidc-role", !self.oidc_role.is_empty());
        for ((name, is_set), (needed, is_there)) in [
            (issuer, audience),
            (issuer, organization),
            (audience, issuer),
            (organization, issuer),
            (person, issuer),
            (roles, issuer),
            (client, issuer),
            (client, person),
            (secret, client),
        ] {
            if is_set && !is_there {
                let message = format!("{name} requires {needed}");
                return Err(CommandFailure::usage(message)
                    .with_hint("`ken hub config reference` lists the keys of both"));
            }
        }
        Ok(())
    }
}
