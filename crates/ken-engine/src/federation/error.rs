//! Errors of publications and peers.

use std::path::PathBuf;

use ken_core::federation::{BatchRejection, ExportBarrier, PublisherId};
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;
use ken_remote::publication::PublicationReadError;

use crate::error::EngineError;

/// An error of a publication or a peer.
#[derive(Debug, thiserror::Error)]
pub enum FederationError {
    #[error("`{0}` is not a valid name; use 1 to 32 lowercase letters, digits and dashes")]
    Name(String),
    #[error("there is no publication `{0}`")]
    NoPublication(String),
    #[error("there is no peer `{0}`")]
    NoPeer(String),
    #[error("`{0}` exists already")]
    Exists(String),
    #[error("a user has at most {0} peers")]
    TooManyPeers(usize),
    #[error("a clone has at most {0} publications")]
    TooManyPublications(usize),
    #[error("name at least one topic")]
    NoTopic,
    #[error("only a person decides what leaves and what comes in; this command runs as {0}")]
    PersonNeeded(String),
    #[error("`{path}`: {why}")]
    Key { path: PathBuf, why: String },
    #[error("`{path}` is not a valid publication file: {why}")]
    File { path: PathBuf, why: String },
    #[error(transparent)]
    Read(#[from] PublicationReadError),
    #[error("the folder belongs to the publisher {found}, not to {wanted}")]
    OtherPublisher {
        found: PublisherId,
        wanted: PublisherId,
    },
    #[error("the folder has the publication `{found}`, not `{wanted}`")]
    OtherPublication { found: Tag, wanted: Tag },
    // Without the fingerprint that was found: it would be pasted instead of compared.
    #[error("the key in the folder has another fingerprint than the one you gave")]
    OtherKey,
    #[error("this is your own publication")]
    OwnPublication,
    #[error("the publisher does not allow copies to be passed on")]
    NoRelay,
    #[error("a peer is 1 to {0} hops away")]
    Hops(u8),
    #[error("{entry} is not published: {why}")]
    Blocked { entry: EntryId, why: ExportBarrier },
    #[error("{0} is not waiting for a decision")]
    NotWaiting(EntryId),
    #[error("{0} is not shown: it was withdrawn, redacted, or its peer is suspended")]
    NotShown(EntryId),
    #[error("batch {number}: {why}")]
    Batch { number: u64, why: BatchRejection },
    #[error("the signature that was just made is not valid for `{0}`")]
    OwnSignature(PathBuf),
    #[error("the peer is suspended: {0}")]
    Suspended(String),
}

impl From<PublicationReadError> for EngineError {
    fn from(error: PublicationReadError) -> Self {
        FederationError::from(error).into()
    }
}

impl FederationError {
    /// Returns whether a policy refuses the request.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::PersonNeeded(_)
            | Self::OtherPublisher { .. }
            | Self::OtherPublication { .. }
            | Self::OtherKey
            | Self::OwnPublication
            | Self::NoRelay
            | Self::Blocked { .. }
            | Self::NotWaiting(_)
            | Self::NotShown(_)
            | Self::Batch { .. }
            | Self::Suspended(_) => true,
            Self::Name(_)
            | Self::NoPublication(_)
            | Self::NoPeer(_)
            | Self::Exists(_)
            | Self::TooManyPeers(_)
            | Self::TooManyPublications(_)
            | Self::NoTopic
            | Self::Key { .. }
            | Self::File { .. }
            | Self::Read(_)
            | Self::Hops(_)
            | Self::OwnSignature(_) => false,
        }
    }

    /// Returns what the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::PersonNeeded(_) => "a person can run the command in a terminal of their own",
            Self::OtherKey => {
                "ask the publisher for the fingerprint by another way than the folder itself"
            }
            Self::Key { .. } => "create a key: `ssh-keygen -t ed25519 -f FILE`",
            Self::Suspended(_) => "`ken remote peer resume NAME` if you trust it again",
            Self::Blocked { .. } => "`ken remote publication review NAME` lists what may leave",
            Self::NotWaiting(_) => "`ken remote peer review` lists what waits",
            Self::Name(_)
            | Self::NoPublication(_)
            | Self::NoPeer(_)
            | Self::Exists(_)
            | Self::TooManyPeers(_)
            | Self::TooManyPublications(_)
            | Self::NoTopic
            | Self::File { .. }
            | Self::Read(_)
            | Self::OtherPublisher { .. }
            | Self::OtherPublication { .. }
            | Self::OwnPublication
            | Self::NoRelay
            | Self::Hops(_)
            | Self::NotShown(_)
            | Self::Batch { .. }
            | Self::OwnSignature(_) => return None,
        };
        Some(hint.to_owned())
    }
}
