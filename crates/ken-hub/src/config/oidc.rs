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
    /// Roles in single workspaces for each claimed role or group: the name of the workspace, and
    /// the role. A token with nothing but these may only enter their workspaces.
    pub workspace_roles: BTreeMap<String, Vec<(String, Role)>>,
    /// Client with which people sign in to the web pages; `None` if they use tokens.
    pub client: Option<OidcClient>,
}

/// Registration of this hub at the issuer, for the sign-in of people.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcClient {
    pub id: String,
    /// `None` for a public client, which PKCE protects.
    pub secret: Option<String>,
    /// Scopes that are requested besides `openid`, such as `profile email offline_access`.
    pub scopes: String,
}

impl std::fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OidcClient({})", self.id)
    }
}

/// Source of the organization of an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedOrganization {
    /// This organization for every token.
    Always(String),
    /// The organization named by this claim.
    Claim(String),
}
