//! `ken init` and `ken self uninstall`: creating and removing Ken's files in a repository.

use std::path::{Path, PathBuf};

use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError, GitEnv, Ledger, LedgerLocation, RealDir, discover};

use crate::error::EngineError;
use crate::files::{open_ken_dir, read_text, write_atomically};
use crate::git;
use crate::validity::is_bare_repository;

/// Markers around Ken's lines in a shared file.
const BEGIN: &str = "# ken:begin";
const END: &str = "# ken:end";
const ATTRIBUTES_FILE: &str = ".gitattributes";
const ATTRIBUTES: &str = "\
.ken/**/*.jsonl -text linguist-generated
.ken/**/*.pack -text linguist-generated
.ken/**/*.md text eol=lf
";
/// Ignored files below `.ken/`.
/// Begins by including everything: a pattern such as `*.jsonl` of the repository would keep the
/// ledger out of git.
const GITIGNORE: &str = "\
!*
.index/
.local/
index.md
archive.md
reviewers/
";
const DEFAULT_CONFIG: &str = "\
# Ken's policy for this repository; reviewed like code. It never names a program to run.
# Every key has a default; `docs/reference/configuration.md` lists them.
schema = \"ken.config.v1\"
";

/// The result of `ken init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOutcome {
    pub root: PathBuf,
    /// Written paths, relative to the root; empty if everything existed.
    pub written: Vec<String>,
    pub in_git: bool,
    /// The reason why git would not share the files.
    pub ignored: Option<String>,
}

/// The result of `ken self uninstall`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UninstallOutcome {
    pub removed: Vec<String>,
    /// Set if the ledger was kept because it contains events.
    pub ledger_kept: bool,
}

/// Policy for the ledger when Ken is uninstalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRetention {
    Keep,
    Delete,
}

/// Creates a ledger at the root of the repository that contains `start`, or in `start` itself.
pub fn init(start: &Path, git: &GitEnv) -> Result<InitOutcome, EngineError> {
    if is_bare_repository(start) {
        let why = format!(
            "`{}` is a bare repository, which has no work tree for entries",
            start.display()
        );
        return Err(EngineError::Usage(format!(
            "{why}: clone it and run `ken init` in the clone"
        )));
    }
    init_at(discover(start, git)?.unwrap_or_else(|| LedgerLocation::plain(start)))
}

/// Creates a ledger in `place`; existing files are kept.
pub(crate) fn init_at(place: LedgerLocation) -> Result<InitOutcome, EngineError> {
    let ledger = Ledger::open(&place)?;
    let fresh = !place.root.join(KEN_DIR).join("VERSION").exists();
    ledger.init()?;
    let mut written = Vec::new();
    if fresh {
        written.push(format!("{KEN_DIR}/VERSION"));
    }
    let dir = open_ken_dir(&place)?;
    for (path, text) in [(".gitignore", GITIGNORE), ("config.toml", DEFAULT_CONFIG)] {
        let found = read_text(&dir, path)?;
        // The file that earlier versions wrote.
        let is_old = found
            .as_deref()
            .is_some_and(|it| format!("!*\n{it}") == text);
        if found.is_none() || is_old {
            write_atomically(&dir, path, text.as_bytes()).map_err(DiskError::on("write", path))?;
            written.push(format!("{KEN_DIR}/{path}"));
        }
    }
    if place.git.is_some() {
        written.extend(write_attributes(&place)?);
    }
    Ok(InitOutcome {
        in_git: place.git.is_some(),
        ignored: git::ledger_is_ignored(&place),
        root: place.root,
        written,
    })
}

/// Returns those of `paths` that git ignores; none outside git.
pub fn ignored_files(
    start: &Path,
    env: &GitEnv,
    paths: &[String],
) -> Result<Vec<String>, EngineError> {
    let Some(place) = discover(start, env)?.filter(|it| it.git.is_some()) else {
        return Ok(Vec::new());
    };
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    Ok(git::ignored_paths(&place, &paths))
}

/// Removes the files that [`init`] created; the ledger only if it is empty or `knowledge` says so.
pub fn uninstall(
    start: &Path,
    git: &GitEnv,
    knowledge: LedgerRetention,
) -> Result<UninstallOutcome, EngineError> {
    let place = discover(start, git)?.ok_or(EngineError::NotInitialized)?;
    let ledger = Ledger::open(&place)?;
    let mut removed = remove_attributes(&place)?;
    let empty = ledger.list()?.is_empty();
    let keep = knowledge == LedgerRetention::Keep && !empty;
    let ken = place.root.join(KEN_DIR);
    let to_remove: Vec<PathBuf> = if keep {
        [".index", ".local", "reviewers"]
            .iter()
            .map(|name| ken.join(name))
            .collect()
    } else {
        let state = place
            .git
            .iter()
            .flat_map(|dirs| [dirs.common_dir.join("ken"), dirs.git_dir.join("ken")]);
        std::iter::once(ken.clone()).chain(state).collect()
    };
    for path in to_remove {
        // `symlink_metadata`, because a link must not lead the removal out of the repository.
        if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            let shown = path.display().to_string();
            std::fs::remove_dir_all(&path).map_err(DiskError::on("remove", &shown))?;
            removed.push(shown);
        }
    }
    if keep {
        for name in ["index.md", "archive.md"] {
            if std::fs::remove_file(ken.join(name)).is_ok() {
                removed.push(format!("{KEN_DIR}/{name}"));
            }
        }
    }
    Ok(UninstallOutcome {
        removed,
        ledger_kept: keep,
    })
}

fn attributes_block() -> String {
    format!("{BEGIN}\n{ATTRIBUTES}{END}\n")
}

fn open_root(place: &LedgerLocation) -> Result<RealDir, EngineError> {
    let shown = place.root.display().to_string();
    Ok(RealDir::below(&place.root, "").map_err(DiskError::on("open", &shown))?)
}

/// Adds Ken's block to `.gitattributes` or updates it.
fn write_attributes(place: &LedgerLocation) -> Result<Vec<String>, EngineError> {
    let dir = open_root(place)?;
    let old = read_text(&dir, ATTRIBUTES_FILE)?.unwrap_or_default();
    let mut text = without_block(&old);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&attributes_block());
    if text == old {
        return Ok(Vec::new());
    }
    write_attributes_file(&dir, &text)?;
    Ok(vec![ATTRIBUTES_FILE.to_owned()])
}

fn remove_attributes(place: &LedgerLocation) -> Result<Vec<String>, EngineError> {
    let dir = open_root(place)?;
    let Some(old) = read_text(&dir, ATTRIBUTES_FILE)? else {
        return Ok(Vec::new());
    };
    let text = without_block(&old);
    if text == old {
        return Ok(Vec::new());
    }
    if text.is_empty() {
        dir.remove(ATTRIBUTES_FILE)
            .map_err(DiskError::on("remove", ATTRIBUTES_FILE))?;
    } else {
        write_attributes_file(&dir, &text)?;
    }
    Ok(vec![ATTRIBUTES_FILE.to_owned()])
}

fn write_attributes_file(dir: &RealDir, text: &str) -> Result<(), EngineError> {
    let written = dir.replace(ATTRIBUTES_FILE, text.as_bytes());
    Ok(written.map_err(DiskError::on("write", ATTRIBUTES_FILE))?)
}

fn without_block(text: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => inside = true,
            END if inside => inside = false,
            _ if !inside => out.push_str(line),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_comes_and_goes_without_a_trace() {
        for old in ["", "*.rs text\n", "a\nb\n"] {
            let with = format!("{old}{}", attributes_block());
            assert_eq!(without_block(&with), old);
            assert_eq!(without_block(old), old);
        }
        let between = format!("a\n{}b\n", attributes_block());
        assert_eq!(without_block(&between), "a\nb\n");
    }
}
