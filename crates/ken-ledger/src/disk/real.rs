//! [`Dir`] on a capability handle: nothing outside it is reachable, and no link is followed.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{File, Metadata, OpenOptions};

use super::{Dir, LockGuard, LockWait, Stat, parent};

/// A directory on a real disk.
#[derive(Debug)]
pub struct RealDir {
    root: cap_std::fs::Dir,
    /// Directory below `root` that paths are relative to; it may not exist yet.
    prefix: String,
    /// Cached directory handles by path below `root`, with their identities.
    opened: Mutex<BTreeMap<String, OpenedDir>>,
}

/// A directory opened without following links, with its device and inode.
#[derive(Clone, Debug)]
struct OpenedDir {
    dir: Arc<cap_std::fs::Dir>,
    identity: (u64, u64),
}

impl RealDir {
    /// Opens the existing directory `root` and works in `prefix` below it, which may not exist.
    pub fn below(root: &Path, prefix: &str) -> io::Result<Self> {
        let root = cap_std::fs::Dir::open_ambient_dir(root, ambient_authority())?;
        Ok(Self {
            root,
            prefix: prefix.to_owned(),
            opened: Mutex::default(),
        })
    }

    /// Creates a directory and its missing parents; returns the created ones, outermost first.
    pub fn create_missing_dirs(&self, path: &str) -> io::Result<Vec<String>> {
        let mut made = Vec::new();
        let mut above = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !above.is_empty() {
                above.push('/');
            }
            above.push_str(part);
            match self.open_without_links(&above) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.create_dirs(&above)?;
                    made.push(above.clone());
                }
                other => drop(other?),
            }
        }
        Ok(made)
    }

    /// Removes a directory if it is empty; returns whether it did.
    pub fn remove_empty_dir(&self, path: &str) -> io::Result<bool> {
        let (holder, name) = match self.holder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        let mut inside = match self.open_without_links(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?.entries()?,
        };
        if inside.next().is_some() {
            return Ok(false);
        }
        holder.remove_dir(name)?;
        Ok(true)
    }

    /// Works like [`Dir::replace_via`]; an existing file keeps its permissions.
    pub fn replace_keeping_permissions(
        &self,
        temporary: &str,
        path: &str,
        bytes: &[u8],
    ) -> io::Result<()> {
        let there = match self.open(path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other?.metadata()?.permissions()),
        };
        // A leftover of a crash may have other permissions.
        match self.remove(temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let options = &mut OpenOptions::new();
        let mut file = self.open(temporary, options.write(true).create_new(true))?;
        // Before the content is written, so that a private file is never readable by others.
        if let Some(permissions) = there {
            file.set_permissions(permissions)?;
        }
        file.write_all(bytes)?;
        file.sync_data()?;
        drop(file);
        self.rename(temporary, path)?;
        self.sync_dir(parent(path))
    }

    fn components<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.prefix
            .split('/')
            .chain(path.split('/'))
            .filter(|part| !part.is_empty())
    }

    /// Opens a directory, or returns the cached handle if the same directory is still at that path.
    ///
    /// Git deletes and recreates directories, and users move them: an unchecked handle could write
    /// into a detached directory.
    fn dir(&self, path: &str) -> io::Result<Arc<cap_std::fs::Dir>> {
        let whole = self.components(path).collect::<Vec<_>>().join("/");
        let known = self.opened().get(&whole).cloned();
        // One metadata call replaces opening every component.
        if let Some(known) = known
            && self
                .root
                .symlink_metadata(&whole)
                .is_ok_and(|now| identity(&now) == Some(known.identity))
        {
            return Ok(known.dir);
        }
        let dir = Arc::new(self.open_without_links(path)?);
        if let Some(identity) = dir.dir_metadata().ok().as_ref().and_then(identity)
            && !whole.is_empty()
        {
            self.opened().insert(
                whole,
                OpenedDir {
                    dir: Arc::clone(&dir),
                    identity,
                },
            );
        }
        Ok(dir)
    }

    fn opened(&self) -> MutexGuard<'_, BTreeMap<String, OpenedDir>> {
        // Handles are checked before use; a panic in another thread does not invalidate them.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a directory component by component without following links.
    fn open_without_links(&self, path: &str) -> io::Result<cap_std::fs::Dir> {
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

    /// Opens the parent directory of `path` and returns it with the last component.
    fn holder<'a>(&self, path: &'a str) -> io::Result<(Arc<cap_std::fs::Dir>, &'a str)> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Ok((self.dir(parent(path))?, name))
    }

    fn open(&self, path: &str, options: &mut OpenOptions) -> io::Result<File> {
        let (dir, name) = self.holder(path)?;
        match dir.open_with(name, options.follow(FollowSymlinks::No)) {
            Ok(file) => Ok(file),
            Err(error) => Err(explain_error(&dir, name, error)),
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
                    "{name:?} is not a valid UTF-8 file name"
                )));
            };
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                found.push((name.to_owned(), stat_of(&metadata, inode_listed(&metadata))));
            } else if !metadata.is_dir() {
                return Err(unexpected_file_type(name, &metadata));
            }
        }
        // The order of directory entries is arbitrary; callers rely on the order of names.
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

    fn append_durably(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.open(path, OpenOptions::new().append(true))?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn truncate(&self, path: &str, len: u64) -> io::Result<()> {
        self.open(path, OpenOptions::new().write(true))?
            .set_len(len)
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        // Opened for writing, because Windows does not sync a read-only handle.
        self.open(path, OpenOptions::new().write(true))?.sync_data()
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        sync(&*self.dir(path)?)
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
        // One component at a time: a recursive call would follow links on the way.
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

    fn lock(&self, path: &str, wait: LockWait) -> io::Result<Option<LockGuard>> {
        let options = &mut OpenOptions::new();
        // Converted, because only `std` offers file locks.
        let file = self
            .open(path, options.read(true).write(true).create(true))?
            .into_std();
        match wait {
            LockWait::UntilFree => file.lock()?,
            LockWait::Never => match file.try_lock() {
                Ok(()) => {}
                Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
            },
        }
        Ok(Some(LockGuard::new(file)))
    }
}

/// Opens one component; a link in its place is reported as such.
fn open_dir(dir: &cap_std::fs::Dir, name: &str) -> io::Result<cap_std::fs::Dir> {
    dir.open_dir_nofollow(name)
        .map_err(|error| explain_error(dir, name, error))
}

/// Creates one directory and makes its name durable; another process may have created it first.
fn create_dir(dir: &cap_std::fs::Dir, name: &str) -> io::Result<()> {
    match dir.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        // Also if it exists: its creator may have crashed before the sync.
        _ => sync(dir),
    }
}

fn stat_in(dir: &cap_std::fs::Dir, name: &str) -> io::Result<Stat> {
    let metadata = dir.symlink_metadata(name)?;
    if !metadata.is_file() {
        return Err(unexpected_file_type(name, &metadata));
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

/// Returns the device and inode that identify a directory; `None` if unknown.
#[cfg(not(windows))]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use cap_fs_ext::MetadataExt as _;
    metadata.is_dir().then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(windows)]
fn identity(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(not(windows))]
fn inode_listed(metadata: &Metadata) -> u64 {
    cap_fs_ext::MetadataExt::ino(metadata)
}

/// Windows reveals a file's identity only through an open handle, which is too slow for a listing.
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

/// Returns an error that names a link or device found in place of a file or directory.
fn unexpected_file_type(name: &str, metadata: &Metadata) -> io::Error {
    let description = if metadata.is_symlink() {
        "a symbolic link, which Ken does not follow"
    } else if metadata.is_dir() {
        "a directory instead of a file"
    } else {
        "neither a file nor a directory"
    };
    io::Error::other(format!("`{name}` is {description}"))
}

/// Replaces the error of a failed open if a link is the cause.
fn explain_error(dir: &cap_std::fs::Dir, name: &str, error: io::Error) -> io::Error {
    match dir.symlink_metadata(name) {
        Ok(metadata) if metadata.is_symlink() => unexpected_file_type(name, &metadata),
        _ => error,
    }
}

#[cfg(not(windows))]
fn sync(dir: &cap_std::fs::Dir) -> io::Result<()> {
    // The handle may be opened with `O_PATH`, which cannot be synced.
    dir.open(".")?.sync_all()
}

/// Windows has no call to sync a directory; its file systems journal names.
#[cfg(windows)]
fn sync(_dir: &cap_std::fs::Dir) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, RealDir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = RealDir::below(folder.path(), "root").unwrap();
        (folder, dir)
    }

    #[test]
    fn a_directory_that_is_not_there_is_empty_until_it_is_made() {
        let (_folder, dir) = folder();
        assert_eq!(dir.list("a/b").unwrap(), []);
        assert_eq!(dir.stat("a/b/c").unwrap(), None);
        assert_eq!(
            dir.create_new("a/b/c", b"x").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        dir.create_dirs("a/b").unwrap();
        dir.create_dirs("a/b").unwrap();
        dir.create_new("a/b/c", b"x").unwrap();
        dir.sync_file("a/b/c").unwrap();
        dir.sync_dir("a/b").unwrap();
        dir.sync_dir("").unwrap();
        let listed = dir.list("a/b").unwrap();
        assert_eq!(
            listed,
            [("c".to_owned(), dir.stat("a/b/c").unwrap().unwrap())]
        );
        assert_eq!(dir.list("a").unwrap(), [], "directories are left out");
    }

    #[test]
    fn files_are_created_once_appended_cut_replaced_and_removed() {
        let (_folder, dir) = folder();
        dir.create_dirs("").unwrap();
        dir.create_new("f", b"one").unwrap();
        let taken = dir.create_new("f", b"").unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        dir.append("f", b" two").unwrap();
        assert_eq!(dir.read_from("f", 4).unwrap(), b"two");
        assert_eq!(dir.read_from("f", 99).unwrap(), b"");
        dir.truncate("f", 3).unwrap();
        assert_eq!(dir.read("f").unwrap(), b"one");
        let before = dir.stat("f").unwrap().unwrap();
        dir.create_new("f.tmp", b"left behind by a crash").unwrap();
        dir.replace("f", b"new").unwrap();
        assert_eq!(dir.read("f").unwrap(), b"new");
        assert_ne!(dir.stat("f").unwrap().unwrap().inode, before.inode);
        dir.remove("f").unwrap();
        assert_eq!(dir.list("").unwrap(), []);
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let (_folder, dir) = folder();
        dir.create_dirs("").unwrap();
        let held = dir.lock("lock", LockWait::UntilFree).unwrap();
        assert!(held.is_some());
        assert!(dir.lock("lock", LockWait::Never).unwrap().is_none());
        drop(held);
        assert!(dir.lock("lock", LockWait::Never).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_was_moved_away_is_not_written_to() {
        let (folder, dir) = folder();
        dir.create_dirs("a/b").unwrap();
        dir.create_new("a/b/f", b"old").unwrap();
        assert_eq!(dir.read("a/b/f").unwrap(), b"old");
        let at = |path: &str| folder.path().join("root").join(path);
        std::fs::rename(at("a"), at("moved")).unwrap();
        assert_eq!(
            dir.append("a/b/f", b"!").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        dir.create_dirs("a/b").unwrap();
        dir.create_new("a/b/f", b"new").unwrap();
        dir.append("a/b/f", b"er").unwrap();
        assert_eq!(std::fs::read(at("a/b/f")).unwrap(), b"newer");
        assert_eq!(std::fs::read(at("moved/b/f")).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn no_call_follows_a_link_on_the_way_or_at_the_end() {
        let (folder, dir) = folder();
        dir.create_dirs("real").unwrap();
        dir.create_new("real/f", b"x").unwrap();
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(to, folder.path().join("root").join(at)).unwrap();
        };
        assert_eq!(dir.read("real/f").unwrap(), b"x");
        link("real", "folder");
        link("real/f", "file");
        let refused = [
            dir.read("folder/f").unwrap_err(),
            dir.read("file").unwrap_err(),
            dir.append("file", b"y").unwrap_err(),
            dir.truncate("file", 0).unwrap_err(),
            dir.stat("file").unwrap_err(),
            dir.stat("folder/f").unwrap_err(),
            dir.list("").unwrap_err(),
            dir.list("folder").unwrap_err(),
            dir.create_dirs("folder/sub").unwrap_err(),
            dir.create_new("folder/g", b"").unwrap_err(),
            dir.rename("real/f", "folder/f").unwrap_err(),
            dir.lock("file", LockWait::Never).unwrap_err(),
        ];
        for error in refused {
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
        assert_eq!(dir.read("real/f").unwrap(), b"x");
    }
}
