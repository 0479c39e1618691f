//! A ledger: its directories, its view of git, and reading.

use std::sync::Arc;

use ken_core::kind::Memory;

use crate::disk::{Dir, DiskError, RealDir};
use crate::git::{GitView, RealGit};
use crate::layout::{self, Form, SegmentName, SegmentStat};
use crate::pack;
use crate::place::Place;
use crate::segment::{SegmentError, Split, TornTail, split_segment};
use crate::state::Memo;

/// An opened ledger; cheap to make, safe to share between threads.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) parts: Parts,
    pub(crate) memo: Memo,
}

/// What a ledger is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    /// `.ken` of this worktree.
    pub ken: Arc<dyn Dir>,
    /// State all worktrees share: journal, node id, blanked ids, the lock.
    pub local: Arc<dyn Dir>,
    /// State of this worktree: open segments, an interrupted replacement. In the main worktree
    /// and outside git the same directory as `local`.
    pub worktree: Arc<dyn Dir>,
    /// `None` outside git.
    pub git: Option<Arc<dyn GitView>>,
    /// Changes with every start of the machine; `None` where it cannot be known.
    pub boot: Option<String>,
}

/// Why a segment cannot be read.
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
    /// Returns the lines with their numbers, counted from 1; they are not parsed yet.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns the lines as one text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what a crash left behind the last whole line.
    pub fn torn(&self) -> Option<&TornTail> {
        self.torn.as_ref()
    }
}

impl Ledger {
    /// Opens the ledger at `place`; creates nothing.
    pub fn open(place: &Place) -> Result<Self, DiskError> {
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
        Ok(Self::with_parts(Parts {
            ken,
            local,
            worktree,
            git,
            boot: boot_id(),
        }))
    }

    /// Makes a ledger of given directories, for simulated disks.
    pub fn with_parts(parts: Parts) -> Self {
        Self {
            parts,
            memo: Memo::default(),
        }
    }

    /// Creates the ledger's folders and version file where they are missing.
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
            .map_err(DiskError::on("look at", version))?
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
        list_in(&*self.parts.ken)
    }

    /// Returns what one segment or pack looks like from outside, `None` if it is gone.
    pub fn stat(&self, name: &SegmentName) -> Result<Option<SegmentStat>, DiskError> {
        Ok(self
            .stat_of(name)?
            .map(|stat| SegmentStat::new(name.clone(), stat)))
    }

    /// Returns the text of a segment, or of a pack uncompressed, without looking at its lines.
    pub fn read_bytes(&self, name: &SegmentName) -> Result<Vec<u8>, ReadError> {
        let path = name.path();
        let bytes = self
            .parts
            .ken
            .read(&path)
            .map_err(DiskError::on("read", &path))?;
        Ok(decoded(name, bytes)?)
    }

    /// Reads the lines of a segment or pack.
    pub fn read(&self, name: &SegmentName) -> Result<SegmentText, ReadError> {
        let read = || read_in(&*self.parts.ken, name);
        match read() {
            Ok(text) if text.torn.is_none() => Ok(text),
            // A crash may have hurt a segment that is still open; the journal knows better.
            first => {
                if self.heal_open(name) {
                    read()
                } else {
                    first
                }
            }
        }
    }
}

/// Lists the segments of a `.ken` folder.
pub(crate) fn list_in(ken: &dyn Dir) -> Result<Vec<SegmentStat>, DiskError> {
    let mut found = Vec::new();
    for memory in Memory::ALL {
        let dir = layout::memory_dir(memory);
        for (file, stat) in ken.list(&dir).map_err(DiskError::on("list", &dir))? {
            if let Ok(name) = SegmentName::in_memory(memory, &file) {
                found.push(SegmentStat::new(name, stat));
            }
        }
    }
    Ok(found)
}

/// Reads a segment of a `.ken` folder.
pub(crate) fn read_in(ken: &dyn Dir, name: &SegmentName) -> Result<SegmentText, ReadError> {
    let path = name.path();
    let bytes = ken.read(&path).map_err(DiskError::on("read", &path))?;
    Ok(text_of(name, bytes)?)
}

/// Reads the lines out of a segment's bytes.
pub(crate) fn text_of(name: &SegmentName, bytes: Vec<u8>) -> Result<SegmentText, SegmentError> {
    let file = name.path();
    let bytes = decoded(name, bytes)?;
    let Split { whole, torn, .. } = split_segment(&file, &bytes)?;
    let kept = whole.len();
    let mut bytes = bytes;
    bytes.truncate(kept);
    let text = String::from_utf8(bytes).expect("just checked");
    Ok(SegmentText { text, torn })
}

/// Uncompresses a pack; a segment of lines is what it is.
fn decoded(name: &SegmentName, bytes: Vec<u8>) -> Result<Vec<u8>, SegmentError> {
    match name.form() {
        Form::Lines => Ok(bytes),
        Form::Pack => pack::decode(&bytes).map_err(|source| SegmentError::Pack {
            file: name.path(),
            source,
        }),
    }
}

/// Linux names every start of the machine; elsewhere nothing does without privileges or `unsafe`.
fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
