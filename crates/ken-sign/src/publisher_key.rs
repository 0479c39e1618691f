//! Public key of a publisher: its identity, and verification of its manifests.
//!
//! Only Ed25519 keys are accepted, because their signatures are deterministic.

use std::fmt;

use ken_core::federation::PublisherId;
use ken_core::federation::manifest::MANIFEST_NAMESPACE;

use crate::SignerKey;

/// The public key of a publisher.
#[derive(Clone, Debug)]
pub struct PublisherKey {
    line: String,
    key: SignerKey,
}

impl PublisherKey {
    /// Parses the line of a `.pub` file; `None` if it is not an Ed25519 key.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let key = SignerKey::parse(line).filter(SignerKey::is_ed25519)?;
        // Without the comment, which may name a person or a machine.
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        let line = words.join(" ");
        Some(Self { line, key })
    }

    /// Returns the line of a `.pub` file, without a comment.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the publisher with this key.
    #[must_use]
    pub fn publisher(&self) -> PublisherId {
        PublisherId::from_fingerprint(&self.key.fingerprint_bytes())
    }

    /// Returns the fingerprint as `ssh-keygen -l` prints it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// Returns whether this key signed a manifest.
    #[must_use]
    pub fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
        self.key.has_signed(signature, MANIFEST_NAMESPACE, bytes)
    }
}

impl fmt::Display for PublisherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}
