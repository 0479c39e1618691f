//! [`Ledger`]: directories, git view, and reading.

use std::sync::Arc;

use ken_core::values::kind::Memory;

use crate::disk::{Dir, DiskError, RealDir};
use crate::git::{GitView, RealGit};
use crate::layout::{self, SegmentForm, SegmentName, SegmentStat};
use crate::pack;
use crate::place::LedgerLocation;
use crate::segment::{SegmentError, SplitSegment, TornTail, split_segment};
use crate::state::LedgerCache;

/// An open ledger; cheap to create and safe to share between threads.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) parts: LedgerParts,
    pub(crate) memo: LedgerCache,
}

/// The directories and context of a ledger.
#[derive(Debug, Clone)]
pub struct LedgerParts {
    /// `.ken` of this worktree.
    pub ken: Arc<dyn Dir>,
    /// State shared by all worktrees: journal, node id, redacted ids, the lock.
    pub local: Arc<dyn Dir>,
    /// State of this worktree: open segments, an interrupted replacement. The same directory as
    /// `local` in the main worktree and outside git.
    pub worktree: Arc<dyn Dir>,
    /// `None` outside git.
    pub git: Option<Arc<dyn GitView>>,
    /// Boot id of the machine; `None` if unknown.
    pub boot: Option<String>,
}

/// Failure to read a segment.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// The lines of one segment or pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentText {
    text: String,
    torn: Option<TornTail>,
}

impl SegmentText {
    /// Returns the unparsed lines with their 1-based numbers.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns the lines as one text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the torn tail that a crash left.
    pub fn torn(&self) -> Option<&TornTail> {
        self.torn.as_ref()
    }
}

impl Ledger {
    /// Opens the ledger at `place` without creating anything.
    pub fn open(place: &LedgerLocation) -> Result<Self, DiskError> {
        let below = |root: &std::path::Path, prefix: &str| -> Result<Arc<dyn Dir>, DiskError> {
            let shown = root.display().to_string();
            let dir = RealDir::below(root, prefix).map_err(DiskError::on("open", &shown))?;
            Ok(Arc::new(dir))
        };
        let ken = below(&place.root, layout::KEN_DIR)?;
        let (local, worktree, git): (_, _, Option<Arc<dyn GitView>>) = match &place.git {
            None => {
                let local = below(
                    &place.root,
                    &format!("{}/{}", layout::KEN_DIR, layout::LOCAL_DIR),
                )?;
                (Arc::clone(&local), local, None)
            }
            Some(dirs) => {
                let local = below(&dirs.common_dir, layout::GIT_STATE_DIR)?;
                let worktree = below(&dirs.git_dir, layout::GIT_STATE_DIR)?;
                (
                    local,
                    worktree,
                    Some(Arc::new(RealGit::new(&place.root, dirs))),
                )
            }
        };
        Ok(Self::with_parts(LedgerParts {
            ken,
            local,
            worktree,
            git,
            boot: boot_id(),
        }))
    }

    /// Creates a ledger from given directories, for simulated disks.
    pub fn with_parts(parts: LedgerParts) -> Self {
        Self {
            parts,
            memo: LedgerCache::default(),
        }
    }

    /// Creates missing directories and the version file.
    pub fn init(&self) -> Result<(), DiskError> {
        let ken = &self.parts.ken;
        for memory in Memory::ALL {
            let dir = layout::memory_dir(memory);
            ken.create_dirs(&dir)
                .map_err(DiskError::on("create", &dir))?;
        }
        let version = layout::VERSION_FILE;
        if ken
            .stat(version)
            .map_err(DiskError::on("read the metadata of", version))?
            .is_none()
        {
            ken.replace(version, format!("{}\n", layout::VERSION).as_bytes())
                .map_err(DiskError::on("write", version))?;
        }
        self.parts
            .local
            .create_dirs("")
            .map_err(DiskError::on("create", "local state"))
    }

    /// Lists every segment and pack, by memory and name.
    pub fn list(&self) -> Result<Vec<SegmentStat>, DiskError> {
        list_segments(&*self.parts.ken)
    }

    /// Returns the metadata of one segment or pack, `None` if it does not exist.
    pub fn stat(&self, name: &SegmentName) -> Result<Option<SegmentStat>, DiskError> {
        Ok(self
            .stat_of(name)?
            .map(|stat| SegmentStat::new(name.clone(), stat)))
    }

    /// Reads the text of a segment or the decompressed text of a pack, without checking lines.
    pub fn read_bytes(&self, name: &SegmentName) -> Result<Vec<u8>, ReadError> {
        let path = name.path();
        let bytes = self
            .parts
            .ken
            .read(&path)
            .map_err(DiskError::on("read", &path))?;
        Ok(decode(name, bytes)?)
    }

    /// Reads the lines of a segment or pack.
    pub fn read(&self, name: &SegmentName) -> Result<SegmentText, ReadError> {
        let read = || read_segment_text(&*self.parts.ken, name);
        match read() {
            Ok(text) if text.torn.is_none() => Ok(text),
            // A crash may have damaged a segment that is still open; the journal has its events.
            first => {
                if self.repair_open_segment(name) {
                    read()
                } else {
                    first
                }
            }
        }
    }
}

/// Lists the segments of a `.ken` directory.
pub(crate) fn list_segments(ken: &dyn Dir) -> Result<Vec<SegmentStat>, DiskError> {
    let mut found = Vec::new();
    for memory in Memory::ALL {
        let dir = layout::memory_dir(memory);
        for (file, stat) in ken.list(&dir).map_err(DiskError::on("list", &dir))? {
            // Other files may be an editor's or another tool's; `check` reports them.
            if let Ok(name) = SegmentName::in_memory(memory, &file) {
                found.push(SegmentStat::new(name, stat));
            }
        }
    }
    Ok(found)
}

/// Reads a segment of a `.ken` directory.
pub(crate) fn read_segment_text(
    ken: &dyn Dir,
    name: &SegmentName,
) -> Result<SegmentText, ReadError> {
    let path = name.path();
    let bytes = ken.read(&path).map_err(DiskError::on("read", &path))?;
    Ok(parse_segment_text(name, bytes)?)
}

/// Splits the bytes of a segment or pack into lines.
pub(crate) fn parse_segment_text(
    name: &SegmentName,
    bytes: Vec<u8>,
) -> Result<SegmentText, SegmentError> {
    let file = name.path();
    let mut bytes = decode(name, bytes)?;
    let SplitSegment { whole, torn, .. } = split_segment(&file, &bytes)?;
    let kept = whole.len();
    // Reuses the buffer: `split_segment` has validated the first `kept` bytes as UTF-8.
    bytes.truncate(kept);
    let text = String::from_utf8(bytes).expect("just checked");
    Ok(SegmentText { text, torn })
}

/// Decompresses a pack; a plain segment is returned unchanged.
fn decode(name: &SegmentName, bytes: Vec<u8>) -> Result<Vec<u8>, SegmentError> {
    match name.form() {
        SegmentForm::Lines => Ok(bytes),
        SegmentForm::Pack => pack::decode(&bytes).map_err(|source| SegmentError::Pack {
            file: name.path(),
            source,
        }),
    }
}

/// Returns the boot id on Linux; other systems offer none without privileges or `unsafe`.
fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
