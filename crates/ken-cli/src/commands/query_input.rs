//! Query input other than words: paths, a diff, a file or a log.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueEnum};
use ken_core::retrieval::score::ReaderRole;
use ken_core::values::anchor::CodeLocation;
use ken_engine::Engine;
use ken_engine::search::{ExtractedQuery, query_from_file};

use crate::failure::CommandFailure;

/// Query input, instead of words or in addition to them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Query input")]
pub(crate) struct QueryInputArgs {
    /// Find entries about these files and folders
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) paths: Vec<PathBuf>,
    /// Find entries about the code that changed since REV
    #[arg(long, value_name = "REV")]
    pub(crate) diff: Option<String>,
    /// Find entries about this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Find entries about the output of a failed command, read from standard input
    #[arg(long)]
    pub(crate) error: bool,
}

impl QueryInputArgs {
    /// Returns whether there is no input besides words.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            paths,
            diff,
            file,
            error,
        } = self;
        paths.is_empty() && diff.is_none() && file.is_none() && !error
    }

    /// Returns whether the input names files and folders and nothing else.
    pub(crate) fn is_paths(&self) -> bool {
        let has_paths = !self.paths.is_empty() || self.file.is_some();
        has_paths && self.diff.is_none() && !self.error
    }
}

/// Role of the reader.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ReaderRoleArg {
    Researcher,
    Planner,
    Debugger,
    Executor,
    Reviewer,
}

impl ReaderRoleArg {
    pub(crate) fn role(self) -> ReaderRole {
        match self {
            Self::Researcher => ReaderRole::Researcher,
            Self::Planner => ReaderRole::Planner,
            Self::Debugger => ReaderRole::Debugger,
            Self::Executor => ReaderRole::Executor,
            Self::Reviewer => ReaderRole::Reviewer,
        }
    }
}

/// Maximum bytes kept of a log or file.
const READ_MAX: u64 = 16 << 20;

/// A query as typed: its words and paths, and paths that do not exist.
pub(super) struct TypedQuery {
    pub(super) extracted: ExtractedQuery,
    missing: Vec<String>,
}

impl TypedQuery {
    /// Returns the hint about paths that do not exist.
    pub(super) fn hint(missing: &[String]) -> Option<String> {
        (!missing.is_empty()).then(|| {
            let missing = missing.join("`, `");
            format!("`{missing}`: not found in this folder or at the repository root")
        })
    }

    /// Splits the query from the paths that do not exist.
    pub(super) fn into_parts(self) -> (ExtractedQuery, Vec<String>) {
        (self.extracted, self.missing)
    }
}

/// Returns the words and paths of a query: `query` and the other input.
pub(super) fn read_query(
    engine: &mut Engine,
    start: &Path,
    query: &[String],
    input: &QueryInputArgs,
) -> Result<TypedQuery, CommandFailure> {
    let mut extracted = ExtractedQuery {
        text: query.join(" "),
        ..ExtractedQuery::default()
    };
    let mut missing = Vec::new();
    for typed in &input.paths {
        let path = below_root(engine.root(), start, typed)?;
        let full = engine.root().join(&path);
        if !full.exists() {
            missing.push(typed.display().to_string());
        }
        // A folder's name is part of many paths and texts; as a word it would match them all.
        let text = if full.is_dir() { "" } else { file_stem(&path) };
        add(
            &mut extracted,
            ExtractedQuery {
                text: text.to_owned(),
                paths: vec![path],
                ..ExtractedQuery::default()
            },
        );
    }
    if let Some(revision) = &input.diff {
        add(&mut extracted, engine.query_from_diff(revision)?);
    }
    if let Some(file) = &input.file {
        let path = below_root(engine.root(), start, file)?;
        let failed = |e| CommandFailure::io(format_args!("cannot read `{}`", file.display()), &e);
        let bytes = File::open(start.join(file))
            .and_then(read)
            .map_err(failed)?;
        add(&mut extracted, query_from_file(&path, &bytes));
    }
    if input.error {
        let failed = |e| CommandFailure::io("cannot read standard input", &e);
        let log = read_end(io::stdin().lock()).map_err(failed)?;
        add(&mut extracted, engine.query_from_log(&log)?);
    }
    Ok(TypedQuery { extracted, missing })
}

/// Returns the name of a file without folders and extension.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        Some(_) | None => name,
    }
}

fn add(to: &mut ExtractedQuery, more: ExtractedQuery) {
    if !to.text.is_empty() && !more.text.is_empty() {
        to.text.push(' ');
    }
    to.text.push_str(&more.text);
    to.paths.extend(more.paths);
    to.frames.extend(more.frames);
}

fn read(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(READ_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end and keeps the last bytes, because logs end with the error.
fn read_end(mut source: impl Read) -> io::Result<Vec<u8>> {
    let mut last = Vec::new();
    loop {
        let mut next = Vec::new();
        if source.by_ref().take(READ_MAX).read_to_end(&mut next)? == 0 {
            return Ok(last);
        }
        let keep = last.len().saturating_sub(READ_MAX as usize);
        last.drain(..keep);
        last.append(&mut next);
    }
}

/// Resolves anchors that were typed in the folder `start`, as [`below_root`] resolves paths.
pub(crate) fn resolve_anchors(engine: &Engine, start: &Path, anchors: &mut [CodeLocation]) {
    for anchor in anchors {
        let path = below_root(engine.root(), start, Path::new(anchor.path()));
        // If it cannot be resolved, the engine refuses the anchor and names it as it was typed.
        if let Some(resolved) = path.ok().and_then(|path| anchor.with_path(&path).ok()) {
            *anchor = resolved;
        }
    }
}

/// Converts a typed path to one relative to the repository root, with `/`.
///
/// The path counts from the folder `start`. If it does not exist there but at the root, it counts
/// from the root, as anchors in output do.
pub(crate) fn below_root(
    root: &Path,
    start: &Path,
    typed: &Path,
) -> Result<String, CommandFailure> {
    let is_at_root_only = !start.join(typed).exists() && root.join(typed).exists();
    let start = if is_at_root_only { root } else { start };
    let start = fs::canonicalize(start).unwrap_or_else(|_| start.to_owned());
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let full = plain(&start.join(typed));
    // Links are resolved only if the path leads outside: a link inside is itself the path.
    let full = if full.starts_with(&root) {
        full
    } else {
        fs::canonicalize(&full).unwrap_or(full)
    };
    let Ok(path) = full.strip_prefix(&root) else {
        let shown = typed.display();
        return Err(CommandFailure::usage(format!(
            "`{shown}` is not in this repository"
        )));
    };
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

/// Removes `.` and `..` from a path, which need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(part),
        }
    }
    out
}
