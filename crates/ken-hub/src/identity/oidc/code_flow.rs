//! Sign-in of people at the issuer: authorization code flow with PKCE (OpenID Connect Core 3.1,
//! RFC 7636), the re-check by refresh token, and back-channel logout.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_core::values::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::keys::{FormAnswer, IssuerKeysError, post_form, run_blocking};
use super::token::{ExpectedClaims, TokenPurpose, UnverifiedToken};
use super::{ClaimedIdentity, OidcIssuer, TRIED_MAX, claim_at, map_person};
use crate::clock::random_hex_256;
use crate::config::OidcClient;

/// Event of a logout token (OpenID Connect Back-Channel Logout 1.0).
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Secrets of one sign-in between its start and its end. They stay in the browser that started it.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInFlow {
    pub state: String,
    pub nonce: String,
    pub verifier: String,
}

/// A person that the issuer signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvidedPerson {
    pub(crate) identity: ClaimedIdentity,
    /// Subject and session at the issuer.
    pub(crate) subject: String,
    pub(crate) session: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

/// Answer of the issuer to a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CodeVerdict {
    /// The code, the token or one of its claims is not valid.
    Invalid,
    /// The person has no role or organization here.
    NoRole,
    Verified(Box<ProvidedPerson>),
}

/// Answer of the issuer to a re-check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefreshVerdict {
    /// The issuer ended the session, or the person has no role anymore.
    Ended,
    /// The session exists. An answer without an ID token says nothing about the person.
    Active {
        person: Option<Box<RefreshedPerson>>,
        /// The next refresh token, if this one is used up.
        refresh_token: Option<String>,
    },
}

/// A person as the issuer describes them at a re-check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefreshedPerson {
    pub(crate) identity: ClaimedIdentity,
    /// Subject at the issuer.
    pub(crate) subject: String,
}

#[derive(Debug, Deserialize)]
struct TokenResponse {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

impl SignInFlow {
    /// Generates the secrets of a sign-in.
    #[must_use]
    pub fn generate() -> Self {
        Self {
            state: random_hex_256(),
            nonce: random_hex_256(),
            verifier: random_hex_256(),
        }
    }

    /// Returns the PKCE challenge of the verifier.
    fn challenge(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, self.verifier.as_bytes());
        URL_SAFE_NO_PAD.encode(digest.as_ref())
    }
}

impl std::fmt::Debug for SignInFlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignInFlow(..)")
    }
}

impl OidcIssuer {
    /// Returns the address at the issuer where a person signs in.
    pub(crate) async fn authorization_url(
        &self,
        client: &OidcClient,
        redirect_uri: &str,
        flow: &SignInFlow,
    ) -> Result<String, IssuerKeysError> {
        let addresses = self.discovery.get().await?;
        let scope = format!("openid {}", client.scopes);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", redirect_uri),
            ("scope", scope.trim()),
            ("state", &flow.state),
            ("nonce", &flow.nonce),
            ("code_challenge", &flow.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        if client.scopes.contains("offline_access") {
            // Without it, providers ignore the scope (OpenID Connect Core 11).
            query.append_pair("prompt", "consent");
        }
        let start = addresses.authorization()?;
        let separator = if start.contains('?') { '&' } else { '?' };
        Ok(format!("{start}{separator}{}", query.finish()))
    }

    /// Exchanges the code of a sign-in for the person's identity.
    pub(crate) async fn redeem_code(
        &self,
        client: &OidcClient,
        (code, redirect_uri): (&str, &str),
        flow: &SignInFlow,
        now: Timestamp,
    ) -> Result<CodeVerdict, IssuerKeysError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", &flow.verifier),
        ];
        let Some(response) = self.request_token(client, &fields).await? else {
            return Ok(CodeVerdict::Invalid);
        };
        let Some(id_token) = &response.id_token else {
            return Ok(CodeVerdict::Invalid);
        };
        let claims = self.id_claims(client, id_token, now).await?;
        // The nonce binds the token to the browser that began the sign-in.
        let is_own = |it: &Map<String, Value>| it.get("nonce") == Some(&flow.nonce.clone().into());
        let Some(claims) = claims.filter(is_own) else {
            return Ok(CodeVerdict::Invalid);
        };
        let Some(identity) = map_person(&self.settings, &claims) else {
            return Ok(CodeVerdict::NoRole);
        };
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(subject) = text("sub") else {
            return Ok(CodeVerdict::Invalid);
        };
        Ok(CodeVerdict::Verified(Box::new(ProvidedPerson {
            identity,
            subject,
            session: text("sid"),
            refresh_token: response.refresh_token,
        })))
    }

    /// Asks the issuer whether a person's session still exists.
    pub(crate) async fn refresh(
        &self,
        client: &OidcClient,
        refresh_token: &str,
        now: Timestamp,
    ) -> Result<RefreshVerdict, IssuerKeysError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ];
        let Some(response) = self.request_token(client, &fields).await? else {
            return Ok(RefreshVerdict::Ended);
        };
        let refresh_token = response.refresh_token;
        let Some(id_token) = &response.id_token else {
            let person = None;
            return Ok(RefreshVerdict::Active {
                person,
                refresh_token,
            });
        };
        let claims = self.id_claims(client, id_token, now).await?;
        let person = claims.and_then(|claims| {
            let subject = claims.get("sub").and_then(Value::as_str)?.to_owned();
            let identity = map_person(&self.settings, &claims)?;
            Some(Box::new(RefreshedPerson { identity, subject }))
        });
        Ok(match person {
            Some(person) => RefreshVerdict::Active {
                person: Some(person),
                refresh_token,
            },
            None => RefreshVerdict::Ended,
        })
    }

    /// Returns the session and the subject that a logout token ends; `None` if it is not valid.
    pub(crate) async fn verify_logout(
        &self,
        client: &OidcClient,
        text: &str,
        now: Timestamp,
    ) -> Result<Option<(Option<String>, Option<String>)>, IssuerKeysError> {
        let claims = self.claims_of(TokenPurpose::Logout, text, &client.id, now);
        let Some(claims) = claims.await? else {
            return Ok(None);
        };
        let is_logout = claim_at(&claims, "events")
            .and_then(Value::as_object)
            .is_some_and(|events| events.contains_key(LOGOUT_EVENT));
        // A nonce is forbidden, so that an ID token cannot be used as a logout token.
        if !is_logout || claims.contains_key("nonce") {
            return Ok(None);
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let (session, subject) = (text("sid"), text("sub"));
        Ok((session.is_some() || subject.is_some()).then_some((session, subject)))
    }

    /// Returns the claims of a valid ID token for this client.
    async fn id_claims(
        &self,
        client: &OidcClient,
        text: &str,
        now: Timestamp,
    ) -> Result<Option<Map<String, Value>>, IssuerKeysError> {
        let claims = self.claims_of(TokenPurpose::Identity, text, &client.id, now);
        let is_ours = |claims: &Map<String, Value>| match claims.get("azp") {
            Some(party) => party.as_str() == Some(&client.id),
            // Of several audiences, the token must say which one requested it.
            None => !matches!(claims.get("aud"), Some(Value::Array(all)) if all.len() > 1),
        };
        Ok(claims.await?.filter(is_ours))
    }

    /// Returns the claims of a valid token for this purpose and audience; fetches the issuer's keys
    /// if they are not cached.
    pub(super) async fn claims_of(
        &self,
        purpose: TokenPurpose,
        text: &str,
        audience: &str,
        now: Timestamp,
    ) -> Result<Option<Map<String, Value>>, IssuerKeysError> {
        let Some(unproven) = UnverifiedToken::parse(text, purpose) else {
            return Ok(None);
        };
        let keys = self.keys.get(&self.discovery, unproven.key_id()).await?;
        let id = unproven.key_id();
        let tried = keys
            .iter()
            .filter(|key| id.is_none() || key.id.as_deref() == id);
        let issuer = &self.settings.issuer;
        let expected = ExpectedClaims {
            issuer,
            audience,
            now,
        };
        Ok(unproven.verified_claims(tried.take(TRIED_MAX), &expected))
    }

    /// Sends a request to the token endpoint; `None` if the issuer refuses the grant.
    async fn request_token(
        &self,
        client: &OidcClient,
        fields: &[(&str, &str)],
    ) -> Result<Option<TokenResponse>, IssuerKeysError> {
        let address = self.discovery.get().await?.token()?.to_owned();
        let body = token_request(client, fields);
        let basic = client.secret.as_ref().map(|secret| {
            let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let (id, secret): (String, String) = (encode(&client.id), encode(secret));
            base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"))
        });
        let answer = run_blocking(move || post_form(&address, &body, basic.as_deref())).await?;
        Ok(match answer {
            FormAnswer::Json(response) => Some(response),
            FormAnswer::Refused => None,
        })
    }
}

/// Returns the body of a request to the token endpoint.
fn token_request(client: &OidcClient, fields: &[(&str, &str)]) -> String {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    // A client with a secret sends both in a header.
    if client.secret.is_none() {
        body.append_pair("client_id", &client.id);
    }
    body.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_specification() {
        // RFC 7636, appendix B.
        let flow = SignInFlow {
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            ..SignInFlow::generate()
        };
        assert_eq!(
            flow.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_ne!(SignInFlow::generate(), SignInFlow::generate());
    }
}
