//! The ledger and its index, held in step.
//!
//! Reading brings the index up to what this branch's segments say and never touches a tracked
//! file. Writing goes through `Engine::record` and nothing else.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_core::actor::{Actor, Role};
use ken_core::decide::{Clock, Draft};
use ken_core::event::{Admission, EventData as _, Proposed, Recorded, Retracted};
use ken_core::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::id::{EventId, NodeId};
use ken_core::store::Store as _;
use ken_core::time::Timestamp;
use ken_core::tombstone::Stones;
use ken_index::{Appended, Index, Rebuilt, Refreshed, SegmentStat};
use ken_ledger::layout::{KEN_DIR, NotASegment, VERSION, VERSION_FILE};
use ken_ledger::replace::ReplaceError;
use ken_ledger::{
    Dir as _, GitEnv, Ledger, Place, ReadError, RealDir, SegmentName, Written, discover,
};

use crate::error::Error;
use crate::files::{Views, ken_dir};
use crate::guard::Guard;
use crate::model::Serving;
use crate::notice::Notice;
use crate::world::World;

/// The index's folder, below `.ken/`.
const INDEX_DIR: &str = ".index";
const INDEX_FILE: &str = "knowledge.db";

/// Tries at reading segments while somebody else moves them about.
pub(crate) const READ_TRIES: usize = 8;

/// How the index is brought up to date.
#[derive(Clone, Copy, Debug)]
enum Update {
    ByDifference,
    FromNothing,
}

/// One ledger, ready for use.
#[derive(Debug)]
pub struct Engine {
    pub(crate) place: Place,
    /// `.ken`, for everything beside the ledger's own files.
    pub(crate) ken: Arc<RealDir>,
    pub(crate) ledger: Ledger,
    pub(crate) index: Index,
    pub(crate) world: Box<dyn World>,
    /// Who acts, where the caller said so.
    named: Option<Actor>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) views: Views,
    /// Claims that were taken back, once an addition asked; forgotten when they may have changed.
    pub(crate) stones: Option<Arc<Stones>>,
    /// Whether hand edits were absorbed in this process already.
    pub(crate) absorbed: bool,
    /// Whether copies of blanked events were looked for in this process already.
    pub(crate) scrubbed: bool,
    /// The model that serves, once a search asked.
    pub(crate) serving: Option<Arc<Serving>>,
    /// What this user's guard knows beside its rules.
    pub(crate) guard: Guard,
    /// What secrets that were replaced in this process are recognised by.
    redacted: BTreeSet<String>,
}

impl Engine {
    /// Opens the ledger that `start` lies in and brings the index up to date.
    ///
    /// `actor` is who acts; where the caller does not know, [`Self::actor`] asks git.
    pub fn open(
        start: &Path,
        git: &GitEnv,
        actor: Option<Actor>,
        world: Box<dyn World>,
    ) -> Result<Self, Error> {
        let place = discover(start, git)?.ok_or(Error::NotInitialised)?;
        Self::open_place(place, actor, world)
    }

    /// Opens the ledger in `root` itself, whatever lies around it: git is not asked.
    pub fn open_plain(
        root: &Path,
        actor: Option<Actor>,
        world: Box<dyn World>,
    ) -> Result<Self, Error> {
        Self::open_place(Place::plain(root), actor, world)
    }

    fn open_place(
        place: Place,
        actor: Option<Actor>,
        world: Box<dyn World>,
    ) -> Result<Self, Error> {
        let ledger = Ledger::open(&place)?;
        check_version(&place)?;
        let ken = Arc::new(ken_dir(&place)?);
        let index = open_index(&place, &ken)?;
        let mut engine = Self {
            place,
            ken,
            ledger,
            index,
            world,
            named: actor,
            notices: Vec::new(),
            views: Views::default(),
            stones: None,
            absorbed: false,
            scrubbed: false,
            serving: None,
            guard: Guard::default(),
            redacted: BTreeSet::new(),
        };
        engine.refresh()?;
        Ok(engine)
    }

    /// Takes what this user's guard goes by: names not to be written, secrets seen before.
    pub fn set_guard(&mut self, guard: Guard) {
        self.guard = guard;
    }

    /// Takes what secrets that were replaced so far are recognised by.
    pub fn take_redacted(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.redacted)
    }

    /// Returns the folder that holds `.ken`.
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// Returns the time of the world this engine lives in.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Takes what happened beside the answers so far.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Returns who acts: whom the caller named, else the person git knows.
    ///
    /// Asking git costs a process, so reading commands do not.
    pub fn actor(&self) -> Actor {
        let asked = || {
            self.named
                .clone()
                .or_else(|| crate::git::identity(&self.place))
        };
        asked().unwrap_or_else(|| Actor::from_claim(Role::Human, ""))
    }

    /// Brings the index up to what the segments of this worktree say now.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.notices
            .extend(self.ledger.heal().into_iter().map(Notice::Ledger));
        let refreshed = self.bring_index_up(Update::ByDifference)?;
        if refreshed
            .rebuilt
            .is_some_and(|why| !matches!(why, Rebuilt::Missing | Rebuilt::MuchChanged))
        {
            self.notices.push(Notice::IndexRebuilt);
        }
        Ok(())
    }

    /// Throws the index away and builds it from the segments.
    pub fn rebuild_index(&mut self) -> Result<Refreshed, Error> {
        self.notices
            .extend(self.ledger.heal().into_iter().map(Notice::Ledger));
        self.bring_index_up(Update::FromNothing)
    }

    /// Lists the segments and brings the index up to what they say.
    fn bring_index_up(&mut self, how: Update) -> Result<Refreshed, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.update_index(how) {
                // A power cut may leave garbage in a segment that was not synced; the journal knows.
                Err(Error::Damaged { segment, .. })
                    if tries < READ_TRIES && self.heal_segment(&segment) => {}
                // Git, or another process that packs, took a segment away between listing and reading.
                Err(error) if tries < READ_TRIES && is_gone(&error) => {}
                other => return other,
            }
        }
    }

    fn heal_segment(&self, name: &str) -> bool {
        name.parse()
            .is_ok_and(|name: SegmentName| self.ledger.heal_open(&name))
    }

    /// Brings the index up after an append, which wrote `written` and nothing else.
    ///
    /// Returns whether nothing else came in with it.
    fn index_appended(&mut self, written: Vec<Written>) -> Result<bool, Error> {
        let mut appended = Vec::with_capacity(written.len());
        for part in written {
            if let Some(stat) = self.ledger.stat(&part.segment)? {
                appended.push(Appended {
                    stat: stat_of(&stat),
                    before: part.before,
                    text: part.text,
                    events: part.events,
                });
            }
        }
        let blanked = self.blanked_ids()?;
        match self.index.append(appended, &blanked) {
            Ok(Some(refreshed)) => {
                self.note_views(&refreshed);
                Ok(true)
            }
            // What is not simple is done the long way, which also knows how to mend.
            Ok(None) | Err(_) => self.bring_index_up(Update::ByDifference).map(|_| false),
        }
    }

    fn update_index(&mut self, how: Update) -> Result<Refreshed, Error> {
        let blanked = self.blanked_ids()?;
        let ledger = &self.ledger;
        let list = || Ok(ledger.list()?.iter().map(stat_of).collect());
        let read = |name: &str| read_segment(ledger, name);
        let refreshed = match how {
            Update::ByDifference => self.index.refresh_from(list, &blanked, read)?,
            Update::FromNothing => self.index.rebuild(&list()?, &blanked, read)?,
        };
        self.note_views(&refreshed);
        Ok(refreshed)
    }

    fn blanked_ids(&self) -> Result<Vec<EventId>, Error> {
        Ok(self.ledger.blanked_ids()?.into_iter().collect())
    }

    fn note_views(&mut self, refreshed: &Refreshed) {
        self.stones = None;
        match refreshed.rebuilt {
            Some(_) => self.views.note_all(),
            None => self.views.note(&refreshed.folded),
        }
    }

    /// Passes drafts through the guard, stamps them, appends them durably and indexes them.
    ///
    /// The only way anything is ever written to the ledger.
    pub(crate) fn record(
        &mut self,
        drafts: Vec<Draft>,
        by: &Actor,
    ) -> Result<Vec<Recorded>, Error> {
        let stamped = drafts.into_iter().map(|draft| (None, draft)).collect();
        self.record_as(stamped, by)
    }

    /// Like [`Self::record`], with ids chosen before where a draft depends on its own.
    pub(crate) fn record_as(
        &mut self,
        drafts: Vec<(Option<EventId>, Draft)>,
        by: &Actor,
    ) -> Result<Vec<Recorded>, Error> {
        self.record_with(drafts, by, &mut |_| {})
    }

    /// Like [`Self::record_as`]; `stricter` may hold back what the guard let through.
    pub(crate) fn record_with(
        &mut self,
        drafts: Vec<(Option<EventId>, Draft)>,
        by: &Actor,
        stricter: &mut dyn FnMut(&mut Admission),
    ) -> Result<Vec<Recorded>, Error> {
        let span = tracing::info_span!(
            "record",
            gen_ai.operation.name = operation(&drafts),
            events = drafts.len()
        );
        let _in = span.enter();
        let now = self.world.now();
        let seen = self.latest(now)?;
        let node = self.ledger.node(&mut *self.world)?;
        let mut clock = Clock {
            node,
            now,
            seen,
            ids: &mut *self.world,
        };
        let mut batch = Vec::with_capacity(drafts.len());
        for (id, draft) in drafts {
            let (draft, mut admission) = self.guard.admit(draft, by)?;
            stricter(&mut admission);
            self.redacted.extend(admission.redacted.iter().cloned());
            let event = match id {
                Some(id) => clock.stamp_as(id, draft, by, admission),
                None => clock.stamp(draft, by, admission),
            };
            batch.push(Recorded::written(event)?);
        }
        self.append(&batch)?;
        Ok(batch)
    }

    /// Appends events that are already whole: stamped ones and those derived from commits.
    pub(crate) fn append(&mut self, batch: &[Recorded]) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let now = self.world.now();
        let proposed = |it: &Recorded| it.event.get::<Proposed>().is_some();
        let stones = self.stones.take().filter(|_| batch.iter().all(proposed));
        let appended = self.ledger.append(batch, now, &mut *self.world)?;
        self.notices
            .extend(appended.notices.into_iter().map(Notice::Ledger));
        if self.index_appended(appended.written)? {
            self.stones = stones;
        }
        Ok(())
    }

    /// The latest clock reading a new event must follow.
    fn latest(&self, now: Timestamp) -> Result<Option<Hlc>, Error> {
        let limit = Hlc {
            wall: now.plus_millis(DRIFT_MAX_MS),
            counter: u16::MAX,
            node: NodeId::new(u128::MAX),
        };
        Ok(self.index.latest(limit)?)
    }
}

/// Returns what the GenAI conventions call a write.
fn operation(drafts: &[(Option<EventId>, Draft)]) -> &'static str {
    let is = |name: &str| drafts.iter().any(|(_, it)| it.body.type_name() == name);
    if is(Proposed::TYPE) {
        "create_memory"
    } else if is(Retracted::TYPE) {
        "delete_memory"
    } else {
        "update_memory"
    }
}

fn read_segment(ledger: &Ledger, name: &str) -> Result<Vec<u8>, Error> {
    let name: SegmentName = name
        .parse()
        .map_err(|e: NotASegment| Error::Usage(e.to_string()))?;
    Ok(ledger.read_bytes(&name)?)
}

/// Returns whether a file that was listed could not be found any more.
pub(crate) fn is_gone(error: &Error) -> bool {
    let (Error::Read(ReadError::Disk(disk))
    | Error::Replace(ReplaceError::Read(ReadError::Disk(disk)))) = error
    else {
        return false;
    };
    disk.source.kind() == io::ErrorKind::NotFound
}

fn stat_of(stat: &ken_ledger::SegmentStat) -> SegmentStat {
    SegmentStat {
        name: stat.name.path(),
        len: stat.len,
        modified_ns: stat.modified_ns,
        inode: stat.inode,
    }
}

/// Opens the index, or one in memory where the tree cannot be written.
fn open_index(place: &Place, dir: &RealDir) -> Result<Index, Error> {
    if dir.create_dirs(INDEX_DIR).is_err() {
        return Ok(Index::open_in_memory()?);
    }
    let path: PathBuf = place.root.join(KEN_DIR).join(INDEX_DIR).join(INDEX_FILE);
    Ok(Index::open(&path)?)
}

/// Refuses a ledger whose major version this build does not know.
fn check_version(place: &Place) -> Result<(), Error> {
    let path = place.root.join(KEN_DIR).join(VERSION_FILE);
    let Ok(text) = std::fs::read_to_string(path) else {
        return Err(Error::NotInitialised);
    };
    let major = |version: &str| {
        version
            .trim()
            .split('.')
            .next()
            .and_then(|m| m.parse::<u32>().ok())
    };
    let known = VERSION;
    match (major(&text), major(known)) {
        (Some(found), Some(ours)) if found <= ours => Ok(()),
        (Some(_) | None, _) => Err(Error::TooNew {
            found: text.trim().to_owned(),
            known,
        }),
    }
}
