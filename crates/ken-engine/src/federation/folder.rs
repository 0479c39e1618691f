//! The files of a publication: `publication.json`, `head.json`, `orders.jsonl`,
//! `EPOCH/NUMBER.json`.
//!
//! A folder may come from anywhere, so every read is bounded, follows no symbolic link and fails on
//! anything that is not a regular file. Error messages never quote the content.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ken_core::federation::{
    BATCH_BYTES_MAX, ORDERS_MAX, PublicationBatch, PublisherId, SignedManifest,
};
use ken_core::values::text::{Note, Tag};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::FederationError;

const CARD_FILE: &str = "publication.json";
const HEAD_FILE: &str = "head.json";
const ORDERS_FILE: &str = "orders.jsonl";

/// Schema name of the card.
const CARD_SCHEMA: &str = "ken.publication.v1";

/// Maximum bytes of the card.
const CARD_BYTES_MAX: u64 = 16 * 1024;

/// Maximum bytes of the file of orders.
const ORDERS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a publication says about itself. Only its key counts, and that was compared by people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublicationCard {
    pub(super) schema: String,
    pub(super) publisher: PublisherId,
    pub(super) publication: Tag,
    /// Public key in OpenSSH format.
    pub(super) key: String,
    pub(super) license: Note,
    pub(super) relay: bool,
}

impl PublicationCard {
    pub(super) fn new(
        publisher: PublisherId,
        publication: Tag,
        key: String,
        (license, relay): (Note, bool),
    ) -> Self {
        Self {
            schema: CARD_SCHEMA.to_owned(),
            publisher,
            publication,
            key,
            license,
            relay,
        }
    }
}

/// The folder of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationFolder {
    root: PathBuf,
}

impl PublicationFolder {
    /// Names a folder, which may not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the card; `None` if the folder has no publication.
    pub(super) fn card(&self) -> Result<Option<PublicationCard>, FederationError> {
        let card: Option<PublicationCard> = self.read_json(CARD_FILE, CARD_BYTES_MAX)?;
        if let Some(card) = &card
            && card.schema != CARD_SCHEMA
        {
            let why = "it has a schema that this version of Ken does not know".to_owned();
            return Err(self.file_error(CARD_FILE, why));
        }
        Ok(card)
    }

    /// Returns the newest manifest.
    pub(super) fn head(&self) -> Result<Option<SignedManifest>, FederationError> {
        self.read_json(HEAD_FILE, BATCH_BYTES_MAX as u64)
    }

    /// Returns one batch.
    pub(super) fn batch(
        &self,
        epoch: u64,
        number: u64,
    ) -> Result<Option<PublicationBatch>, FederationError> {
        self.read_json(&batch_file(epoch, number), BATCH_BYTES_MAX as u64)
    }

    /// Returns the manifests with orders of every epoch. A line that cannot be parsed is skipped,
    /// so that damage at one place does not hide the orders after it.
    pub(super) fn orders(&self) -> Result<Vec<SignedManifest>, FederationError> {
        let Some(text) = self.read_text(ORDERS_FILE, ORDERS_BYTES_MAX)? else {
            return Ok(Vec::new());
        };
        let lines = text.lines().take(ORDERS_MAX);
        Ok(lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
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

    fn read_json<T: DeserializeOwned>(
        &self,
        name: &str,
        max: u64,
    ) -> Result<Option<T>, FederationError> {
        let Some(text) = self.read_text(name, max)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_str(&text);
        // The position only: a message of serde quotes the value it did not expect.
        let why = |e: &serde_json::Error| format!("line {}, column {}", e.line(), e.column());
        parsed.map_err(|e| self.file_error(name, why(&e)))
    }

    fn read_text(&self, name: &str, max: u64) -> Result<Option<String>, FederationError> {
        let path = self.root.join(name);
        let metadata = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| self.file_error(name, e.to_string()))?,
        };
        // Opening a pipe would wait for a writer, and a link leads out of the folder.
        if !metadata.is_file() {
            return Err(self.file_error(name, "it is not a regular file".to_owned()));
        }
        // Bounded while reading: the file may have grown since its metadata was read. One byte more
        // than allowed tells a file that is too long from one that fits.
        let mut bytes = Vec::new();
        let read =
            fs::File::open(&path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
        read.map_err(|e| self.file_error(name, e.to_string()))?;
        if bytes.len() as u64 > max {
            return Err(self.file_error(name, format!("it has more than {max} bytes")));
        }
        let text = String::from_utf8(bytes);
        text.map(Some)
            .map_err(|_| self.file_error(name, "it is not UTF-8".to_owned()))
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

fn batch_file(epoch: u64, number: u64) -> String {
    format!("{epoch}/{number}.json")
}

/// Replaces a file durably: readers see the old or the new one.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let draft = path.with_extension("tmp");
    let mut file = fs::File::create(&draft)?;
    file.write_all(bytes)?;
    // Before the rename: after a crash, the name must not lead to an empty file.
    file.sync_all()?;
    fs::rename(&draft, path)
}
