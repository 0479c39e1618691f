//! Files of other tools in a repository that Ken edits on request, such as an agent's settings.
//!
//! Access is confined to the repository. A folder may be a symbolic link to another folder of the
//! repository, such as `.claude/skills`; other links are not followed. Files are replaced
//! atomically, keep their permissions, and have a size limit.

use std::io;
use std::path::{Path, PathBuf};

use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError, GitEnv, RealDir, discover};

use crate::error::EngineError;

/// Maximum size of a file that Ken edits.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Temporary file that is renamed to its target.
const DRAFT: &str = ".ken/.local/setup-draft";

/// Access to the files below the root of a repository.
#[derive(Debug)]
pub struct RootFiles {
    root: PathBuf,
    dir: RealDir,
    draft: &'static str,
}

impl RootFiles {
    /// Opens the repository that contains `start`; it must have a ledger.
    pub fn open(start: &Path, git: &GitEnv) -> Result<Self, EngineError> {
        let place = discover(start, git)?.ok_or(EngineError::NotInitialized)?;
        if !place.root.join(KEN_DIR).join("VERSION").exists() {
            return Err(EngineError::NotInitialized);
        }
        Self::below(place.root, DRAFT)
    }

    /// Opens a folder for an export; creates it if necessary.
    pub fn open_export(folder: &Path) -> Result<Self, EngineError> {
        let shown = folder.display().to_string();
        std::fs::create_dir_all(folder).map_err(DiskError::on("create", &shown))?;
        Self::below(folder.to_owned(), "ken-export-draft")
    }

    fn below(root: PathBuf, draft: &'static str) -> Result<Self, EngineError> {
        let shown = root.display().to_string();
        let dir = RealDir::below(&root, "").map_err(DiskError::on("open", &shown))?;
        Ok(Self { root, dir, draft })
    }

    /// Returns the folder that paths are relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a file's text, `None` if it does not exist, or the reason why Ken cannot edit it.
    pub fn read(&self, path: &str) -> Result<Option<String>, String> {
        let path = &self.resolve(path);
        let Some(stat) = self.dir.stat(path).map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        if stat.len > FILE_BYTES_MAX {
            return Err(format!("it is larger than {} KiB", FILE_BYTES_MAX / 1024));
        }
        let bytes = self.dir.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        Ok(Some(text))
    }

    /// Returns the names of the files in a folder.
    pub fn file_names(&self, folder: &str) -> Result<Vec<String>, EngineError> {
        let listed = self
            .dir
            .list(folder)
            .map_err(DiskError::on("list", folder))?;
        Ok(listed.into_iter().map(|(name, _)| name).collect())
    }

    /// Creates the parent folders of a file; returns the new ones, outermost first.
    pub fn create_parent_folders(&self, path: &str) -> Result<Vec<String>, EngineError> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let real = self.resolve_folder(folder);
        let made = self.dir.create_missing_dirs(&real);
        let made = made.map_err(DiskError::on("create", folder))?.len();
        // New folders are the innermost ones. They are named as the caller does, not by the folder
        // that a link leads to.
        let ends = folder.match_indices('/').map(|(end, _)| end);
        let all: Vec<usize> = ends.chain([folder.len()]).collect();
        let new = all[all.len().saturating_sub(made)..].iter();
        Ok(new.map(|end| folder[..*end].to_owned()).collect())
    }

    /// Replaces a file's text; its folder must exist.
    pub fn write(&self, path: &str, text: &str) -> Result<(), EngineError> {
        // In a repository, the draft is in `.ken/.local`: an agent might read a temporary file
        // among its settings.
        self.create_parent_folders(self.draft)?;
        let path = &self.resolve(path);
        let written = self
            .dir
            .replace_keeping_permissions(self.draft, path, text.as_bytes());
        Ok(written.map_err(DiskError::on("write", path))?)
    }

    /// Removes a file if it exists.
    pub fn remove(&self, path: &str) -> Result<(), EngineError> {
        let path = &self.resolve(path);
        match self.dir.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => Ok(other.map_err(DiskError::on("remove", path))?),
        }
    }

    /// Returns the path of a file with links among its folders replaced by the folders they lead
    /// to.
    fn resolve(&self, path: &str) -> String {
        match path.rsplit_once('/') {
            None => path.to_owned(),
            Some((folder, file)) => match self.resolve_folder(folder).as_str() {
                "" => file.to_owned(),
                folder => format!("{folder}/{file}"),
            },
        }
    }

    /// Returns the path of a folder, which need not exist, without links.
    ///
    /// A link out of the repository, or into `.git` or `.ken`, stays, and the access that follows
    /// is refused. The access itself follows no link, so a link that changes meanwhile does no
    /// harm.
    fn resolve_folder(&self, folder: &str) -> String {
        let resolved = || {
            let root = self.root.canonicalize().ok()?;
            let mut ancestors = Path::new(folder).ancestors();
            // The rest does not exist yet, so it contains no link.
            let found = ancestors.find_map(|it| Some((it, root.join(it).canonicalize().ok()?)));
            let (existing, real) = found?;
            let rest = Path::new(folder).strip_prefix(existing).ok()?;
            let above = real.strip_prefix(&root).ok()?.components();
            // Not `join`, which ends with a slash if there is no rest.
            let inside: PathBuf = above.chain(rest.components()).collect();
            let is_private = inside.starts_with(".git") || inside.starts_with(KEN_DIR);
            let inside = inside.to_str().filter(|_| !is_private)?;
            Some(inside.replace(std::path::MAIN_SEPARATOR, "/"))
        };
        // A link below `.ken` is always an error.
        let is_own = Path::new(folder).starts_with(KEN_DIR);
        let resolved = if is_own { None } else { resolved() };
        resolved.unwrap_or_else(|| folder.to_owned())
    }

    /// Removes empty folders, innermost first.
    pub fn remove_empty_folders<'a>(
        &self,
        folders: impl DoubleEndedIterator<Item = &'a str>,
    ) -> Result<(), EngineError> {
        for folder in folders.rev() {
            let removed = self.dir.remove_empty_dir(&self.resolve_folder(folder));
            removed.map_err(DiskError::on("remove", folder))?;
        }
        Ok(())
    }
}
