//! Keys of publishers: signatures and the secret of a publication.
//!
//! Ken holds no private key: `ssh-keygen` signs, with a file or an agent.

use std::path::{Path, PathBuf};

use ken_core::federation::PublicationSecret;
use ken_core::federation::manifest::MANIFEST_NAMESPACE;
use ken_core::values::text::Tag;
use ken_sign::PublisherKey;

use super::FederationError;
use crate::promotion::signing;

/// Namespace of the signature from which the secret of a publication follows.
const SECRET_NAMESPACE: &str = "ken-publication-secret@v1";

/// The key of a publisher as a file, which `ssh-keygen` signs with.
#[derive(Clone, Debug)]
pub struct PublisherKeyFile {
    path: PathBuf,
    key: PublisherKey,
}

impl PublisherKeyFile {
    /// Reads the public key that belongs to a private key file.
    pub fn open(path: &Path) -> Result<Self, FederationError> {
        let key = public_key(path)?;
        let path = path.to_owned();
        Ok(Self { path, key })
    }

    /// Returns the public key.
    pub fn key(&self) -> &PublisherKey {
        &self.key
    }

    /// Returns the path of the key.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Signs the bytes of a manifest.
    pub fn sign_manifest(&self, bytes: &[u8]) -> Result<String, FederationError> {
        sign_manifest(bytes, &self.path)
    }

    /// Returns the secret of a publication.
    pub fn publication_secret(
        &self,
        publication: &Tag,
    ) -> Result<PublicationSecret, FederationError> {
        publication_secret(publication, &self.path)
    }
}

/// Reads the public key that belongs to a private key file.
pub(super) fn public_key(path: &Path) -> Result<PublisherKey, FederationError> {
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
    PublisherKey::parse(&text).ok_or_else(|| error("it is not an Ed25519 public key".to_owned()))
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
