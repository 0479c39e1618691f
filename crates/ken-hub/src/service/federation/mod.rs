//! Federation at the hub: publications of an organization, and peers that it reads.
//!
//! The rules are those of `ken_core::federation`, which static folders use as well. A hub serves
//! the same files as a folder, and reads peers from an address or a folder. What arrives is kept
//! apart from every workspace and is never published again.

mod publications;
mod pull;
mod review;
mod search;

use ken_core::federation::{BatchRejection, ExportBarrier, PublisherId};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;
use ken_remote::publication::PublicationReadError;

use super::ServiceError;
use crate::blocking::BlockingTaskError;
use crate::database::DatabaseError;
use crate::store::StoreError;

pub use publications::{
    HubPublicationReview, HubWaitingExport, ManifestSigner, NewHubPublication, PublicationMemory,
    allow_exports, close_publication, create_publication, read_publication_file,
    review_publication, update_publication,
};
pub use pull::{AddPeerRequest, PEER_TOKEN_PREFIX, PullOptions, add_peer, pull_peer};
pub use review::{
    PeerDecision, PeerEntry, approve_peer_entries, list_peer_entries, rate_peer_entry,
    reject_peer_entries,
};
pub use search::ForeignHits;

/// Maximum length of the name of a publication or peer.
const NAME_CHARS_MAX: usize = 32;

/// Error of a publication or a peer of a hub.
#[derive(Debug, thiserror::Error)]
pub enum HubFederationError {
    #[error(
        "`{0}` is not a valid name; use 1 to {NAME_CHARS_MAX} lowercase letters, digits and dashes"
    )]
    Name(String),
    #[error("the organization has no publication `{0}`")]
    NoPublication(String),
    #[error("the organization has no peer `{0}`")]
    NoPeer(String),
    #[error("`{0}` exists already, or this key publishes it elsewhere")]
    Exists(String),
    #[error("an organization has at most {0} publications")]
    TooManyPublications(usize),
    #[error("an organization has at most {0} peers")]
    TooManyPeers(usize),
    #[error("name at least one topic")]
    NoTopic,
    #[error("a publication expires after 1 to {0} days")]
    Expiry(u16),
    #[error("the publication `{0}` is closed")]
    Closed(String),
    #[error("only a person decides what leaves and what comes in")]
    PersonNeeded,
    #[error("the key belongs to the publisher {found}, and the publication to {wanted}")]
    OtherPublisher { found: String, wanted: String },
    #[error("{0}")]
    Signing(String),
    #[error("{entry} is not published: {why}")]
    Blocked { entry: EntryId, why: ExportBarrier },
    #[error(
        "{0} is not waiting for approval; only entries of the whole organization can be published"
    )]
    NotWaiting(EntryId),
    #[error("batch {number}: {why}")]
    Batch { number: u64, why: BatchRejection },
    #[error(transparent)]
    Read(#[from] PublicationReadError),
    #[error("there is no publication at `{0}`")]
    NothingThere(String),
    #[error("the publication has no valid Ed25519 key")]
    Key,
    // Without the fingerprint that was found: it would be pasted instead of compared.
    #[error("the key of the publication has another fingerprint than the one you gave")]
    OtherKey,
    #[error("this is the organization's own publication")]
    OwnPublication,
    #[error("the address has the publication `{found}`, not `{wanted}`")]
    OtherPublication { found: Tag, wanted: Tag },
    #[error("the publisher does not allow copies to be passed on")]
    NoRelay,
    #[error("a peer is 1 to {0} hops away")]
    Hops(u8),
    #[error(
        "the name of a variable with a token begins with {PEER_TOKEN_PREFIX}, so that no other secret can be sent"
    )]
    TokenVariable,
    #[error(transparent)]
    Service(#[from] Box<ServiceError>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    BrokenOff(#[from] BlockingTaskError),
}

impl HubFederationError {
    /// Returns what the operator can do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let hint = match self {
            Self::PersonNeeded => "name yourself with `--by human:NAME`",
            Self::OtherKey => {
                "ask the publisher for the fingerprint by another way than the address itself"
            }
            Self::NoPublication(_) => "`ken hub publication list ORGANIZATION` lists publications",
            Self::NoPeer(_) => "`ken hub peer list ORGANIZATION` lists peers",
            Self::NotWaiting(_) | Self::Blocked { .. } => {
                "`ken hub publication review ORGANIZATION NAME` lists what may leave"
            }
            Self::Name(_)
            | Self::Exists(_)
            | Self::TooManyPublications(_)
            | Self::TooManyPeers(_)
            | Self::NoTopic
            | Self::Expiry(_)
            | Self::Closed(_)
            | Self::OtherPublisher { .. }
            | Self::Signing(_)
            | Self::Batch { .. }
            | Self::Read(_)
            | Self::NothingThere(_)
            | Self::Key
            | Self::OwnPublication
            | Self::OtherPublication { .. }
            | Self::NoRelay
            | Self::Hops(_)
            | Self::TokenVariable
            | Self::Service(_)
            | Self::Store(_)
            | Self::BrokenOff(_) => return None,
        };
        Some(hint)
    }

    /// Returns the underlying database error, if there is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseError> {
        if let Self::Store(StoreError::Database(error)) = self {
            return Some(error);
        }
        let Self::Service(error) = self else {
            return None;
        };
        if let ServiceError::Database(error) | ServiceError::Store(StoreError::Database(error)) =
            &**error
        {
            return Some(error);
        }
        None
    }
}

impl From<DatabaseError> for HubFederationError {
    fn from(error: DatabaseError) -> Self {
        Self::Store(error.into())
    }
}

impl From<ServiceError> for HubFederationError {
    fn from(error: ServiceError) -> Self {
        Self::Service(Box::new(error))
    }
}

/// Returns the author of what the hub itself does about a peer.
fn carrier() -> Actor {
    Actor::from_claim(ActorRole::Ci, "federation")
}

/// Refuses actors that are not people.
fn ensure_person(by: &Actor) -> Result<(), HubFederationError> {
    if by.is_human() {
        Ok(())
    } else {
        Err(HubFederationError::PersonNeeded)
    }
}

/// Parses the name of a publication or peer, which is a part of addresses.
fn parse_name(name: &str) -> Result<Tag, HubFederationError> {
    let wrong = || HubFederationError::Name(name.chars().take(NAME_CHARS_MAX * 2).collect());
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.chars().all(is_word)
        && !name.starts_with('-');
    if !fits {
        return Err(wrong());
    }
    name.parse().map_err(|_| wrong())
}

/// Parses a stored publisher id.
fn parse_publisher(text: &str) -> Result<PublisherId, StoreError> {
    text.parse().map_err(StoreError::damaged)
}
