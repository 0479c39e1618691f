//! Recorded state of a remote: the cursor in its log, the events it has, the events it rejected.
//!
//! This is only a cache. If it is lost, events are sent again and the hub answers that it has them;
//! pages are pulled again and this clone already has their events.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ken_core::values::id::{EntryId, EventId};
use ken_ledger::disk::{LockGuard, LockWait};
use ken_ledger::{Dir as _, DiskError, LedgerLocation, RealDir};
use ken_remote::HubToken;
use ken_remote::wire::LogCursor;
use serde::{Deserialize, Serialize};

use super::file::Remote;
use super::{RemoteError, RemoteName};
use crate::error::EngineError;
use crate::files::{open_ken_dir, write_atomically};

/// The folder of all remotes, below `.ken/`.
const FOLDER: &str = ".local/remotes";
const STATE_FILE: &str = "state.json";
const KNOWN_FILE: &str = "held";
const REJECTED_FILE: &str = "told.jsonl";
const LOCK_FILE: &str = "lock";

/// Sizes of a record: an event id, then a digest of the event's line on the hub.
const ID_BYTES: usize = 16;
const DIGEST_BYTES: usize = 8;
const RECORD_BYTES: usize = ID_BYTES + DIGEST_BYTES;

/// The version of this build.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Digest of an event's line.
type LineDigest = [u8; DIGEST_BYTES];

/// An event that the hub or this clone did not accept, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedEvent {
    pub event: EventId,
    /// The entry the event is about, if any.
    pub entry: Option<EntryId>,
    pub kind: RejectionKind,
    pub reason: String,
}

/// The kind of rejection of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RejectionKind {
    /// The hub quarantined the event until a person decides.
    Quarantined,
    /// The hub refused the event.
    Refused,
    /// The event decides in another person's name: the hub accepts it from that person, or signed.
    Awaiting,
    /// This clone's guard declined the event.
    Declined,
}

/// Content of `state.json`.
#[derive(Debug, Serialize, Deserialize)]
struct RemoteStateFile {
    url: String,
    cursor: LogCursor,
    /// The furthest position in its log that the hub reported, in a push or a pull.
    #[serde(default)]
    reached: LogCursor,
    /// The version of Ken that found unreadable lines; a different version pulls them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_by: Option<String>,
    /// Digest of the token of the last push; another token may be permitted more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// One line of `told.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RejectedEventLine {
    id: EventId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    line: String,
    why: RejectionKind,
    reason: String,
}

/// The recorded state of one remote.
#[derive(Debug)]
pub(super) struct RemoteState {
    dir: RealDir,
    folder: String,
    url: String,
    /// Position in the hub's log up to which events were pulled.
    pub(super) cursor: LogCursor,
    /// The furthest position in the log that the hub reported; at least `cursor`, because pushed
    /// events come after pulled ones. A hub that does not know it anymore lost confirmed events.
    pub(super) reached: LogCursor,
    unread_by: Option<String>,
    token: Option<String>,
    known_events: BTreeMap<EventId, LineDigest>,
    rejected: BTreeMap<EventId, RejectedEventLine>,
    /// Lock of this remote; `None` for a read-only view.
    lock: Option<LockGuard>,
}

impl RemoteState {
    /// Locks the remote against other processes and loads its state.
    pub(super) fn open(place: &LedgerLocation, remote: &Remote) -> Result<Self, EngineError> {
        let mut known = Self::empty(place, remote)?;
        let create = known.dir.create_dirs(&known.folder);
        create.map_err(DiskError::on("create", &known.folder))?;
        let lock = known.path(LOCK_FILE);
        let alone = known.dir.lock(&lock, LockWait::Never);
        known.lock = alone.map_err(DiskError::on("lock", &lock))?;
        if known.lock.is_none() {
            let name = remote.name.to_string();
            return Err(RemoteError::Busy { name }.into());
        }
        known.load()?;
        Ok(known)
    }

    /// Loads the state without a lock, for reading only.
    pub(super) fn open_read_only(
        place: &LedgerLocation,
        remote: &Remote,
    ) -> Result<Self, EngineError> {
        let mut known = Self::empty(place, remote)?;
        known.load()?;
        Ok(known)
    }

    fn empty(place: &LedgerLocation, remote: &Remote) -> Result<Self, EngineError> {
        Ok(Self {
            dir: open_ken_dir(place)?,
            folder: format!("{FOLDER}/{}", remote.name),
            url: remote.address.to_string(),
            cursor: LogCursor::default(),
            reached: LogCursor::default(),
            unread_by: None,
            token: None,
            known_events: BTreeMap::new(),
            rejected: BTreeMap::new(),
            lock: None,
        })
    }

    fn load(&mut self) -> Result<(), EngineError> {
        let bytes = self.read(STATE_FILE)?;
        let parsed: Option<RemoteStateFile> = serde_json::from_slice(&bytes).ok();
        // State recorded for another address says nothing about this one.
        let Some(state) = parsed.filter(|it| it.url == self.url) else {
            return self.reset_if_locked();
        };
        self.cursor = state.cursor;
        self.reached = later_cursor(state.reached, state.cursor);
        self.unread_by = state.unread_by;
        self.token = state.token;
        let held = self.read(KNOWN_FILE)?;
        // `chunks_exact` ignores a last record that a crash cut short.
        for record in held.chunks_exact(RECORD_BYTES) {
            let (id, digest) = record.split_at(ID_BYTES);
            let id: [u8; ID_BYTES] = id.try_into().expect("split there");
            let digest = digest.try_into().expect("the rest of a record");
            self.known_events.insert(EventId::from_bytes(id), digest);
        }
        // Records appended after a partial one would be misaligned, so the file is rewritten.
        if self.lock.is_some() && !held.len().is_multiple_of(RECORD_BYTES) {
            self.store_known()?;
        }
        let told = String::from_utf8(self.read(REJECTED_FILE)?).unwrap_or_default();
        let lines = told.lines().filter_map(|it| serde_json::from_str(it).ok());
        self.rejected = lines.map(|it: RejectedEventLine| (it.id, it)).collect();
        Ok(())
    }

    /// Starts with an empty state, and writes it if the lock is held.
    fn reset_if_locked(&mut self) -> Result<(), EngineError> {
        if self.lock.is_none() {
            return Ok(());
        }
        self.reset()
    }

    /// Resets the state, because the hub is not the one that was recorded.
    pub(super) fn reset(&mut self) -> Result<(), EngineError> {
        // `state.json` is written last: a crash before leaves a state that triggers the reset
        // again.
        self.known_events.clear();
        self.rejected.clear();
        self.unread_by = None;
        self.store_known()?;
        self.store_rejections()?;
        self.reached = LogCursor::default();
        self.set_cursor(LogCursor::default())
    }

    /// Records the position up to which the log was pulled.
    pub(super) fn set_cursor(&mut self, cursor: LogCursor) -> Result<(), EngineError> {
        self.cursor = cursor;
        self.reached = later_cursor(self.reached, cursor);
        self.store_state()
    }

    /// Records the end of the hub's log after a push.
    pub(super) fn advance_reached(&mut self, position: LogCursor) -> Result<(), EngineError> {
        if position.seq <= self.reached.seq {
            return Ok(());
        }
        self.reached = position;
        self.store_state()
    }

    fn store_state(&self) -> Result<(), EngineError> {
        let state = RemoteStateFile {
            url: self.url.clone(),
            cursor: self.cursor,
            reached: self.reached,
            unread_by: self.unread_by.clone(),
            token: self.token.clone(),
        };
        let bytes = serde_json::to_vec(&state).expect("plain data");
        self.put(STATE_FILE, &bytes)
    }

    /// Records the token of a push. With another token than before, refusals are forgotten: they
    /// may have been about the token.
    pub(super) fn record_token(&mut self, token: Option<&HubToken>) -> Result<(), EngineError> {
        let token = token.map(digest_token);
        if token == self.token {
            return Ok(());
        }
        let before = self.rejected.len();
        self.rejected.retain(|_, it| match it.why {
            RejectionKind::Refused | RejectionKind::Awaiting => false,
            // These do not depend on the token: a curator decides, or this clone did.
            RejectionKind::Quarantined | RejectionKind::Declined => true,
        });
        if self.rejected.len() < before {
            self.store_rejections()?;
        }
        // Last: after a crash before, the refusals are forgotten again.
        self.token = token;
        self.store_state()
    }

    /// Returns true if another version of Ken found lines that this one may be able to read.
    pub(super) fn should_reread(&self) -> bool {
        self.unread_by.as_ref().is_some_and(|it| it != VERSION)
    }

    /// Records if this version found lines it could not read.
    pub(super) fn record_unread(&mut self, is_any: bool) -> Result<(), EngineError> {
        let unread_by = is_any.then(|| VERSION.to_owned());
        if unread_by == self.unread_by {
            return Ok(());
        }
        self.unread_by = unread_by;
        self.store_state()
    }

    /// Returns true if the hub has an event with exactly this line.
    pub(super) fn has_line(&self, id: EventId, line: &str) -> bool {
        self.known_events.get(&id) == Some(&digest_line(line))
    }

    /// Returns the events the hub is known to have.
    pub(super) fn known_ids(&self) -> impl Iterator<Item = EventId> {
        self.known_events.keys().copied()
    }

    pub(super) fn known_len(&self) -> usize {
        self.known_events.len()
    }

    /// Records that the hub has events with these lines.
    pub(super) fn record_known<'l>(
        &mut self,
        lines: impl Iterator<Item = (EventId, &'l str)>,
    ) -> Result<(), EngineError> {
        let mut records = Vec::new();
        for (id, line) in lines {
            let digest = digest_line(line);
            if self.known_events.insert(id, digest) != Some(digest) {
                records.extend_from_slice(&id.to_bytes());
                records.extend_from_slice(&digest);
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        // Appending keeps a page of a long pull cheap; a later record of an id replaces an earlier
        // one.
        let path = self.path(KNOWN_FILE);
        let append = match self.dir.append(&path, &records) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dir.create_new(&path, &records)
            }
            other => other,
        };
        Ok(append.map_err(DiskError::on("write to", &path))?)
    }

    /// Records that the hub does not have these events after all.
    pub(super) fn remove_known(&mut self, ids: &BTreeSet<EventId>) -> Result<(), EngineError> {
        let before = self.known_events.len();
        self.known_events.retain(|id, _| !ids.contains(id));
        if self.known_events.len() == before {
            Ok(())
        } else {
            self.store_known()
        }
    }

    /// Returns the rejection of an event with exactly this line.
    pub(super) fn rejection_of(&self, id: EventId, line: &str) -> Option<RejectedEvent> {
        let rejected = self.rejected.get(&id)?;
        (rejected.line == to_hex(digest_line(line))).then(|| rejected.to_rejected_event())
    }

    /// Returns true if this clone declined any copy of an event.
    pub(super) fn is_declined(&self, id: EventId) -> bool {
        let rejected = self.rejected.get(&id);
        rejected.is_some_and(|it| it.why == RejectionKind::Declined)
    }

    /// Returns all rejected events.
    pub(super) fn rejections(&self) -> impl Iterator<Item = RejectedEvent> {
        self.rejected
            .values()
            .map(RejectedEventLine::to_rejected_event)
    }

    /// Records rejected events with their lines, and removes `accepted` ones.
    pub(super) fn record_rejections<'l>(
        &mut self,
        rejected: impl Iterator<Item = (RejectedEvent, &'l str)>,
        accepted: impl Iterator<Item = EventId>,
    ) -> Result<(), EngineError> {
        let mut changed = false;
        // Removal first: an event of a pulled page is accepted by the hub, yet may be declined
        // here.
        for id in accepted {
            changed |= self.rejected.remove(&id).is_some();
        }
        for (rejection, line) in rejected {
            let RejectedEvent {
                event,
                entry,
                kind: why,
                reason,
            } = rejection;
            let line = to_hex(digest_line(line));
            let stored = RejectedEventLine {
                id: event,
                entry,
                line,
                why,
                reason,
            };
            self.rejected.insert(event, stored);
            changed = true;
        }
        if changed {
            self.store_rejections()
        } else {
            Ok(())
        }
    }

    fn store_known(&self) -> Result<(), EngineError> {
        let mut records = Vec::with_capacity(self.known_events.len() * RECORD_BYTES);
        for (id, digest) in &self.known_events {
            records.extend_from_slice(&id.to_bytes());
            records.extend_from_slice(digest);
        }
        self.put(KNOWN_FILE, &records)
    }

    fn store_rejections(&self) -> Result<(), EngineError> {
        let line = |it: &RejectedEventLine| serde_json::to_string(it).expect("plain data") + "\n";
        let lines: String = self.rejected.values().map(line).collect();
        self.put(REJECTED_FILE, lines.as_bytes())
    }

    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    fn read(&self, file: &str) -> Result<Vec<u8>, EngineError> {
        let path = self.path(file);
        match self.dir.read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => Ok(other.map_err(DiskError::on("read", &path))?),
        }
    }

    fn put(&self, file: &str, bytes: &[u8]) -> Result<(), EngineError> {
        let path = self.path(file);
        Ok(write_atomically(&self.dir, &path, bytes).map_err(DiskError::on("write", &path))?)
    }
}

impl RejectedEventLine {
    fn to_rejected_event(&self) -> RejectedEvent {
        RejectedEvent {
            event: self.id,
            entry: self.entry,
            kind: self.why,
            reason: self.reason.clone(),
        }
    }
}

/// Deletes the recorded state of a remote.
pub(super) fn delete_state(place: &LedgerLocation, name: &RemoteName) -> Result<(), EngineError> {
    let (dir, folder) = (open_ken_dir(place)?, format!("{FOLDER}/{name}"));
    for file in [STATE_FILE, KNOWN_FILE, REJECTED_FILE, LOCK_FILE] {
        let path = format!("{folder}/{file}");
        match dir.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(DiskError::on("remove", &path)(error).into());
            }
            Ok(()) | Err(_) => {}
        }
    }
    let removed = dir.remove_empty_dir(&folder);
    removed.map_err(DiskError::on("remove", &folder))?;
    Ok(())
}

/// Returns the later of two positions in a log.
fn later_cursor(one: LogCursor, other: LogCursor) -> LogCursor {
    if one.seq < other.seq { other } else { one }
}

fn digest_line(line: &str) -> LineDigest {
    let hash = blake3::hash(line.as_bytes());
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&hash.as_bytes()[..DIGEST_BYTES]);
    digest
}

/// Returns a digest from which the token cannot be guessed: tokens are long and random.
fn digest_token(token: &HubToken) -> String {
    let key = blake3::derive_key("ken 2026-11 token of a remote", token.secret().as_bytes());
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&key[..DIGEST_BYTES]);
    to_hex(digest)
}

fn to_hex(digest: LineDigest) -> String {
    format!("{:016x}", u64::from_be_bytes(digest))
}
