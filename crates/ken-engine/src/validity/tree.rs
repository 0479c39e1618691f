//! The versions of a repository that knowledge is checked against: what lies in the work tree, or a commit
//! that nobody needs to check out.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ken_anchor::{Tree, TreeError};
use ken_index::FileStat;
use ken_ledger::git::{Ask, GitError, Objects, Runner};
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, Place, RealDir};

use crate::error::Error;

/// Files a plain folder is searched for; more is no repository.
const WALKED_MAX: usize = 100_000;

/// A file as it lies in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// In the work tree, looking like this from outside.
    Loose(FileStat),
    /// In git, under this id.
    Blob(String),
}

/// One version.
#[derive(Debug)]
pub(crate) enum Version {
    Work(WorkTree),
    Commit(Arc<CommitTree>),
}

impl Version {
    /// Returns what the file at `path` is, without reading it.
    pub(crate) fn held(&self, path: &str) -> Result<Option<Held>, TreeError> {
        match self {
            Self::Work(tree) => tree.held(path),
            Self::Commit(tree) => tree.held(path),
        }
    }
}

impl Tree for Version {
    fn paths(&self) -> Result<Arc<[String]>, TreeError> {
        match self {
            Self::Work(tree) => tree.paths(),
            Self::Commit(tree) => tree.paths(),
        }
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        match self {
            Self::Work(tree) => tree.read(path),
            Self::Commit(tree) => tree.read(path),
        }
    }
}

/// What lies in the folder around `.ken` now.
#[derive(Debug)]
pub(crate) struct WorkTree {
    root: PathBuf,
    dir: RealDir,
    git: Option<Runner>,
    paths: Mutex<Option<Arc<[String]>>>,
}

impl WorkTree {
    pub(crate) fn new(place: &Place) -> Result<Self, Error> {
        let opened = RealDir::below(&place.root, "");
        Ok(Self {
            root: place.root.clone(),
            dir: opened.map_err(ken_ledger::DiskError::on("open", "."))?,
            git: place
                .git
                .as_ref()
                .map(|dirs| Runner::new(&place.root, dirs)),
            paths: Mutex::default(),
        })
    }

    fn held(&self, path: &str) -> Result<Option<Held>, TreeError> {
        match self.dir.stat(path) {
            Ok(Some(stat)) => Ok(Some(Held::Loose(FileStat {
                len: stat.len,
                modified_ns: stat.modified_ns,
                inode: stat.inode,
            }))),
            Ok(None) => Ok(None),
            Err(error) => gone_or(path, &error),
        }
    }

    /// Lists what git tracks and what it would offer to add, as far as it is there.
    fn listed(&self, git: &Runner) -> Result<Vec<String>, GitError> {
        let list = |options: &[&str]| -> Result<BTreeSet<String>, GitError> {
            let out = git.output(&[&["ls-files", "-z"], options].concat())?;
            Ok(split(&out).collect())
        };
        let mut paths = list(&["-c", "-o", "--exclude-standard"])?;
        for gone in list(&["-d"])? {
            paths.remove(&gone);
        }
        Ok(paths.into_iter().collect())
    }

    /// Lists a folder that is no repository; what is hidden is passed over.
    fn walked(&self) -> io::Result<Vec<String>> {
        let (mut paths, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder))? {
                let entry = entry?;
                let (kind, name) = (entry.file_type()?, entry.file_name());
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                    continue;
                };
                let path = match folder.is_empty() {
                    true => name.to_owned(),
                    false => format!("{folder}/{name}"),
                };
                match (kind.is_file(), kind.is_dir()) {
                    (true, _) => paths.push(path),
                    (false, true) => folders.push(path),
                    // A link leads who knows where.
                    (false, false) => {}
                }
            }
            if WALKED_MAX < paths.len() {
                return Err(io::Error::other("there are too many files here"));
            }
        }
        paths.sort();
        Ok(paths)
    }
}

impl Tree for WorkTree {
    fn paths(&self) -> Result<Arc<[String]>, TreeError> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = &*known {
            return Ok(Arc::clone(paths));
        }
        let all = match &self.git {
            Some(git) => self.listed(git).map_err(|error| failed(".", &error))?,
            None => self.walked().map_err(|error| failed(".", &error))?,
        };
        Ok(Arc::clone(known.insert(of_code(all))))
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        match self.dir.read(path) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) => gone_or(path, &error),
        }
    }
}

/// A commit's files, straight from git.
pub(crate) struct CommitTree {
    pub(super) git: Runner,
    /// Its full id.
    pub(crate) commit: String,
    about: Mutex<Option<Objects>>,
    content: Mutex<Option<Objects>>,
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
    /// Finds the commit `name` stands for.
    pub(crate) fn named(place: &Place, name: &str) -> Result<Self, Error> {
        let dirs = place.git.as_ref().ok_or(GitError::NotOffered)?;
        let git = Runner::new(&place.root, dirs);
        let wanted = format!("{name}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &wanted,
        ];
        match git.output(&args) {
            Ok(out) => {
                let commit = String::from_utf8_lossy(&out).trim().to_owned();
                Ok(Self::new(git, commit))
            }
            Err(GitError::Failed { .. }) => {
                Err(Error::Usage(format!("git knows no commit `{name}`")))
            }
            Err(other) => Err(other.into()),
        }
    }

    pub(crate) fn new(git: Runner, commit: String) -> Self {
        Self {
            git,
            commit,
            about: Mutex::default(),
            content: Mutex::default(),
            paths: Mutex::default(),
        }
    }

    /// Returns the files below a folder, Ken's own among them.
    pub(crate) fn below(&self, folder: &str) -> Result<Vec<String>, TreeError> {
        self.listed(&["--", &format!("{folder}/")])
    }

    fn listed(&self, below: &[&str]) -> Result<Vec<String>, TreeError> {
        const LIST: &[&str] = &["ls-tree", "-r", "-z", "--name-only", "--full-tree"];
        let args = [LIST, &[&*self.commit], below].concat();
        let out = self.git.output(&args);
        let out = out.map_err(|error| failed(&self.commit, &error))?;
        Ok(split(&out).collect())
    }

    fn held(&self, path: &str) -> Result<Option<Held>, TreeError> {
        let found = self.ask(Ask::About, path)?;
        Ok(found.map(|object| Held::Blob(object.id)))
    }

    fn ask(&self, ask: Ask, path: &str) -> Result<Option<ken_ledger::git::Object>, TreeError> {
        let process = match ask {
            Ask::About => &self.about,
            Ask::Content => &self.content,
        };
        let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: GitError| failed(path, &error);
        let process = match &mut *process {
            Some(process) => process,
            none => none.insert(Objects::open(&self.git, ask).map_err(failed)?),
        };
        let name = format!("{}:{path}", self.commit);
        process.get(&name).map_err(failed)
    }
}

impl Tree for CommitTree {
    fn paths(&self) -> Result<Arc<[String]>, TreeError> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = &*known {
            return Ok(Arc::clone(paths));
        }
        Ok(Arc::clone(known.insert(of_code(self.listed(&[])?))))
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        let found = self.ask(Ask::Content, path)?;
        Ok(found.map(|object| object.content.into()))
    }
}

/// Leaves out what is Ken's own: an entry must not rest on another entry's words.
fn of_code(mut paths: Vec<String>) -> Arc<[String]> {
    let own = format!("{KEN_DIR}/");
    paths.retain(|path| !path.starts_with(&own));
    paths.sort();
    paths.into()
}

/// Splits one of git's NUL-separated lists.
pub(super) fn split(out: &[u8]) -> impl Iterator<Item = String> {
    let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned())
}

/// A file that is not there, or lies behind a link, is no file of this version.
fn gone_or<T>(path: &str, error: &io::Error) -> Result<Option<T>, TreeError> {
    let is_gone = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::Other
    );
    match is_gone {
        true => Ok(None),
        false => Err(failed(path, error)),
    }
}

fn failed(path: &str, error: &dyn fmt::Display) -> TreeError {
    TreeError {
        path: path.to_owned(),
        why: error.to_string(),
    }
}
