//! Access tokens of a trusted issuer (OpenID Connect, RFC 9068).

mod keys;
mod token;

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use serde_json::{Map, Value};

use crate::config::{ClaimedOrganization, OidcSettings};
use crate::ids::Role;
use keys::IssuerKeys;
use token::{ExpectedClaims, UnverifiedToken};

pub use keys::IssuerKeysError;

/// Maximum number of keys tried for a token that does not name its key.
const TRIED_MAX: usize = 8;

/// An issuer and the mapping of its claims.
#[derive(Debug)]
pub(super) struct OidcIssuer {
    settings: OidcSettings,
    keys: IssuerKeys,
}

/// Identity that a verified token claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimedIdentity {
    /// Name of the organization.
    pub(super) organization: String,
    pub(super) actor: Actor,
    pub(super) role: Role,
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
            keys: IssuerKeys::new(&settings.issuer, settings.keys.as_deref())?,
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
        let Some(unproven) = UnverifiedToken::parse(text) else {
            return Ok(TokenVerdict::Invalid);
        };
        let keys = self.keys.get(unproven.key_id()).await?;
        let fits = |key: &&token::VerificationKey| {
            let id = unproven.key_id();
            id.is_none() || key.id.as_deref() == id
        };
        let expected = ExpectedClaims {
            issuer: &self.settings.issuer,
            audience: &self.settings.audience,
            now,
        };
        let tried = keys.iter().filter(fits).take(TRIED_MAX);
        let claims = unproven.verified_claims(tried, &expected);
        Ok(match claims {
            None => TokenVerdict::Invalid,
            Some(claims) => map_claims(&self.settings, &claims)
                .map_or(TokenVerdict::NoRole, TokenVerdict::Verified),
        })
    }
}

/// Maps claims to an identity of the hub; `None` if they grant no role or organization.
fn map_claims(settings: &OidcSettings, claims: &Map<String, Value>) -> Option<ClaimedIdentity> {
    let organization = match &settings.organization {
        ClaimedOrganization::Always(name) => name.clone(),
        ClaimedOrganization::Claim(path) => claim_at(claims, path)?.as_str()?.to_owned(),
    };
    let named = match claim_at(claims, &settings.roles_claim)? {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        // OAuth scopes are one string separated by spaces (RFC 8693).
        Value::String(text) => text.split(' ').collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let roles = named.iter().filter_map(|name| settings.roles.get(*name));
    let role = *roles.max()?;
    let subject = claim_at(claims, &settings.subject_claim)?.as_str()?;
    let person_claim = settings.person_claim.as_deref();
    let person_claim = person_claim.and_then(|path| claim_at(claims, path));
    let is_person = person_claim.is_some_and(is_person);
    // Only members, curators and admins can be people here: an agent's name must never look like a
    // person's. A program with such a role is reduced to an agent, because only people may decide.
    let (actor, role) = match role {
        Role::Member | Role::Curator | Role::Admin if is_person => (ActorRole::Human, role),
        Role::Reader | Role::Agent | Role::Member | Role::Curator | Role::Admin => {
            (ActorRole::Agent, role.min(Role::Agent))
        }
    };
    let actor = subject_actor(actor, subject)?;
    role.check_actor(&actor).ok()?;
    Some(ClaimedIdentity {
        organization,
        actor,
        role,
    })
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
