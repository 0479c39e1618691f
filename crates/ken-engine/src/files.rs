//! Files derived from entries below `.ken/`: rendering, and tracking which are up to date.
//!
//! Invariant: a file is overwritten only if it contains no edit that is not yet an event.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Cited, EventData as _, Proposed, RecordedEvent};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::id::{EntryId, EventId};
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir, DiskError, LedgerLocation, RealDir, Stat};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::view::entry_file::{self, ParsedEntryFile};
use crate::view::lists::render_lists;
use crate::{sync, verify};

/// The folder of entry files.
pub(crate) const ENTRIES_DIR: &str = "entries";
/// Entries whose file may be outdated, one id per line.
const DUE_FILE: &str = ".local/views-due";
/// Means every entry in [`DUE_FILE`].
const ALL_DUE: &str = "*";
/// Files at the last sync: name, length, modification time.
const SEEN_FILE: &str = ".local/views-seen";
/// First line of [`SEEN_FILE`] since every change of an entry is rendered at once.
const SEEN_HEADER: &str = "# rendered at once";
/// Temporary file that is renamed to its target.
const DRAFT_FILE: &str = ".local/view.tmp";
/// Maximum number of entries for which every write also renders the lists.
const LISTS_ON_WRITE_MAX: usize = 1000;

/// Metadata that no file has.
const UNREAD: (u64, u64) = (u64::MAX, 0);

/// Length and modification time of each file at the last sync.
#[derive(Debug, Default)]
pub(crate) struct SeenFiles {
    files: BTreeMap<String, (u64, u64)>,
    /// Set if a build wrote this state that did not render every change of an entry.
    pub(crate) may_lag: bool,
}

impl SeenFiles {
    pub(crate) fn load(dir: &dyn Dir) -> Option<Self> {
        let text = String::from_utf8(dir.read(SEEN_FILE).ok()?).ok()?;
        // A line that cannot be parsed is dropped; its file is then read again.
        let line = |line: &str| {
            let mut parts = line.split('\t');
            let name = parts.next()?.to_owned();
            Some((
                name,
                (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?),
            ))
        };
        Some(Self {
            files: text.lines().filter_map(line).collect(),
            may_lag: text.lines().next() != Some(SEEN_HEADER),
        })
    }

    pub(crate) fn save(&self, dir: &dyn Dir) -> io::Result<()> {
        let mut text = String::new();
        if !self.may_lag {
            let _ = writeln!(text, "{SEEN_HEADER}");
        }
        for (name, (len, time)) in &self.files {
            let _ = writeln!(text, "{name}\t{len}\t{time}");
        }
        write_atomically(dir, SEEN_FILE, text.as_bytes())
    }

    pub(crate) fn is_unchanged(&self, name: &str, stat: &Stat) -> bool {
        self.files.get(name) == Some(&(stat.len, stat.modified_ns))
    }

    pub(crate) fn record(&mut self, name: &str, stat: &Stat) {
        self.files
            .insert(name.to_owned(), (stat.len, stat.modified_ns));
    }

    /// Keeps the name of a file whose content could not be read, so that the next sync reads it
    /// again.
    pub(crate) fn mark_unread(&mut self, name: &str) {
        self.files.insert(name.to_owned(), UNREAD);
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.files.remove(name);
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

/// An entry file that still shows a redacted event.
#[derive(Debug)]
pub(crate) struct UnredactedFile {
    pub(crate) name: String,
    /// Set if the file also contains a person's edit, which Ken does not discard.
    pub(crate) edited: bool,
}

/// Opens the `.ken` folder.
pub(crate) fn open_ken_dir(place: &LedgerLocation) -> Result<RealDir, EngineError> {
    let shown = place.root.join(KEN_DIR).display().to_string();
    Ok(RealDir::below(&place.root, KEN_DIR).map_err(DiskError::on("open", &shown))?)
}

/// Pending rendering work, collected while a command runs.
///
/// Writing commands render immediately and flush at their end. Reading commands only store the list
/// of outdated files. All of this is local state: if it is lost, `ken ledger render` repairs the
/// files.
#[derive(Debug, Default)]
pub(crate) struct ViewState {
    /// Entries whose file may be outdated.
    due: BTreeSet<EntryId>,
    /// Set if every file may be outdated.
    all_due: bool,
    /// File metadata, loaded by the first writing operation.
    pub(crate) seen: Option<SeenFiles>,
    /// Set once the list of earlier commands was loaded.
    due_loaded: bool,
    /// Set if the lists are outdated.
    lists_outdated: bool,
}

impl ViewState {
    /// Marks the files of `touched` as possibly outdated.
    pub(crate) fn mark_due(&mut self, touched: &BTreeSet<EntryId>) {
        self.due.extend(touched.iter().copied());
    }

    /// Marks every file as possibly outdated.
    pub(crate) fn mark_all_due(&mut self) {
        self.all_due = true;
    }

    /// Loads the list of outdated files that earlier commands stored.
    fn load_due(&mut self, dir: &RealDir) -> Result<(), EngineError> {
        // Renaming first: lines that another process appends meanwhile go to a new file and are not
        // lost.
        let taken = unique_path(DUE_FILE);
        match dir.rename(DUE_FILE, &taken) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(DiskError::on("move", DUE_FILE))?,
        }
        let lines = read_text(dir, &taken)?.unwrap_or_default();
        self.all_due |= lines.lines().any(|line| line == ALL_DUE);
        self.due.extend(
            lines
                .lines()
                .filter_map(|line| line.parse::<EntryId>().ok()),
        );
        Ok(dir
            .remove(&taken)
            .map_err(DiskError::on("remove", &taken))?)
    }

    /// Stores the list of outdated files for the next writing command.
    fn store_due(&mut self, dir: &RealDir) -> io::Result<()> {
        let all = if std::mem::take(&mut self.all_due) {
            "*\n"
        } else {
            ""
        };
        let due = std::mem::take(&mut self.due);
        let lines = due.iter().map(|id| format!("{id}\n")).collect::<String>() + all;
        if lines.is_empty() {
            return Ok(());
        }
        match dir.append(DUE_FILE, lines.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                dir.create_dirs(".local")?;
                dir.create_new(DUE_FILE, lines.as_bytes())
            }
            other => other,
        }
    }
}

/// Returns a path that is unique among running processes and threads.
fn unique_path(path: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{path}-{}-{count}", std::process::id())
}

/// Replaces a file atomically, without an fsync: derived files can be rendered again.
pub(crate) fn write_atomically(dir: &dyn Dir, path: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = unique_path(DRAFT_FILE);
    let write = || -> io::Result<()> {
        dir.create_new(&draft, bytes)?;
        dir.rename(&draft, path)
    };
    match write() {
        // Folders are created only when they are missing, which saves system calls per file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let _ = dir.remove(&draft);
            dir.create_dirs(".local")?;
            dir.create_dirs(path.rsplit_once('/').map_or("", |(parent, _)| parent))?;
            write()
        }
        other => other,
    }
}

/// Appends bytes to a file until it has `max` bytes; later ones are dropped.
pub(crate) fn append_bounded(dir: &dyn Dir, path: &str, bytes: &[u8], max: u64) -> io::Result<()> {
    match dir.stat(path)? {
        Some(stat) if stat.len >= max => Ok(()),
        Some(_) => dir.append(path, bytes),
        None => {
            dir.create_dirs(path.rsplit_once('/').map_or("", |(parent, _)| parent))?;
            dir.create_new(path, bytes)
        }
    }
}

/// Renders the files of changed entries; returns the number of written files.
pub(crate) fn render_due(engine: &mut Engine) -> Result<usize, EngineError> {
    let dir = Arc::clone(&engine.ken);
    if !std::mem::replace(&mut engine.views.due_loaded, true) {
        engine.views.load_due(&dir)?;
    }
    let mut seen = take_seen(engine, &dir);
    let all_due = engine.views.all_due;
    let due = take_due_entries(engine)?;
    let redacted = redacted_entries(&due);
    if all_due || !redacted.is_empty() {
        let is_due = |id| all_due || redacted.contains(&id);
        remove_redacted_files(engine, &dir, &mut seen, is_due)?;
    }
    let mut written = 0;
    for entry in due {
        written += usize::from(render_entry(engine, &dir, &entry, &mut seen)?);
        engine.views.lists_outdated = true;
    }
    engine.views.seen = Some(seen);
    Ok(written)
}

/// Renders files that show a redacted event; returns the number of changed files.
///
/// This includes files with events that this branch lacks. A file without a proposal in this
/// branch is removed; it is rendered again when its events arrive.
pub(crate) fn rerender_unredacted(engine: &mut Engine) -> Result<usize, EngineError> {
    let blanked = verify::redacted_ids(engine)?;
    if blanked.is_empty() {
        return Ok(0);
    }
    let dir = Arc::clone(&engine.ken);
    let mut seen = take_seen(engine, &dir);
    let mut changed = 0;
    for UnredactedFile { name, .. } in unredacted_files(engine, &blanked)? {
        let entry = id_from_file_name(&name)
            .map(|id| engine.index.entry(id))
            .transpose()?;
        let done = match entry.flatten().filter(|entry| entry.file_name().is_some()) {
            Some(entry) => render_entry(engine, &dir, &entry, &mut seen)?,
            None => remove_if_unedited(&dir, &name, &mut seen)?,
        };
        changed += usize::from(done);
    }
    engine.views.seen = Some(seen);
    Ok(changed)
}

/// Removes a file unless a person edited it; returns true if it was removed.
fn remove_if_unedited(
    dir: &RealDir,
    name: &str,
    seen: &mut SeenFiles,
) -> Result<bool, EngineError> {
    let path = format!("{ENTRIES_DIR}/{name}");
    let text = read_text(dir, &path)?.unwrap_or_default();
    let rendered = entry_file::parse(&text).is_ok_and(|reading| reading.content_is_rendered());
    if rendered {
        remove_entry_file(dir, name)?;
        seen.forget(name);
    }
    Ok(rendered)
}

pub(crate) fn take_seen(engine: &mut Engine, dir: &RealDir) -> SeenFiles {
    engine
        .views
        .seen
        .take()
        .or_else(|| SeenFiles::load(dir))
        .unwrap_or_default()
}

fn take_due_entries(engine: &mut Engine) -> Result<Vec<Entry>, EngineError> {
    let due = std::mem::take(&mut engine.views.due);
    if std::mem::take(&mut engine.views.all_due) {
        return Ok(engine.index.list(&EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        })?);
    }
    let found = due.into_iter().map(|id| engine.index.entry(id));
    Ok(found
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?)
}

/// Renders outdated lists and stores local state for the next command.
pub(crate) fn flush_views(engine: &mut Engine) -> Result<(), EngineError> {
    let dir = Arc::clone(&engine.ken);
    if std::mem::take(&mut engine.views.lists_outdated) {
        write_lists_if_small(engine, &dir)?;
    }
    if let Some(seen) = engine.views.seen.take() {
        seen.save(&*dir)
            .map_err(DiskError::on("write", SEEN_FILE))?;
    }
    Ok(engine
        .views
        .store_due(&dir)
        .map_err(DiskError::on("write", DUE_FILE))?)
}

/// Renders every entry file and list; returns the number of written entry files.
pub(crate) fn render_all(engine: &mut Engine) -> Result<usize, EngineError> {
    sync::sync_before_writing(engine)?;
    let dir = Arc::clone(&engine.ken);
    // Starting empty drops files that do not exist anymore.
    let mut seen = SeenFiles::default();
    let mut written = 0;
    let entries = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    for entry in &entries {
        written += usize::from(render_entry(engine, &dir, entry, &mut seen)?);
    }
    engine.views = ViewState {
        seen: Some(seen),
        ..ViewState::default()
    };
    let _ = dir.remove(DUE_FILE);
    write_lists(&*dir, &entries)?;
    Ok(written)
}

fn write_lists_if_small(engine: &Engine, dir: &RealDir) -> Result<(), EngineError> {
    // One more than the maximum tells whether there are more, without loading all entries.
    let limit = Some(LISTS_ON_WRITE_MAX + 1);
    let entries = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        limit,
        ..EntryFilter::default()
    })?;
    if entries.len() <= LISTS_ON_WRITE_MAX {
        write_lists(dir, &entries)?;
    }
    Ok(())
}

/// Writes an entry's file if it changed and no edit is lost; returns true if it was written.
pub(crate) fn render_entry(
    engine: &Engine,
    dir: &RealDir,
    entry: &Entry,
    seen: &mut SeenFiles,
) -> Result<bool, EngineError> {
    // Without content there is no file name.
    let Some(name) = entry.file_name() else {
        return Ok(false);
    };
    let path = format!("{ENTRIES_DIR}/{name}");
    let old = read_text(dir, &path)?;
    let text = match &old {
        // A file that was deleted to retract the entry stays deleted.
        None if entry.retracted.is_some() => None,
        None => entry_file::render(entry),
        Some(old) => match entry_file::parse(old) {
            Ok(reading) if may_replace(engine, entry, &reading)? => entry_file::render(entry),
            Ok(_) | Err(_) => None,
        },
    };
    let Some(text) = text else { return Ok(false) };
    let changed = old.as_deref() != Some(text.as_str());
    if changed {
        write_atomically(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
    }
    if let Some(stat) = dir
        .stat(&path)
        .map_err(DiskError::on("read the metadata of", &path))?
    {
        seen.record(&name, &stat);
    }
    Ok(changed)
}

/// Returns the entries that have no file name because an event was redacted.
fn redacted_entries(entries: &[Entry]) -> BTreeSet<EntryId> {
    let redacted = entries
        .iter()
        .filter(|it| it.history.blanked > 0 && it.file_name().is_none());
    redacted.map(|it| it.id).collect()
}

/// Removes the files of entries whose proposal was redacted: text and file name quote it. The files
/// are found by the ids in their names, of which `is_due` selects some.
fn remove_redacted_files(
    engine: &Engine,
    dir: &RealDir,
    seen: &mut SeenFiles,
    is_due: impl Fn(EntryId) -> bool,
) -> Result<(), EngineError> {
    let listing = dir
        .list(ENTRIES_DIR)
        .map_err(DiskError::on("list", ENTRIES_DIR))?;
    for (name, _) in listing {
        if id_from_file_name(&name).is_some_and(&is_due) {
            remove_if_redacted(engine, dir, &name, seen)?;
        }
    }
    Ok(())
}

/// Removes a file if the proposal of its entry was redacted; returns true if it was removed.
pub(crate) fn remove_if_redacted(
    engine: &Engine,
    dir: &RealDir,
    name: &str,
    seen: &mut SeenFiles,
) -> Result<bool, EngineError> {
    let unworded = is_proposal_redacted(engine, name)?;
    if unworded {
        remove_entry_file(dir, name)?;
        seen.forget(name);
    }
    Ok(unworded)
}

/// Returns true if the proposal of a file's entry was redacted, not merely absent here.
pub(crate) fn is_proposal_redacted(engine: &Engine, name: &str) -> Result<bool, EngineError> {
    let Some(id) = id_from_file_name(name) else {
        return Ok(false);
    };
    match engine.index.entry(id)? {
        Some(entry) if entry.created.is_none() && entry.history.blanked > 0 => {}
        Some(_) | None => return Ok(false),
    }
    // Another event of the entry may be the redacted one, while the proposal is on a branch
    // that is not merged yet.
    let proposes = |it: &RecordedEvent| it.event.body.type_name() == Proposed::TYPE;
    let history = engine.history(id)?;
    Ok(history.iter().any(|it| it.is_redacted() && proposes(it)))
}

/// Returns the entry files that show a redacted event.
pub(crate) fn unredacted_files(
    engine: &Engine,
    blanked: &BTreeSet<EventId>,
) -> Result<Vec<UnredactedFile>, EngineError> {
    // Reading every entry file is slow and only needed if something was redacted.
    if blanked.is_empty() && !engine.index.has_redacted_event()? {
        return Ok(Vec::new());
    }
    let dir = &*engine.ken;
    let listing = dir
        .list(ENTRIES_DIR)
        .map_err(DiskError::on("list", ENTRIES_DIR))?;
    let mut quoting = Vec::new();
    for (name, _) in listing {
        let text = read_text(dir, &format!("{ENTRIES_DIR}/{name}"))?.unwrap_or_default();
        let reading = entry_file::parse(&text).ok();
        let rests_on =
            |reading: &ParsedEntryFile| reading.revision.iter().any(|id| blanked.contains(id));
        let unworded = is_proposal_redacted(engine, &name)?;
        if unworded || reading.as_ref().is_some_and(rests_on) {
            let edited = !unworded && reading.is_some_and(|reading| !reading.content_is_rendered());
            quoting.push(UnredactedFile { name, edited });
        }
    }
    Ok(quoting)
}

/// Returns true if a file may be overwritten: it is unedited, and this branch has its events.
///
/// A file that shows a redacted event is overwritten even if events are missing.
pub(crate) fn may_replace(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
) -> Result<bool, EngineError> {
    if !reading.content_is_rendered() {
        return Ok(false);
    }
    // With events missing, the file is newer than this branch's state.
    let mut known = unrecorded_source(engine, entry, reading)?.is_none();
    for id in &reading.revision {
        known &= engine.index.event(*id)?.is_some();
    }
    // A date that a person set becomes a confirmation first.
    if known && reading.machine_is_rendered {
        return Ok(true);
    }
    for id in &reading.revision {
        if engine.index.is_redacted(*id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a source in a file that no event of its entry cites: a person added it, or the event is
/// on a branch that is not merged yet.
pub(crate) fn unrecorded_source(
    engine: &Engine,
    entry: &Entry,
    reading: &ParsedEntryFile,
) -> Result<Option<String>, EngineError> {
    // The event of the source may be a redacted one, and then the file must not keep it.
    if entry.history.blanked > 0 {
        return Ok(None);
    }
    let mut cited: BTreeSet<String> = entry.citations.iter().map(ToString::to_string).collect();
    let missing = |cited: &BTreeSet<String>| {
        let mut sources = reading.machine.sources.iter();
        sources.find(|source| !cited.contains(*source)).cloned()
    };
    if missing(&cited).is_some() {
        // A citation may have been withdrawn since the file was rendered.
        for recorded in engine.history(entry.id)? {
            let event = &recorded.event;
            let proposed = event.get::<Proposed>().map(|data| &data.citations[..]);
            let added = event.get::<Cited>().map(|data| &data.citation);
            let citations = proposed.unwrap_or_default().iter().chain(added);
            cited.extend(citations.map(ToString::to_string));
        }
    }
    Ok(missing(&cited))
}

impl Drop for Engine {
    /// Flushes local state. An error is ignored: a read-only tree has no files to update.
    fn drop(&mut self) {
        let _ = flush_views(self);
    }
}

/// Removes an entry file, unless another process already did.
fn remove_entry_file(dir: &RealDir, name: &str) -> Result<(), EngineError> {
    let path = format!("{ENTRIES_DIR}/{name}");
    match dir.remove(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(other.map_err(DiskError::on("remove", &path))?),
    }
}

/// Parses the id at the start of a file name.
pub(crate) fn id_from_file_name(name: &str) -> Option<EntryId> {
    const ID_CHARS: usize = 2 + EntryId::TAIL_CHARS;
    name.get(..ID_CHARS)?.parse().ok()
}

/// Returns a file's text, `None` if there is no file.
pub(crate) fn read_text(dir: &dyn Dir, path: &str) -> Result<Option<String>, EngineError> {
    match dir.read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::on("read", path)(error).into()),
    }
}

fn write_lists(dir: &dyn Dir, entries: &[Entry]) -> Result<(), EngineError> {
    for (path, text) in render_lists(entries) {
        // Unchanged files keep their modification time, which editors and build tools watch.
        if read_text(dir, &path)?.as_deref() != Some(text.as_str()) {
            write_atomically(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
        }
    }
    Ok(())
}
