//! Batches of a publication: the signed manifest and the lines it lists.
//!
//! A manifest names every line by its checksum, which redaction keeps. A batch whose lines were
//! redacted later therefore still verifies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ledger::canonical;
use crate::ledger::event::RetractReason;
use crate::values::actor::{Actor, ActorRole};
use crate::values::base32;
use crate::values::id::{EntryId, EventId};
use crate::values::text::{Note, Tag};
use crate::values::text_form::text_form;
use crate::values::time::Timestamp;

/// Schema name of a manifest.
pub const MANIFEST_SCHEMA: &str = "ken.manifest.v1";

/// SSH signature namespace of manifests.
pub const MANIFEST_NAMESPACE: &str = "ken-manifest@v1";

/// The id of a publisher: 128 bits of the SHA-256 fingerprint of its public key, in base 32.
///
/// It follows from the key, so no other key can have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(u128);

/// A text that is not a publisher id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid publisher id; it has 26 characters")]
pub struct PublisherIdError(String);

/// Place in a publication's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPlace {
    pub epoch: u64,
    pub number: u64,
    /// Digest of the manifest at this place.
    pub digest: String,
}

/// What one batch adds to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationManifest {
    pub schema: String,
    pub publisher: PublisherId,
    pub publication: Tag,
    /// Milliseconds of the start of the epoch. A new epoch begins with a snapshot.
    pub epoch: u64,
    /// Number of the batch in its epoch, starting at 1.
    pub number: u64,
    /// Digest of the batch before; absent in the first batch of an epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    pub at: Timestamp,
    pub expires: Timestamp,
    /// Number of the last batch of the epoch's snapshot.
    pub snapshot: u64,
    /// Whether receivers may pass the publication on.
    pub relay: bool,
    /// SPDX expression.
    pub license: Note,
    pub rows: Vec<ManifestRow>,
}

/// One row of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum ManifestRow {
    /// Publishes a line.
    Add {
        id: EventId,
        /// Checksum of the line.
        sum: String,
        entry: EntryId,
    },
    /// Order: stop showing the entry of this line.
    Withdraw {
        target: EventId,
        reason: RetractReason,
    },
    /// Order: remove the data of this line from every copy.
    Redact { target: EventId },
}

impl ManifestRow {
    /// Returns whether the row takes something back.
    pub fn is_order(&self) -> bool {
        match self {
            Self::Add { .. } => false,
            Self::Withdraw { .. } | Self::Redact { .. } => true,
        }
    }
}

/// A manifest and the publisher's SSH signature over its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedManifest {
    pub manifest: PublicationManifest,
    pub signature: String,
}

/// A signed manifest and the lines of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationBatch {
    pub manifest: PublicationManifest,
    pub signature: String,
    pub lines: Vec<String>,
}

impl PublicationManifest {
    /// Returns the bytes to sign: one line of canonical JSON.
    pub fn bytes(&self) -> Vec<u8> {
        (canonical::to_string(self) + "\n").into_bytes()
    }

    /// Returns the digest of the bytes.
    pub fn digest(&self) -> String {
        format!("b3:{}", blake3::hash(&self.bytes()).to_hex())
    }

    /// Returns the place of this batch in the log.
    pub fn place(&self) -> LogPlace {
        LogPlace {
            epoch: self.epoch,
            number: self.number,
            digest: self.digest(),
        }
    }

    /// Returns whether the batch has an order.
    pub fn has_orders(&self) -> bool {
        self.rows.iter().any(ManifestRow::is_order)
    }
}

impl PublicationBatch {
    /// Returns the batch without its lines.
    pub fn signed_manifest(&self) -> SignedManifest {
        SignedManifest {
            manifest: self.manifest.clone(),
            signature: self.signature.clone(),
        }
    }
}

impl PublisherId {
    /// Number of characters.
    pub const CHARS: usize = 26;

    /// Returns the publisher with this SHA-256 key fingerprint.
    pub fn from_fingerprint(fingerprint: &[u8; 32]) -> Self {
        let mut half = [0; 16];
        // Half is enough: to take an id over, an attacker needs a second key for this very half.
        half.copy_from_slice(&fingerprint[..16]);
        Self(u128::from_be_bytes(half))
    }

    /// Returns the author of the publisher's lines.
    pub fn actor(self) -> Actor {
        Actor::from_claim(ActorRole::Peer, &self.to_string())
    }
}

impl fmt::Display for PublisherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits: [u8; Self::CHARS] = base32::encode(self.0);
        // The alphabet is ASCII.
        f.write_str(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

impl FromStr for PublisherId {
    type Err = PublisherIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || PublisherIdError(text.chars().take(Self::CHARS * 2).collect());
        if text.len() != Self::CHARS || !text.bytes().all(base32::is_lower_digit) {
            return Err(wrong());
        }
        base32::decode(text).map(Self).ok_or_else(wrong)
    }
}

text_form!(PublisherId, "PublisherId", r"^[0-7][0-9a-hjkmnp-tv-z]{25}$");
