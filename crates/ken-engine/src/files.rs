//! The view files below `.ken/`: writing them, and remembering which are in step.
//!
//! Invariant: a file is only written over when it holds no edit that has not become an event.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_core::entry::Entry;
use ken_core::event::{EventData as _, Proposed, Recorded};
use ken_core::id::{EntryId, EventId};
use ken_core::store::{Filter, Shelf, Store as _};
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir, DiskError, Place, RealDir, Stat};

use crate::engine::Engine;
use crate::error::Error;
use crate::view::document::{self, Reading};
use crate::view::gather::gather;

/// The folder of entry files.
pub(crate) const ENTRIES_DIR: &str = "entries";
/// Entries whose file may be out of step, one id a line.
const DUE_FILE: &str = ".local/views-due";
/// Stands in [`DUE_FILE`] for every entry.
const ALL_DUE: &str = "*";
/// Files that were in step when last looked at: name, length, time.
const SEEN_FILE: &str = ".local/views-seen";
/// Where a file is prepared before it takes its place.
const DRAFT_FILE: &str = ".local/view.tmp";
/// Up to this many entries every write also renews the gathering views.
const GATHER_ON_WRITE_MAX: usize = 1000;

/// What files looked like when they were last in step.
#[derive(Debug, Default)]
pub(crate) struct Seen(BTreeMap<String, (u64, u64)>);

impl Seen {
    pub(crate) fn load(dir: &dyn Dir) -> Option<Self> {
        let text = String::from_utf8(dir.read(SEEN_FILE).ok()?).ok()?;
        let line = |line: &str| {
            let mut parts = line.split('\t');
            let name = parts.next()?.to_owned();
            Some((
                name,
                (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?),
            ))
        };
        Some(Self(text.lines().filter_map(line).collect()))
    }

    pub(crate) fn save(&self, dir: &dyn Dir) -> io::Result<()> {
        let lines = self
            .0
            .iter()
            .map(|(name, (len, time))| format!("{name}\t{len}\t{time}\n"));
        put(dir, SEEN_FILE, lines.collect::<String>().as_bytes())
    }

    pub(crate) fn is_unchanged(&self, name: &str, stat: &Stat) -> bool {
        self.0.get(name) == Some(&(stat.len, stat.modified_ns))
    }

    pub(crate) fn note(&mut self, name: &str, stat: &Stat) {
        self.0.insert(name.to_owned(), (stat.len, stat.modified_ns));
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// An entry file that shows a blanked event.
#[derive(Debug)]
pub(crate) struct Quoting {
    pub(crate) name: String,
    /// It also holds a person's edit, which Ken does not throw away.
    pub(crate) edited: bool,
}

/// Opens `.ken` for view files.
pub(crate) fn ken_dir(place: &Place) -> Result<RealDir, Error> {
    let shown = place.root.join(KEN_DIR).display().to_string();
    Ok(RealDir::below(&place.root, KEN_DIR).map_err(DiskError::on("open", &shown))?)
}

/// What the files still need, gathered while a command runs.
///
/// Writing commands render as they go and settle when they end; reading commands only leave a
/// list of what is due. All of it is local state: losing it costs a `ken render`.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// Entries whose file may be out of step.
    due: BTreeSet<EntryId>,
    /// Whether that may be true of every file.
    all_due: bool,
    /// What files looked like, once a writing command wanted to know.
    pub(crate) seen: Option<Seen>,
    /// Whether the list of earlier commands was taken over.
    left_taken: bool,
    /// Whether the gathering views are behind.
    ungathered: bool,
}

impl Views {
    /// Notes that the files of `touched` may be out of step.
    pub(crate) fn note(&mut self, touched: &BTreeSet<EntryId>) {
        self.due.extend(touched.iter().copied());
    }

    /// Notes that every file may be out of step.
    pub(crate) fn note_all(&mut self) {
        self.all_due = true;
    }

    /// Adds what earlier commands left behind. The list is moved away first, so that what others
    /// add meanwhile is not lost.
    fn take_left_behind(&mut self, dir: &RealDir) -> Result<(), Error> {
        let taken = unique(DUE_FILE);
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

    /// Leaves what is still due to the next writing command.
    fn leave_behind(&mut self, dir: &RealDir) -> io::Result<()> {
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

/// Returns a name nobody else uses at this moment.
fn unique(path: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{path}-{}-{count}", std::process::id())
}

/// Writes a file in one step, without waiting for the disk: views can be made again.
pub(crate) fn put(dir: &dyn Dir, path: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = unique(DRAFT_FILE);
    let write = || -> io::Result<()> {
        dir.create_new(&draft, bytes)?;
        dir.rename(&draft, path)
    };
    match write() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let _ = dir.remove(&draft);
            dir.create_dirs(".local")?;
            dir.create_dirs(path.rsplit_once('/').map_or("", |(parent, _)| parent))?;
            write()
        }
        other => other,
    }
}

impl Engine {
    /// Renders the files of entries that changed since the last time; returns how many it wrote.
    pub(crate) fn render_due(&mut self) -> Result<usize, Error> {
        let dir = Arc::clone(&self.ken);
        if !std::mem::replace(&mut self.views.left_taken, true) {
            self.views.take_left_behind(&dir)?;
        }
        let mut seen = self.take_seen(&dir);
        if self.views.all_due {
            self.remove_unworded(&dir, &mut seen)?;
        }
        let mut written = 0;
        for entry in self.take_due()? {
            written += usize::from(self.render_entry(&dir, &entry, Machine::Keep, &mut seen)?);
            self.views.ungathered = true;
        }
        self.views.seen = Some(seen);
        Ok(written)
    }

    /// Renders the files that show a blanked event, also those whose other events this branch
    /// does not have; returns how many it changed.
    ///
    /// One whose proposal this branch does not know is removed: it comes back with its events.
    pub(crate) fn renew_quoting(&mut self) -> Result<usize, Error> {
        let blanked = self.blanked_here()?;
        if blanked.is_empty() {
            return Ok(0);
        }
        let dir = Arc::clone(&self.ken);
        let mut seen = self.take_seen(&dir);
        let mut changed = 0;
        for Quoting { name, .. } in self.quoting_files(&blanked)? {
            let entry = id_of(&name).map(|id| self.index.entry(id)).transpose()?;
            let done = match entry.flatten().filter(|entry| entry.file_name().is_some()) {
                Some(entry) => self.render_entry(&dir, &entry, Machine::Renew, &mut seen)?,
                None => self.remove_rendered(&dir, &name, &mut seen)?,
            };
            changed += usize::from(done);
        }
        self.views.seen = Some(seen);
        Ok(changed)
    }

    /// Removes a file if it is as Ken rendered it; returns whether it did.
    fn remove_rendered(&self, dir: &RealDir, name: &str, seen: &mut Seen) -> Result<bool, Error> {
        let path = format!("{ENTRIES_DIR}/{name}");
        let text = read_text(dir, &path)?.unwrap_or_default();
        let rendered = document::read(&text).is_ok_and(|reading| reading.is_rendered());
        if rendered {
            remove_entry_file(dir, name)?;
            seen.forget(name);
        }
        Ok(rendered)
    }

    pub(crate) fn take_seen(&mut self, dir: &RealDir) -> Seen {
        self.views
            .seen
            .take()
            .or_else(|| Seen::load(dir))
            .unwrap_or_default()
    }

    fn take_due(&mut self) -> Result<Vec<Entry>, Error> {
        let due = std::mem::take(&mut self.views.due);
        if std::mem::take(&mut self.views.all_due) {
            return Ok(self.index.list(&Filter {
                shelf: Shelf::All,
                ..Filter::default()
            })?);
        }
        let found = due.into_iter().map(|id| self.index.entry(id));
        Ok(found
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?)
    }

    /// Ends a command: gathers, and keeps for the next one what this one learned.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let dir = Arc::clone(&self.ken);
        if std::mem::take(&mut self.views.ungathered) {
            self.gather_if_small(&dir)?;
        }
        if let Some(seen) = self.views.seen.take() {
            seen.save(&*dir)
                .map_err(DiskError::on("write", SEEN_FILE))?;
        }
        Ok(self
            .views
            .leave_behind(&dir)
            .map_err(DiskError::on("write", DUE_FILE))?)
    }

    /// Renders every file and every gathering view, machine state included; returns how many
    /// entry files were written.
    pub fn render(&mut self) -> Result<usize, Error> {
        self.absorb_before_writing()?;
        let dir = Arc::clone(&self.ken);
        let mut seen = Seen::default();
        let mut written = 0;
        let entries = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        for entry in &entries {
            written += usize::from(self.render_entry(&dir, entry, Machine::Renew, &mut seen)?);
        }
        self.views = Views {
            seen: Some(seen),
            ..Views::default()
        };
        let _ = dir.remove(DUE_FILE);
        write_gathered(&*dir, &entries)?;
        Ok(written)
    }

    fn gather_if_small(&self, dir: &RealDir) -> Result<(), Error> {
        let limit = Some(GATHER_ON_WRITE_MAX + 1);
        let entries = self.index.list(&Filter {
            shelf: Shelf::All,
            limit,
            ..Filter::default()
        })?;
        if entries.len() <= GATHER_ON_WRITE_MAX {
            write_gathered(dir, &entries)?;
        }
        Ok(())
    }

    /// Writes one entry's file where that is needed and safe; returns whether it did.
    pub(crate) fn render_entry(
        &self,
        dir: &RealDir,
        entry: &Entry,
        machine: Machine,
        seen: &mut Seen,
    ) -> Result<bool, Error> {
        let Some(name) = entry.file_name() else {
            if 0 < entry.history.blanked {
                self.remove_unworded(dir, seen)?;
            }
            return Ok(false);
        };
        // What a file keeps of machine state may quote an event that is blanked by now.
        let machine = if 0 < entry.history.blanked {
            Machine::Renew
        } else {
            machine
        };
        let path = format!("{ENTRIES_DIR}/{name}");
        let old = read_text(dir, &path)?;
        let text = match &old {
            // A file somebody deleted to retract the entry stays deleted.
            None if entry.retracted.is_some() => None,
            None => document::render(entry, None),
            Some(old) => match document::read(old) {
                Ok(reading) if self.may_replace(&reading)? => match machine {
                    Machine::Keep => document::render(entry, Some(&reading.machine)),
                    Machine::Renew => document::render(entry, None),
                },
                Ok(_) | Err(_) => None,
            },
        };
        let Some(text) = text else { return Ok(false) };
        let changed = old.as_deref() != Some(text.as_str());
        if changed {
            put(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
        }
        if let Some(stat) = dir.stat(&path).map_err(DiskError::on("look at", &path))? {
            seen.note(&name, &stat);
        }
        Ok(changed)
    }

    /// Removes the files of entries whose proposal was blanked: their text and their very names
    /// quote it.
    fn remove_unworded(&self, dir: &RealDir, seen: &mut Seen) -> Result<(), Error> {
        let listing = dir
            .list(ENTRIES_DIR)
            .map_err(DiskError::on("list", ENTRIES_DIR))?;
        for (name, _) in listing {
            self.remove_if_unworded(dir, &name, seen)?;
        }
        Ok(())
    }

    /// Removes a file if its entry's proposal was blanked; returns whether it did.
    pub(crate) fn remove_if_unworded(
        &self,
        dir: &RealDir,
        name: &str,
        seen: &mut Seen,
    ) -> Result<bool, Error> {
        let unworded = self.is_unworded(name)?;
        if unworded {
            remove_entry_file(dir, name)?;
            seen.forget(name);
        }
        Ok(unworded)
    }

    /// Returns whether the proposal of a file's entry was blanked, not merely left out here.
    pub(crate) fn is_unworded(&self, name: &str) -> Result<bool, Error> {
        let Some(id) = id_of(name) else {
            return Ok(false);
        };
        match self.index.entry(id)? {
            Some(entry) if entry.created.is_none() && 0 < entry.history.blanked => {}
            Some(_) | None => return Ok(false),
        }
        let proposes = |it: &Recorded| it.event.body.type_name() == Proposed::TYPE;
        let history = self.history(id)?;
        Ok(history.iter().any(|it| it.is_blanked() && proposes(it)))
    }

    /// Returns the entry files that show a blanked event.
    pub(crate) fn quoting_files(&self, blanked: &BTreeSet<EventId>) -> Result<Vec<Quoting>, Error> {
        if blanked.is_empty() && !self.index.any_blank()? {
            return Ok(Vec::new());
        }
        let dir = &*self.ken;
        let listing = dir
            .list(ENTRIES_DIR)
            .map_err(DiskError::on("list", ENTRIES_DIR))?;
        let mut quoting = Vec::new();
        for (name, _) in listing {
            let text = read_text(dir, &format!("{ENTRIES_DIR}/{name}"))?.unwrap_or_default();
            let reading = document::read(&text).ok();
            let rests_on =
                |reading: &Reading| reading.revision.iter().any(|id| blanked.contains(id));
            let unworded = self.is_unworded(&name)?;
            if unworded || reading.as_ref().is_some_and(rests_on) {
                let edited = !unworded && reading.is_some_and(|reading| !reading.is_rendered());
                quoting.push(Quoting { name, edited });
            }
        }
        Ok(quoting)
    }

    /// A file may be written over when it is as Ken rendered it, from events this branch knows.
    ///
    /// One that shows a blanked event cannot wait for the others.
    fn may_replace(&self, reading: &Reading) -> Result<bool, Error> {
        if !reading.is_rendered() {
            return Ok(false);
        }
        let mut known = true;
        for id in &reading.revision {
            known &= self.index.event(*id)?.is_some();
        }
        if known {
            return Ok(true);
        }
        let blanked = self.blanked_here()?;
        Ok(reading.revision.iter().any(|id| blanked.contains(id)))
    }
}

impl Drop for Engine {
    /// Settles what the command left; a tree that cannot be written has no views to settle.
    fn drop(&mut self) {
        let _ = self.settle();
    }
}

/// Removes an entry file; another process may have been quicker.
fn remove_entry_file(dir: &RealDir, name: &str) -> Result<(), Error> {
    let path = format!("{ENTRIES_DIR}/{name}");
    match dir.remove(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(other.map_err(DiskError::on("remove", &path))?),
    }
}

/// Returns the id a file name begins with.
pub(crate) fn id_of(name: &str) -> Option<EntryId> {
    const ID_CHARS: usize = 2 + EntryId::TAIL_CHARS;
    name.get(..ID_CHARS)?.parse().ok()
}

/// Whether machine state in a file is kept as it stands or written as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    Keep,
    Renew,
}

/// Returns a file's text, `None` if there is no file.
pub(crate) fn read_text(dir: &dyn Dir, path: &str) -> Result<Option<String>, Error> {
    match dir.read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::on("read", path)(error).into()),
    }
}

fn write_gathered(dir: &dyn Dir, entries: &[Entry]) -> Result<(), Error> {
    for (path, text) in gather(entries) {
        if read_text(dir, &path)?.as_deref() != Some(text.as_str()) {
            put(dir, &path, text.as_bytes()).map_err(DiskError::on("write", &path))?;
        }
    }
    Ok(())
}
