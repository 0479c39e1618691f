//! Telling agents about Ken: what goes into which of their files, and how it gets out again.
//!
//! A [`Target`] is a file an agent reads. [`look`] says how Ken's part of it stands, [`install`] puts it in or brings it up to
//! date, [`remove`] takes it out. All three are given the file's text and the [`Record`] of what was put in before.
//!
//! Invariants: what a person wrote keeps its bytes; what a person changed in Ken's part is left alone and told; installing twice
//! changes nothing; removing what was installed gives back the text there was.

mod block;
mod json;
mod members;
pub mod plugin;
mod record;
mod servers;
mod target;
pub mod texts;
pub mod traces;
mod whole;

pub use record::Record;
pub use target::{Target, target_at, targets};

use crate::Agent;
use target::Shape;

/// The version of what this build writes; a higher one in a file is from a newer Ken.
pub const VERSION: u32 = 1;
/// Hexadecimal digits of a hash that tells an edited text from one as it was written.
const SUM_CHARS: usize = 16;

/// What a part of a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A few lines that say when and how to ask Ken.
    Instructions,
    /// A line that makes an agent read `AGENTS.md`.
    Import,
    /// A skill, read when its trigger words fall.
    Skill,
    /// The entry that starts `ken mcp`.
    Server,
    /// The entries that run `ken hook`.
    Hooks,
    /// A plugin that runs `ken hook`.
    Plugin,
}

impl What {
    /// Returns what people read.
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

/// How a part of a file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not there.
    Missing,
    /// It is as this build writes it.
    Current,
    /// It is as an older build wrote it.
    Stale,
    /// Somebody changed what Ken wrote.
    Edited,
    /// A newer build wrote it.
    Newer,
    /// Somebody wrote by hand what Ken would write.
    Present,
    /// Somebody wrote an entry of that name by hand.
    ByHand,
    /// It is there more than once.
    Doubled,
    /// The file is not of the form its agent reads.
    Unreadable(String),
    /// Nothing is to be written here.
    Unneeded,
}

impl Standing {
    /// Returns the word people and programs read.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Current => "current",
            Self::Stale => "stale",
            Self::Edited => "edited",
            Self::Newer => "newer",
            Self::Present => "present",
            Self::ByHand => "by hand",
            Self::Doubled => "doubled",
            Self::Unreadable(_) => "unreadable",
            Self::Unneeded => "unneeded",
        }
    }

    /// Returns whether an installation puts it right.
    #[must_use]
    pub fn is_due(&self) -> bool {
        match self {
            Self::Missing | Self::Stale => true,
            Self::Current
            | Self::Edited
            | Self::Newer
            | Self::Present
            | Self::ByHand
            | Self::Doubled
            | Self::Unreadable(_)
            | Self::Unneeded => false,
        }
    }

    /// Returns whether only a person can put it right.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        match self {
            Self::Edited | Self::Newer | Self::ByHand | Self::Doubled | Self::Unreadable(_) => true,
            Self::Missing | Self::Current | Self::Stale | Self::Present | Self::Unneeded => false,
        }
    }
}

/// A part of a file, or one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub what: What,
    /// Where in the file, as in `/hooks/Stop`; empty where the file has one part.
    pub at: String,
    pub standing: Standing,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// It stays as it is.
    Same,
    /// It gets this text.
    Text(String),
    /// It goes: nothing but Ken's part was in it, and Ken made it.
    Gone,
}

/// What an installation or a removal does to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub after: After,
    /// How the parts stood before.
    pub pieces: Vec<Piece>,
    /// What to remember of it; `None` where nothing of Ken is left.
    pub record: Option<Record>,
}

impl Change {
    fn none(pieces: Vec<Piece>, record: Option<Record>) -> Self {
        Self {
            after: After::Same,
            pieces,
            record,
        }
    }
}

/// Says how Ken's part of a file stands.
#[must_use]
pub fn look(target: &Target, text: Option<&str>, record: Option<&Record>) -> Vec<Piece> {
    match &target.shape {
        Shape::Block(wish) => vec![block::look(wish, text)],
        Shape::Whole(wish) => vec![whole::look(wish, text)],
        Shape::Members(wish) => members::look(wish, text, record),
    }
}

/// Puts Ken's part into a file, or brings it up to date.
#[must_use]
pub fn install(
    target: &Target,
    text: Option<&str>,
    record: Option<&Record>,
    agents: &[Agent],
) -> Change {
    let mut change = match &target.shape {
        Shape::Block(wish) => block::install(wish, text, record),
        Shape::Whole(wish) => whole::install(wish, text, record),
        Shape::Members(wish) => members::install(wish, text, record),
    };
    if let Some(record) = &mut change.record {
        record.name(target.path, agents);
    }
    change
}

/// Takes Ken's part out of a file.
#[must_use]
pub fn remove(target: &Target, text: Option<&str>, record: Option<&Record>) -> Change {
    match &target.shape {
        Shape::Block(wish) => block::remove(wish, text, record),
        Shape::Whole(wish) => whole::remove(wish, text, record),
        Shape::Members(wish) => members::remove(wish, text, record),
    }
}

/// Returns what tells an edited text from one as it was written, however its lines end.
fn sum(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash.as_str().chars().take(SUM_CHARS).collect()
}

/// Returns how the lines of a text end.
fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

/// Returns `text` with its lines ending in `newline`.
fn with_newlines(text: &str, newline: &str) -> String {
    if newline == "\n" {
        text.to_owned()
    } else {
        text.replace('\n', newline)
    }
}
