//! A directory that counts what is asked of the disk behind it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_ledger::disk::{LockGuard, LockWait};
use ken_ledger::{Dir, RealDir, Stat};

/// Syncs so far, of files and of folders.
#[derive(Debug, Default)]
pub(crate) struct Syncs {
    files: AtomicU64,
    folders: AtomicU64,
}

/// A reading of [`Syncs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) files: u64,
    pub(crate) folders: u64,
}

/// A real directory under count.
#[derive(Debug)]
pub(crate) struct CountingDir {
    pub(crate) dir: RealDir,
    pub(crate) syncs: Arc<Syncs>,
}

impl Syncs {
    pub(crate) fn count(&self) -> Count {
        Count {
            files: self.files.load(Ordering::Relaxed),
            folders: self.folders.load(Ordering::Relaxed),
        }
    }
}

impl Count {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            files: self.files - before.files,
            folders: self.folders - before.folders,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of files, {} of folders", self.files, self.folders)
    }
}

impl Dir for CountingDir {
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Vec<u8>> {
        self.dir.read_from(path, offset)
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        self.dir.stat(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, Stat)>> {
        self.dir.list(dir)
    }

    fn create_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.dir.create_new(path, bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.dir.append(path, bytes)
    }

    fn truncate(&self, path: &str, len: u64) -> io::Result<()> {
        self.dir.truncate(path, len)
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        self.syncs.files.fetch_add(1, Ordering::Relaxed);
        self.dir.sync_file(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.syncs.folders.fetch_add(1, Ordering::Relaxed);
        self.dir.sync_dir(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.dir.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.dir.remove(path)
    }

    fn create_dirs(&self, path: &str) -> io::Result<()> {
        self.dir.create_dirs(path)
    }

    fn lock(&self, path: &str, wait: LockWait) -> io::Result<Option<LockGuard>> {
        self.dir.lock(path, wait)
    }
}
