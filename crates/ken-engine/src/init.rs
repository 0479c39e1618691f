//! Coming and going: what `ken init` puts into a tree and `ken uninstall` takes out again.

use std::path::{Path, PathBuf};

use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError, GitEnv, Ledger, Place, RealDir, discover};

use crate::error::Error;
use crate::files::{ken_dir, put, read_text};

/// Marks the lines Ken owns in a shared file.
const BEGIN: &str = "# ken:begin";
const END: &str = "# ken:end";
const ATTRIBUTES_FILE: &str = ".gitattributes";
const ATTRIBUTES: &str = "\
.ken/**/*.jsonl -text linguist-generated
.ken/**/*.pack -text linguist-generated
.ken/**/*.md text eol=lf
";
/// What git must not see below `.ken/`.
const IGNORED: &str = "\
.index/
.local/
index.md
archive.md
reviewers/
";
const CONFIG: &str = "\
# Ken's policy for this repository; reviewed like code. It never names a program to run.
# Every key has a default; `docs/format.md` lists them.
schema = \"ken.config.v1\"
";

/// What `ken init` found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    pub root: PathBuf,
    /// Paths written, relative to the root; empty if everything was there.
    pub written: Vec<String>,
    pub in_git: bool,
}

/// What `ken uninstall` took away and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uninstalled {
    pub removed: Vec<String>,
    /// Whether the ledger itself was left because it holds knowledge.
    pub knowledge_kept: bool,
}

/// Whether the ledger itself goes too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    Keep,
    Delete,
}

/// Makes a ledger at the top of the repository `start` lies in, or in `start` itself.
pub fn init(start: &Path, git: &GitEnv) -> Result<Initialised, Error> {
    init_place(discover(start, git)?.unwrap_or_else(|| Place::plain(start)))
}

/// Makes a ledger in `place`, wherever that lies.
pub(crate) fn init_place(place: Place) -> Result<Initialised, Error> {
    let ledger = Ledger::open(&place)?;
    let fresh = !place.root.join(KEN_DIR).join("VERSION").exists();
    ledger.init()?;
    let mut written = Vec::new();
    if fresh {
        written.push(format!("{KEN_DIR}/VERSION"));
    }
    let dir = ken_dir(&place)?;
    for (path, text) in [(".gitignore", IGNORED), ("config.toml", CONFIG)] {
        if read_text(&dir, path)?.is_none() {
            put(&dir, path, text.as_bytes()).map_err(DiskError::on("write", path))?;
            written.push(format!("{KEN_DIR}/{path}"));
        }
    }
    if place.git.is_some() {
        written.extend(write_attributes(&place)?);
    }
    Ok(Initialised {
        root: place.root,
        written,
        in_git: place.git.is_some(),
    })
}

/// Takes out what [`init`] put in; the ledger itself only if it is empty or told to.
pub fn uninstall(start: &Path, git: &GitEnv, knowledge: Knowledge) -> Result<Uninstalled, Error> {
    let place = discover(start, git)?.ok_or(Error::NotInitialised)?;
    let ledger = Ledger::open(&place)?;
    let mut removed = remove_attributes(&place)?;
    let empty = ledger.list()?.is_empty();
    let keep = knowledge == Knowledge::Keep && !empty;
    let ken = place.root.join(KEN_DIR);
    let doomed: Vec<PathBuf> = if keep {
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
    for path in doomed {
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
    Ok(Uninstalled {
        removed,
        knowledge_kept: keep,
    })
}

fn block() -> String {
    format!("{BEGIN}\n{ATTRIBUTES}{END}\n")
}

fn top(place: &Place) -> Result<RealDir, Error> {
    let shown = place.root.display().to_string();
    Ok(RealDir::below(&place.root, "").map_err(DiskError::on("open", &shown))?)
}

/// Adds Ken's block to `.gitattributes` or brings it up to date.
fn write_attributes(place: &Place) -> Result<Vec<String>, Error> {
    let dir = top(place)?;
    let old = read_text(&dir, ATTRIBUTES_FILE)?.unwrap_or_default();
    let mut text = without_block(&old);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&block());
    if text == old {
        return Ok(Vec::new());
    }
    write_top(&dir, &text)?;
    Ok(vec![ATTRIBUTES_FILE.to_owned()])
}

fn remove_attributes(place: &Place) -> Result<Vec<String>, Error> {
    let dir = top(place)?;
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
        write_top(&dir, &text)?;
    }
    Ok(vec![ATTRIBUTES_FILE.to_owned()])
}

fn write_top(dir: &RealDir, text: &str) -> Result<(), Error> {
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
            let with = format!("{old}{}", block());
            assert_eq!(without_block(&with), old);
            assert_eq!(without_block(old), old);
        }
        let between = format!("a\n{}b\n", block());
        assert_eq!(without_block(&between), "a\nb\n");
    }
}
