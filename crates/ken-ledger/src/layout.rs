//! File layout of the ledger: names and paths.
//!
//! Paths are relative to `.ken` and use `/`. Segments and packs are addressed only by
//! [`SegmentName`], so a name that leaves its directory or differs only by case cannot exist.

use std::fmt;
use std::str::FromStr;

use ken_core::values::id::NodeId;
use ken_core::values::kind::Memory;
use ken_core::values::time::Timestamp;

use crate::disk::Stat;

/// The ledger's directory in the worktree.
pub const KEN_DIR: &str = ".ken";
/// File with the schema version, in `.ken`.
pub const VERSION_FILE: &str = "VERSION";
/// Schema version that this build writes.
pub const VERSION: &str = "1.0.0";
/// Ken's directory inside a git directory.
pub const GIT_STATE_DIR: &str = "ken";
/// Local state of a ledger outside git, in `.ken`.
pub const LOCAL_DIR: &str = ".local";
/// Temporary files of replacements, in `.ken`; ignored by git, which therefore never sees a partial
/// file.
pub(crate) const TEMPORARY_DIR: &str = ".local/tmp";

/// Length of a segment's name without its extension: a minute and six random characters.
const STEM_CHARS: usize = "2026-11-14t22-51-k3f9w2".len();
const STEM_PATTERN: &[u8; STEM_CHARS] = b"dddd-dd-ddtdd-dd-xxxxxx";

/// Name of a segment or pack: its memory and file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentName {
    memory: Memory,
    stem: Box<str>,
    form: SegmentForm,
}

/// Storage form of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentForm {
    /// Plain lines: `*.jsonl`.
    Lines,
    /// Compressed and salted: `*.pack`.
    Pack,
}

/// A segment and its file metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentStat {
    pub name: SegmentName,
    pub len: u64,
    pub modified_ns: u64,
    pub inode: u64,
}

/// A path that is not a valid segment name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a segment such as semantic/v1/2026-11-14t22-51-k3f9w2.jsonl")]
pub struct SegmentNameError(String);

impl SegmentName {
    /// Creates a name from the minute of `now` and random bits.
    pub fn new(memory: Memory, form: SegmentForm, now: Timestamp, random: u128) -> Self {
        let minute = now.to_string();
        // A node id prints as six characters of the alphabet used here; only its formatting is
        // reused.
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

    /// Parses the file name of a segment of `memory`.
    pub fn in_memory(memory: Memory, file: &str) -> Result<Self, SegmentNameError> {
        let error = || SegmentNameError(format!("{memory}/v1/{file}"));
        let (stem, ending) = file.split_once('.').ok_or_else(error)?;
        let form = match ending {
            "jsonl" => SegmentForm::Lines,
            "pack" => SegmentForm::Pack,
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

    /// Parses a path relative to the top of the worktree, as git prints it.
    pub fn from_tree_path(path: &str) -> Result<Self, SegmentNameError> {
        let inside = path
            .strip_prefix(KEN_DIR)
            .and_then(|rest| rest.strip_prefix('/'));
        inside
            .ok_or_else(|| SegmentNameError(path.to_owned()))?
            .parse()
    }

    pub fn memory(&self) -> Memory {
        self.memory
    }

    pub fn form(&self) -> SegmentForm {
        self.form
    }

    /// Returns the path relative to `.ken`.
    pub fn path(&self) -> String {
        self.to_string()
    }

    /// Returns the path relative to the top of the worktree, as git prints it.
    pub fn tree_path(&self) -> String {
        format!("{KEN_DIR}/{self}")
    }

    /// Returns the path of the temporary file for a replacement, relative to `.ken`.
    pub(crate) fn temporary_path(&self) -> String {
        format!("{TEMPORARY_DIR}/{}", self.to_string().replace('/', "-"))
    }
}

/// Returns the directory of a memory's segments, relative to `.ken`.
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

impl SegmentForm {
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
    type Err = SegmentNameError;

    /// Parses a path relative to `.ken`.
    fn from_str(path: &str) -> Result<Self, SegmentNameError> {
        let error = || SegmentNameError(path.to_owned());
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
        // Crockford base32 without the letters that are easily misread.
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
        let name = SegmentName::new(Memory::Semantic, SegmentForm::Lines, now, 7);
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
