//! Simulated disk: data that was not synced may be lost, torn or partially written after a crash.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use ken_ledger::disk::{Dir, LockGuard, LockWait, Stat};

/// The fault injected at the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// The call fails without effect.
    CallFails,
    /// A write stores half its bytes and fails; any other call fails.
    ShortWrite,
    /// The machine stops before the call.
    StopsBefore,
    /// The machine stops after the call.
    StopsAfter,
}

/// Contents of the disk and of its cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskState {
    files: BTreeMap<u64, DiskFile>,
    /// Names visible to programs.
    names: BTreeMap<String, u64>,
    /// Names that survive a crash.
    durable_names: BTreeMap<String, u64>,
    /// Name changes not synced yet.
    pending: Vec<NameChange>,
    next_inode: u64,
    calls: u64,
    plan: Option<(u64, DiskFault)>,
    /// Description of the call that failed.
    hit: String,
    stopped: bool,
}

/// Content as programs see it, and as it survives a crash.
#[derive(Clone, Debug, Default)]
struct DiskFile {
    seen: Vec<u8>,
    durable: Vec<u8>,
}

/// An atomic change of names.
#[derive(Clone, Debug)]
struct NameChange {
    removed: Option<String>,
    added: Option<(String, u64)>,
}

/// The disk, shared by all its directories.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimulatedDisk(Arc<Mutex<DiskState>>);

/// A directory of the disk.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDir {
    disk: SimulatedDisk,
    prefix: &'static str,
}

impl SimulatedDisk {
    pub(crate) fn dir(&self, prefix: &'static str) -> Arc<dyn Dir> {
        Arc::new(SimulatedDir {
            disk: self.clone(),
            prefix,
        })
    }

    pub(crate) fn plan(&self, call: u64, fault: DiskFault) {
        self.0.lock().unwrap().plan = Some((call, fault));
    }

    /// Returns a description of the call that failed.
    pub(crate) fn hit(&self) -> String {
        self.0.lock().unwrap().hit.clone()
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.0.lock().unwrap().stopped
    }

    /// Returns true if the planned call was reached.
    pub(crate) fn was_fault_reached(&self) -> bool {
        let world = self.0.lock().unwrap();
        world.plan.is_none_or(|(call, _)| call <= world.calls)
    }

    /// Returns the disk after a restart; `seed` decides the fate of unsynced data.
    pub(crate) fn restarted(&self, seed: u64) -> Self {
        let mut world = self.0.lock().unwrap().clone();
        let mut dice = CrashRng(seed);
        let mut names = world.durable_names.clone();
        for change in std::mem::take(&mut world.pending) {
            if dice.roll(2) == 0 {
                change.apply(&mut names);
            }
        }
        for file in world.files.values_mut() {
            file.apply_crash(&mut dice);
        }
        world.durable_names.clone_from(&names);
        world.names = names;
        (world.plan, world.stopped) = (None, false);
        Self(Arc::new(Mutex::new(world)))
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        if let Some(removed) = &self.removed {
            names.remove(removed);
        }
        if let Some((added, inode)) = &self.added {
            names.insert(added.clone(), *inode);
        }
    }

    fn is_in(&self, dir: &str) -> bool {
        let paths = self
            .removed
            .iter()
            .chain(self.added.iter().map(|(path, _)| path));
        paths.into_iter().any(|path| parent(path) == dir)
    }
}

impl DiskFile {
    fn apply_crash(&mut self, dice: &mut CrashRng) {
        let synced = self.durable.len().min(self.seen.len());
        let mut left = match dice.roll(5) {
            0 => self.durable.clone(),
            1 => self.seen.clone(),
            _ => {
                let more = dice.roll(self.seen.len() - synced + 1);
                self.seen[..synced + more].to_owned()
            }
        };
        // Blocks reach the disk in any order, which leaves a hole in unsynced data.
        if dice.roll(3) == 0 && synced < left.len() {
            let start = synced + dice.roll(left.len() - synced);
            let end = (start + 1 + dice.roll(200)).min(left.len());
            left[start..end].fill(0);
        }
        self.seen.clone_from(&left);
        self.durable = left;
    }
}

/// Pseudo-random generator (splitmix64), so that every test run is the same.
struct CrashRng(u64);

impl CrashRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

impl SimulatedDir {
    fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.prefix)
            .trim_end_matches('/')
            .to_owned()
    }

    /// Counts a writing call and applies the planned fault to it.
    fn write<T>(
        &self,
        what: (&str, &str),
        act: impl FnOnce(&mut DiskState, WritePortion) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut world = self.disk.0.lock().unwrap();
        if world.stopped {
            return Err(io::Error::other("the machine has stopped"));
        }
        world.calls += 1;
        if world.plan.is_some_and(|(call, _)| call == world.calls) {
            world.hit = format!("{} {}", what.0, what.1);
        }
        match world
            .plan
            .filter(|(call, _)| *call == world.calls)
            .map(|(_, fault)| fault)
        {
            None => act(&mut world, WritePortion::Whole),
            Some(DiskFault::CallFails) => Err(io::Error::other("planned failure")),
            Some(DiskFault::ShortWrite) => {
                act(&mut world, WritePortion::Half)?;
                Err(io::Error::other("planned short write"))
            }
            Some(DiskFault::StopsBefore) => {
                world.stopped = true;
                Err(io::Error::other("the machine stops"))
            }
            Some(DiskFault::StopsAfter) => {
                let _ = act(&mut world, WritePortion::Whole);
                world.stopped = true;
                Err(io::Error::other("the machine stops"))
            }
        }
    }

    fn look<T>(&self, act: impl FnOnce(&DiskState) -> io::Result<T>) -> io::Result<T> {
        let world = self.disk.0.lock().unwrap();
        if world.stopped {
            return Err(io::Error::other("the machine has stopped"));
        }
        act(&world)
    }
}

/// Portion of a write that takes effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritePortion {
    Whole,
    Half,
}

impl WritePortion {
    fn of(self, bytes: &[u8]) -> &[u8] {
        match self {
            Self::Whole => bytes,
            Self::Half => &bytes[..bytes.len() / 2],
        }
    }
}

impl DiskState {
    fn inode(&self, path: &str) -> io::Result<u64> {
        self.names
            .get(path)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file(&mut self, path: &str) -> io::Result<&mut DiskFile> {
        let inode = self.inode(path)?;
        Ok(self.files.get_mut(&inode).unwrap())
    }

    fn stat(&self, inode: u64) -> Stat {
        Stat {
            len: self.files[&inode].seen.len() as u64,
            modified_ns: 0,
            inode,
        }
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }
}

impl Dir for SimulatedDir {
    fn read_from(&self, path: &str, offset: u64) -> io::Result<Vec<u8>> {
        let path = self.path(path);
        self.look(|world| {
            let file = &world.files[&world.inode(&path)?];
            Ok(file
                .seen
                .get(offset as usize..)
                .unwrap_or_default()
                .to_owned())
        })
    }

    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let path = self.path(path);
        self.look(|world| Ok(world.names.get(&path).map(|inode| world.stat(*inode))))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<(String, Stat)>> {
        let dir = self.path(dir);
        self.look(|world| {
            let here = world.names.iter().filter(|(path, _)| parent(path) == dir);
            let name = |path: &str| path[dir.len() + 1..].to_owned();
            Ok(here
                .map(|(path, inode)| (name(path), world.stat(*inode)))
                .collect())
        })
    }

    fn create_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        self.write(("create_new", &path.clone()), |world, part| {
            if world.names.contains_key(&path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            world.next_inode += 1;
            let inode = world.next_inode;
            let file = DiskFile {
                seen: part.of(bytes).to_owned(),
                durable: Vec::new(),
            };
            world.files.insert(inode, file);
            world.change(NameChange {
                removed: None,
                added: Some((path, inode)),
            });
            Ok(())
        })
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        self.write(("append", &path.clone()), |world, part| {
            world.file(&path)?.seen.extend_from_slice(part.of(bytes));
            Ok(())
        })
    }

    fn truncate(&self, path: &str, len: u64) -> io::Result<()> {
        let path = self.path(path);
        self.write(("truncate", &path.clone()), |world, _| {
            world.file(&path)?.seen.truncate(len as usize);
            Ok(())
        })
    }

    fn sync_file(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        self.write(("sync_file", &path.clone()), |world, part| {
            let file = world.file(&path)?;
            if part == WritePortion::Whole {
                file.durable.clone_from(&file.seen);
            }
            Ok(())
        })
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let dir = self.path(path);
        self.write(("sync_dir", &dir.clone()), |world, part| {
            if part == WritePortion::Half {
                return Ok(());
            }
            let (here, rest): (Vec<_>, _) = std::mem::take(&mut world.pending)
                .into_iter()
                .partition(|c| c.is_in(&dir));
            world.pending = rest;
            for change in here {
                change.apply(&mut world.durable_names);
            }
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        self.write(("rename", &to.clone()), |world, part| {
            let inode = world.inode(&from)?;
            if part == WritePortion::Whole {
                world.change(NameChange {
                    removed: Some(from),
                    added: Some((to, inode)),
                });
            }
            Ok(())
        })
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        self.write(("remove", &path.clone()), |world, part| {
            world.inode(&path)?;
            if part == WritePortion::Whole {
                world.change(NameChange {
                    removed: Some(path),
                    added: None,
                });
            }
            Ok(())
        })
    }

    fn create_dirs(&self, path: &str) -> io::Result<()> {
        self.write(("create_dirs", path), |_, _| Ok(()))
    }

    fn lock(&self, _path: &str, _wait: LockWait) -> io::Result<Option<LockGuard>> {
        self.look(|_| Ok(Some(LockGuard::new(()))))
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}
