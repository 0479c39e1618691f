//! What the files of a version hold, parsed once for each content.
//!
//! A file of a commit is known by its blob's id, one of the work tree by how it looks from outside; whoever
//! has the same content has the same outline, in this process and, through the index, in the next.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ken_anchor::{
    Fingerprint, Language, Outline, Resolved, Tree as _, Unresolved, Verdict, compare,
    compare_symbol, outline, resolve, resolve_symbol,
};
use ken_core::anchor::Spot;
use ken_core::condition::Truth;
use ken_core::time::Timestamp;
use ken_index::{FileStat, Index};

use super::tree::{Held, Version};
use crate::error::Error;

/// Age a file must have before how it looks from outside stands for what it holds: a second change within a
/// tick of the clock would not show.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Outlines and files noted before they are written to the index.
const NOTED_MAX: usize = 256;

/// What was found at a spot.
#[derive(Clone, Debug)]
pub(crate) enum Looked {
    Found(Resolved),
    /// The file is there, the spot is not.
    Missing(Unresolved),
    NoFile,
    /// Nobody can tell.
    Unreadable(String),
}

/// Reads the files of one version.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) version: &'a Version,
    index: &'a mut Index,
    now: Timestamp,
    /// Outlines of files that were asked for.
    outlines: BTreeMap<String, Option<Arc<Outline>>>,
    new_outlines: Vec<(String, String)>,
    new_files: Vec<(String, FileStat, String)>,
    /// Files that had to be parsed.
    pub(crate) parsed: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(version: &'a Version, index: &'a mut Index, now: Timestamp) -> Self {
        Self {
            version,
            index,
            now,
            outlines: BTreeMap::new(),
            new_outlines: Vec::new(),
            new_files: Vec::new(),
            parsed: 0,
        }
    }

    /// Looks a spot up.
    pub(crate) fn look(&mut self, path: &str, spot: &Spot) -> Result<Looked, Error> {
        let resolved = match spot {
            Spot::Symbol(name) if Language::of(path).is_some() => self
                .outline(path)
                .map(|outline| outline.map(|it| resolve_symbol(path, &it, name))),
            Spot::Symbol(_) | Spot::Lines { .. } | Spot::File => {
                let read = self.version.read(path).map_err(Error::from);
                read.map(|bytes| bytes.map(|it| resolve(path, &it, spot)))
            }
        };
        match resolved {
            Ok(Some(Ok(found))) => Ok(Looked::Found(found)),
            Ok(Some(Err(missing))) => Ok(Looked::Missing(missing)),
            Ok(None) => Ok(Looked::NoFile),
            Err(Error::Tree(error)) => Ok(Looked::Unreadable(error.why)),
            Err(other) => Err(other),
        }
    }

    /// Compares a spot with what it said once; `None` if the file is gone.
    pub(crate) fn compare(
        &mut self,
        path: &str,
        spot: &Spot,
        taken: Fingerprint,
    ) -> Result<Option<Verdict>, Error> {
        if let Spot::Symbol(name) = spot
            && Language::of(path).is_some()
        {
            let outline = self.outline(path)?;
            return Ok(outline.map(|it| compare_symbol(path, &it, name, taken)));
        }
        let bytes = self.version.read(path)?;
        Ok(bytes.map(|it| compare(path, &it, spot, taken)))
    }

    /// Returns the symbols of a file, if it is there.
    pub(crate) fn outline(&mut self, path: &str) -> Result<Option<Arc<Outline>>, Error> {
        if let Some(known) = self.outlines.get(path) {
            return Ok(known.clone());
        }
        let found = match self.known(path)? {
            Known::Settled(found) => found,
            Known::Unparsed(file) => match parse(self.version, &file)? {
                Some(parsed) => Some(self.take(file, parsed)?),
                None => None,
            },
        };
        self.outlines.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    /// Reads the symbols of files that will be asked for, on all processors.
    pub(crate) fn prepare(&mut self, paths: impl IntoIterator<Item = String>) -> Result<(), Error> {
        let mut unparsed = Vec::new();
        for path in paths.into_iter().collect::<BTreeSet<_>>() {
            if self.outlines.contains_key(&path) {
                continue;
            }
            match readable(self.known(&path).map(Some))? {
                Some(Known::Settled(found)) => {
                    self.outlines.insert(path, found);
                }
                Some(Known::Unparsed(file)) => unparsed.push(file),
                // Why it cannot be read is told to whoever asks for it.
                None => {}
            }
        }
        let parsed = in_parallel(&unparsed, |file| parse(self.version, file).ok().flatten());
        for (file, parsed) in unparsed.into_iter().zip(parsed) {
            if let Some(parsed) = parsed {
                let path = file.path.clone();
                let outline = self.take(file, parsed)?;
                self.outlines.insert(path, Some(outline));
            }
        }
        Ok(())
    }

    /// Forgets what was read: the outlines of a whole repository are large.
    pub(crate) fn forget(&mut self) {
        self.outlines.clear();
    }

    /// Returns the symbols of a file as far as they are known without parsing it.
    fn known(&self, path: &str) -> Result<Known, Error> {
        let (Some(held), Some(language)) = (self.version.held(path)?, Language::of(path)) else {
            return Ok(Known::Settled(None));
        };
        let key = match &held {
            Held::Blob(id) => Some(id.clone()),
            Held::Loose(stat) => self.index.file_key(path, *stat)?,
        };
        if let Some(key) = &key
            && let Some(kept) = self.index.outline(&under(language, key))?
            && let Some(outline) = Outline::from_kept(path, &kept)
        {
            return Ok(Known::Settled(Some(Arc::new(outline))));
        }
        Ok(Known::Unparsed(Unparsed {
            path: path.to_owned(),
            language,
            held,
            key,
        }))
    }

    /// Notes what parsing a file gave.
    fn take(&mut self, file: Unparsed, parsed: Parsed) -> Result<Arc<Outline>, Error> {
        self.parsed += 1;
        let under = under(file.language, &parsed.key);
        self.new_outlines.push((under, parsed.kept));
        if let Held::Loose(stat) = file.held
            && self.is_settled(stat)
        {
            self.new_files.push((file.path, stat, parsed.key));
        }
        if NOTED_MAX <= self.new_outlines.len() {
            self.keep()?;
        }
        Ok(Arc::new(parsed.outline))
    }

    /// Returns what was last found out about a condition.
    pub(super) fn known_truth(&self, condition: &str) -> Option<Truth> {
        let name = self.index.truth(condition).ok().flatten()?;
        Truth::ALL.into_iter().find(|truth| truth.name() == name)
    }

    /// Keeps what was found out about conditions in the work tree.
    pub(super) fn keep_truths<'t>(
        &mut self,
        truths: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<(), Error> {
        match self.version {
            Version::Work(_) => Ok(self.index.keep_truths(truths)?),
            Version::Commit(_) => Ok(()),
        }
    }

    fn is_settled(&self, stat: FileStat) -> bool {
        let modified = Duration::from_nanos(stat.modified_ns);
        modified + SETTLED_AFTER < Duration::from_millis(self.now.millis())
    }

    /// Writes what was parsed to the index. Not being able to only costs the next reader time.
    pub(crate) fn keep(&mut self) -> Result<(), Error> {
        let kept = self
            .index
            .keep_outlines(&self.new_outlines)
            .and_then(|()| self.index.keep_files(&self.new_files));
        self.new_outlines.clear();
        self.new_files.clear();
        match kept {
            Err(error) if error.is_damage() => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// What is known of a file's symbols.
enum Known {
    /// All there is to know; nothing of a file that is not there or has no grammar.
    Settled(Option<Arc<Outline>>),
    Unparsed(Unparsed),
}

/// A file that must be parsed.
struct Unparsed {
    path: String,
    language: Language,
    held: Held,
    /// What its outline is kept under, if that is known without reading it.
    key: Option<String>,
}

struct Parsed {
    outline: Outline,
    /// The same, as it is kept.
    kept: String,
    key: String,
}

/// Parses a file; `None` if it is gone.
fn parse(version: &Version, file: &Unparsed) -> Result<Option<Parsed>, Error> {
    let Some(bytes) = version.read(&file.path)? else {
        return Ok(None);
    };
    let outline = outline(&file.path, &bytes);
    let key = file.key.clone();
    Ok(Some(Parsed {
        kept: outline.to_kept(),
        outline,
        key: key.unwrap_or_else(|| blake3::hash(&bytes).to_hex().to_string()),
    }))
}

/// Returns the name an outline is kept under: one content may be read as two languages.
fn under(language: Language, key: &str) -> String {
    format!("{}:{key}", language.name())
}

/// A file that cannot be read has nothing to say.
pub(super) fn readable<T>(read: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(Error::Tree(_)) => Ok(None),
        other => other,
    }
}

/// Does the same to every item, on as many threads as there are processors; results keep the order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // One file is read sooner than a thread is started, and somebody may wait.
    if items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(threads).max(1);
    let work = &work;
    thread::scope(|scope| {
        let shares = items.chunks(share);
        let running: Vec<_> = shares
            .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let done = running.into_iter().map(thread::ScopedJoinHandle::join);
        let done = done.map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect()
    })
}
