//! Discovery of the ledger's root and git's directories from a starting directory.
//!
//! Reads a few small files and never runs git. The environment is an argument; this crate reads
//! none.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::layout::KEN_DIR;

/// Maximum size of a `.git` or `commondir` file, which contains one path.
const POINTER_BYTES_MAX: u64 = 64 * 1024;

/// Location of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLocation {
    /// The directory that contains `.ken`; in git the top of the worktree.
    pub root: PathBuf,
    /// `None` outside git.
    pub git: Option<GitDirs>,
}

/// Git's directories for one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    /// The worktree's own directory: HEAD, index, operations in progress.
    pub git_dir: PathBuf,
    /// The directory shared by all worktrees: objects and refs. The same for the main worktree.
    pub common_dir: PathBuf,
    /// Set if the environment names the directory, so that it must be passed to `git` too.
    pub named_by_environment: bool,
}

/// The environment variables `GIT_DIR` and `GIT_WORK_TREE`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitEnv {
    pub git_dir: Option<PathBuf>,
    pub work_tree: Option<PathBuf>,
}

/// Failure of the discovery.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` does not point to a git directory", path.display())]
    Pointer { path: PathBuf },
}

impl LedgerLocation {
    /// Returns a location outside git.
    pub fn plain(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            git: None,
        }
    }
}

/// Finds the worktree that contains `start`, else the nearest parent directory with a `.ken`.
///
/// `start` must be absolute. Returns `None` if neither is found.
pub fn discover(start: &Path, env: &GitEnv) -> Result<Option<LedgerLocation>, DiscoverError> {
    // Git's own precedence: the variables override the search.
    if let Some(git_dir) = &env.git_dir {
        let git_dir = join_normalized(start, git_dir);
        let root = env
            .work_tree
            .as_deref()
            .map_or_else(|| start.to_owned(), |t| join_normalized(start, t));
        let common_dir = find_common_dir(&git_dir)?;
        let git = GitDirs {
            git_dir,
            common_dir,
            named_by_environment: true,
        };
        return Ok(Some(LedgerLocation {
            root,
            git: Some(git),
        }));
    }
    for folder in start.ancestors() {
        if let Some(git_dir) = find_git_dir(folder)? {
            let common_dir = find_common_dir(&git_dir)?;
            let git = GitDirs {
                git_dir,
                common_dir,
                named_by_environment: false,
            };
            return Ok(Some(LedgerLocation {
                root: folder.to_owned(),
                git: Some(git),
            }));
        }
    }
    // Only after the search for git: a `.ken` in a subdirectory of a worktree belongs to the
    // worktree.
    let with_ken = start
        .ancestors()
        .find(|folder| folder.join(KEN_DIR).is_dir());
    Ok(with_ken.map(LedgerLocation::plain))
}

/// Returns the git directory of the worktree whose top is `folder`.
fn find_git_dir(folder: &Path) -> Result<Option<PathBuf>, DiscoverError> {
    let dot_git = folder.join(".git");
    let Ok(metadata) = fs::metadata(&dot_git) else {
        return Ok(None);
    };
    if metadata.is_dir() {
        // An empty `.git` is not a repository; like git, the search continues upward.
        let is_repository = fs::symlink_metadata(dot_git.join("HEAD")).is_ok();
        return Ok(is_repository.then_some(dot_git));
    }
    let text = read_pointer(&dot_git)?;
    let target = text
        .strip_prefix("gitdir:")
        .map(str::trim)
        .filter(|target| !target.is_empty());
    let target = target.ok_or_else(|| DiscoverError::Pointer {
        path: dot_git.clone(),
    })?;
    let git_dir = join_normalized(folder, Path::new(target));
    if git_dir.is_dir() {
        Ok(Some(git_dir))
    } else {
        Err(DiscoverError::Pointer { path: dot_git })
    }
}

/// Returns the directory shared by all worktrees of a repository.
fn find_common_dir(git_dir: &Path) -> Result<PathBuf, DiscoverError> {
    let pointer = git_dir.join("commondir");
    match read_pointer(&pointer) {
        Ok(text) => Ok(join_normalized(git_dir, Path::new(text.trim()))),
        Err(DiscoverError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(git_dir.to_owned())
        }
        Err(error) => Err(error),
    }
}

fn read_pointer(path: &Path) -> Result<String, DiscoverError> {
    let error = |source| DiscoverError::Read {
        path: path.to_owned(),
        source,
    };
    // A `.git` file comes with a checkout and may be of any size.
    if fs::metadata(path).map_err(error)?.len() > POINTER_BYTES_MAX {
        return Err(DiscoverError::Pointer {
            path: path.to_owned(),
        });
    }
    fs::read_to_string(path).map_err(error)
}

/// Joins paths and removes `.` and `..`, so that each directory has one spelling.
fn join_normalized(base: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: &Path) -> Option<LedgerLocation> {
        discover(start, &GitEnv::default()).unwrap()
    }

    fn repository(path: &Path) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn the_nearest_repository_wins_over_any_ken_folder() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(inner.join(KEN_DIR)).unwrap();
        assert_eq!(found(&inner), Some(LedgerLocation::plain(&inner)));
        repository(&dir.path().join(".git"));
        let place = found(&inner).unwrap();
        assert_eq!(place.root, dir.path());
        let git = place.git.unwrap();
        assert_eq!(git.git_dir, dir.path().join(".git"));
        assert_eq!(git.common_dir, git.git_dir);
    }

    #[test]
    fn an_empty_git_folder_is_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/.git")).unwrap();
        repository(&dir.path().join(".git"));
        assert_eq!(found(&dir.path().join("a")).unwrap().root, dir.path());
    }

    #[test]
    fn a_worktree_points_to_its_own_and_the_common_directory() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("main/.git/worktrees/topic");
        repository(&own);
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let tree = dir.path().join("topic");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/topic\n").unwrap();
        let place = found(&tree.join("src")).unwrap();
        assert_eq!(place.root, tree);
        let common_dir = dir.path().join("main/.git");
        let git = GitDirs {
            git_dir: own,
            common_dir,
            named_by_environment: false,
        };
        assert_eq!(place.git, Some(git));
    }

    #[test]
    fn a_pointer_to_nowhere_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        for bad in ["gitdir: nowhere\n", "gitdir:\n", "something else\n", ""] {
            fs::write(dir.path().join(".git"), bad).unwrap();
            let error = discover(dir.path(), &GitEnv::default()).unwrap_err();
            assert!(error.to_string().contains(".git"), "{error}");
        }
    }

    #[test]
    fn the_environment_wins() {
        let dir = tempfile::tempdir().unwrap();
        repository(&dir.path().join(".git"));
        let env = GitEnv {
            git_dir: Some("elsewhere/../other.git".into()),
            work_tree: None,
        };
        let place = discover(dir.path(), &env).unwrap().unwrap();
        assert_eq!(place.root, dir.path());
        let git = place.git.unwrap();
        assert_eq!(git.git_dir, dir.path().join("other.git"));
        assert!(git.named_by_environment);
    }
}
