//! Settings of an OpenID Connect issuer.

use std::collections::BTreeMap;

use crate::ids::Role;

/// An OpenID Connect issuer, and the mapping of its claims to organizations, actors and roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// Exact value of the claim `iss`.
    pub issuer: String,
    /// Required value of the claim `aud`.
    pub audience: String,
    /// URL of the issuer's keys. Default: from its discovery document.
    pub keys: Option<String>,
    /// Organization of a token.
    pub organization: ClaimedOrganization,
    /// Claim that identifies the subject, the same in all of its tokens; usually `sub`. A token
    /// without it is refused: under two names, one person could approve their own content.
    pub subject_claim: String,
    /// Claim that only people have, such as `email`. A member, curator or admin with this claim is
    /// a person and may decide. Every other token belongs to a program, which is at most an agent.
    pub person_claim: Option<String>,
    /// Claim with the roles, a text or a list. Dots select nested objects, as in
    /// `realm_access.roles`.
    pub roles_claim: String,
    /// Hub role for each claimed role. A token without any of them is refused; of several, the
    /// strongest applies.
    pub roles: BTreeMap<String, Role>,
}

/// Source of the organization of an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedOrganization {
    /// This organization for every token.
    Always(String),
    /// The organization named by this claim.
    Claim(String),
}
