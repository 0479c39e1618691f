//! Access tokens of a trusted issuer (OpenID Connect, RFC 9068).

mod cache;
mod code_flow;
mod discovery;
mod keys;
mod token;

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use serde_json::{Map, Value};

use crate::config::{ClaimedOrganization, OidcSettings};
use crate::ids::Role;
use discovery::Discovery;
use keys::IssuerKeys;
use token::TokenPurpose;

pub use code_flow::SignInFlow;
pub(crate) use code_flow::{CodeVerdict, ProvidedPerson, RefreshVerdict, RefreshedPerson};
pub use keys::IssuerKeysError;

/// Maximum number of keys tried for a token that does not name its key.
const TRIED_MAX: usize = 8;

/// An issuer and the mapping of its claims.
#[derive(Debug)]
pub(crate) struct OidcIssuer {
    pub(super) settings: OidcSettings,
    keys: IssuerKeys,
    discovery: Discovery,
}

/// Identity that a verified token claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedIdentity {
    /// Name of the organization.
    pub(crate) organization: String,
    pub(crate) actor: Actor,
    /// Role in the organization; reader if only workspaces are granted.
    pub(crate) role: Role,
    /// Roles in workspaces, by their names.
    pub(crate) workspace_roles: Vec<(String, Role)>,
    /// True if no role in the organization is claimed: only these workspaces may be entered.
    pub(crate) is_restricted: bool,
}

/// Roles that claims grant.
struct ClaimedRoles {
    organization: Option<Role>,
    workspaces: Vec<(String, Role)>,
}

impl ClaimedRoles {
    /// Returns the strongest of all roles; `None` if there is none.
    fn strongest(&self) -> Option<Role> {
        let workspaces = self.workspaces.iter().map(|(_, role)| *role);
        workspaces.chain(self.organization).max()
    }
}

/// Result of verifying a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenVerdict {
    Invalid,
    /// The token is genuine, but grants no role or organization here.
    NoRole,
    Verified(ClaimedIdentity),
}

impl OidcIssuer {
    pub(super) fn new(settings: OidcSettings) -> Result<Self, IssuerKeysError> {
        Ok(Self {
            keys: IssuerKeys::new(settings.keys.as_deref())?,
            discovery: Discovery::new(&settings.issuer)?,
            settings,
        })
    }

    /// Returns how often the issuer's keys could not be fetched.
    pub(super) fn key_failures(&self) -> u64 {
        self.keys.failures()
    }

    /// Verifies an access token; fetches the issuer's keys if they are not cached.
    pub(super) async fn verify_token(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<TokenVerdict, IssuerKeysError> {
        let audience = &self.settings.audience;
        let claims = self
            .claims_of(TokenPurpose::Access, text, audience, now)
            .await?;
        Ok(match claims {
            None => TokenVerdict::Invalid,
            Some(claims) => map_claims(&self.settings, &claims)
                .map_or(TokenVerdict::NoRole, TokenVerdict::Verified),
        })
    }
}

/// Maps claims to an identity of the hub; `None` if they grant no role or organization.
fn map_claims(settings: &OidcSettings, claims: &Map<String, Value>) -> Option<ClaimedIdentity> {
    let roles = claimed_roles(settings, claims)?;
    // Only members, curators and admins can be people here: an agent's name must never look like a
    // person's. A program with such a role is reduced to an agent, because only people may decide.
    let actor = match roles.strongest()? {
        Role::Member | Role::Curator | Role::Admin if is_claimed_person(settings, claims) => {
            ActorRole::Human
        }
        Role::Peer | Role::Reader | Role::Agent | Role::Member | Role::Curator | Role::Admin => {
            ActorRole::Agent
        }
    };
    claimed_identity(settings, claims, &roles, actor)
}

/// Maps the claims of a person at a browser; `None` if they are not those of a person with a role.
///
/// Unlike a program with the role reader, such a person is a reader in their own name.
fn map_person(settings: &OidcSettings, claims: &Map<String, Value>) -> Option<ClaimedIdentity> {
    if !is_claimed_person(settings, claims) {
        return None;
    }
    let roles = claimed_roles(settings, claims)?;
    claimed_identity(settings, claims, &roles, ActorRole::Human)
}

fn claimed_identity(
    settings: &OidcSettings,
    claims: &Map<String, Value>,
    roles: &ClaimedRoles,
    actor: ActorRole,
) -> Option<ClaimedIdentity> {
    let organization = claimed_organization(settings, claims)?;
    let subject = claim_at(claims, &settings.subject_claim)?.as_str()?;
    let is_person = actor == ActorRole::Human;
    let actor = subject_actor(actor, subject)?;
    let fitting = |role: Role| match (role, is_person) {
        // The role agent is one of programs.
        (Role::Peer, _) => Role::Peer,
        (Role::Reader, _) | (Role::Agent, true) => Role::Reader,
        (Role::Member | Role::Curator | Role::Admin, true) => role,
        (Role::Agent | Role::Member | Role::Curator | Role::Admin, false) => Role::Agent,
    };
    let role = fitting(roles.organization.unwrap_or(Role::Reader));
    let workspaces = roles.workspaces.iter();
    let workspaces = workspaces.map(|(name, role)| (name.clone(), fitting(*role)));
    let workspace_roles: Vec<(String, Role)> = workspaces.collect();
    role.check_actor(&actor).ok()?;
    for (_, role) in &workspace_roles {
        role.check_actor(&actor).ok()?;
    }
    Some(ClaimedIdentity {
        organization,
        actor,
        role,
        workspace_roles,
        is_restricted: roles.organization.is_none(),
    })
}

fn is_claimed_person(settings: &OidcSettings, claims: &Map<String, Value>) -> bool {
    let path = settings.person_claim.as_deref();
    let claim = path.and_then(|path| claim_at(claims, path));
    claim.is_some_and(is_person)
}

fn claimed_organization(settings: &OidcSettings, claims: &Map<String, Value>) -> Option<String> {
    Some(match &settings.organization {
        ClaimedOrganization::Always(name) => name.clone(),
        ClaimedOrganization::Claim(path) => claim_at(claims, path)?.as_str()?.to_owned(),
    })
}

/// Returns the roles that the claims name; `None` if they name none.
fn claimed_roles(settings: &OidcSettings, claims: &Map<String, Value>) -> Option<ClaimedRoles> {
    let named: Vec<&str> = match claim_at(claims, &settings.roles_claim)? {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        // OAuth scopes are one string separated by spaces (RFC 8693).
        Value::String(text) => text.split(' ').collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let organization = named.iter().filter_map(|name| settings.roles.get(*name));
    let workspaces = named
        .iter()
        .filter_map(|name| settings.workspace_roles.get(*name));
    let roles = ClaimedRoles {
        organization: organization.max().copied(),
        workspaces: workspaces.flatten().cloned().collect(),
    };
    roles.strongest().is_some().then_some(roles)
}

/// Returns whether the claim that only people have is present.
///
/// A flag such as `email_verified` must be true; some issuers send it as text. An address such as
/// `email` counts as well. Any other value, such as the text `false` or a number, does not: issuers
/// send claims that say no in many forms.
fn is_person(claim: &Value) -> bool {
    match claim {
        Value::Bool(flag) => *flag,
        Value::String(text) => text == "true" || text.contains('@'),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Returns the actor of a subject; `None` if the name is not exactly one that can identify
/// somebody.
fn subject_actor(role: ActorRole, subject: &str) -> Option<Actor> {
    // Compatibility forms of a letter look alike and would be different people.
    if !unicode_normalization::is_nfkc(subject) {
        return None;
    }
    Actor::from_subject(role, subject).ok()
}

/// Returns the claim at a path, where dots lead into objects. A claim whose own name contains dots
/// takes precedence, because namespaced claims are URLs.
fn claim_at<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(found) = claims.get(path) {
        return Some(found);
    }
    let (first, rest) = path.split_once('.')?;
    claim_at(claims.get(first)?.as_object()?, rest)
}

#[cfg(test)]
mod tests;
