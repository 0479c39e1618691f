//! Parsing and verification of access tokens: RFC 7519 with RS256, ES256 and EdDSA only.
//!
//! `none` and HMAC are not supported: with HMAC, the issuer's public key could be used to forge a
//! signature. Claims are parsed only after the signature has been verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_core::values::time::Timestamp;
use ring::signature;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum size of an access token in bytes.
pub(super) const TOKEN_BYTES_MAX: usize = 16 << 10;

/// Tolerated clock difference between issuer and hub, in seconds.
const LEEWAY_S: u64 = 60;

/// Signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum SignatureAlgorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// Public key of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VerificationKey {
    pub(super) id: Option<String>,
    material: KeyMaterial,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyMaterial {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

/// What a token is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenPurpose {
    Access,
    Identity,
    Logout,
}

impl TokenPurpose {
    /// Returns the values of `typ` that a token for this purpose may have.
    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Access => &["jwt", "at+jwt"],
            Self::Identity => &["jwt"],
            Self::Logout => &["jwt", "logout+jwt"],
        }
    }
}

/// A JSON Web Key (RFC 7517).
#[derive(Debug, Deserialize)]
pub(super) struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Header of a token.
#[derive(Debug, Deserialize)]
struct JwtHeader {
    alg: SignatureAlgorithm,
    kid: Option<String>,
    typ: Option<String>,
    /// Critical extensions; none is supported, so any value is refused.
    crit: Option<Value>,
}

/// A parsed token with an unverified signature.
#[derive(Debug)]
pub(super) struct UnverifiedToken<'a> {
    head: JwtHeader,
    signed: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// Claim values that a token must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    pub(super) now: Timestamp,
}

impl VerificationKey {
    /// Converts a JSON Web Key; `None` if it cannot verify one of the supported signatures.
    pub(super) fn from_jwk(jwk: Jwk) -> Option<Self> {
        if jwk.purpose.as_deref().is_some_and(|it| it != "sig") {
            return None;
        }
        let bytes = |part: &Option<String>| URL_SAFE_NO_PAD.decode(part.as_deref()?).ok();
        let (material, named) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (bytes(&jwk.n)?, bytes(&jwk.e)?);
                (KeyMaterial::Rsa { n, e }, "RS256")
            }
            ("EC", Some("P-256")) => {
                // 0x04 marks an uncompressed point: the two coordinates follow.
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&<[u8; 32]>::try_from(bytes(&jwk.x)?).ok()?);
                point[33..].copy_from_slice(&<[u8; 32]>::try_from(bytes(&jwk.y)?).ok()?);
                (KeyMaterial::P256(point), "ES256")
            }
            ("OKP", Some("Ed25519")) => (
                KeyMaterial::Ed25519(bytes(&jwk.x)?.try_into().ok()?),
                "EdDSA",
            ),
            _ => return None,
        };
        // A key must not be used with another algorithm than the one it declares.
        if jwk.alg.as_deref().is_some_and(|it| it != named) {
            return None;
        }
        Some(Self {
            id: jwk.kid,
            material,
        })
    }

    /// Verifies a signature. The algorithm must match the type of the key.
    fn verify_signature(
        &self,
        algorithm: SignatureAlgorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        let checked = match (&self.material, algorithm) {
            (KeyMaterial::Rsa { n, e }, SignatureAlgorithm::Rs256) => {
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            (KeyMaterial::P256(point), SignatureAlgorithm::Es256) => {
                let how = &signature::ECDSA_P256_SHA256_FIXED;
                signature::UnparsedPublicKey::new(how, point).verify(signed, signature)
            }
            (KeyMaterial::Ed25519(key), SignatureAlgorithm::EdDsa) => {
                let how = &signature::ED25519;
                signature::UnparsedPublicKey::new(how, key).verify(signed, signature)
            }
            // The token's header chooses the algorithm; a mismatch with the key is an attempt at
            // algorithm confusion.
            (KeyMaterial::Rsa { .. } | KeyMaterial::P256(_) | KeyMaterial::Ed25519(_), _) => {
                return false;
            }
        };
        checked.is_ok()
    }
}

impl<'a> UnverifiedToken<'a> {
    /// Parses a token; `None` if it is malformed or has another purpose.
    pub(super) fn parse(text: &'a str, purpose: TokenPurpose) -> Option<Self> {
        // Checked before decoding: the token is not authenticated yet, so its size is an attack.
        if text.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, last) = text.rsplit_once('.')?;
        let (head, payload) = signed.split_once('.')?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let head: JwtHeader = serde_json::from_slice(&bytes(head)?).ok()?;
        // A token for another purpose (logout, identity) must not grant access.
        let media_type = head.typ.as_deref().unwrap_or("JWT");
        let typ = media_type
            .strip_prefix("application/")
            .unwrap_or(media_type);
        let is_allowed = purpose
            .types()
            .iter()
            .any(|allowed| typ.eq_ignore_ascii_case(allowed));
        if !is_allowed || head.crit.is_some() {
            return None;
        }
        Some(Self {
            head,
            signed,
            payload: bytes(payload)?,
            signature: bytes(last)?,
        })
    }

    /// Returns the id of the key that allegedly signed the token.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.head.kid.as_deref()
    }

    /// Returns the claims if one of `keys` signed the token and its issuer, audience and times are
    /// valid.
    pub(super) fn verified_claims<'k>(
        &self,
        mut keys: impl Iterator<Item = &'k VerificationKey>,
        expected: &ExpectedClaims<'_>,
    ) -> Option<Map<String, Value>> {
        let signed = self.signed.as_bytes();
        if !keys.any(|key| key.verify_signature(self.head.alg, signed, &self.signature)) {
            return None;
        }
        let claims: Map<String, Value> = serde_json::from_slice(&self.payload).ok()?;
        are_claims_valid(&claims, expected).then_some(claims)
    }
}

fn are_claims_valid(claims: &Map<String, Value>, expected: &ExpectedClaims<'_>) -> bool {
    let text = |value: &Value, wanted: &str| value.as_str() == Some(wanted);
    let is_issuer = claims
        .get("iss")
        .is_some_and(|issuer| text(issuer, expected.issuer));
    let is_audience = claims.get("aud").is_some_and(|audience| match audience {
        Value::Array(all) => all.iter().any(|it| text(it, expected.audience)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            text(audience, expected.audience)
        }
    });
    let now = expected.now.seconds();
    // A token without an expiry would be valid forever, so `exp` is required; `nbf` is optional.
    let expires = claims.get("exp").and_then(seconds);
    let is_live = expires.is_some_and(|expires| now < expires.saturating_add(LEEWAY_S));
    let has_begun = match claims.get("nbf") {
        None => true,
        Some(nbf) => seconds(nbf).is_some_and(|nbf| nbf <= now.saturating_add(LEEWAY_S)),
    };
    is_issuer && is_audience && is_live && has_begun
}

/// Parses a NumericDate; fractions are truncated.
fn seconds(value: &Value) -> Option<u64> {
    let whole = value.as_u64();
    whole.or_else(|| {
        let number = value.as_f64()?;
        (number.is_finite() && number >= 0.0).then_some(number as u64)
    })
}
