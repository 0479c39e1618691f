//! Peers: publications of other organizations, each with a ledger of its own in the user's folder.
//!
//! A peer is named by a person who compared the fingerprint of its key. The ledger is apart from
//! every repository: ids chosen by a peer meet no ids of ours, and the fold of one organization's
//! events never reads another's.

use std::fs;
use std::path::PathBuf;

use ken_core::federation::{
    Freshness, HOPS_MAX, PeerTrust, PublicationReplica, Strikes, WEIGHT_MAX, foreign_weight,
};
use ken_core::ledger::event::{EventBody, PeerTrustChanged};
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::text::Tag;
use ken_core::values::time::Timestamp;
use ken_ledger::{DiskError, LedgerLocation};
use ken_remote::publication::{PublicationReader, PublicationSource};
use ken_sign::PublisherKey;
use serde::{Deserialize, Serialize};

use super::FederationError;
use super::folder::write_file;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::guard::Guard;
use crate::init::init_at;
use crate::runtime::Runtime;

/// File of a peer in its folder.
const PEER_FILE: &str = "peer.json";

/// Maximum number of peers of a user.
pub(super) const PEERS_MAX: usize = 16;

/// Maximum length of a name.
const NAME_CHARS_MAX: usize = 32;

/// Maximum bytes of a peer's file.
const PEER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Author of what Ken itself does in a peer's ledger, such as applying an order.
const CARRIER: &str = "federation";

/// The folder of all peers of a user.
pub struct PeerHome {
    pub root: PathBuf,
    pub guard: Guard,
    /// Creates the clock and random source of each ledger.
    pub runtime: Box<dyn Fn() -> Box<dyn Runtime>>,
    /// Returns the token in an environment variable. Only the name of the variable is stored, so
    /// that no token reaches a disk.
    pub token: fn(&str) -> Option<String>,
}

/// Request to add a peer.
#[derive(Clone, Debug)]
pub struct NewPeer {
    pub name: String,
    /// Folder or address of the published files.
    pub source: PublicationSource,
    /// Environment variable with the token for the address, if it needs one.
    pub token_variable: Option<String>,
    /// Fingerprint that the person got from the publisher: `SHA256:…`.
    pub fingerprint: String,
    /// 1 if the files are the publisher's own, more for a copy that others pass on.
    pub hops: u8,
    /// Own limit of the weight, from 0 to 0.5.
    pub limit: Option<f64>,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub name: String,
    // The name of the file's first version, which knew folders only.
    #[serde(rename = "folder")]
    pub source: PublicationSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_variable: Option<String>,
    /// Public key in OpenSSH format.
    pub key: String,
    pub hops: u8,
    pub limit: Option<f64>,
    pub state: PeerState,
    pub(super) strikes: Strikes,
    pub replica: PublicationReplica,
}

/// Whether a peer's entries are read and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum PeerState {
    Active,
    /// Nothing is shown and only orders are read.
    Suspended {
        why: String,
    },
}

/// A peer with its open ledger.
#[derive(Debug)]
pub struct PeerLedger {
    pub peer: Peer,
    pub engine: Engine,
}

/// What is known about a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerStatus {
    pub trust: PeerTrust,
    pub weight: f64,
    pub freshness: Freshness,
    pub lines: usize,
    pub waiting: usize,
}

impl std::fmt::Debug for PeerHome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerHome")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl PeerState {
    /// Returns the suspension by a person.
    #[must_use]
    pub fn suspended_by_person() -> Self {
        let why = "a person suspended it".to_owned();
        Self::Suspended { why }
    }
}

impl Peer {
    /// Returns the publisher's key.
    pub fn publisher_key(&self) -> Result<PublisherKey, FederationError> {
        PublisherKey::parse(&self.key).ok_or_else(|| FederationError::Key {
            path: PEER_FILE.into(),
            why: "it is not an Ed25519 public key".to_owned(),
        })
    }

    /// Returns whether the peer's approved entries are shown at all.
    pub fn is_shown(&self, now: Timestamp) -> bool {
        let is_current = match self.replica.freshness(now) {
            Freshness::Fresh | Freshness::Stale => true,
            Freshness::Empty | Freshness::Lapsed => false,
        };
        self.state == PeerState::Active && self.replica.fork.is_none() && is_current
    }
}

impl PeerHome {
    /// Adds a peer after comparing the key of its folder with the given fingerprint.
    pub fn add(&self, new: NewPeer, by: &Actor) -> Result<Peer, EngineError> {
        ensure_person(by)?;
        check_name(&new.name)?;
        if new.hops == 0 || new.hops > HOPS_MAX {
            return Err(FederationError::Hops(HOPS_MAX).into());
        }
        if self.folder(&new.name).exists() {
            return Err(FederationError::Exists(new.name).into());
        }
        if self.peers()?.len() >= PEERS_MAX {
            return Err(FederationError::TooManyPeers(PEERS_MAX).into());
        }
        let files = self.open_source(&new.source, new.token_variable.as_deref())?;
        let place = PathBuf::from(new.source.to_string());
        let card = files.card()?.ok_or_else(|| FederationError::File {
            path: place.clone(),
            why: "there is no publication here".to_owned(),
        })?;
        let key = PublisherKey::parse(&card.key).ok_or_else(|| FederationError::Key {
            path: place,
            why: "it is not an Ed25519 public key".to_owned(),
        })?;
        // The person got the fingerprint by another way than the folder. Nothing else ties this key
        // to an organization.
        if key.fingerprint() != new.fingerprint.trim() {
            return Err(FederationError::OtherKey.into());
        }
        if key.publisher() != card.publisher {
            let (found, wanted) = (card.publisher, key.publisher());
            return Err(FederationError::OtherPublisher { found, wanted }.into());
        }
        if new.hops > 1 && !card.relay {
            return Err(FederationError::NoRelay.into());
        }
        let peer = Peer {
            name: new.name,
            source: new.source,
            token_variable: new.token_variable,
            key: key.line().to_owned(),
            hops: new.hops,
            limit: new.limit.map(|it| it.clamp(0.0, WEIGHT_MAX)),
            state: PeerState::Active,
            strikes: Strikes::default(),
            replica: PublicationReplica::new(key.publisher(), card.publication),
        };
        self.save(&peer)?;
        init_at(LedgerLocation::plain(&self.folder(&peer.name)))?;
        Ok(peer)
    }

    /// Opens the files of a peer's publication.
    pub(super) fn open_files(&self, peer: &Peer) -> Result<PublicationReader, FederationError> {
        self.open_source(&peer.source, peer.token_variable.as_deref())
    }

    fn open_source(
        &self,
        source: &PublicationSource,
        token_variable: Option<&str>,
    ) -> Result<PublicationReader, FederationError> {
        let token = token_variable.and_then(self.token);
        Ok(PublicationReader::open(source, token.as_deref())?)
    }

    /// Returns all peers by name.
    pub fn peers(&self) -> Result<Vec<Peer>, EngineError> {
        let Ok(folders) = fs::read_dir(&self.root) else {
            return Ok(Vec::new());
        };
        let mut peers = Vec::new();
        for folder in folders.flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            if check_name(&name).is_ok() && folder.path().join(PEER_FILE).is_file() {
                peers.push(self.peer(&name)?);
            }
        }
        peers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(peers)
    }

    /// Returns the peer called `name`.
    pub fn peer(&self, name: &str) -> Result<Peer, EngineError> {
        check_name(name)?;
        let path = self.folder(name).join(PEER_FILE);
        let unknown = || FederationError::NoPeer(name.to_owned());
        let metadata = fs::metadata(&path).map_err(|_| unknown())?;
        let error = |why: String| FederationError::File {
            path: path.clone(),
            why,
        };
        if metadata.len() > PEER_BYTES_MAX {
            return Err(error(format!("it has more than {PEER_BYTES_MAX} bytes")).into());
        }
        let text = fs::read_to_string(&path).map_err(|e| error(e.to_string()))?;
        let peer = serde_json::from_str(&text);
        Ok(peer.map_err(|e| error(format!("line {}, column {}", e.line(), e.column())))?)
    }

    /// Opens the ledger of a peer.
    pub fn open(&self, peer: Peer, actor: Option<Actor>) -> Result<PeerLedger, EngineError> {
        let root = self.folder(&peer.name);
        let mut engine = Engine::open_plain(&root, actor, (self.runtime)())?;
        engine.set_guard(self.guard.clone());
        Ok(PeerLedger { peer, engine })
    }

    /// Opens the ledgers of all peers whose entries may be shown. A peer that cannot be opened is
    /// left out: a damaged folder of a stranger must not break a search here.
    pub fn open_shown(&self, actor: Option<&Actor>) -> Vec<PeerLedger> {
        let now = (self.runtime)().now();
        let peers = self.peers().unwrap_or_default().into_iter();
        let shown = peers.filter(|it| it.is_shown(now));
        let opened = shown.filter_map(|it| self.open(it, actor.cloned()).ok());
        opened.take(PEERS_MAX).collect()
    }

    /// Suspends a peer, or ends its suspension.
    pub fn set_state(&self, name: &str, state: PeerState, by: &Actor) -> Result<Peer, EngineError> {
        ensure_person(by)?;
        let mut peer = self.peer(name)?;
        // Otherwise the next strike of the day would suspend a peer that a person just resumed.
        peer.strikes.clear();
        peer.state = state;
        self.save(&peer)?;
        Ok(peer)
    }

    /// Sets the person's own limit of a peer's weight.
    pub fn set_limit(
        &self,
        name: &str,
        limit: Option<f64>,
        by: &Actor,
    ) -> Result<Peer, EngineError> {
        ensure_person(by)?;
        let mut peer = self.peer(name)?;
        peer.limit = limit.map(|it| it.clamp(0.0, WEIGHT_MAX));
        self.save(&peer)?;
        Ok(peer)
    }

    /// Removes a peer with everything it sent.
    pub fn remove(&self, name: &str, by: &Actor) -> Result<(), EngineError> {
        ensure_person(by)?;
        let peer = self.peer(name)?;
        let folder = self.folder(&peer.name);
        let shown = folder.display().to_string();
        Ok(fs::remove_dir_all(&folder).map_err(DiskError::on("remove", &shown))?)
    }

    pub(super) fn save(&self, peer: &Peer) -> Result<(), EngineError> {
        let path = self.folder(&peer.name).join(PEER_FILE);
        let text = serde_json::to_string(peer).map_err(|e| FederationError::File {
            path: path.clone(),
            why: e.to_string(),
        })?;
        let shown = path.display().to_string();
        Ok(write_file(&path, text.as_bytes()).map_err(DiskError::on("write", &shown))?)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl PeerLedger {
    /// Returns trust, weight and what waits.
    pub fn status(&self) -> Result<PeerStatus, EngineError> {
        let trust = self.trust()?;
        let waiting = self.waiting()?.len();
        let lines = self.peer.replica.lines().count();
        Ok(PeerStatus {
            trust,
            weight: self.weight(trust),
            freshness: self.peer.replica.freshness(self.engine.now()),
            lines,
            waiting,
        })
    }

    /// Returns the trust from the observations in the peer's ledger, in their order.
    pub fn trust(&self) -> Result<PeerTrust, EngineError> {
        let mut changes = self.engine.index.of_type::<PeerTrustChanged>()?;
        changes.sort_by_key(|it| it.event.order());
        // A peer has no line of this type; the check is for copies that git or a person brought.
        let own = changes
            .iter()
            .filter(|it| it.event.by.role() != ActorRole::Peer);
        let history = own.filter_map(|it| it.event.get::<PeerTrustChanged>());
        Ok(PeerTrust::from_history(history))
    }

    /// Returns the factor for the scores of the peer's entries.
    pub fn weight(&self, trust: PeerTrust) -> f64 {
        foreign_weight(trust.score(), self.peer.hops, self.peer.limit)
    }

    pub(super) fn observation(&self, alpha_milli: u32, beta_milli: u32) -> ken_core::decide::Draft {
        let peer = self.peer.replica.publisher.actor();
        ken_core::decide::Draft {
            about: vec![ken_core::ledger::event::EventSubject::Other(
                peer.to_string(),
            )],
            body: EventBody::PeerTrustChanged(PeerTrustChanged {
                peer,
                alpha_milli,
                beta_milli,
            }),
        }
    }
}

/// Returns the author of what Ken itself does in a peer's ledger.
pub(super) fn carrier() -> Actor {
    Actor::from_claim(ActorRole::Ci, CARRIER)
}

/// Refuses actors that are not people.
pub(super) fn ensure_person(by: &Actor) -> Result<(), FederationError> {
    if by.is_human() {
        Ok(())
    } else {
        Err(FederationError::PersonNeeded(by.to_string()))
    }
}

/// Refuses names that are not short words: they become folders.
pub(super) fn check_name(name: &str) -> Result<(), FederationError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.chars().all(is_word)
        && !name.starts_with('-')
        && name.parse::<Tag>().is_ok();
    if fits {
        Ok(())
    } else {
        Err(FederationError::Name(name.chars().take(64).collect()))
    }
}
