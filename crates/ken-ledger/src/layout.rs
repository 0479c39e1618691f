//! Names and places of the ledger's files.
//!
//! Paths are relative to `.ken` and written with `/`. A [`SegmentName`] is the only way to a
//! segment or pack, so a name that could leave its folder or differ only by case cannot exist.

use std::fmt;
use std::str::FromStr;

use ken_core::id::NodeId;
use ken_core::kind::Memory;
use ken_core::time::Timestamp;

use crate::disk::Stat;

/// The ledger's folder in the tree.
pub const KEN_DIR: &str = ".ken";
/// The file that names the schema version, in `.ken`.
pub const VERSION_FILE: &str = "VERSION";
/// The schema version this build writes.
pub const VERSION: &str = "1.0.0";
/// Ken's folder inside a git directory.
pub const GIT_STATE_DIR: &str = "ken";
/// Local state of a ledger outside git, in `.ken`.
pub const LOCAL_DIR: &str = ".local";
/// Temporary files of replacements, in `.ken`; git ignores it, so it never sees half a file.
pub(crate) const TEMPORARY_DIR: &str = ".local/tmp";

/// Characters of a segment's name without its ending: a minute and six random characters.
const STEM_CHARS: usize = "2026-11-14t22-51-k3f9w2".len();
const STEM_PATTERN: &[u8; STEM_CHARS] = b"dddd-dd-ddtdd-dd-xxxxxx";

/// One segment or pack: its memory and file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentName {
    memory: Memory,
    stem: Box<str>,
    form: Form,
}

/// How a segment stores its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Plain lines: `*.jsonl`.
    Lines,
    /// Compressed behind a salt: `*.pack`.
    Pack,
}

/// A segment and what its file looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentStat {
    pub name: SegmentName,
    pub len: u64,
    pub modified_ns: u64,
    pub inode: u64,
}

/// A path that is no segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a segment such as semantic/v1/2026-11-14t22-51-k3f9w2.jsonl")]
pub struct NotASegment(String);

impl SegmentName {
    /// Makes a fresh name from the minute of `now` and random bits.
    pub fn new(memory: Memory, form: Form, now: Timestamp, random: u128) -> Self {
        let minute = now.to_string();
        // A node id is six characters of the alphabet names use; borrowed for its spelling only.
        let tail = NodeId::new(random);
        let stem = format!(
            "{}t{}-{}-{tail}",
            &minute[..10],
            &minute[11..13],
            &minute[14..16]
        );
        Self {
            memory,
            stem: stem.into(),
            form,
        }
    }

    /// Reads the file name of a segment in the folder of `memory`.
    pub fn in_memory(memory: Memory, file: &str) -> Result<Self, NotASegment> {
        let error = || NotASegment(format!("{memory}/v1/{file}"));
        let (stem, ending) = file.split_once('.').ok_or_else(error)?;
        let form = match ending {
            "jsonl" => Form::Lines,
            "pack" => Form::Pack,
            _ => return Err(error()),
        };
        let fits = stem.len() == STEM_CHARS && stem.bytes().zip(STEM_PATTERN).all(fits_pattern);
        if fits {
            Ok(Self {
                memory,
                stem: stem.into(),
                form,
            })
        } else {
            Err(error())
        }
    }

    /// Reads a path as git knows it, relative to the top of the tree.
    pub fn from_tree_path(path: &str) -> Result<Self, NotASegment> {
        let inside = path
            .strip_prefix(KEN_DIR)
            .and_then(|rest| rest.strip_prefix('/'));
        inside.ok_or_else(|| NotASegment(path.to_owned()))?.parse()
    }

    pub fn memory(&self) -> Memory {
        self.memory
    }

    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the path relative to `.ken`.
    pub fn path(&self) -> String {
        self.to_string()
    }

    /// Returns the path relative to the top of the tree, as git knows it.
    pub fn tree_path(&self) -> String {
        format!("{KEN_DIR}/{self}")
    }

    /// Returns where a replacement of the file is prepared, relative to `.ken`.
    pub(crate) fn temporary_path(&self) -> String {
        format!("{TEMPORARY_DIR}/{}", self.to_string().replace('/', "-"))
    }
}

/// Returns the folder of a memory's segments, relative to `.ken`.
pub fn memory_dir(memory: Memory) -> String {
    format!("{memory}/v1")
}

impl SegmentStat {
    pub(crate) fn new(name: SegmentName, stat: Stat) -> Self {
        let Stat {
            len,
            modified_ns,
            inode,
        } = stat;
        Self {
            name,
            len,
            modified_ns,
            inode,
        }
    }
}

impl Form {
    fn ending(self) -> &'static str {
        match self {
            Self::Lines => "jsonl",
            Self::Pack => "pack",
        }
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/v1/{}.{}", self.memory, self.stem, self.form.ending())
    }
}

impl FromStr for SegmentName {
    type Err = NotASegment;

    /// Reads a path relative to `.ken`.
    fn from_str(path: &str) -> Result<Self, NotASegment> {
        let error = || NotASegment(path.to_owned());
        let mut parts = path.split('/');
        let (memory, version, file) = (parts.next(), parts.next(), parts.next());
        let (Some(memory), Some("v1"), Some(file), None) = (memory, version, file, parts.next())
        else {
            return Err(error());
        };
        Self::in_memory(memory.parse().map_err(|_| error())?, file).map_err(|_| error())
    }
}

impl serde::Serialize for SegmentName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SegmentName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn fits_pattern((byte, pattern): (u8, &u8)) -> bool {
    match pattern {
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_digit() || (byte.is_ascii_lowercase() && !b"ilou".contains(&byte)),
        other => byte == *other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_minute_and_random_characters_and_round_trips() {
        let now = "2026-11-14T22:51:03.120Z".parse().unwrap();
        let name = SegmentName::new(Memory::Semantic, Form::Lines, now, 7);
        assert_eq!(name.path(), "semantic/v1/2026-11-14t22-51-000007.jsonl");
        assert_eq!(name.path().parse(), Ok(name.clone()));
        assert_eq!(SegmentName::from_tree_path(&name.tree_path()), Ok(name));
    }

    #[test]
    fn names_that_could_mean_another_file_are_refused() {
        let good = "semantic/v1/2026-11-14t22-51-k3f9w2.jsonl";
        assert!(good.parse::<SegmentName>().is_ok());
        for bad in [
            "semantic/v1/../v1/2026-11-14t22-51-k3f9w2.jsonl",
            "semantic/v2/2026-11-14t22-51-k3f9w2.jsonl",
            "Semantic/v1/2026-11-14t22-51-k3f9w2.jsonl",
            "semantic/v1/2026-11-14T22-51-k3f9w2.jsonl",
            "semantic/v1/2026-11-14t22-51-K3F9W2.jsonl",
            "semantic/v1/2026-11-14t22-51-k3f9wi.jsonl",
            "semantic/v1/2026-11-14t22-51-k3f9w2.jsonl.tmp",
            "semantic/v1/2026-11-14t22-51-k3f9w2.txt",
            "semantic/v1/notes.jsonl",
            "v1/2026-11-14t22-51-k3f9w2.jsonl",
        ] {
            assert!(bad.parse::<SegmentName>().is_err(), "{bad}");
        }
    }
}
