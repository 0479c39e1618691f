//! Detection of moved code: the same fingerprint under another name or in another file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ken_anchor::{FileTree as _, Fingerprint, Language, LostSymbol, find_moved, find_renamed};
use ken_core::values::anchor::{Anchor, FilePart};
use ken_ledger::git::GitRunner;

use super::file_reader::{SpotLookup, VersionReader, unreadable_as_missing};
use super::range::{ChangeRange, parse_raw_diff};
use crate::error::EngineError;

/// Maximum number of paths whose rename is looked up in the history of git.
const RENAME_LOOKUPS_MAX: usize = 64;

/// Maximum number of renames that are followed one after another.
const RENAME_CHAIN_MAX: usize = 8;

/// Files that are parsed in parallel in one batch.
const PARSE_BATCH_FILES: usize = 1024;

/// The files searched for code that is not at its anchor anymore.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MoveSearch<'a> {
    /// The anchor's own file only, for interactive queries.
    File,
    /// The files a change touches.
    Change(&'a ChangeRange),
    /// Every file of the version.
    Tree,
}

/// The new location of moved code.
#[derive(Clone, Debug)]
pub(crate) struct MovedAnchor {
    pub(crate) now: Anchor,
    /// First and last line there.
    pub(crate) lines: (u32, u32),
}

/// Maps a fingerprint to the files that contain a symbol with it.
type FingerprintTable = HashMap<Fingerprint, BTreeSet<Arc<str>>>;

/// Finds code that moved. The files of each language are scanned at most once.
#[derive(Debug)]
pub(crate) struct MoveFinder<'a> {
    search: MoveSearch<'a>,
    tables: BTreeMap<Language, FingerprintTable>,
    /// New names of files that are gone, from the history of git.
    renames: BTreeMap<String, Option<String>>,
}

impl<'a> MoveFinder<'a> {
    pub(crate) fn new(search: MoveSearch<'a>) -> Self {
        Self {
            search,
            tables: BTreeMap::new(),
            renames: BTreeMap::new(),
        }
    }

    /// Returns the new location of the code `anchor` points at, if one location matches best.
    pub(crate) fn find(
        &mut self,
        reader: &mut VersionReader<'_>,
        anchor: &Anchor,
    ) -> Result<Option<MovedAnchor>, EngineError> {
        // Git's rename detection comes first: it costs one lookup, and it also follows whole-file
        // and line anchors, which fingerprints of symbols cannot.
        if let Some(found) = self.find_renamed(reader, anchor)? {
            return Ok(Some(found));
        }
        let stored = anchor.fingerprint.as_deref();
        let fingerprint = stored.and_then(|text| text.parse::<Fingerprint>().ok());
        let (Some(fingerprint), FilePart::Symbol(name)) = (fingerprint, anchor.at.part()) else {
            return Ok(None);
        };
        let path = anchor.at.path();
        let Some(language) = Language::of(path) else {
            return Ok(None);
        };
        // The anchor's own file is always a candidate: a symbol renamed in place stays there.
        let mut candidates: BTreeSet<Arc<str>> = [path.into()].into();
        match self.search {
            MoveSearch::File => {}
            MoveSearch::Change(_) | MoveSearch::Tree => {
                let table = self.fingerprint_table(reader, language)?;
                candidates.extend(table.get(&fingerprint).into_iter().flatten().cloned());
            }
        }
        let mut outlines = Vec::with_capacity(candidates.len());
        for path in candidates {
            outlines.extend(
                unreadable_as_missing(reader.outline(&path))?.map(|outline| (path, outline)),
            );
        }
        let lost = LostSymbol {
            path,
            name,
            fingerprint,
        };
        let outlines = outlines.iter().map(|(path, outline)| (&**path, &**outline));
        let mut found = find_moved(&lost, outlines);
        if found.is_none() {
            let source = reader.version.read(path).map_err(EngineError::from);
            let source = unreadable_as_missing(source)?;
            found = source.and_then(|source| find_renamed(&lost, &source));
        }
        Ok(found.as_ref().and_then(to_moved_anchor))
    }

    /// Looks for the code in the file that git reports as the rename of the anchor's file.
    fn find_renamed(
        &mut self,
        reader: &mut VersionReader<'_>,
        anchor: &Anchor,
    ) -> Result<Option<MovedAnchor>, EngineError> {
        let Some(path) = self.renamed_path(reader, anchor.at.path())? else {
            return Ok(None);
        };
        let Ok(at) = anchor.at.with_path(&path) else {
            return Ok(None);
        };
        let SpotLookup::Found(found) = reader.resolve_spot(&path, at.part())? else {
            return Ok(None);
        };
        let fingerprint = found.fingerprint.to_string();
        let is_same = match at.part() {
            // A whole-file anchor is about the file, not its content, so that the rename suffices.
            FilePart::File => true,
            FilePart::Symbol(_) | FilePart::Lines { .. } => {
                anchor.fingerprint.as_deref() == Some(&*fingerprint)
            }
        };
        Ok(is_same.then_some(MovedAnchor {
            lines: (found.first_line, found.last_line),
            now: Anchor {
                at,
                fingerprint: Some(fingerprint),
            },
        }))
    }

    /// Returns the new name of a file that git reports as renamed.
    fn renamed_path(
        &mut self,
        reader: &VersionReader<'_>,
        path: &str,
    ) -> Result<Option<String>, EngineError> {
        match self.search {
            MoveSearch::File => return Ok(None),
            MoveSearch::Change(range) => return Ok(range.renamed.get(path).cloned()),
            MoveSearch::Tree => {}
        }
        if let Some(known) = self.renames.get(path) {
            return Ok(known.clone());
        }
        let version = reader.version;
        if self.renames.len() >= RENAME_LOOKUPS_MAX || version.file_identity(path)?.is_some() {
            return Ok(None);
        }
        let mut name = path.to_owned();
        let mut found = None;
        for _ in 0..RENAME_CHAIN_MAX {
            let Some(next) = version.history().and_then(|it| last_rename(it, &name)) else {
                break;
            };
            if version.file_identity(&next)?.is_some() {
                found = Some(next);
                break;
            }
            name = next;
        }
        self.renames.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    fn fingerprint_table(
        &mut self,
        reader: &mut VersionReader<'_>,
        language: Language,
    ) -> Result<&FingerprintTable, EngineError> {
        if !self.tables.contains_key(&language) {
            let mut all: Vec<String> = match self.search {
                MoveSearch::File => Vec::new(),
                MoveSearch::Change(range) => range.touched.iter().cloned().collect(),
                MoveSearch::Tree => reader.version.paths()?.to_vec(),
            };
            // Code that moves keeps its language, so files of other languages need no parsing.
            all.retain(|path| Language::of(path) == Some(language));
            let mut table = FingerprintTable::new();
            for batch in all.chunks(PARSE_BATCH_FILES) {
                reader.preload_outlines(batch.iter().cloned())?;
                for path in batch {
                    insert_fingerprints(&mut table, reader, path)?;
                }
            }
            self.tables.insert(language, table);
        }
        Ok(&self.tables[&language])
    }
}

/// Returns the name that the last commit about `path` gave it, or the one staged since then.
fn last_rename((git, head): (&GitRunner, &str), path: &str) -> Option<String> {
    let renamed_in = |args: &[&str]| {
        let mut renamed = BTreeMap::new();
        let out = git.output(args).ok()?;
        parse_raw_diff(&out, &mut BTreeSet::new(), &mut renamed);
        renamed.remove(path)
    };
    let staged = || {
        renamed_in(&[
            "diff",
            "--cached",
            "--raw",
            "-z",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
            head,
        ])
    };
    let commit = [
        "log",
        "-1",
        "--format=%H",
        "--end-of-options",
        head,
        "--",
        path,
    ];
    let commit = git.output(&commit).ok()?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let committed = || {
        let args = [
            "diff-tree",
            "-r",
            "-M",
            "--raw",
            "-z",
            "--no-commit-id",
            "--end-of-options",
        ];
        let args: Vec<&str> = args.into_iter().chain([commit.as_str()]).collect();
        (!commit.is_empty()).then(|| renamed_in(&args)).flatten()
    };
    staged().or_else(committed)
}

/// Adds the fingerprints of a file's symbols, including combined ones of symbols that share a name.
fn insert_fingerprints(
    table: &mut FingerprintTable,
    reader: &mut VersionReader<'_>,
    path: &str,
) -> Result<(), EngineError> {
    let path: Arc<str> = path.into();
    if let Some(outline) = unreadable_as_missing(reader.outline(&path))? {
        for fingerprint in outline.fingerprints() {
            let files = table.entry(fingerprint).or_default();
            files.insert(Arc::clone(&path));
        }
    }
    Ok(())
}

fn to_moved_anchor(symbol: &ken_anchor::MovedSymbol) -> Option<MovedAnchor> {
    let at = format!("{}#{}", symbol.path, symbol.name);
    Some(MovedAnchor {
        now: Anchor {
            at: at.parse().ok()?,
            fingerprint: Some(symbol.at.fingerprint.to_string()),
        },
        lines: (symbol.at.first_line, symbol.at.last_line),
    })
}
