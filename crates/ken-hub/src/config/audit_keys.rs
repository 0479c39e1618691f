//! Keys of the checkpoints of the audit log: Ed25519 in PEM, as OpenSSL writes it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// DER in front of the 32 bytes of an Ed25519 public key (RFC 8410).
const PUBLIC_KEY_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Key that signs checkpoints.
#[derive(Debug)]
pub struct AuditSigningKey(Ed25519KeyPair);

/// Key that verifies checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPublicKey(Vec<u8>);

/// A file that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditKeyError {
    #[error("expected an Ed25519 private key in PEM (PKCS #8), as `openssl genpkey` writes it")]
    Private,
    #[error("expected an Ed25519 public key in PEM, as `openssl pkey -pubout` writes it")]
    Public,
}

impl AuditSigningKey {
    /// Reads a private key in PEM.
    pub fn from_pem(text: &str) -> Result<Self, AuditKeyError> {
        let der = decode_pem(text, "PRIVATE KEY").ok_or(AuditKeyError::Private)?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der);
        key.map(Self).map_err(|_| AuditKeyError::Private)
    }

    /// Signs a text and returns the signature in base64.
    #[must_use]
    pub fn sign(&self, text: &str) -> String {
        STANDARD.encode(self.0.sign(text.as_bytes()))
    }

    /// Returns the key that verifies what this one signs.
    #[must_use]
    pub fn public_key(&self) -> AuditPublicKey {
        AuditPublicKey(self.0.public_key().as_ref().to_vec())
    }
}

impl AuditPublicKey {
    /// Reads a public key in PEM.
    pub fn from_pem(text: &str) -> Result<Self, AuditKeyError> {
        let der = decode_pem(text, "PUBLIC KEY").ok_or(AuditKeyError::Public)?;
        let key = der.strip_prefix(&PUBLIC_KEY_PREFIX);
        let key = key
            .filter(|it| it.len() == 32)
            .ok_or(AuditKeyError::Public)?;
        Ok(Self(key.to_vec()))
    }

    /// Returns whether a signature in base64 is one of `text` by this key.
    #[must_use]
    pub fn has_signed(&self, text: &str, signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(text.as_bytes(), &signature).is_ok()
    }
}

/// Returns the bytes of the PEM block with a label.
fn decode_pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key of test 1 in RFC 8032, section 7.1, as OpenSSL writes it.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";

    #[test]
    fn keys_in_the_form_of_openssl_sign_and_verify() {
        let private = AuditSigningKey::from_pem(PRIVATE).expect("a private key");
        let public = AuditPublicKey::from_pem(PUBLIC).expect("a public key");
        assert_eq!(private.public_key(), public);
        let signature = private.sign("text");
        assert!(public.has_signed("text", &signature));
        assert!(!public.has_signed("texts", &signature));
        assert!(!public.has_signed("text", "no base64!"));
        assert_eq!(
            AuditSigningKey::from_pem(PUBLIC).err(),
            Some(AuditKeyError::Private)
        );
        assert_eq!(
            AuditPublicKey::from_pem(PRIVATE).err(),
            Some(AuditKeyError::Public)
        );
    }
}
