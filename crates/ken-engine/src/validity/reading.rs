//! What the files of a version hold, parsed once for each content.
//!
//! A file of a commit is known by its blob's id, one of the work tree by how it looks from outside; whoever
//! has the same content has the same outline, in this process and, through the index, in the next.

use std::collections::BTreeMap;
use std::sync::Arc;
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
        let found = self.find_outline(path)?;
        self.outlines.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    /// Forgets what was read: the outlines of a whole repository are large.
    pub(crate) fn forget(&mut self) {
        self.outlines.clear();
    }

    fn find_outline(&mut self, path: &str) -> Result<Option<Arc<Outline>>, Error> {
        let (Some(held), Some(language)) = (self.version.held(path)?, Language::of(path)) else {
            return Ok(None);
        };
        let key = match &held {
            Held::Blob(id) => Some(id.clone()),
            Held::Loose(stat) => self.index.file_key(path, *stat)?,
        };
        // One content may be read as two languages.
        let under = |key: &str| format!("{}:{key}", language.name());
        if let Some(key) = &key
            && let Some(kept) = self.index.outline(&under(key))?
            && let Some(outline) = Outline::from_kept(path, &kept)
        {
            return Ok(Some(Arc::new(outline)));
        }
        let Some(bytes) = self.version.read(path)? else {
            return Ok(None);
        };
        self.parsed += 1;
        let made = outline(path, &bytes);
        let key = key.unwrap_or_else(|| blake3::hash(&bytes).to_hex().to_string());
        self.new_outlines.push((under(&key), made.to_kept()));
        if let Held::Loose(stat) = held
            && self.is_settled(stat)
        {
            self.new_files.push((path.to_owned(), stat, key));
        }
        if NOTED_MAX <= self.new_outlines.len() {
            self.keep()?;
        }
        Ok(Some(Arc::new(made)))
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
