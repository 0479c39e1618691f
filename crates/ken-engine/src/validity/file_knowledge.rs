//! Knowledge about one file: its text, its symbols, and the entries and norms that concern it.
//!
//! Only the file itself is parsed, apart from files that are not in the cache of outlines yet and
//! that an entry of this file is also anchored to. Symbols that moved to other files are not
//! searched; `ken verify` does that.

use ken_anchor::{FILE_BYTES_MAX, FileTree as _, ensure_text};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::anchor::{CodeLocation, FilePart};

use super::anchoring::add_diffs;
use super::code_version::{CommitTree, FileIdentity};
use super::impact::{affected_entries, norms_for_paths};
use super::{
    AnchorCheck, AnchorVerdict, CodeVersion, Effort, EntryCheck, EntryChecker, MoveSearch,
    VersionReader, WorkTree,
};
use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;

/// A file of one version of the code, with the knowledge about it.
#[derive(Clone, Debug)]
pub struct FileKnowledge {
    pub path: String,
    pub source: FileSource,
    /// The symbols of the file, in source order; empty without a grammar.
    pub symbols: Vec<FileSymbol>,
    /// Entries by first line; entries without a line are last.
    pub entries: Vec<FileEntry>,
    /// Norms that name this file or a pattern that matches it.
    pub norms: Vec<Entry>,
    /// Number of files that had to be parsed for this answer.
    pub parsed_files: usize,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// Invalid UTF-8 is replaced, so offsets into the original bytes do not apply.
    Text(String),
    Binary,
    TooLarge {
        bytes: u64,
    },
    /// The version has no such file, or git ignores it.
    Absent,
}

/// A symbol that an anchor can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSymbol {
    /// The name that refers to this symbol alone.
    pub name: String,
    pub lines: LineRange,
}

/// Lines of a file, counted from 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRange {
    pub first: u32,
    pub last: u32,
}

/// An entry about a file.
#[derive(Clone, Debug)]
pub struct FileEntry {
    pub check: EntryCheck,
    /// The current lines of its anchors in this file, in order. Empty for an entry about the whole
    /// file or its folder, for lost anchors, and for an entry that depends on the file by a
    /// condition only.
    pub lines: Vec<LineRange>,
}

impl FileEntry {
    fn new(check: EntryCheck, path: &str) -> Self {
        let anchors = check.anchors.iter();
        let mut lines: Vec<LineRange> = anchors.filter_map(|it| current_lines(it, path)).collect();
        lines.sort_unstable();
        lines.dedup();
        Self { check, lines }
    }

    /// Returns whether an anchor of this entry in the file at `path` points at nothing anymore.
    pub fn is_lost_from(&self, path: &str) -> bool {
        let mut anchors = self.check.anchors.iter();
        anchors.any(|it| it.at.path() == path && it.verdict == AnchorVerdict::Gone)
    }
}

/// Returns the lines of an anchor in the file at `path`; `None` for an anchor to the whole file.
fn current_lines(check: &AnchorCheck, path: &str) -> Option<LineRange> {
    let now = check.now.as_ref().map_or(&check.at, |now| &now.at);
    if now.path() != path || *now.part() == FilePart::File {
        return None;
    }
    let (first, last) = check.line.zip(check.last_line)?;
    Some(LineRange { first, last })
}

/// Returns the file at `path` in the work tree or, with `revision`, in a commit, with the knowledge
/// about it. Entries and norms are those of the current ledger.
pub(crate) fn file_knowledge(
    engine: &mut Engine,
    path: &str,
    revision: Option<&str>,
) -> Result<FileKnowledge, EngineError> {
    let path = parse_file_path(path)?;
    let version = match revision {
        None => CodeVersion::Work(WorkTree::new(&engine.place)?),
        Some(name) => CodeVersion::Commit(CommitTree::from_revision(&engine.place, name)?.into()),
    };
    // Truths in the index are those of the work tree.
    let effort = match version {
        CodeVersion::Work(_) => Effort::Cached,
        CodeVersion::Commit(_) => Effort::Full,
    };
    let source = read_source(&version, &path)?;
    let paths = [path.clone()];
    let mut entries = Vec::new();
    for id in affected_entries(&engine.index, &paths)? {
        entries.extend(engine.index.entry(id)?);
    }
    let norms = norms_for_paths(&engine.index, &paths)?;
    let config = RepositoryConfig::load_or_default(&version);
    let reader = VersionReader::new(&version, &mut engine.index, engine.runtime.now());
    let mut checker = EntryChecker::new(reader, MoveSearch::File, effort, &config.facts);
    let symbols = match &source {
        FileSource::Text(_) => symbols_of(&mut checker.reader, &path)?,
        FileSource::Binary | FileSource::TooLarge { .. } | FileSource::Absent => Vec::new(),
    };
    let mut checked = Vec::with_capacity(entries.len());
    checker.check_all(entries, |it| checked.push(it))?;
    let parsed_files = checker.reader.parsed_files;
    add_diffs(&version, &mut checked)?;
    let mut entries: Vec<FileEntry> = checked
        .into_iter()
        .map(|it| FileEntry::new(it, &path))
        .collect();
    entries.sort_by_key(|it| (it.lines.is_empty(), it.lines.clone(), it.check.entry.id));
    Ok(FileKnowledge {
        path,
        source,
        symbols,
        entries,
        norms,
        parsed_files,
    })
}

/// Returns whether the work tree has a file at `path` that git tracks or would track.
///
/// Asks git about this path only: listing all files of a large repository takes half a second.
pub(crate) fn is_listed_file(engine: &Engine, path: &str) -> Result<bool, EngineError> {
    let path = parse_file_path(path)?;
    Ok(WorkTree::new(&engine.place)?.lists_file(&path)?)
}

/// Parses a path relative to the repository root, which cannot leave it.
pub(super) fn parse_file_path(path: &str) -> Result<String, EngineError> {
    let at = path.parse::<CodeLocation>();
    match at {
        Ok(at) if *at.part() == FilePart::File => Ok(at.path().to_owned()),
        Ok(_) | Err(_) => Err(EngineError::Usage(format!(
            "`{path}` is not a valid path: write it relative to the repository, with `/` and without `..`"
        ))),
    }
}

fn read_source(version: &CodeVersion, path: &str) -> Result<FileSource, EngineError> {
    if !version.lists_file(path)? {
        return Ok(FileSource::Absent);
    }
    // The size of a loose file is known without reading it.
    if let Some(FileIdentity::Loose(stat)) = version.file_identity(path)?
        && stat.len > FILE_BYTES_MAX as u64
    {
        return Ok(FileSource::TooLarge { bytes: stat.len });
    }
    let Some(bytes) = version.read(path)? else {
        return Ok(FileSource::Absent);
    };
    Ok(match ensure_text(&bytes) {
        Ok(()) => FileSource::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) if bytes.len() > FILE_BYTES_MAX => FileSource::TooLarge {
            bytes: bytes.len() as u64,
        },
        Err(_) => FileSource::Binary,
    })
}

fn symbols_of(reader: &mut VersionReader<'_>, path: &str) -> Result<Vec<FileSymbol>, EngineError> {
    let Some(outline) = reader.outline(path)? else {
        return Ok(Vec::new());
    };
    let symbols = outline.symbols().iter().map(|symbol| FileSymbol {
        name: outline.exact_name(symbol),
        lines: LineRange {
            first: symbol.first_line,
            last: symbol.last_line,
        },
    });
    Ok(symbols.collect())
}
