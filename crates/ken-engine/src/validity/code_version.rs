//! Versions of a repository that entries are checked against: the work tree, or a commit read
//! directly from git's object database.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ken_anchor::{FileTree, FileTreeError};
use ken_index::FileStat;
use ken_ledger::git::{CatFileMode, GitError, GitObjectReader, GitRunner};
use ken_ledger::{Dir as _, LedgerLocation, RealDir};

use crate::error::EngineError;
use crate::git::{
    exclude_untracked_in_ken, is_ken_file, pathspec_outside_ken, side_by_side, split_nul,
};

/// Maximum number of files in a folder without git, such as a home directory opened by mistake.
const WALKED_FILES_MAX: usize = 100_000;

/// Identifies the content of a file without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileIdentity {
    /// The metadata of a file in the work tree.
    Loose(FileStat),
    /// The id of a blob in git.
    Blob(String),
}

/// A version of the code: the work tree or a commit.
#[derive(Debug)]
pub(crate) enum CodeVersion {
    Work(WorkTree),
    Commit(Arc<CommitTree>),
}

impl CodeVersion {
    /// Returns git and the commit that the version is, or is based on; `None` outside git.
    pub(crate) fn history(&self) -> Option<(&GitRunner, &str)> {
        match self {
            Self::Work(tree) => tree.git.as_ref().map(|git| (git, "HEAD")),
            Self::Commit(tree) => Some((&tree.git, &tree.commit)),
        }
    }

    /// Returns whether the version has a file at `path` that git does not ignore, without listing
    /// all files. The files in `.ken` do not count.
    pub(crate) fn lists_file(&self, path: &str) -> Result<bool, FileTreeError> {
        match self {
            Self::Work(tree) => tree.lists_file(path),
            Self::Commit(tree) => Ok(!is_ken_file(path) && tree.file_identity(path)?.is_some()),
        }
    }

    /// Returns the identity of the file at `path` without reading its content.
    pub(crate) fn file_identity(&self, path: &str) -> Result<Option<FileIdentity>, FileTreeError> {
        match self {
            Self::Work(tree) => tree.file_identity(path),
            Self::Commit(tree) => tree.file_identity(path),
        }
    }
}

impl FileTree for CodeVersion {
    fn paths(&self) -> Result<Arc<[String]>, FileTreeError> {
        match self {
            Self::Work(tree) => tree.paths(),
            Self::Commit(tree) => tree.paths(),
        }
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileTreeError> {
        match self {
            Self::Work(tree) => tree.read(path),
            Self::Commit(tree) => tree.read(path),
        }
    }
}

/// The files below the folder that contains `.ken`.
#[derive(Debug)]
pub(crate) struct WorkTree {
    root: PathBuf,
    dir: RealDir,
    git: Option<GitRunner>,
    paths: Mutex<Option<Arc<[String]>>>,
}

impl WorkTree {
    pub(crate) fn new(place: &LedgerLocation) -> Result<Self, EngineError> {
        let opened = RealDir::below(&place.root, "");
        Ok(Self {
            root: place.root.clone(),
            dir: opened.map_err(ken_ledger::DiskError::on("open", "."))?,
            git: place
                .git
                .as_ref()
                .map(|dirs| GitRunner::new(&place.root, dirs)),
            paths: Mutex::default(),
        })
    }

    /// Returns whether the path is a symbolic link.
    pub(crate) fn is_link(&self, path: &str) -> bool {
        let metadata = fs::symlink_metadata(self.root.join(path));
        metadata.is_ok_and(|it| it.is_symlink())
    }

    fn file_identity(&self, path: &str) -> Result<Option<FileIdentity>, FileTreeError> {
        Ok(self.stat(path)?.map(FileIdentity::Loose))
    }

    /// Returns the metadata of the file at `path`.
    pub(crate) fn stat(&self, path: &str) -> Result<Option<FileStat>, FileTreeError> {
        match self.dir.stat(path) {
            Ok(Some(stat)) => Ok(Some(FileStat {
                len: stat.len,
                modified_ns: stat.modified_ns,
                inode: stat.inode,
            })),
            Ok(None) => Ok(None),
            Err(error) => none_if_gone(path, &error),
        }
    }

    /// Returns whether the listing of the work tree has `path`, without making it.
    pub(crate) fn lists_file(&self, path: &str) -> Result<bool, FileTreeError> {
        // Also excludes folders and everything behind a symbolic link.
        if is_ken_file(path) || self.file_identity(path)?.is_none() {
            return Ok(false);
        }
        let Some(git) = &self.git else {
            return Ok(!path.split('/').any(|part| part.starts_with('.')));
        };
        let list = [
            "ls-files",
            "-z",
            "-c",
            "-o",
            "--exclude-standard",
            "--",
            path,
        ];
        match git.output(&list) {
            Ok(out) => Ok(split_nul(&out).any(|listed| listed == path)),
            // Git refuses a path inside of a submodule, which the listing does not have either.
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(tree_error(path, &error)),
        }
    }

    /// Lists tracked and untracked files except ignored and deleted ones, and those in `.ken`.
    fn list_with_git(&self, git: &GitRunner) -> Result<Vec<String>, GitError> {
        let outside = pathspec_outside_ken();
        let not_in_ken = exclude_untracked_in_ken();
        let list = [
            "--no-literal-pathspecs",
            "ls-files",
            "-z",
            "-c",
            "-o",
            "--exclude-standard",
            &not_in_ken,
            "--",
            &outside,
        ];
        // The git index still contains files that were deleted on disk. `ls-files -d` would find
        // them too, but reads the metadata of every entry file.
        let list_deleted = [
            "--no-literal-pathspecs",
            "diff-files",
            "--name-only",
            "-z",
            "--diff-filter=D",
            "--relative",
            "--",
            &outside,
        ];
        let (listed, deleted) = side_by_side(|| git.output(&list), || git.output(&list_deleted));
        let (listed, deleted) = (listed?, deleted?);
        let mut paths: BTreeSet<String> = split_nul(&listed).collect();
        for path in split_nul(&deleted) {
            paths.remove(&path);
        }
        Ok(paths.into_iter().collect())
    }

    /// Lists the files of a folder that is not a git repository, except hidden ones.
    fn walk_folder(&self) -> io::Result<Vec<String>> {
        let (mut paths, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder))? {
                let entry = entry?;
                let (kind, name) = (entry.file_type()?, entry.file_name());
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                    continue;
                };
                let path = if folder.is_empty() {
                    name.to_owned()
                } else {
                    format!("{folder}/{name}")
                };
                match (kind.is_file(), kind.is_dir()) {
                    (true, _) => paths.push(path),
                    (false, true) => folders.push(path),
                    // A symbolic link may lead out of the folder or back into it.
                    (false, false) => {}
                }
            }
            if paths.len() > WALKED_FILES_MAX {
                return Err(io::Error::other("the folder has too many files"));
            }
        }
        paths.sort();
        Ok(paths)
    }
}

impl FileTree for WorkTree {
    fn paths(&self) -> Result<Arc<[String]>, FileTreeError> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = &*known {
            return Ok(Arc::clone(paths));
        }
        let all = match &self.git {
            Some(git) => self
                .list_with_git(git)
                .map_err(|error| tree_error(".", &error))?,
            None => self
                .walk_folder()
                .map_err(|error| tree_error(".", &error))?,
        };
        Ok(Arc::clone(known.insert(without_ken_files(all))))
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileTreeError> {
        match self.dir.read(path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) => none_if_gone(path, &error),
        }
    }
}

/// The files of a commit, read with `git cat-file` without a checkout.
pub(crate) struct CommitTree {
    pub(super) git: GitRunner,
    /// The full commit id.
    pub(crate) commit: String,
    // One long-running git process per kind of request, started on first use.
    info_process: Mutex<Option<GitObjectReader>>,
    content_process: Mutex<Option<GitObjectReader>>,
    paths: Mutex<Option<Arc<[String]>>>,
}

impl fmt::Debug for CommitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitTree")
            .field("commit", &self.commit)
            .finish_non_exhaustive()
    }
}

impl CommitTree {
    /// Resolves the revision `name` to a commit.
    pub(crate) fn from_revision(place: &LedgerLocation, name: &str) -> Result<Self, EngineError> {
        let dirs = place.git.as_ref().ok_or_else(|| {
            EngineError::Usage("not a git repository: --base needs one".to_owned())
        })?;
        let git = GitRunner::new(&place.root, dirs);
        // `^{commit}` peels tags and rejects names of trees and blobs.
        let wanted = format!("{name}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            // The name comes from the user and may start with a dash.
            "--end-of-options",
            &wanted,
        ];
        match git.output(&args) {
            Ok(out) => {
                let commit = String::from_utf8_lossy(&out).trim().to_owned();
                Ok(Self::new(git, commit))
            }
            Err(GitError::Failed { .. }) => {
                let is_shallow = dirs.common_dir.join("shallow").exists();
                let hint = if is_shallow {
                    "; this clone is shallow: set `fetch-depth: 0` in CI, or run `git fetch --unshallow`"
                } else {
                    ""
                };
                Err(EngineError::Usage(format!(
                    "git does not know the commit `{name}`{hint}"
                )))
            }
            Err(other) => Err(other.into()),
        }
    }

    pub(crate) fn new(git: GitRunner, commit: String) -> Self {
        Self {
            git,
            commit,
            info_process: Mutex::default(),
            content_process: Mutex::default(),
            paths: Mutex::default(),
        }
    }

    /// Returns the files below a folder, including those in `.ken`.
    pub(crate) fn list_below(&self, folder: &str) -> Result<Vec<String>, FileTreeError> {
        self.list_tree(&["--", &format!("{folder}/")])
    }

    fn list_tree(&self, below: &[&str]) -> Result<Vec<String>, FileTreeError> {
        const LIST: &[&str] = &["ls-tree", "-r", "-z", "--name-only", "--full-tree"];
        let args = [LIST, &[&*self.commit], below].concat();
        let out = self.git.output(&args);
        let out = out.map_err(|error| tree_error(&self.commit, &error))?;
        Ok(split_nul(&out).collect())
    }

    fn file_identity(&self, path: &str) -> Result<Option<FileIdentity>, FileTreeError> {
        let found = self.request_object(CatFileMode::About, path)?;
        Ok(found.map(|object| FileIdentity::Blob(object.id)))
    }

    fn request_object(
        &self,
        ask: CatFileMode,
        path: &str,
    ) -> Result<Option<ken_ledger::git::GitObject>, FileTreeError> {
        let process = match ask {
            CatFileMode::About => &self.info_process,
            CatFileMode::Content => &self.content_process,
        };
        // No code panics while it holds this lock, so a response is never left half read.
        let mut slot = process.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: GitError| tree_error(path, &error);
        let process = match &mut *slot {
            Some(process) => process,
            none => none.insert(GitObjectReader::open(&self.git, ask).map_err(failed)?),
        };
        let name = format!("{}:{path}", self.commit);
        process.get(&name).map_err(failed)
    }
}

impl FileTree for CommitTree {
    fn paths(&self) -> Result<Arc<[String]>, FileTreeError> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = &*known {
            return Ok(Arc::clone(paths));
        }
        Ok(Arc::clone(
            known.insert(without_ken_files(self.list_tree(&[])?)),
        ))
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileTreeError> {
        let found = self.request_object(CatFileMode::Content, path)?;
        Ok(found.map(|object| object.content.into()))
    }
}

/// Removes the files in `.ken`: an entry must not be anchored to the text of another entry.
fn without_ken_files(mut paths: Vec<String>) -> Arc<[String]> {
    paths.retain(|path| !is_ken_file(path));
    paths.sort();
    paths.into()
}

/// Returns `None` if the file does not exist or is behind a symbolic link, an error otherwise.
fn none_if_gone<T>(path: &str, error: &io::Error) -> Result<Option<T>, FileTreeError> {
    let is_gone = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            // A name that is too long for the file system names no file.
            | io::ErrorKind::InvalidFilename
            // `RealDir` reports a symbolic link on the path as `Other`.
            | io::ErrorKind::Other
    );
    if is_gone {
        Ok(None)
    } else {
        Err(tree_error(path, error))
    }
}

fn tree_error(path: &str, error: &dyn fmt::Display) -> FileTreeError {
    FileTreeError {
        path: path.to_owned(),
        why: error.to_string(),
    }
}
