//! Files of a repository that belong to others and that Ken writes to when it is asked to, such as an agent's settings.
//!
//! Nothing outside the repository is reached and no link is followed; a file is replaced in one step, keeps its permissions, and
//! is not read when it is larger than any settings are.

use std::io;
use std::path::{Path, PathBuf};

use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError, GitEnv, RealDir, discover};

use crate::error::Error;

/// Bytes a file may have that Ken reads to write to it.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// What is written before it takes a file's place.
const DRAFT: &str = ".ken/.local/setup-draft";

/// The files below the top of a repository.
#[derive(Debug)]
pub struct RootFiles {
    root: PathBuf,
    dir: RealDir,
    draft: &'static str,
}

impl RootFiles {
    /// Opens the repository `start` lies in; it must have a ledger.
    pub fn open(start: &Path, git: &GitEnv) -> Result<Self, Error> {
        let place = discover(start, git)?.ok_or(Error::NotInitialised)?;
        if !place.root.join(KEN_DIR).join("VERSION").exists() {
            return Err(Error::NotInitialised);
        }
        Self::below(place.root, DRAFT)
    }

    /// Opens a folder that something is exported into, and makes it if need be.
    pub fn export(folder: &Path) -> Result<Self, Error> {
        let shown = folder.display().to_string();
        std::fs::create_dir_all(folder).map_err(DiskError::on("create", &shown))?;
        Self::below(folder.to_owned(), "ken-export-draft")
    }

    fn below(root: PathBuf, draft: &'static str) -> Result<Self, Error> {
        let shown = root.display().to_string();
        let dir = RealDir::below(&root, "").map_err(DiskError::on("open", &shown))?;
        Ok(Self { root, dir, draft })
    }

    /// Returns the folder the paths begin at.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a file's text, `None` if there is no file, or why it is not one Ken writes to.
    pub fn read(&self, path: &str) -> Result<Option<String>, String> {
        let Some(stat) = self.dir.stat(path).map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        if FILE_BYTES_MAX < stat.len {
            return Err(format!("it has more than {} KiB", FILE_BYTES_MAX / 1024));
        }
        let bytes = self.dir.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        Ok(Some(text))
    }

    /// Returns the names of the files in a folder.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let listed = self
            .dir
            .list(folder)
            .map_err(DiskError::on("list", folder))?;
        Ok(listed.into_iter().map(|(name, _)| name).collect())
    }

    /// Makes the folders a file needs; returns those that were not there, outermost first.
    pub fn make_folders(&self, path: &str) -> Result<Vec<String>, Error> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let made = self.dir.make_dirs(folder);
        Ok(made.map_err(DiskError::on("create", folder))?)
    }

    /// Puts a text in the place of a file; its folder must be there.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        self.make_folders(self.draft)?;
        let written = self.dir.replace_alike(self.draft, path, text.as_bytes());
        Ok(written.map_err(DiskError::on("write", path))?)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, path: &str) -> Result<(), Error> {
        match self.dir.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => Ok(other.map_err(DiskError::on("remove", path))?),
        }
    }

    /// Removes folders that are empty, innermost first.
    pub fn remove_empty_folders<'a>(
        &self,
        folders: impl DoubleEndedIterator<Item = &'a str>,
    ) -> Result<(), Error> {
        for folder in folders.rev() {
            let removed = self.dir.remove_empty_dir(folder);
            removed.map_err(DiskError::on("remove", folder))?;
        }
        Ok(())
    }
}
