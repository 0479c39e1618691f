//! Small things in the state all worktrees share: the lock, the node's id, the ids of blanked
//! events, and the folder where torn bytes are put aside.

use std::collections::BTreeSet;
use std::io;

use ken_core::id::{EventId, IdSource, NodeId};

use crate::disk::{Dir, DiskError, LockGuard, Wait, read_if_there};
use crate::ledger::Ledger;

const LOCK_FILE: &str = "lock";
const NODE_FILE: &str = "node";
const NODE_TEMPORARY: &str = "node.tmp";
const BLANKED_FILE: &str = "blanked";
const TORN_DIR: &str = "torn";

impl Ledger {
    /// Returns the id of this clone on this machine; makes one if there is none or the folder
    /// was copied from elsewhere.
    pub fn node(&self, ids: &mut dyn IdSource) -> Result<NodeId, DiskError> {
        if let Some(node) = self.known_node()? {
            return Ok(node);
        }
        let lock = self.lock()?;
        self.node_under(&lock, ids)
    }

    /// Does what [`Self::node`] does for somebody who holds the lock.
    pub(crate) fn node_under(
        &self,
        _lock: &LockGuard,
        ids: &mut dyn IdSource,
    ) -> Result<NodeId, DiskError> {
        if let Some(node) = self.known_node()? {
            return Ok(node);
        }
        let node = NodeId::new(ids.random());
        write_node(&*self.parts.local, node).map_err(DiskError::on("write", NODE_FILE))?;
        self.memo.known().node = Some(node);
        Ok(node)
    }

    /// Returns the id if there is one and its file is the one it was written to.
    pub fn known_node(&self) -> Result<Option<NodeId>, DiskError> {
        let known = self.memo.known().node;
        if known.is_some() {
            return Ok(known);
        }
        let local = &*self.parts.local;
        let Some(bytes) = read_if_there(local, NODE_FILE)? else {
            return Ok(None);
        };
        let stat = local
            .stat(NODE_FILE)
            .map_err(DiskError::on("look at", NODE_FILE))?;
        let text = String::from_utf8_lossy(&bytes);
        let own = text.trim().split_once(' ').filter(|(_, inode)| {
            let inode = inode.parse::<u64>().unwrap_or(0);
            stat.is_some_and(|stat| stat.inode == 0 || stat.inode == inode)
        });
        let node = own.and_then(|(node, _)| node.parse().ok());
        self.memo.known().node = node;
        Ok(node)
    }

    /// Returns the ids of events whose data must not come back.
    pub fn blanked_ids(&self) -> Result<BTreeSet<EventId>, DiskError> {
        let bytes = read_if_there(&*self.parts.local, BLANKED_FILE)?.unwrap_or_default();
        // A line cut short was never acknowledged; a whole one parses.
        Ok(String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect())
    }

    /// Remembers, durably, that the data of `events` must not come back.
    pub(crate) fn remember_blanked(
        &self,
        _lock: &LockGuard,
        events: &BTreeSet<EventId>,
    ) -> Result<(), DiskError> {
        let known = self.blanked_ids()?;
        if events.is_subset(&known) {
            return Ok(());
        }
        let all: String = known.union(events).map(|id| format!("{id}\n")).collect();
        let local = &*self.parts.local;
        local
            .replace(BLANKED_FILE, all.as_bytes())
            .map_err(DiskError::on("write", BLANKED_FILE))
    }

    /// Returns a file of the state all worktrees share, if it is there.
    ///
    /// In git no tracked file is among them: the folder lies in git's own.
    pub fn local_file(&self, name: &str) -> Result<Option<Vec<u8>>, DiskError> {
        read_if_there(&*self.parts.local, name)
    }

    /// Writes a file of the state all worktrees share.
    pub fn write_local_file(&self, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let local = &*self.parts.local;
        let write = || {
            local.create_dirs("")?;
            local.replace(name, bytes)
        };
        write().map_err(DiskError::on("write", name))
    }

    /// Takes the lock of all worktrees, waiting for it.
    pub(crate) fn lock(&self) -> Result<LockGuard, DiskError> {
        let taken = self.take_lock(Wait::UntilFree).transpose();
        taken
            .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
            .map_err(DiskError::on("lock", LOCK_FILE))
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> io::Result<Option<LockGuard>> {
        self.take_lock(Wait::Never)
    }

    fn take_lock(&self, wait: Wait) -> io::Result<Option<LockGuard>> {
        let local = &self.parts.local;
        match local.lock(LOCK_FILE, wait) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                local.create_dirs("")?;
                local.lock(LOCK_FILE, wait)
            }
            other => other,
        }
    }

    /// Puts bytes nobody can use aside, under a name made of where they came from.
    pub(crate) fn put_aside(
        &self,
        file: &str,
        line: u64,
        bytes: &[u8],
    ) -> Result<String, DiskError> {
        let digest = blake3::hash(bytes).to_hex();
        let name = format!(
            "{TORN_DIR}/{}-{line}-{}",
            file.replace('/', "-"),
            &digest[..8]
        );
        let local = &*self.parts.local;
        local
            .create_dirs(TORN_DIR)
            .map_err(DiskError::on("create", TORN_DIR))?;
        local
            .replace(&name, bytes)
            .map_err(DiskError::on("write", &name))?;
        Ok(name)
    }
}

/// Writes a node file that holds its own identity, which a copy of it will not share.
fn write_node(local: &dyn Dir, node: NodeId) -> io::Result<()> {
    match local.create_new(NODE_TEMPORARY, b"") {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            local.truncate(NODE_TEMPORARY, 0)?;
        }
        other => other?,
    }
    let inode = local.stat(NODE_TEMPORARY)?.map_or(0, |stat| stat.inode);
    local.append(NODE_TEMPORARY, format!("{node} {inode}\n").as_bytes())?;
    local.sync_file(NODE_TEMPORARY)?;
    local.rename(NODE_TEMPORARY, NODE_FILE)?;
    local.sync_dir("")
}
