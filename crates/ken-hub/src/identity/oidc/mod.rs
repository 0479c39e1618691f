//! Access tokens of an issuer whoever operates the hub trusts (OpenID Connect, RFC 9068).

mod keys;
mod token;

use ken_core::actor::{Actor, Role as ActorRole};
use ken_core::time::Timestamp;
use serde_json::{Map, Value};

use super::Role;
use crate::serve::settings::{ClaimedOrganisation, Oidc};
use keys::Keys;
use token::{Expected, Unproven};

pub use keys::KeysError;

/// Keys of one token's kind that are tried where it does not say which signed it.
const TRIED_MAX: usize = 8;

/// An issuer, and what its claims mean here.
#[derive(Debug)]
pub(super) struct Issuer {
    settings: Oidc,
    keys: Keys,
}

/// What a proven token says about its bearer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claimed {
    /// The name of its organisation.
    pub(super) organisation: String,
    pub(super) actor: Actor,
    pub(super) role: Role,
}

/// What a token was worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    Nothing,
    /// It is genuine, and its bearer has no role or organisation here.
    NoRole,
    Proven(Claimed),
}

impl Issuer {
    pub(super) fn new(settings: Oidc) -> Result<Self, KeysError> {
        Ok(Self {
            keys: Keys::new(&settings.issuer, settings.keys.as_deref())?,
            settings,
        })
    }

    /// Says what an access token is worth; asks the issuer for its keys where they are not known.
    pub(super) async fn prove(&self, text: &str, now: Timestamp) -> Result<Worth, KeysError> {
        let Some(unproven) = Unproven::read(text) else {
            return Ok(Worth::Nothing);
        };
        let keys = self.keys.get(unproven.key_id()).await?;
        let fits = |key: &&token::Key| {
            let id = unproven.key_id();
            id.is_none() || key.id.as_deref() == id
        };
        let expected = Expected {
            issuer: &self.settings.issuer,
            audience: &self.settings.audience,
            now,
        };
        let tried = keys.iter().filter(fits).take(TRIED_MAX);
        let claims = unproven.claims(tried, &expected);
        Ok(match claims {
            None => Worth::Nothing,
            Some(claims) => claimed(&self.settings, &claims).map_or(Worth::NoRole, Worth::Proven),
        })
    }
}

/// Maps claims to who somebody is here.
fn claimed(settings: &Oidc, claims: &Map<String, Value>) -> Option<Claimed> {
    let organisation = match &settings.organisation {
        ClaimedOrganisation::Always(name) => name.clone(),
        ClaimedOrganisation::Claim(path) => at(claims, path)?.as_str()?.to_owned(),
    };
    let named = match at(claims, &settings.roles_claim)? {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        // Scopes are one text with spaces (RFC 8693).
        Value::String(text) => text.split(' ').collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let roles = named.iter().filter_map(|name| settings.roles.get(*name));
    let role = *roles.max()?;
    let subject = at(claims, &settings.subject_claim)?.as_str()?;
    let person = settings.person_claim.as_deref();
    let person = person.and_then(|path| at(claims, path));
    let person = person.is_some_and(|it| !it.is_null() && *it != Value::Bool(false));
    // Only who may speak for people can be one: an agent's name must never read as a person's. And only a person may:
    // a program that was given a curator's role sends what agents may send.
    let (actor, role) = match role {
        Role::Curator | Role::Admin if person => (ActorRole::Human, role),
        Role::Reader | Role::Agent | Role::Curator | Role::Admin => {
            (ActorRole::Agent, role.min(Role::Agent))
        }
    };
    let actor = Actor::from_claim(actor, subject);
    role.fits(&actor).ok()?;
    Some(Claimed {
        organisation,
        actor,
        role,
    })
}

/// Follows dots into objects; a claim whose own name has dots comes first.
fn at<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(found) = claims.get(path) {
        return Some(found);
    }
    let (first, rest) = path.split_once('.')?;
    at(claims.get(first)?.as_object()?, rest)
}

#[cfg(test)]
mod tests;
