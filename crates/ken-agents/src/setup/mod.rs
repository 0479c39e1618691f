//! Setup of agents: Ken's parts of their configuration files, and how to remove them again.
//!
//! A [`SetupTarget`] is a file an agent reads. [`inspect`] reports the state of Ken's parts in it,
//! [`install`] adds or updates them, [`remove`] removes them. All three take the text of the file
//! and the [`SetupRecord`] of the last installation.
//!
//! Invariants:
//!
//! - Text written by a person keeps its bytes.
//! - A part of Ken's that a person edited is left alone and reported.
//! - Installing twice changes nothing.
//! - Removing an installation restores the original text.

mod block;
mod json;
mod members;
mod packages;
pub mod plugin;
mod record;
mod servers;
mod target;
pub mod texts;
pub mod traces;
mod whole;

pub use record::SetupRecord;
pub use target::{SetupTarget, target_at, targets};

use crate::CodingAgent;
use target::PartLayout;

/// The format version this build writes. A higher version in a file is from a newer Ken.
pub const VERSION: u32 = 1;
/// Hexadecimal digits kept of a content hash. The hash detects edits; it is not a security check.
const HASH_CHARS: usize = 16;

/// The purpose of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// A few lines that explain when and how to query Ken.
    Instructions,
    /// A line that makes an agent read `AGENTS.md`.
    Import,
    /// A skill, loaded by the agent when its description matches the task.
    Skill,
    /// The entry that starts `ken mcp`.
    Server,
    /// The entries that run `ken hook`.
    Hooks,
    /// A plugin that runs `ken hook`.
    Plugin,
}

impl PartKind {
    /// Returns the display name.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Import => "import of AGENTS.md",
            Self::Skill => "skill",
            Self::Server => "MCP server",
            Self::Hooks => "hooks",
            Self::Plugin => "plugin with hooks",
        }
    }
}

/// The installation state of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartState {
    /// The part does not exist.
    Missing,
    /// The part is exactly as this build writes it.
    Current,
    /// An older build wrote the part.
    Stale,
    /// A person changed the part after Ken wrote it.
    Edited,
    /// A newer build wrote the part.
    Newer,
    /// A person wrote the same content that Ken would write.
    Present,
    /// A person wrote a different entry under the same name.
    Handwritten,
    /// The part exists more than once.
    Duplicated,
    /// The file is not valid for its agent; holds the error.
    Unreadable(String),
    /// The part is not needed in this file.
    Unneeded,
}

impl PartState {
    /// Returns the name used in output and JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Current => "current",
            Self::Stale => "stale",
            Self::Edited => "edited",
            Self::Newer => "newer",
            Self::Present => "present",
            Self::Handwritten => "by hand",
            Self::Duplicated => "doubled",
            Self::Unreadable(_) => "unreadable",
            Self::Unneeded => "unneeded",
        }
    }

    /// Returns true if an installation fixes this state.
    #[must_use]
    pub fn is_due(&self) -> bool {
        match self {
            Self::Missing | Self::Stale => true,
            Self::Current
            | Self::Edited
            | Self::Newer
            | Self::Present
            | Self::Handwritten
            | Self::Duplicated
            | Self::Unreadable(_)
            | Self::Unneeded => false,
        }
    }

    /// Returns true if only a person can fix this state.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        match self {
            // An installation never overwrites text of a person or of a newer version.
            Self::Edited
            | Self::Newer
            | Self::Handwritten
            | Self::Duplicated
            | Self::Unreadable(_) => true,
            Self::Missing | Self::Current | Self::Stale | Self::Present | Self::Unneeded => false,
        }
    }
}

/// The state of one part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartStatus {
    pub what: PartKind,
    /// The location in the file, as in `/hooks/Stop`; empty if the file has a single part.
    pub at: String,
    pub standing: PartState,
}

/// The new content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileUpdate {
    /// The file does not change.
    Same,
    /// The file gets this text.
    Text(String),
    /// The file is deleted: Ken created it and nothing but Ken's part is in it.
    Gone,
}

/// The effect of an installation or a removal on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupChange {
    pub after: FileUpdate,
    /// The states of the parts before the change.
    pub pieces: Vec<PartStatus>,
    /// The record to store; `None` if nothing of Ken is left in the file.
    pub record: Option<SetupRecord>,
}

impl SetupChange {
    fn none(pieces: Vec<PartStatus>, record: Option<SetupRecord>) -> Self {
        Self {
            after: FileUpdate::Same,
            pieces,
            record,
        }
    }
}

/// Reports the state of Ken's parts in a file.
#[must_use]
pub fn inspect(
    target: &SetupTarget,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> Vec<PartStatus> {
    match &target.shape {
        PartLayout::Block(desired) => vec![block::inspect(desired, text)],
        PartLayout::Whole(desired) => vec![whole::inspect(desired, text)],
        PartLayout::Members(desired) => members::inspect(desired, text, record),
    }
}

/// Adds Ken's parts to a file or updates them.
#[must_use]
pub fn install(
    target: &SetupTarget,
    text: Option<&str>,
    record: Option<&SetupRecord>,
    agents: &[CodingAgent],
) -> SetupChange {
    let mut change = match &target.shape {
        PartLayout::Block(desired) => block::install(desired, text, record),
        PartLayout::Whole(desired) => whole::install(desired, text, record),
        PartLayout::Members(desired) => members::install(desired, text, record),
    };
    // The three layouts do not know the path or the agents, so both are added here.
    if let Some(record) = &mut change.record {
        record.name(target.path, agents);
    }
    change
}

/// Removes Ken's parts from a file.
#[must_use]
pub fn remove(
    target: &SetupTarget,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    match &target.shape {
        PartLayout::Block(desired) => block::remove(desired, text, record),
        PartLayout::Whole(desired) => whole::remove(desired, text, record),
        PartLayout::Members(desired) => members::remove(desired, text, record),
    }
}

/// Returns a short hash of a text that does not depend on its line endings.
fn short_hash(text: &str) -> String {
    // Git may check the same file out with CRLF on another machine; that is not an edit.
    let unix_text = text.replace("\r\n", "\n");
    let hash = blake3::hash(unix_text.as_bytes()).to_hex();
    hash.as_str().chars().take(HASH_CHARS).collect()
}

/// Returns the line ending of a text, judged by its first line.
fn detect_newline(text: &str) -> &'static str {
    match text.find('\n') {
        // One line ending for the whole file: mixed endings are rare, and the first line is a good
        // guess.
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

/// Returns `text` with `newline` as its line ending.
fn with_newlines(text: &str, newline: &str) -> String {
    if newline == "\n" {
        text.to_owned()
    } else {
        text.replace('\n', newline)
    }
}
