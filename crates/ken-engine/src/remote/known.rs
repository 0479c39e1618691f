//! What this clone knows of a remote: how far its log was read, what it holds, what it did not take.
//!
//! All of it is a shortcut. Events are offered again where it is lost, and the hub knows them; a page is read
//! again, and this clone has it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ken_core::id::{EntryId, EventId};
use ken_ledger::disk::{LockGuard, Wait};
use ken_ledger::{Dir as _, DiskError, Place, RealDir};
use ken_remote::wire::Cursor;
use serde::{Deserialize, Serialize};

use super::file::Remote;
use super::{RemoteError, RemoteName};
use crate::error::Error;
use crate::files::{ken_dir, put};

/// The folder of all remotes, below `.ken/`.
const FOLDER: &str = ".local/remotes";
const STATE_FILE: &str = "state.json";
const HELD_FILE: &str = "held";
const TOLD_FILE: &str = "told.jsonl";
const LOCK_FILE: &str = "lock";

/// Bytes of an event's id and of the digest of the line the hub was seen with.
const ID_BYTES: usize = 16;
const DIGEST_BYTES: usize = 8;
const RECORD_BYTES: usize = ID_BYTES + DIGEST_BYTES;

/// The version of this build.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a line is recognised by.
type Digest = [u8; DIGEST_BYTES];

/// An event that did not get through, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub event: EventId,
    /// The entry it is about, where it is about one.
    pub entry: Option<EntryId>,
    pub why: Why,
    pub reason: String,
}

/// What stood in an event's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// It waits for a person at the hub.
    Quarantined,
    /// The hub does not take it.
    Refused,
    /// This clone's guard does not let it in.
    Declined,
}

#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    url: String,
    cursor: Cursor,
    /// The furthest place of its log the hub named, be it in its answer to a push.
    #[serde(default)]
    reached: Cursor,
    /// The version that met lines it could not read: a newer one asks for them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_by: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ToldLine {
    id: EventId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    line: String,
    why: Why,
    reason: String,
}

/// What is known of one remote.
#[derive(Debug)]
pub(super) struct Known {
    dir: RealDir,
    folder: String,
    url: String,
    /// How far the log was read.
    pub(super) cursor: Cursor,
    /// The furthest place of the log the hub named: what was pushed lies behind what was read. A hub that does not
    /// know it any more lost events it had said it holds.
    pub(super) reached: Cursor,
    unread_by: Option<String>,
    held: BTreeMap<EventId, Digest>,
    told: BTreeMap<EventId, ToldLine>,
    /// Held while events are exchanged.
    alone: Option<LockGuard>,
}

impl Known {
    /// Reads what is known and keeps others from exchanging events with the same remote.
    pub(super) fn open(place: &Place, remote: &Remote) -> Result<Self, Error> {
        let mut known = Self::at(place, remote)?;
        let create = known.dir.create_dirs(&known.folder);
        create.map_err(DiskError::on("create", &known.folder))?;
        let lock = known.path(LOCK_FILE);
        let alone = known.dir.lock(&lock, Wait::Never);
        known.alone = alone.map_err(DiskError::on("lock", &lock))?;
        if known.alone.is_none() {
            let name = remote.name.to_string();
            return Err(RemoteError::Busy { name }.into());
        }
        known.load()?;
        Ok(known)
    }

    /// Reads what is known, for somebody who only looks.
    pub(super) fn look(place: &Place, remote: &Remote) -> Result<Self, Error> {
        let mut known = Self::at(place, remote)?;
        known.load()?;
        Ok(known)
    }

    fn at(place: &Place, remote: &Remote) -> Result<Self, Error> {
        Ok(Self {
            dir: ken_dir(place)?,
            folder: format!("{FOLDER}/{}", remote.name),
            url: remote.address.to_string(),
            cursor: Cursor::default(),
            reached: Cursor::default(),
            unread_by: None,
            held: BTreeMap::new(),
            told: BTreeMap::new(),
            alone: None,
        })
    }

    fn load(&mut self) -> Result<(), Error> {
        let state = self.read(STATE_FILE)?;
        let state: Option<StateFile> = serde_json::from_slice(&state).ok();
        // What was known of another address says nothing about this one.
        let Some(state) = state.filter(|it| it.url == self.url) else {
            return self.begin();
        };
        self.cursor = state.cursor;
        self.reached = further(state.reached, state.cursor);
        self.unread_by = state.unread_by;
        let held = self.read(HELD_FILE)?;
        // A record cut short by a crash is as good as none.
        for record in held.chunks_exact(RECORD_BYTES) {
            let (id, digest) = record.split_at(ID_BYTES);
            let id: [u8; ID_BYTES] = id.try_into().expect("split there");
            let digest = digest.try_into().expect("the rest of a record");
            self.held.insert(EventId::from_bytes(id), digest);
        }
        if self.alone.is_some() && !held.len().is_multiple_of(RECORD_BYTES) {
            self.store_held()?;
        }
        let told = String::from_utf8(self.read(TOLD_FILE)?).unwrap_or_default();
        let lines = told.lines().filter_map(|it| serde_json::from_str(it).ok());
        self.told = lines.map(|it: ToldLine| (it.id, it)).collect();
        Ok(())
    }

    /// Begins with nothing known, durably where this clone may write.
    fn begin(&mut self) -> Result<(), Error> {
        if self.alone.is_none() {
            return Ok(());
        }
        self.start_over()
    }

    /// Forgets what the hub holds and how far it was read: it is another one than before.
    pub(super) fn start_over(&mut self) -> Result<(), Error> {
        self.held.clear();
        self.told.clear();
        self.unread_by = None;
        self.store_held()?;
        self.store_told()?;
        self.reached = Cursor::default();
        self.move_to(Cursor::default())
    }

    /// Keeps how far the log was read.
    pub(super) fn move_to(&mut self, cursor: Cursor) -> Result<(), Error> {
        self.cursor = cursor;
        self.reached = further(self.reached, cursor);
        self.store_state()
    }

    /// Keeps a place the hub named: the end of its log behind what was pushed.
    pub(super) fn note_reached(&mut self, place: Cursor) -> Result<(), Error> {
        if place.seq <= self.reached.seq {
            return Ok(());
        }
        self.reached = place;
        self.store_state()
    }

    fn store_state(&self) -> Result<(), Error> {
        let state = StateFile {
            url: self.url.clone(),
            cursor: self.cursor,
            reached: self.reached,
            unread_by: self.unread_by.clone(),
        };
        let state = serde_json::to_vec(&state).expect("plain data");
        self.put(STATE_FILE, &state)
    }

    /// Returns whether another version met lines that this one may be able to read.
    pub(super) fn may_read_more(&self) -> bool {
        self.unread_by.as_ref().is_some_and(|it| it != VERSION)
    }

    /// Notes whether this version met lines it could not read.
    pub(super) fn note_unread(&mut self, is_any: bool) -> Result<(), Error> {
        let unread_by = is_any.then(|| VERSION.to_owned());
        if unread_by == self.unread_by {
            return Ok(());
        }
        self.unread_by = unread_by;
        self.store_state()
    }

    /// Returns whether the hub holds an event in just this form.
    pub(super) fn holds(&self, id: EventId, line: &str) -> bool {
        self.held.get(&id) == Some(&digest(line))
    }

    /// Returns the events the hub holds.
    pub(super) fn held(&self) -> impl Iterator<Item = EventId> {
        self.held.keys().copied()
    }

    pub(super) fn held_len(&self) -> usize {
        self.held.len()
    }

    /// Notes that the hub holds events, each in the form of its line.
    pub(super) fn note_held<'l>(
        &mut self,
        lines: impl Iterator<Item = (EventId, &'l str)>,
    ) -> Result<(), Error> {
        let mut records = Vec::new();
        for (id, line) in lines {
            let digest = digest(line);
            if self.held.insert(id, digest) != Some(digest) {
                records.extend_from_slice(&id.to_bytes());
                records.extend_from_slice(&digest);
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        let path = self.path(HELD_FILE);
        let append = match self.dir.append(&path, &records) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dir.create_new(&path, &records)
            }
            other => other,
        };
        Ok(append.map_err(DiskError::on("write to", &path))?)
    }

    /// Notes that the hub does not hold events after all.
    pub(super) fn forget_held(&mut self, ids: &BTreeSet<EventId>) -> Result<(), Error> {
        let before = self.held.len();
        self.held.retain(|id, _| !ids.contains(id));
        match self.held.len() == before {
            true => Ok(()),
            false => self.store_held(),
        }
    }

    /// Returns what was said about an event in just this form.
    pub(super) fn told_of(&self, id: EventId, line: &str) -> Option<Told> {
        let told = self.told.get(&id)?;
        (told.line == hex(digest(line))).then(|| told.told())
    }

    /// Returns whether this clone did not let an event in, whatever its form.
    pub(super) fn declined(&self, id: EventId) -> bool {
        let told = self.told.get(&id);
        told.is_some_and(|it| it.why == Why::Declined)
    }

    /// Returns everything that did not get through.
    pub(super) fn told(&self) -> impl Iterator<Item = Told> {
        self.told.values().map(ToldLine::told)
    }

    /// Remembers what did not get through, each with its line, and forgets `settled`.
    pub(super) fn note_told<'l>(
        &mut self,
        told: impl Iterator<Item = (Told, &'l str)>,
        settled: impl Iterator<Item = EventId>,
    ) -> Result<(), Error> {
        let mut changed = false;
        for id in settled {
            changed |= self.told.remove(&id).is_some();
        }
        for (told, line) in told {
            let Told {
                event,
                entry,
                why,
                reason,
            } = told;
            let line = hex(digest(line));
            let kept = ToldLine {
                id: event,
                entry,
                line,
                why,
                reason,
            };
            self.told.insert(event, kept);
            changed = true;
        }
        match changed {
            true => self.store_told(),
            false => Ok(()),
        }
    }

    fn store_held(&self) -> Result<(), Error> {
        let mut records = Vec::with_capacity(self.held.len() * RECORD_BYTES);
        for (id, digest) in &self.held {
            records.extend_from_slice(&id.to_bytes());
            records.extend_from_slice(digest);
        }
        self.put(HELD_FILE, &records)
    }

    fn store_told(&self) -> Result<(), Error> {
        let line = |it: &ToldLine| serde_json::to_string(it).expect("plain data") + "\n";
        let lines: String = self.told.values().map(line).collect();
        self.put(TOLD_FILE, lines.as_bytes())
    }

    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    fn read(&self, file: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(file);
        match self.dir.read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => Ok(other.map_err(DiskError::on("read", &path))?),
        }
    }

    fn put(&self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(file);
        Ok(put(&self.dir, &path, bytes).map_err(DiskError::on("write", &path))?)
    }
}

impl ToldLine {
    fn told(&self) -> Told {
        Told {
            event: self.id,
            entry: self.entry,
            why: self.why,
            reason: self.reason.clone(),
        }
    }
}

/// Forgets everything that was known of a remote.
pub(super) fn forget(place: &Place, name: &RemoteName) -> Result<(), Error> {
    let (dir, folder) = (ken_dir(place)?, format!("{FOLDER}/{name}"));
    for file in [STATE_FILE, HELD_FILE, TOLD_FILE, LOCK_FILE] {
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

/// Returns the later of two places of one log.
fn further(one: Cursor, other: Cursor) -> Cursor {
    match one.seq < other.seq {
        true => other,
        false => one,
    }
}

fn digest(line: &str) -> Digest {
    let hash = blake3::hash(line.as_bytes());
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&hash.as_bytes()[..DIGEST_BYTES]);
    digest
}

fn hex(digest: Digest) -> String {
    format!("{:016x}", u64::from_be_bytes(digest))
}
