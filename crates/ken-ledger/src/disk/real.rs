//! [`Dir`] over a capability handle: nothing outside it can be reached, no link is followed.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{File, Metadata, OpenOptions};

use super::{Dir, LockGuard, Stat, Wait, parent};

/// A directory on a real disk.
#[derive(Debug)]
pub struct RealDir {
    root: cap_std::fs::Dir,
    /// Directory below `root` that paths are relative to; it may not exist yet.
    prefix: String,
}

impl RealDir {
    /// Opens the existing directory `root` and works in `prefix` below it, which may not exist.
    pub fn below(root: &Path, prefix: &str) -> io::Result<Self> {
        let root = cap_std::fs::Dir::open_ambient_dir(root, ambient_authority())?;
        Ok(Self {
            root,
            prefix: prefix.to_owned(),
        })
    }

    fn components<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.prefix
            .split('/')
            .chain(path.split('/'))
            .filter(|part| !part.is_empty())
    }

    /// Opens a directory, component by component, following nothing.
    fn dir(&self, path: &str) -> io::Result<cap_std::fs::Dir> {
        let mut parts = self.components(path);
        let Some(first) = parts.next() else {
            return self.root.try_clone();
        };
        let mut dir = open_dir(&self.root, first)?;
        for part in parts {
            dir = open_dir(&dir, part)?;
        }
        Ok(dir)
    }

    /// Opens the directory that holds `path` and returns it with the last component.
    fn holder<'a>(&self, path: &'a str) -> io::Result<(cap_std::fs::Dir, &'a str)> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Ok((self.dir(parent(path))?, name))
    }

    fn open(&self, path: &str, options: &mut OpenOptions) -> io::Result<File> {
        let (dir, name) = self.holder(path)?;
        match dir.open_with(name, options.follow(FollowSymlinks::No)) {
            Ok(file) => Ok(file),
            Err(error) => Err(explain(&dir, name, error)),
        }
    }
}

impl Dir for RealDir {
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Vec<u8>> {
        let mut file = self.open(path, OpenOptions::new().read(true))?;
        if offset != 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let found = self
            .holder(path)
            .and_then(|(dir, name)| stat_in(&dir, name));
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, Stat)>> {
        let dir = match self.dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(io::Error::other(format!(
                    "{name:?} is not a name Ken can use"
                )));
            };
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                found.push((name.to_owned(), stat_of(&metadata, inode_listed(&metadata))));
            } else if !metadata.is_dir() {
                return Err(odd(name, &metadata));
            }
        }
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn create_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true).create_new(true))?
            .write_all(bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.open(path, OpenOptions::new().append(true))?
            .write_all(bytes)
    }

    fn truncate(&self, path: &str, len: u64) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true))?
            .set_len(len)
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true))?.sync_data()
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        sync(&self.dir(path)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from_dir, from) = self.holder(from)?;
        let (to_dir, to) = self.holder(to)?;
        from_dir.rename(from, &to_dir, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let (dir, name) = self.holder(path)?;
        dir.remove_file(name)
    }

    fn create_dirs(&self, path: &str) -> io::Result<()> {
        let mut dir = self.root.try_clone()?;
        for part in self.components(path) {
            dir = match open_dir(&dir, part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    create_dir(&dir, part)?;
                    open_dir(&dir, part)?
                }
                other => other?,
            };
        }
        Ok(())
    }

    fn lock(&self, path: &str, wait: Wait) -> io::Result<Option<LockGuard>> {
        let options = &mut OpenOptions::new();
        let file = self
            .open(path, options.read(true).write(true).create(true))?
            .into_std();
        match wait {
            Wait::UntilFree => file.lock()?,
            Wait::Never => match file.try_lock() {
                Ok(()) => {}
                Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
            },
        }
        Ok(Some(LockGuard::new(file)))
    }
}

/// Opens one component; a link in its place is named as such.
fn open_dir(dir: &cap_std::fs::Dir, name: &str) -> io::Result<cap_std::fs::Dir> {
    dir.open_dir_nofollow(name)
        .map_err(|error| explain(dir, name, error))
}

/// Creates one directory and makes its name durable; somebody else may have been first.
fn create_dir(dir: &cap_std::fs::Dir, name: &str) -> io::Result<()> {
    match dir.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync(dir),
    }
}

fn stat_in(dir: &cap_std::fs::Dir, name: &str) -> io::Result<Stat> {
    let metadata = dir.symlink_metadata(name)?;
    if !metadata.is_file() {
        return Err(odd(name, &metadata));
    }
    Ok(stat_of(&metadata, inode_at(dir, name, &metadata)))
}

fn stat_of(metadata: &Metadata, inode: u64) -> Stat {
    let since = metadata
        .modified()
        .ok()
        .and_then(|at| at.into_std().duration_since(UNIX_EPOCH).ok());
    let modified_ns = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0));
    Stat {
        len: metadata.len(),
        modified_ns,
        inode,
    }
}

#[cfg(not(windows))]
fn inode_listed(metadata: &Metadata) -> u64 {
    cap_fs_ext::MetadataExt::ino(metadata)
}

/// Windows tells a file's identity only through an open handle, too dear for a whole listing.
#[cfg(windows)]
fn inode_listed(_metadata: &Metadata) -> u64 {
    0
}

#[cfg(not(windows))]
fn inode_at(_dir: &cap_std::fs::Dir, _name: &str, metadata: &Metadata) -> u64 {
    inode_listed(metadata)
}

#[cfg(windows)]
fn inode_at(dir: &cap_std::fs::Dir, name: &str, _metadata: &Metadata) -> u64 {
    let mut options = OpenOptions::new();
    let file = dir.open_with(name, options.read(true).follow(FollowSymlinks::No));
    file.and_then(|file| file.metadata())
        .map_or(0, |metadata| cap_fs_ext::MetadataExt::ino(&metadata))
}

/// Names a link or device that stands where a file or directory should be.
fn odd(name: &str, metadata: &Metadata) -> io::Error {
    let what = if metadata.is_symlink() {
        "a symbolic link; Ken follows none"
    } else if metadata.is_dir() {
        "a directory where a file should be"
    } else {
        "neither a file nor a directory"
    };
    io::Error::other(format!("`{name}` is {what}"))
}

/// Says so when an open failed because of what stands there.
fn explain(dir: &cap_std::fs::Dir, name: &str, error: io::Error) -> io::Error {
    match dir.symlink_metadata(name) {
        Ok(metadata) if metadata.is_symlink() => odd(name, &metadata),
        _ => error,
    }
}

#[cfg(not(windows))]
fn sync(dir: &cap_std::fs::Dir) -> io::Result<()> {
    // The handle itself may be a mere path, which cannot be synced.
    dir.open(".")?.sync_all()
}

/// Windows has no call that syncs a directory; its file systems journal names themselves.
#[cfg(windows)]
fn sync(_dir: &cap_std::fs::Dir) -> io::Result<()> {
    Ok(())
}
