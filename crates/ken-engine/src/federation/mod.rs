//! Federation of repositories: publications that this clone writes, and peers it reads.
//!
//! A publication is a folder of static files that any web server or git repository can carry. A
//! peer is a publication of another organization that a person added after comparing its key. Its
//! entries live in a ledger of their own in the user's folder, never in the repository's.
//!
//! Reading order: `key` signs and verifies, `folder` reads and writes a publication's files,
//! `publication` exports, `peer` stores peers, `pull` receives, `received` lists what came in,
//! `review` is what a person decides, `overlay` adds approved entries to a search, `dependency`
//! follows package versions.

mod dependency;
mod error;
mod folder;
mod key;
mod overlay;
mod peer;
mod publication;
mod pull;
mod received;
mod review;

pub use dependency::{DependencyLesson, LessonSource, LessonTransition};
pub use error::FederationError;
pub use folder::{PublicationFolder, write_file};
pub use ken_core::federation::ForeignSource;
pub use ken_remote::publication::PublicationSource;
pub use ken_sign::PublisherKey;
pub use key::PublisherKeyFile;
pub use overlay::PeerHits;
pub use peer::{NewPeer, Peer, PeerHome, PeerLedger, PeerState, PeerStatus};
pub use publication::{NewPublication, Publication, PublicationReview, WaitingExport};
pub use received::{ReceivedEntry, ReceivedState};
pub use review::WaitingWording;

pub(crate) use dependency::dependency_lessons;
pub(crate) use overlay::search_peers;
pub(crate) use publication::{
    allow_exports, create_publication, publication, publications, remove_publication,
    review_publication, update_publication,
};
