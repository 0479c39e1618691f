//! The engine: one ledger together with its index.
//!
//! Opening updates the index from this branch's segments and never writes a tracked file. Events
//! are written through `Engine::record` and `Engine::append` only. All other methods are in
//! `facade`.

mod facade;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_core::decide::retracted_claims::RetractedClaims;
use ken_core::decide::{Draft, EventStamper};
use ken_core::ledger::event::{Admission, EventData as _, Proposed, RecordedEvent, Retracted};
use ken_core::ledger::step::step_subject;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::values::id::{EventId, NodeId};
use ken_core::values::time::Timestamp;
use ken_index::{
    Index, IndexError, ListedSegment, RebuildReason, RefreshReport, SegmentAppend, ShortSegment,
};
use ken_ledger::layout::{KEN_DIR, SegmentNameError, VERSION, VERSION_FILE};
use ken_ledger::replace::ReplaceError;
use ken_ledger::{
    Dir as _, GitEnv, Ledger, LedgerLocation, LedgerNotice, ReadError, RealDir, SegmentName,
    SegmentWrite, discover,
};

use crate::config::RepositoryConfig;
use crate::error::EngineError;
use crate::files::{ViewState, open_ken_dir};
use crate::forage::ForagePlace;
use crate::guard::Guard;
use crate::model::ActiveModel;
use crate::notice::EngineNotice;
use crate::overlays;
use crate::people::PeopleList;
use crate::promotion::signing;
use crate::runtime::Runtime;
use crate::validity::WorkTree;

/// The index's folder, below `.ken/`.
const INDEX_DIR: &str = ".index";
const INDEX_FILE: &str = "knowledge.db";

/// Attempts at reading segments while another process moves them.
pub(crate) const READ_TRIES: usize = 8;

/// The way the index is updated.
#[derive(Clone, Copy, Debug)]
enum IndexUpdate {
    Incremental,
    Rebuild,
}

/// An open ledger with its index.
#[derive(Debug)]
pub struct Engine {
    pub(crate) place: LedgerLocation,
    /// `.ken`, for all files except those of the ledger.
    pub(crate) ken: Arc<RealDir>,
    pub(crate) ledger: Ledger,
    pub(crate) index: Index,
    pub(crate) runtime: Box<dyn Runtime>,
    /// The actor given by the caller, if any.
    caller_actor: Option<Actor>,
    /// The people of the repository, whose ids new events contain.
    pub(crate) people: PeopleList,
    pub(crate) notices: Vec<EngineNotice>,
    pub(crate) views: ViewState,
    /// Retracted claims, loaded by the first addition and dropped when they may have changed.
    pub(crate) retracted_claims: Option<Arc<RetractedClaims>>,
    /// Set once this process has synced edits of entry files.
    pub(crate) edits_synced: bool,
    /// Set once this process has searched for copies of redacted events.
    pub(crate) redactions_applied: bool,
    /// The embedding model, opened by the first search.
    pub(crate) active_model: Option<Arc<ActiveModel>>,
    /// This user's guard, with settings beyond the built-in rules.
    pub(crate) guard: Guard,
    /// Set by commands that may forage unasked; hooks never set it.
    pub(crate) forage_place: Option<ForagePlace>,
    /// Digests of the secrets that were replaced in this process.
    redacted_secrets: BTreeSet<String>,
    /// The step that further events of this engine belong to.
    step: EngineStep,
}

/// The grouping of events into steps; see [`ken_core::ledger::step`].
#[derive(Clone, Copy, Debug, Default)]
enum EngineStep {
    /// Every call of [`Engine::record`] is a step.
    #[default]
    PerRecord,
    /// All events belong to one step, whose first event is not written yet.
    Open,
    /// All events belong to the step with this id.
    Started(EventId),
}

impl Engine {
    /// Opens the ledger of the repository that contains `start` and updates the index.
    ///
    /// Without `actor`, [`Self::actor`] returns the identity in git's configuration.
    pub fn open(
        start: &Path,
        git: &GitEnv,
        actor: Option<Actor>,
        world: Box<dyn Runtime>,
    ) -> Result<Self, EngineError> {
        let place = discover(start, git)?.ok_or(EngineError::NotInitialized)?;
        Self::open_place(place, actor, world)
    }

    /// Opens the ledger in `root` itself, without git.
    pub fn open_plain(
        root: &Path,
        actor: Option<Actor>,
        world: Box<dyn Runtime>,
    ) -> Result<Self, EngineError> {
        Self::open_place(LedgerLocation::plain(root), actor, world)
    }

    fn open_place(
        place: LedgerLocation,
        actor: Option<Actor>,
        world: Box<dyn Runtime>,
    ) -> Result<Self, EngineError> {
        let ledger = Ledger::open(&place)?;
        check_version(&place)?;
        let ken = Arc::new(open_ken_dir(&place)?);
        let (index, notice) = open_index(&place, &ken)?;
        let people = PeopleList::load(&place);
        let mut engine = Self {
            place,
            ken,
            ledger,
            index,
            runtime: world,
            caller_actor: actor.map(|it| people.stored_author(&it)),
            people,
            notices: notice.into_iter().collect(),
            views: ViewState::default(),
            retracted_claims: None,
            edits_synced: false,
            redactions_applied: false,
            active_model: None,
            guard: Guard::default(),
            forage_place: None,
            redacted_secrets: BTreeSet::new(),
            step: EngineStep::default(),
        };
        match engine.refresh() {
            // For example a read-only checkout.
            Err(EngineError::Index(error)) if error.is_unwritable() => {
                engine.use_memory_index(&error)?;
            }
            other => other?,
        }
        engine.report_broken_config();
        Ok(engine)
    }

    /// Replaces an index that cannot be written with one in memory.
    fn use_memory_index(&mut self, error: &IndexError) -> Result<(), EngineError> {
        self.index = Index::open_in_memory()?;
        let why = describe_index_error(error);
        self.notices.push(EngineNotice::IndexInMemory { why });
        self.refresh()
    }

    /// Adds a notice if the configuration file is broken.
    fn report_broken_config(&mut self) {
        let loaded = WorkTree::new(&self.place).map(|it| RepositoryConfig::load(&it));
        // Errors other than a broken file are reported by the commands that need the work tree.
        if let Ok(Err(EngineError::Usage(why))) = loaded {
            self.notices.push(EngineNotice::ConfigInvalid { why });
        }
    }

    /// Sets the user's guard: names that must not be written, secrets seen before.
    pub fn set_guard(&mut self, guard: Guard) {
        self.guard = guard;
    }

    /// Lets maintenance forage, if its policy and the user's configuration allow that.
    pub fn set_forage_place(&mut self, place: ForagePlace) {
        self.forage_place = Some(place);
    }

    /// Groups all events that this engine writes from now on into one step, which is undone as a
    /// whole.
    pub fn start_step(&mut self) {
        self.step = EngineStep::Open;
    }

    /// Removes and returns the digests of secrets that were replaced so far.
    pub fn take_redacted_secrets(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.redacted_secrets)
    }

    /// Returns the folder that contains `.ken`.
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// Returns the current time of the engine's runtime.
    pub fn now(&self) -> Timestamp {
        self.runtime.now()
    }

    /// Removes and returns the notices collected so far.
    pub fn take_notices(&mut self) -> Vec<EngineNotice> {
        std::mem::take(&mut self.notices)
    }

    /// Returns the actor: the one given by the caller, else the identity in git's configuration.
    ///
    /// Starts a git process, so reading commands do not call it.
    pub fn actor(&self) -> Actor {
        let known = self.caller_actor.clone().or_else(|| self.git_identity());
        known.unwrap_or_else(|| Actor::from_claim(ActorRole::Human, ""))
    }

    /// Returns the identity in git's configuration, as events name it.
    pub(crate) fn git_identity(&self) -> Option<Actor> {
        let known = crate::git::identity(&self.place)?;
        Some(self.people.stored_author(&known))
    }

    /// Returns the actor as events of this repository name it: a listed person by their id.
    pub fn stored_actor(&self, actor: &Actor) -> Result<Actor, EngineError> {
        self.people.stored_actor(actor)
    }

    /// Updates the index from the segments of this worktree.
    pub fn refresh(&mut self) -> Result<(), EngineError> {
        self.notices
            .extend(self.ledger.heal().into_iter().map(EngineNotice::Ledger));
        let mut refreshed = self.update_index_with_retries(IndexUpdate::Incremental)?;
        let torn = refreshed.torn.iter();
        // The journal has the events of an open segment.
        if torn.filter(|it| self.repair_segment(&it.segment)).count() > 0 {
            refreshed = self.update_index_with_retries(IndexUpdate::Incremental)?;
        }
        self.report_cut_segments(&refreshed);
        // The first index and a large change, such as a checkout, are normal; damage is worth a
        // notice.
        if refreshed
            .rebuilt
            .is_some_and(|why| !matches!(why, RebuildReason::Missing | RebuildReason::LargeChange))
        {
            self.notices.push(EngineNotice::IndexRebuilt);
        }
        self.load_overlays()
    }

    /// Loads the overlays of this clone, which another process may have changed.
    pub(crate) fn load_overlays(&mut self) -> Result<(), EngineError> {
        self.index.set_local_overlays(overlays::load(&self.ken)?);
        Ok(())
    }

    /// Adds a notice for each sealed segment that lost its end.
    fn report_cut_segments(&mut self, refreshed: &RefreshReport) {
        let torn = refreshed.torn.iter().map(|it| &it.segment);
        let named = torn.chain(refreshed.short.iter().map(|it| &it.segment));
        let named: BTreeSet<SegmentName> = named.filter_map(|it| it.parse().ok()).collect();
        // A new index knows no earlier lengths; then the journal alone can tell.
        let among = match refreshed.rebuilt {
            Some(_) => None,
            None if named.is_empty() => return,
            None => Some(&named),
        };
        // A damaged journal must not keep anyone from reading.
        let cut = self.ledger.cut_segments(among).unwrap_or_default();
        let short = cut.iter().map(|it| ShortSegment {
            segment: it.segment.path(),
            whole_len: it.whole_len,
        });
        let short: Vec<ShortSegment> = short.collect();
        if short.iter().any(|it| !refreshed.short.contains(it)) {
            // An index that cannot be written is rebuilt by every command, and found out again.
            let _ = self.index.remember_short_segments(&short);
        }
        let mut missing: BTreeMap<SegmentName, u64> = named.into_iter().map(|it| (it, 0)).collect();
        missing.extend(cut.into_iter().map(|it| (it.segment, it.missing)));
        for (segment, missing) in missing {
            // Another process may be writing to an open segment right now; and a file that lacks
            // its last newline lacks no event.
            let has_all = short.iter().any(|it| it.segment == segment.path());
            if missing == 0 && (has_all || self.ledger.is_open_segment(&segment)) {
                continue;
            }
            let notice = EngineNotice::Ledger(LedgerNotice::SegmentCut { segment, missing });
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
    }

    /// Discards the index and rebuilds it from the segments.
    pub fn rebuild_index(&mut self) -> Result<RefreshReport, EngineError> {
        self.notices
            .extend(self.ledger.heal().into_iter().map(EngineNotice::Ledger));
        self.update_index_with_retries(IndexUpdate::Rebuild)
    }

    /// Updates the index from the segments, with retries for concurrent changes.
    fn update_index_with_retries(
        &mut self,
        how: IndexUpdate,
    ) -> Result<RefreshReport, EngineError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.update_index(how) {
                // A power failure may leave garbage in a segment that was not synced. The journal
                // has its events.
                Err(EngineError::Damaged { segment, .. })
                    if tries < READ_TRIES && self.repair_segment(&segment) => {}
                // Git or a concurrent pack removed a segment between listing and reading.
                Err(error) if tries < READ_TRIES && is_missing_file(&error) => {}
                other => return other,
            }
        }
    }

    fn repair_segment(&self, name: &str) -> bool {
        name.parse()
            .is_ok_and(|name: SegmentName| self.ledger.repair_open_segment(&name))
    }

    /// Updates the index after an append of `written`.
    ///
    /// Returns true if nothing but the appended events changed.
    fn index_written(&mut self, written: Vec<SegmentWrite>) -> Result<bool, EngineError> {
        let mut appended = Vec::with_capacity(written.len());
        for part in written {
            if let Some(stat) = self.ledger.stat(&part.segment)? {
                appended.push(SegmentAppend {
                    stat: to_index_stat(&stat),
                    before: part.before,
                    text: part.text,
                    events: part.events,
                });
            }
        }
        let blanked = self.locally_redacted_ids()?;
        match self.index.append(appended, &blanked) {
            Ok(Some(refreshed)) => {
                self.mark_views_due(&refreshed);
                Ok(true)
            }
            // Other segments changed too, or the index is damaged: the full update handles both.
            Ok(None) | Err(_) => self
                .update_index_with_retries(IndexUpdate::Incremental)
                .map(|_| false),
        }
    }

    fn update_index(&mut self, how: IndexUpdate) -> Result<RefreshReport, EngineError> {
        let blanked = self.locally_redacted_ids()?;
        let ledger = &self.ledger;
        let list = || Ok(ledger.list()?.iter().map(to_index_stat).collect());
        let read = |name: &str| read_segment(ledger, name);
        let refreshed = match how {
            IndexUpdate::Incremental => self.index.refresh_from(list, &blanked, read)?,
            IndexUpdate::Rebuild => self.index.rebuild(&list()?, &blanked, read)?,
        };
        self.mark_views_due(&refreshed);
        Ok(refreshed)
    }

    fn locally_redacted_ids(&self) -> Result<Vec<EventId>, EngineError> {
        Ok(self.ledger.blanked_ids()?.into_iter().collect())
    }

    fn mark_views_due(&mut self, refreshed: &RefreshReport) {
        // The new events may contain retractions.
        self.retracted_claims = None;
        match refreshed.rebuilt {
            Some(_) => self.views.mark_all_due(),
            None => self.views.mark_due(&refreshed.folded),
        }
    }

    /// Checks drafts with the guard, stamps them, appends them durably and indexes them.
    ///
    /// Every new event of this clone passes through here.
    pub(crate) fn record(
        &mut self,
        drafts: Vec<Draft>,
        by: &Actor,
    ) -> Result<Vec<RecordedEvent>, EngineError> {
        let stamped = drafts.into_iter().map(|draft| (None, draft)).collect();
        self.record_with_ids(stamped, by)
    }

    /// Like [`Self::record`], with predetermined ids for drafts whose content depends on them.
    pub(crate) fn record_with_ids(
        &mut self,
        drafts: Vec<(Option<EventId>, Draft)>,
        by: &Actor,
    ) -> Result<Vec<RecordedEvent>, EngineError> {
        self.record_with_policy(drafts, by, &mut |_| {})
    }

    /// Like [`Self::record_with_ids`]; `stricter` may quarantine drafts that the guard admitted.
    pub(crate) fn record_with_policy(
        &mut self,
        drafts: Vec<(Option<EventId>, Draft)>,
        by: &Actor,
        stricter: &mut dyn FnMut(&mut Admission),
    ) -> Result<Vec<RecordedEvent>, EngineError> {
        let span = tracing::info_span!(
            "record",
            gen_ai.operation.name = genai_operation_name(&drafts),
            events = drafts.len()
        );
        let _in = span.enter();
        let batch = self.stamp(drafts, by, stricter)?;
        self.append(&batch)?;
        if let (EngineStep::Open, Some(first)) = (self.step, batch.first()) {
            self.step = EngineStep::Started(first.event.id);
        }
        Ok(batch)
    }

    /// Checks drafts with the guard and stamps them, without writing them.
    pub(crate) fn stamp(
        &mut self,
        drafts: Vec<(Option<EventId>, Draft)>,
        by: &Actor,
        stricter: &mut dyn FnMut(&mut Admission),
    ) -> Result<Vec<RecordedEvent>, EngineError> {
        // The last place before the ledger: no name of a person gets past it, from any caller.
        let by = &self.people.stored_actor(by)?;
        let now = self.runtime.now();
        let seen = self.latest_clock(now)?;
        let node = self.ledger.node(&mut *self.runtime)?;
        let mut clock = EventStamper {
            node,
            now,
            seen,
            ids: &mut *self.runtime,
        };
        // All drafts are checked before the first is written: a refusal leaves the ledger
        // unchanged.
        let mut batch = Vec::with_capacity(drafts.len());
        // Read once, and only if there is a decision to sign.
        let mut key = None;
        let mut step = match self.step {
            EngineStep::PerRecord | EngineStep::Open => None,
            EngineStep::Started(id) => Some(id),
        };
        for (id, mut draft) in drafts {
            draft.about.extend(step.map(step_subject));
            let (draft, mut admission) = self.guard.admit(draft, by, now)?;
            stricter(&mut admission);
            self.redacted_secrets
                .extend(admission.redacted.iter().cloned());
            let mut event = match id {
                Some(id) => clock.stamp_with_id(id, draft, by, admission),
                None => clock.stamp(draft, by, admission),
            };
            if signing::is_signable(&event)
                && let Some(key) = key.get_or_insert_with(|| signing::signing_key(&self.place))
            {
                // An unsigned decision is valid here; only others cannot push it.
                match signing::sign(&event, key) {
                    Ok(signature) => event.signature = Some(signature),
                    Err(why) => self.notices.push(EngineNotice::NotSigned { why }),
                }
            }
            step.get_or_insert(event.id);
            batch.push(RecordedEvent::new_verified(event)?);
        }
        Ok(batch)
    }

    /// Appends complete events: stamped, derived from commits, or pulled.
    pub(crate) fn append(&mut self, batch: &[RecordedEvent]) -> Result<(), EngineError> {
        if batch.is_empty() {
            return Ok(());
        }
        let now = self.runtime.now();
        // New proposals do not change the set of retracted claims, so adding many entries loads it
        // once.
        let proposed = |it: &RecordedEvent| it.event.get::<Proposed>().is_some();
        let stones = self
            .retracted_claims
            .take()
            .filter(|_| batch.iter().all(proposed));
        let appended = self.ledger.append(batch, now, &mut *self.runtime)?;
        self.notices
            .extend(appended.notices.into_iter().map(EngineNotice::Ledger));
        if self.index_written(appended.written)? {
            self.retracted_claims = stones;
        }
        Ok(())
    }

    /// Returns the latest clock reading, which a new event must exceed.
    fn latest_clock(&self, now: Timestamp) -> Result<Option<Hlc>, EngineError> {
        // Readings too far in the future are ignored: one clone with a wrong clock must not push
        // the clocks of all others ahead.
        let limit = Hlc {
            wall: now.plus_millis(DRIFT_MAX_MS),
            counter: u16::MAX,
            node: NodeId::new(u128::MAX),
        };
        Ok(self.index.latest(limit)?)
    }
}

/// Returns the operation name of a write in OpenTelemetry's GenAI conventions.
fn genai_operation_name(drafts: &[(Option<EventId>, Draft)]) -> &'static str {
    let is = |name: &str| drafts.iter().any(|(_, it)| it.body.type_name() == name);
    if is(Proposed::TYPE) {
        "create_memory"
    } else if is(Retracted::TYPE) {
        "delete_memory"
    } else {
        "update_memory"
    }
}

fn read_segment(ledger: &Ledger, name: &str) -> Result<Vec<u8>, EngineError> {
    let name: SegmentName = name
        .parse()
        .map_err(|e: SegmentNameError| EngineError::Usage(e.to_string()))?;
    Ok(ledger.read_bytes(&name)?)
}

/// Returns true if a listed file does not exist anymore.
pub(crate) fn is_missing_file(error: &EngineError) -> bool {
    let (EngineError::Read(ReadError::Disk(disk))
    | EngineError::Replace(ReplaceError::Read(ReadError::Disk(disk)))) = error
    else {
        return false;
    };
    disk.source.kind() == io::ErrorKind::NotFound
}

fn to_index_stat(stat: &ken_ledger::SegmentStat) -> ListedSegment {
    ListedSegment {
        name: stat.name.path(),
        len: stat.len,
        modified_ns: stat.modified_ns,
        inode: stat.inode,
    }
}

/// Opens the index, or one in memory with the reason if the tree is not writable.
fn open_index(
    place: &LedgerLocation,
    dir: &RealDir,
) -> Result<(Index, Option<EngineNotice>), EngineError> {
    let in_memory = |why: String| {
        let notice = EngineNotice::IndexInMemory { why };
        Ok((Index::open_in_memory()?, Some(notice)))
    };
    if let Err(error) = dir.create_dirs(INDEX_DIR) {
        return in_memory(error.to_string());
    }
    let path: PathBuf = place.root.join(KEN_DIR).join(INDEX_DIR).join(INDEX_FILE);
    match Index::open(&path) {
        Err(error) if error.is_unwritable() => in_memory(describe_index_error(&error)),
        opened => Ok((opened?, None)),
    }
}

/// Returns the cause of an index error on one line.
fn describe_index_error(error: &IndexError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

/// Rejects a ledger with a newer major version than this build supports.
fn check_version(place: &LedgerLocation) -> Result<(), EngineError> {
    let path = place.root.join(KEN_DIR).join(VERSION_FILE);
    let Ok(text) = std::fs::read_to_string(path) else {
        return Err(EngineError::NotInitialized);
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
        (Some(_) | None, _) => Err(EngineError::TooNew {
            found: text.trim().to_owned(),
            known,
        }),
    }
}
