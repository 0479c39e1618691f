//! The port to the file system ([`Dir`]) and its real implementation.
//!
//! A [`Dir`] is a directory handle; every path is relative to it and uses `/`. Each of the few
//! calls does one thing to the disk, so that a simulated disk can fail, tear or reorder any of
//! them. The port contains no policy.
//!
//! Invariant: no implementation follows a symbolic link below its root.

mod real;

use std::any::Any;
use std::fmt;
use std::fs::OpenOptions;
use std::io;

pub use real::RealDir;

/// File metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stat {
    /// Size in bytes.
    pub len: u64,
    /// Modification time in nanoseconds since 1970; 0 if unknown.
    pub modified_ns: u64,
    /// Inode number; 0 if unknown.
    pub inode: u64,
}

/// Files below one root directory.
pub trait Dir: fmt::Debug + Send + Sync {
    /// Reads the whole file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read_from(path, 0)
    }

    /// Reads the file from byte `offset`; empty if it is shorter.
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Vec<u8>>;

    /// Returns the file's metadata, `None` if it does not exist.
    fn stat(&self, path: &str) -> io::Result<Option<Stat>>;

    /// Lists the files of a directory by name; empty if the directory does not exist.
    ///
    /// Subdirectories are skipped; anything that is neither file nor directory is an error.
    fn list(&self, dir: &str) -> io::Result<Vec<(String, Stat)>>;

    /// Creates a new file with the content `bytes`; fails if it exists.
    fn create_new(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Appends `bytes` to an existing file.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Appends `bytes` to an existing file and makes its content durable.
    fn append_durably(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.append(path, bytes)?;
        self.sync_file(path)
    }

    /// Truncates an existing file to `len` bytes.
    fn truncate(&self, path: &str, len: u64) -> io::Result<()>;

    /// Makes the content of a file durable.
    fn sync_file(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a directory durable; `""` is the root itself.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Creates a directory and its missing parents, durably; `""` is the root itself.
    fn create_dirs(&self, path: &str) -> io::Result<()>;

    /// Acquires the exclusive lock `path`; `None` if it is held and `wait` is [`LockWait::Never`].
    fn lock(&self, path: &str, wait: LockWait) -> io::Result<Option<LockGuard>>;

    /// Replaces the content of `path` atomically and durably: after a crash it is either old or
    /// new.
    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_via(&format!("{path}.tmp"), path, bytes)
    }

    /// Works like [`Self::replace`], with the temporary file at `temporary`.
    fn replace_via(&self, temporary: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        match self.create_new(temporary, bytes) {
            // Left by a crash. Removed instead of truncated, so that the new file has a new inode.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(temporary)?;
                self.create_new(temporary, bytes)?;
            }
            other => other?,
        }
        // The content must be durable before the rename, or a crash could leave an empty file under
        // the final name.
        self.sync_file(temporary)?;
        self.rename(temporary, path)?;
        self.sync_dir(parent(path))
    }
}

/// Behavior if a lock is held by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    UntilFree,
    Never,
}

/// A held lock; dropping it releases the lock.
pub struct LockGuard(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send>);

impl LockGuard {
    /// Wraps a value whose drop releases the lock.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockGuard")
    }
}

/// Makes a file that is created with these options readable and writable for its owner only.
pub fn restrict_to_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Failure of a file operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{path}`")]
pub struct DiskError {
    pub action: &'static str,
    pub path: String,
    pub source: io::Error,
}

impl DiskError {
    /// Returns a function that adds the action and path to an I/O error.
    pub fn on(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Returns the parent directory of `path`, `""` for a file in the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Reads the file, `None` if it does not exist.
pub(crate) fn read_if_exists(dir: &dyn Dir, path: &str) -> Result<Option<Vec<u8>>, DiskError> {
    match dir.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::on("read", path)(error)),
    }
}
