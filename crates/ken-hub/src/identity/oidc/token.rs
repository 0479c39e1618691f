//! An access token taken apart and checked: RFC 7519 with RS256, ES256 and EdDSA, nothing else.
//!
//! Never `none`, never HMAC: a key that anybody can read must not be able to sign. What the token claims is looked at
//! only after its signature was checked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_core::time::Timestamp;
use ring::signature;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Bytes an access token may have.
pub(super) const TOKEN_BYTES_MAX: usize = 16 << 10;

/// Seconds by which the issuer's clock and ours may differ.
const LEEWAY_S: u64 = 60;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Algorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// A key of the issuer that can check signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

/// A key as a key set writes it (RFC 7517).
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

/// What stands before the first dot.
#[derive(Debug, Deserialize)]
struct Head {
    alg: Algorithm,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood; we understand none.
    crit: Option<Value>,
}

/// A token whose parts could be read; nothing of it is proven.
#[derive(Debug)]
pub(super) struct Unproven<'a> {
    head: Head,
    signed: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// What must stand in a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    pub(super) now: Timestamp,
}

impl Key {
    /// Reads a key of a key set; one we cannot use is none.
    pub(super) fn read(jwk: Jwk) -> Option<Self> {
        if jwk.purpose.as_deref().is_some_and(|it| it != "sig") {
            return None;
        }
        let bytes = |part: &Option<String>| URL_SAFE_NO_PAD.decode(part.as_deref()?).ok();
        let (material, named) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (bytes(&jwk.n)?, bytes(&jwk.e)?);
                (Material::Rsa { n, e }, "RS256")
            }
            ("EC", Some("P-256")) => {
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&<[u8; 32]>::try_from(bytes(&jwk.x)?).ok()?);
                point[33..].copy_from_slice(&<[u8; 32]>::try_from(bytes(&jwk.y)?).ok()?);
                (Material::P256(point), "ES256")
            }
            ("OKP", Some("Ed25519")) => {
                (Material::Ed25519(bytes(&jwk.x)?.try_into().ok()?), "EdDSA")
            }
            _ => return None,
        };
        if jwk.alg.as_deref().is_some_and(|it| it != named) {
            return None;
        }
        Some(Self {
            id: jwk.kid,
            material,
        })
    }

    /// Returns whether the key made `signature` over `signed` by `algorithm`, which must be the key's own.
    fn made(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match (&self.material, algorithm) {
            (Material::Rsa { n, e }, Algorithm::Rs256) => {
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            (Material::P256(point), Algorithm::Es256) => {
                let how = &signature::ECDSA_P256_SHA256_FIXED;
                signature::UnparsedPublicKey::new(how, point).verify(signed, signature)
            }
            (Material::Ed25519(key), Algorithm::EdDsa) => {
                let how = &signature::ED25519;
                signature::UnparsedPublicKey::new(how, key).verify(signed, signature)
            }
            (Material::Rsa { .. } | Material::P256(_) | Material::Ed25519(_), _) => return false,
        };
        checked.is_ok()
    }
}

impl<'a> Unproven<'a> {
    /// Takes a token apart.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        if TOKEN_BYTES_MAX < text.len() {
            return None;
        }
        let (signed, last) = text.rsplit_once('.')?;
        let (head, payload) = signed.split_once('.')?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let head: Head = serde_json::from_slice(&bytes(head)?).ok()?;
        // A token of another purpose (a logout, an identity) must not open this door.
        let typ = head.typ.as_deref().unwrap_or("JWT");
        let typ = typ.strip_prefix("application/").unwrap_or(typ);
        let fits = ["jwt", "at+jwt"]
            .iter()
            .any(|it| typ.eq_ignore_ascii_case(it));
        if !fits || head.crit.is_some() {
            return None;
        }
        Some(Self {
            head,
            signed,
            payload: bytes(payload)?,
            signature: bytes(last)?,
        })
    }

    /// Returns which key is said to have signed it.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.head.kid.as_deref()
    }

    /// Returns what it claims, if one of `keys` signed it and it is meant for us, now.
    pub(super) fn claims<'k>(
        &self,
        mut keys: impl Iterator<Item = &'k Key>,
        expected: &Expected<'_>,
    ) -> Option<Map<String, Value>> {
        let signed = self.signed.as_bytes();
        if !keys.any(|key| key.made(self.head.alg, signed, &self.signature)) {
            return None;
        }
        let claims: Map<String, Value> = serde_json::from_slice(&self.payload).ok()?;
        is_for_us(&claims, expected).then_some(claims)
    }
}

fn is_for_us(claims: &Map<String, Value>, expected: &Expected<'_>) -> bool {
    let text = |value: &Value, wanted: &str| value.as_str() == Some(wanted);
    let by = claims
        .get("iss")
        .is_some_and(|it| text(it, expected.issuer));
    let meant = claims.get("aud").is_some_and(|it| match it {
        Value::Array(all) => all.iter().any(|it| text(it, expected.audience)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            text(it, expected.audience)
        }
    });
    let now = expected.now.seconds();
    let ends = claims.get("exp").and_then(seconds);
    let lives = ends.is_some_and(|ends| now < ends.saturating_add(LEEWAY_S));
    let began = match claims.get("nbf") {
        None => true,
        Some(nbf) => seconds(nbf).is_some_and(|nbf| nbf <= now.saturating_add(LEEWAY_S)),
    };
    by && meant && lives && began
}

/// Reads a NumericDate; fractions are cut off.
fn seconds(value: &Value) -> Option<u64> {
    let whole = value.as_u64();
    whole.or_else(|| {
        let found = value.as_f64()?;
        (found.is_finite() && 0.0 <= found).then_some(found as u64)
    })
}
