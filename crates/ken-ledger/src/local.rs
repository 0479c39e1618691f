//! Local state shared by all worktrees: the lock, the node id, the ids of redacted events, and the
//! directory for torn bytes.

use std::collections::BTreeSet;
use std::io;

use ken_core::values::id::{EventId, IdSource, NodeId};

use crate::disk::{Dir, DiskError, LockGuard, LockWait, read_if_exists};
use crate::ledger::Ledger;

const LOCK_FILE: &str = "lock";
const NODE_FILE: &str = "node";
const NODE_TEMPORARY: &str = "node.tmp";
const REDACTED_FILE: &str = "blanked";
const TORN_DIR: &str = "torn";

impl Ledger {
    /// Returns the node id of this clone, creating one if there is none or the directory was
    /// copied.
    pub fn node(&self, ids: &mut dyn IdSource) -> Result<NodeId, DiskError> {
        if let Some(node) = self.load_node_id()? {
            return Ok(node);
        }
        let lock = self.lock()?;
        self.ensure_node_id_locked(&lock, ids)
    }

    /// Works like [`Self::ensure_node_id`] for a caller that holds the lock.
    pub(crate) fn ensure_node_id_locked(
        &self,
        _lock: &LockGuard,
        ids: &mut dyn IdSource,
    ) -> Result<NodeId, DiskError> {
        // Checked again under the lock: another process may have created it meanwhile.
        if let Some(node) = self.load_node_id()? {
            return Ok(node);
        }
        let node = NodeId::new(ids.random());
        write_node(&*self.parts.local, node).map_err(DiskError::on("write", NODE_FILE))?;
        self.memo.known().node = Some(node);
        Ok(node)
    }

    /// Returns the node id if its file exists and is the original, not a copy.
    pub fn load_node_id(&self) -> Result<Option<NodeId>, DiskError> {
        let known = self.memo.known().node;
        if known.is_some() {
            return Ok(known);
        }
        let local = &*self.parts.local;
        let Some(bytes) = read_if_exists(local, NODE_FILE)? else {
            return Ok(None);
        };
        let stat = local
            .stat(NODE_FILE)
            .map_err(DiskError::on("read the metadata of", NODE_FILE))?;
        let text = String::from_utf8_lossy(&bytes);
        // A copied directory has the same text but another inode; two clones must not share a node
        // id.
        let own = text.trim().split_once(' ').filter(|(_, inode)| {
            let inode = inode.parse::<u64>().unwrap_or(0);
            // Inode 0 means unknown; then a copy cannot be detected and the id is trusted.
            stat.is_some_and(|stat| stat.inode == 0 || stat.inode == inode)
        });
        let node = own.and_then(|(node, _)| node.parse().ok());
        self.memo.known().node = node;
        Ok(node)
    }

    /// Returns the ids of redacted events, whose data must not be stored again.
    pub fn blanked_ids(&self) -> Result<BTreeSet<EventId>, DiskError> {
        let bytes = read_if_exists(&*self.parts.local, REDACTED_FILE)?.unwrap_or_default();
        // A truncated line was never acknowledged, and a complete one always parses.
        Ok(String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect())
    }

    /// Records durably that `events` are redacted.
    pub(crate) fn remember_blanked(
        &self,
        _lock: &LockGuard,
        events: &BTreeSet<EventId>,
    ) -> Result<(), DiskError> {
        let known = self.blanked_ids()?;
        // A scrub repeats known ids; the file is then left alone.
        if events.is_subset(&known) {
            return Ok(());
        }
        let all: String = known.union(events).map(|id| format!("{id}\n")).collect();
        let local = &*self.parts.local;
        local
            .replace(REDACTED_FILE, all.as_bytes())
            .map_err(DiskError::on("write", REDACTED_FILE))
    }

    /// Reads a file of the shared local state, if it exists.
    ///
    /// In git none of these files is tracked, because the directory is inside the git directory.
    pub fn local_file(&self, name: &str) -> Result<Option<Vec<u8>>, DiskError> {
        read_if_exists(&*self.parts.local, name)
    }

    /// Writes a file of the shared local state.
    pub fn write_local_file(&self, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let local = &*self.parts.local;
        let write = || {
            local.create_dirs("")?;
            local.replace(name, bytes)
        };
        write().map_err(DiskError::on("write", name))
    }

    /// Acquires the lock shared by all worktrees, waiting for it.
    pub(crate) fn lock(&self) -> Result<LockGuard, DiskError> {
        let taken = self.acquire_lock(LockWait::UntilFree).transpose();
        taken
            .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
            .map_err(DiskError::on("lock", LOCK_FILE))
    }

    /// Acquires the lock if it is free.
    pub(crate) fn try_lock(&self) -> io::Result<Option<LockGuard>> {
        self.acquire_lock(LockWait::Never)
    }

    fn acquire_lock(&self, wait: LockWait) -> io::Result<Option<LockGuard>> {
        let local = &self.parts.local;
        match local.lock(LOCK_FILE, wait) {
            // Usually the directory exists, so it is created only after a failure.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                local.create_dirs("")?;
                local.lock(LOCK_FILE, wait)
            }
            other => other,
        }
    }

    /// Saves unusable bytes under a name derived from their origin and returns that name.
    pub(crate) fn save_torn_bytes(
        &self,
        file: &str,
        line: u64,
        bytes: &[u8],
    ) -> Result<String, DiskError> {
        // The hash makes repeated repairs of the same bytes reuse one file and different bytes keep
        // separate ones.
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

/// Writes the node file with its own inode number, which a copy of the file does not share.
fn write_node(local: &dyn Dir, node: NodeId) -> io::Result<()> {
    match local.create_new(NODE_TEMPORARY, b"") {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            local.truncate(NODE_TEMPORARY, 0)?;
        }
        other => other?,
    }
    // A rename keeps the inode, so the number written here is that of the final file.
    let inode = local.stat(NODE_TEMPORARY)?.map_or(0, |stat| stat.inode);
    local.append(NODE_TEMPORARY, format!("{node} {inode}\n").as_bytes())?;
    local.sync_file(NODE_TEMPORARY)?;
    local.rename(NODE_TEMPORARY, NODE_FILE)?;
    local.sync_dir("")
}
