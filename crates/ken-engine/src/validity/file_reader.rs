//! Reader for the files of one version, with a cache of outlines keyed by content.
//!
//! A file of a commit is identified by its blob id, a file of the work tree by its size, timestamp
//! and inode. Files with equal content share one outline, within a process and, through the index,
//! across processes.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ken_anchor::{
    AnchorComparison, FileTree as _, Fingerprint, Language, Outline, ResolveError, ResolvedAnchor,
    compare_anchor, compare_symbol, outline, resolve, resolve_symbol,
};
use ken_core::values::anchor::FilePart;
use ken_core::values::condition::TruthValue;
use ken_core::values::time::Timestamp;
use ken_index::{FileStat, Index};

use super::code_version::{CodeVersion, FileIdentity};
use crate::error::EngineError;

/// Minimum age of a file before its metadata identifies its content.
///
/// A second write within one tick of the file system's clock would leave the timestamp unchanged.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Outlines and files collected before they are written to the index.
const PENDING_OUTLINES_MAX: usize = 256;

/// Result of resolving a spot in a file.
#[derive(Clone, Debug)]
pub(crate) enum SpotLookup {
    Found(ResolvedAnchor),
    /// The file exists, but the spot does not.
    Missing(ResolveError),
    NoFile,
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

/// Reads the files of one version.
#[derive(Debug)]
pub(crate) struct VersionReader<'a> {
    pub(crate) version: &'a CodeVersion,
    index: &'a mut Index,
    now: Timestamp,
    /// Outlines by path; `None` for a file that does not exist or has no grammar.
    outlines: BTreeMap<String, Option<Arc<Outline>>>,
    new_outlines: Vec<(String, String)>,
    new_files: Vec<(String, FileStat, String)>,
    /// Files that had to be parsed.
    pub(crate) parsed_files: usize,
}

impl<'a> VersionReader<'a> {
    pub(crate) fn new(version: &'a CodeVersion, index: &'a mut Index, now: Timestamp) -> Self {
        Self {
            version,
            index,
            now,
            outlines: BTreeMap::new(),
            new_outlines: Vec::new(),
            new_files: Vec::new(),
            parsed_files: 0,
        }
    }

    /// Resolves a spot in the file at `path`.
    pub(crate) fn resolve_spot(
        &mut self,
        path: &str,
        spot: &FilePart,
    ) -> Result<SpotLookup, EngineError> {
        let resolved = match spot {
            // Only symbols go through the outline: lines and whole files need no parsing.
            FilePart::Symbol(name) if Language::of(path).is_some() => self
                .outline(path)
                .map(|outline| outline.map(|it| resolve_symbol(path, &it, name))),
            FilePart::Symbol(_) | FilePart::Lines { .. } | FilePart::File => {
                let read = self.version.read(path).map_err(EngineError::from);
                read.map(|bytes| bytes.map(|it| resolve(path, &it, spot)))
            }
        };
        match resolved {
            Ok(Some(Ok(found))) => Ok(SpotLookup::Found(found)),
            Ok(Some(Err(missing))) => Ok(SpotLookup::Missing(missing)),
            Ok(None) => Ok(SpotLookup::NoFile),
            Err(EngineError::Tree(error)) => Ok(SpotLookup::Unreadable(error.why)),
            Err(other) => Err(other),
        }
    }

    /// Compares a spot with the fingerprint `stored` in its anchor; `None` if the file is gone.
    pub(crate) fn compare_spot(
        &mut self,
        path: &str,
        spot: &FilePart,
        stored: Fingerprint,
    ) -> Result<Option<AnchorComparison>, EngineError> {
        if let FilePart::Symbol(name) = spot
            && Language::of(path).is_some()
        {
            let outline = self.outline(path)?;
            return Ok(outline.map(|it| compare_symbol(path, &it, name, stored)));
        }
        let bytes = self.version.read(path)?;
        Ok(bytes.map(|it| compare_anchor(path, &it, spot, stored)))
    }

    /// Returns the outline of a file, or `None` if it does not exist or has no grammar.
    pub(crate) fn outline(&mut self, path: &str) -> Result<Option<Arc<Outline>>, EngineError> {
        if let Some(known) = self.outlines.get(path) {
            return Ok(known.clone());
        }
        let found = match self.cached_outline(path)? {
            CachedOutline::Available(found) => found,
            CachedOutline::Unparsed(file) => match parse_file(self.version, &file)? {
                Some(parsed) => Some(self.collect_parsed(file, parsed)?),
                None => None,
            },
        };
        self.outlines.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    /// Loads the outlines of files in advance, parsing in parallel.
    pub(crate) fn preload_outlines(
        &mut self,
        paths: impl IntoIterator<Item = String>,
    ) -> Result<(), EngineError> {
        let mut unparsed = Vec::new();
        for path in paths.into_iter().collect::<BTreeSet<_>>() {
            if self.outlines.contains_key(&path) {
                continue;
            }
            match unreadable_as_missing(self.cached_outline(&path).map(Some))? {
                Some(CachedOutline::Available(found)) => {
                    self.outlines.insert(path, found);
                }
                Some(CachedOutline::Unparsed(file)) => unparsed.push(file),
                // Unreadable. A later `outline` call for this file returns the error.
                None => {}
            }
        }
        // An error is dropped here for the same reason: `outline` parses again and returns it.
        let parsed = map_in_parallel(&unparsed, |file| {
            parse_file(self.version, file).ok().flatten()
        });
        for (file, parsed) in unparsed.into_iter().zip(parsed) {
            if let Some(parsed) = parsed {
                let path = file.path.clone();
                let outline = self.collect_parsed(file, parsed)?;
                self.outlines.insert(path, Some(outline));
            }
        }
        Ok(())
    }

    /// Drops the outlines in memory; those of a whole repository are large.
    pub(crate) fn clear_outlines(&mut self) {
        self.outlines.clear();
    }

    /// Returns the outline of a file if the index has it, so that the file need not be parsed.
    fn cached_outline(&self, path: &str) -> Result<CachedOutline, EngineError> {
        let (Some(held), Some(language)) = (self.version.file_identity(path)?, Language::of(path))
        else {
            return Ok(CachedOutline::Available(None));
        };
        let key = match &held {
            // Git's blob id is a content hash already. A loose file's hash is only known if it was
            // read before with the same metadata.
            FileIdentity::Blob(id) => Some(id.clone()),
            FileIdentity::Loose(stat) => self.index.content_key(path, *stat)?,
        };
        if let Some(key) = &key
            && let Some(kept) = self.index.outline(&outline_key(language, key))?
            && let Some(outline) = Outline::from_cache_text(path, &kept)
        {
            return Ok(CachedOutline::Available(Some(Arc::new(outline))));
        }
        Ok(CachedOutline::Unparsed(UnparsedFile {
            path: path.to_owned(),
            language,
            identity: held,
            key,
        }))
    }

    /// Collects the result of parsing a file for the index.
    fn collect_parsed(
        &mut self,
        file: UnparsedFile,
        parsed: ParsedFile,
    ) -> Result<Arc<Outline>, EngineError> {
        self.parsed_files += 1;
        let cache_key = outline_key(file.language, &parsed.key);
        self.new_outlines.push((cache_key, parsed.serialized));
        if let FileIdentity::Loose(stat) = file.identity
            && self.is_settled(stat)
        {
            self.new_files.push((file.path, stat, parsed.key));
        }
        if self.new_outlines.len() >= PENDING_OUTLINES_MAX {
            self.flush_outlines()?;
        }
        Ok(Arc::new(parsed.outline))
    }

    /// Returns the last stored truth value of a condition.
    pub(super) fn stored_truth(&self, condition: &str) -> Option<TruthValue> {
        let name = self.index.truth(condition).ok().flatten()?;
        TruthValue::ALL
            .into_iter()
            .find(|truth| truth.name() == name)
    }

    /// Stores the truth values of conditions, if this version is the work tree.
    pub(super) fn store_truths<'t>(
        &mut self,
        truths: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<(), EngineError> {
        match self.version {
            CodeVersion::Work(_) => Ok(self.index.keep_truths(truths)?),
            // Stored truths answer queries about the work tree; another commit's would be wrong
            // there.
            CodeVersion::Commit(_) => Ok(()),
        }
    }

    fn is_settled(&self, stat: FileStat) -> bool {
        let modified = Duration::from_nanos(stat.modified_ns);
        modified + SETTLED_AFTER < Duration::from_millis(self.now.millis())
    }

    /// Writes the collected outlines to the index.
    ///
    /// A failed write is not an error, because the next reader can parse again. Only a damaged
    /// index is reported.
    pub(crate) fn flush_outlines(&mut self) -> Result<(), EngineError> {
        let kept = self
            .index
            .store_outlines(&self.new_outlines)
            .and_then(|()| self.index.store_file_stats(&self.new_files));
        self.new_outlines.clear();
        self.new_files.clear();
        match kept {
            Err(error) if error.is_damage() => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// The result of looking up a file's outline in the index.
enum CachedOutline {
    /// The outline, or `None` for a file that does not exist or has no grammar.
    Available(Option<Arc<Outline>>),
    Unparsed(UnparsedFile),
}

/// A file whose outline is not in the index.
struct UnparsedFile {
    path: String,
    language: Language,
    identity: FileIdentity,
    /// Content hash, if known without reading the file.
    key: Option<String>,
}

/// The outline of a file that was just parsed.
struct ParsedFile {
    outline: Outline,
    /// The outline in the serialized form of the index.
    serialized: String,
    key: String,
}

/// Parses a file; `None` if it does not exist anymore.
fn parse_file(
    version: &CodeVersion,
    file: &UnparsedFile,
) -> Result<Option<ParsedFile>, EngineError> {
    let Some(bytes) = version.read(&file.path)? else {
        return Ok(None);
    };
    let outline = outline(&file.path, &bytes);
    let key = file.key.clone();
    Ok(Some(ParsedFile {
        serialized: outline.to_cache_text(),
        outline,
        key: key.unwrap_or_else(|| blake3::hash(&bytes).to_hex().to_string()),
    }))
}

/// Returns the cache key of an outline. It includes the language, because two files with equal
/// content can have different languages.
fn outline_key(language: Language, key: &str) -> String {
    format!("{}:{key}", language.name())
}

/// Treats a file that cannot be read like a file that does not exist.
pub(super) fn unreadable_as_missing<T>(
    read: Result<Option<T>, EngineError>,
) -> Result<Option<T>, EngineError> {
    match read {
        Err(EngineError::Tree(_)) => Ok(None),
        other => other,
    }
}

/// Maps items on one thread per processor; results keep the order of the items.
fn map_in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // Parsing a single file is faster than starting a thread.
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
        let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
        // A panic in a worker becomes a panic of the caller instead of a missing result.
        let done = joined.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect()
    })
}
