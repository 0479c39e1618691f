//! A scratch copy of the repository, in which a bisection withholds entries and runs a command. The
//! repository itself is never changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ken_ledger::git::GitRunner;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{DiskError, GitEnv, discover};

use crate::engine::Engine;
use crate::error::EngineError;

/// Folder of a ledger that belongs to one machine.
const LOCAL_DIR: &str = ".local";

/// A clone of the last commit, with the ledger as it is now.
#[derive(Debug)]
pub struct ScratchCopy {
    original: PathBuf,
    root: PathBuf,
}

impl ScratchCopy {
    /// Clones the repository of `engine` into `root`, an empty folder.
    pub fn create(engine: &Engine, root: &Path) -> Result<Self, EngineError> {
        let Some(dirs) = &engine.place.git else {
            return Err(EngineError::Usage(
                "a bisection needs a git repository: it works in a copy of it".to_owned(),
            ));
        };
        let original = engine.place.root.clone();
        let git = GitRunner::new(&original, dirs);
        let (from, to) = (original.to_string_lossy(), root.to_string_lossy());
        git.output(&["clone", "--quiet", "--local", "--", &from, &to])?;
        Ok(Self {
            original,
            root: root.to_owned(),
        })
    }

    /// Returns the folder of the copy.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Undoes every change in the copy.
    pub fn reset(&self) -> Result<(), EngineError> {
        let place = discover(&self.root, &GitEnv::default())?;
        if let Some(dirs) = place.and_then(|it| it.git) {
            let git = GitRunner::new(&self.root, &dirs);
            git.output(&["reset", "--quiet", "--hard"])?;
            git.output(&["clean", "--quiet", "--force", "-d", "-x"])?;
        }
        let (from, to) = (self.original.join(KEN_DIR), self.root.join(KEN_DIR));
        let replaced = remove_folder(&to).and_then(|()| copy_ledger(&from, &to));
        Ok(replaced.map_err(DiskError::on("copy", KEN_DIR))?)
    }
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies a ledger without what belongs to this machine.
fn copy_ledger(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        let (kind, target) = (item.file_type()?, to.join(item.file_name()));
        if kind.is_dir() && item.file_name() != LOCAL_DIR {
            copy_ledger(&item.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(item.path(), target)?;
        }
    }
    Ok(())
}
