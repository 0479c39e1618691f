//! What somebody has in hand (paths, a diff, a file, a log), as the engine takes it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use ken_engine::Engine;
use ken_engine::search::{Asked, from_error, from_file};

use crate::args::HandArgs;
use crate::failure::Failure;

/// Bytes of a log or file that are read.
const READ_MAX: u64 = 16 << 20;

/// Returns words and paths to look for: `query` and whatever is in hand.
pub(super) fn asked(
    engine: &Engine,
    start: &Path,
    query: &[String],
    hand: &HandArgs,
) -> Result<Asked, Failure> {
    let mut asked = Asked {
        text: query.join(" "),
        paths: Vec::new(),
    };
    for path in &hand.paths {
        let path = below_root(engine.root(), start, path)?;
        add(
            &mut asked,
            Asked {
                text: path.replace('/', " "),
                paths: vec![path],
            },
        );
    }
    if let Some(revision) = &hand.diff {
        add(&mut asked, engine.asked_by_diff(revision)?);
    }
    if let Some(file) = &hand.file {
        let path = below_root(engine.root(), start, file)?;
        let failed = |e| Failure::io(format_args!("cannot read `{}`", file.display()), &e);
        let bytes = File::open(start.join(file))
            .and_then(read)
            .map_err(failed)?;
        add(&mut asked, from_file(&path, &bytes));
    }
    if hand.error {
        let failed = |e| Failure::io("cannot read standard input", &e);
        let log = read_end(io::stdin().lock()).map_err(failed)?;
        add(&mut asked, from_error(&log));
    }
    Ok(asked)
}

fn add(to: &mut Asked, more: Asked) {
    if !to.text.is_empty() {
        to.text.push(' ');
    }
    to.text.push_str(&more.text);
    to.paths.extend(more.paths);
}

fn read(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(READ_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end and keeps what came last: that is where a log says what went wrong.
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

/// Returns a path typed in `start` as one below the repository's root, with `/`.
pub(crate) fn below_root(root: &Path, start: &Path, typed: &Path) -> Result<String, Failure> {
    let start = fs::canonicalize(start).unwrap_or_else(|_| start.to_owned());
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let full = plain(&start.join(typed));
    // Only where the words lead elsewhere are links followed: a link inside is itself the path.
    let full = if full.starts_with(&root) {
        full
    } else {
        fs::canonicalize(&full).unwrap_or(full)
    };
    let Ok(path) = full.strip_prefix(&root) else {
        let shown = typed.display();
        return Err(Failure::usage(format!(
            "`{shown}` is not in this repository"
        )));
    };
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

/// Takes `.` and `..` out of a path, whether it exists or not.
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
