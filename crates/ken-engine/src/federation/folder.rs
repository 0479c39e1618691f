//! The folder of a publication, written durably and read with the limits of a receiver.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ken_core::federation::{PublicationBatch, SignedManifest};
use ken_remote::publication::{
    CARD_FILE, HEAD_FILE, ORDERS_FILE, PublicationCard, PublicationReader, batch_file,
};
use serde::Serialize;

use super::FederationError;

/// The folder of a publication of this clone.
#[derive(Debug)]
pub struct PublicationFolder {
    root: PathBuf,
    reader: PublicationReader,
}

impl PublicationFolder {
    /// Names a folder, which may not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let reader = PublicationReader::folder(&root);
        Self { root, reader }
    }

    /// Returns the files, as a receiver reads them.
    pub(super) fn reader(&self) -> &PublicationReader {
        &self.reader
    }

    pub(super) fn write_card(&self, card: &PublicationCard) -> Result<(), FederationError> {
        self.write_json(CARD_FILE, card)
    }

    pub(super) fn write_head(&self, head: &SignedManifest) -> Result<(), FederationError> {
        self.write_json(HEAD_FILE, head)
    }

    pub(super) fn write_batch(&self, batch: &PublicationBatch) -> Result<(), FederationError> {
        let manifest = &batch.manifest;
        self.write_json(&batch_file(manifest.epoch, manifest.number), batch)
    }

    pub(super) fn write_orders(&self, orders: &[SignedManifest]) -> Result<(), FederationError> {
        let mut text = String::new();
        for order in orders {
            let line = serde_json::to_string(order);
            text.push_str(&line.map_err(|e| self.file_error(ORDERS_FILE, e.to_string()))?);
            text.push('\n');
        }
        self.write(ORDERS_FILE, text.as_bytes())
    }

    /// Deletes the batches of an epoch that a new one replaced.
    pub(super) fn remove_epoch(&self, epoch: u64) -> Result<(), FederationError> {
        let folder = self.root.join(epoch.to_string());
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.file_error(&epoch.to_string(), error.to_string()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FederationError> {
        let text = serde_json::to_string(value);
        let text = text.map_err(|e| self.file_error(name, e.to_string()))?;
        self.write(name, (text + "\n").as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FederationError> {
        write_file(&self.root.join(name), bytes).map_err(|e| self.file_error(name, e.to_string()))
    }

    fn file_error(&self, name: &str, why: String) -> FederationError {
        FederationError::File {
            path: self.root.join(name),
            why,
        }
    }
}

/// Replaces a file durably: readers see the old or the new one.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let draft = path.with_extension("tmp");
    let mut file = fs::File::create(&draft)?;
    file.write_all(bytes)?;
    // Before the rename: after a crash, the name must not lead to an empty file.
    file.sync_all()?;
    fs::rename(&draft, path)
}
