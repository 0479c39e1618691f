//! Keys of publishers: identity, signatures and the secret of a publication.
//!
//! Ken holds no private key: `ssh-keygen` signs, with a file or an agent. Only Ed25519 keys are
//! accepted, because their signatures are deterministic.

use std::fmt;
use std::path::{Path, PathBuf};

use ken_core::federation::manifest::MANIFEST_NAMESPACE;
use ken_core::federation::{PublicationSecret, PublisherId};
use ken_core::values::text::Tag;
use ken_sign::SignerKey;

use super::FederationError;
use crate::promotion::signing;

/// Namespace of the signature from which the secret of a publication follows.
const SECRET_NAMESPACE: &str = "ken-publication-secret@v1";

/// The public key of a publisher.
#[derive(Clone, Debug)]
pub struct PublisherKey {
    line: String,
    key: SignerKey,
}

impl PublisherKey {
    /// Parses the line of a `.pub` file; `None` if it is not an Ed25519 key.
    pub fn parse(line: &str) -> Option<Self> {
        let key = SignerKey::parse(line).filter(SignerKey::is_ed25519)?;
        // Without the comment, which may name a person or a machine.
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        let line = words.join(" ");
        Some(Self { line, key })
    }

    /// Reads the public key that belongs to a private key file.
    pub(super) fn of_file(path: &Path) -> Result<Self, FederationError> {
        let is_public = path.extension().is_some_and(|it| it == "pub");
        let public = if is_public {
            path.to_owned()
        } else {
            let mut name = path.as_os_str().to_owned();
            name.push(".pub");
            PathBuf::from(name)
        };
        let error = |why: String| FederationError::Key {
            path: public.clone(),
            why,
        };
        let text = std::fs::read_to_string(&public).map_err(|e| error(e.to_string()))?;
        Self::parse(&text).ok_or_else(|| error("it is not an Ed25519 public key".to_owned()))
    }

    /// Returns the line of a `.pub` file, without a comment.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the publisher with this key.
    pub fn publisher(&self) -> PublisherId {
        PublisherId::from_fingerprint(&self.key.fingerprint_bytes())
    }

    /// Returns the fingerprint as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// Returns whether this key signed a manifest.
    pub fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
        self.key.has_signed(signature, MANIFEST_NAMESPACE, bytes)
    }
}

impl fmt::Display for PublisherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Signs a manifest with the key at `path`.
pub(super) fn sign_manifest(bytes: &[u8], path: &Path) -> Result<String, FederationError> {
    sign(bytes, MANIFEST_NAMESPACE, path)
}

/// Returns the secret of a publication. It follows from the key, so a fresh clone has it, too.
pub(super) fn publication_secret(
    publication: &Tag,
    path: &Path,
) -> Result<PublicationSecret, FederationError> {
    // In a namespace of its own, so that no signature that is published is ever the secret.
    let signature = sign(
        format!("{publication}\n").as_bytes(),
        SECRET_NAMESPACE,
        path,
    )?;
    Ok(PublicationSecret::from_bytes(signature.as_bytes()))
}

fn sign(bytes: &[u8], namespace: &str, path: &Path) -> Result<String, FederationError> {
    let signed = signing::sign_bytes(bytes, namespace, &path.display().to_string());
    signed.map_err(|why| FederationError::Key {
        path: path.to_owned(),
        why,
    })
}
