//! The port through which the crate touches files, and its real implementation.
//!
//! A [`Dir`] is a directory handle; every path is relative to it, written with `/`. The calls are
//! few and each does one thing to the disk, so that a simulated disk can fail, tear or reorder
//! any of them. Nothing here decides anything.
//!
//! Invariant: no implementation follows a symbolic link below its root.

mod real;

use std::any::Any;
use std::fmt;
use std::io;

pub use real::RealDir;

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stat {
    /// Bytes.
    pub len: u64,
    /// Nanoseconds since 1970; 0 where unknown.
    pub modified_ns: u64,
    /// Identity of the file on its disk; 0 where unknown.
    pub inode: u64,
}

/// Files below one root.
pub trait Dir: fmt::Debug + Send + Sync {
    /// Returns the whole file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read_from(path, 0)
    }

    /// Returns the file from byte `offset` on; nothing if it is shorter.
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Vec<u8>>;

    /// Returns what the file looks like, `None` if there is none.
    fn stat(&self, path: &str) -> io::Result<Option<Stat>>;

    /// Lists the files of a directory by name; empty if there is no such directory.
    ///
    /// Subdirectories are left out; anything that is neither file nor directory is an error.
    fn list(&self, dir: &str) -> io::Result<Vec<(String, Stat)>>;

    /// Creates a file that does not exist yet and writes `bytes` to it.
    fn create_new(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` behind the end of an existing file.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` behind the end of an existing file and makes its content durable.
    fn append_durably(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.append(path, bytes)?;
        self.sync_file(path)
    }

    /// Cuts an existing file to `len` bytes.
    fn truncate(&self, path: &str, len: u64) -> io::Result<()>;

    /// Makes the content of a file durable.
    fn sync_file(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a directory durable; `""` is the root itself.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// Gives a file another name, replacing a file that has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Creates a directory and those above it, durably; `""` is the root itself.
    fn create_dirs(&self, path: &str) -> io::Result<()>;

    /// Takes the exclusive lock named `path`; `None` if it is taken and `wait` says not to wait.
    fn lock(&self, path: &str, wait: Wait) -> io::Result<Option<LockGuard>>;

    /// Puts `bytes` in the place of `path` so that after a crash either all or nothing changed.
    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_via(&format!("{path}.tmp"), path, bytes)
    }

    /// Does what [`Self::replace`] does, through a temporary file at `temporary`.
    fn replace_via(&self, temporary: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        match self.create_new(temporary, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(temporary)?;
                self.create_new(temporary, bytes)?;
            }
            other => other?,
        }
        self.sync_file(temporary)?;
        self.rename(temporary, path)?;
        self.sync_dir(parent(path))
    }
}

/// Whether to wait for a lock somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    UntilFree,
    Never,
}

/// A lock, held until it is dropped.
pub struct LockGuard(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send>);

impl LockGuard {
    /// Wraps whatever releases the lock when dropped.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockGuard")
    }
}

/// The disk refused something.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{path}`")]
pub struct DiskError {
    pub action: &'static str,
    pub path: String,
    pub source: io::Error,
}

impl DiskError {
    /// Returns a function that names what was done to which file when the disk refused.
    pub fn on(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Returns the directory part of `path`, `""` for a file in the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Returns the file, `None` if there is none.
pub(crate) fn read_if_there(dir: &dyn Dir, path: &str) -> Result<Option<Vec<u8>>, DiskError> {
    match dir.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::on("read", path)(error)),
    }
}
