//! Classification of merge conflicts: every permitted cause has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use ken_core::values::id::EventId;
use ken_engine::view::entry_file;

use super::git::object_contents;
use super::site::is_segment;

/// Object ids of base, ours and theirs; `None` where the file is absent.
pub(crate) type UnmergedStages = [Option<String>; 3];

/// Reason for a conflict in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConflictCause {
    /// Two versions of a segment or pack; must never happen.
    Segment,
    /// Both sides edited the entry's content; a person must choose.
    BothEdited,
    /// Both sides changed the status, a confirmation, a citation or the retraction.
    BothRendered,
    /// Both sides have the file without a common ancestor that has it (cherry-pick, squash, partial
    /// commit), and one of them changed it since.
    NoCommonBase,
    /// One side deleted the file (a revert, a reset, a person), the other changed it.
    ChangedAndDeleted,
    /// One side turned a committed hand edit into an event and rendered it; the other edited the
    /// entry since.
    AbsorbedAndEdited,
    /// One side redacted the proposal, which removes its file; the other changed the file.
    ChangedAndRedacted,
    /// Git mistook a deleted entry's file and a similar new one for a rename.
    TakenForRename,
    /// A side cannot be parsed as an entry: it contains both halves of an earlier conflict.
    Unparseable,
    /// Not permitted; the text lists the keys that both sides changed.
    Other(String),
}

impl fmt::Display for ConflictCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Segment => "a segment",
            Self::BothEdited => "both reworded",
            Self::BothRendered => "both rendered",
            Self::NoCommonBase => "no common base",
            Self::ChangedAndDeleted => "changed and deleted",
            Self::AbsorbedAndEdited => "absorbed and reworded",
            Self::ChangedAndRedacted => "changed and blanked",
            Self::TakenForRename => "taken for a rename",
            Self::Unparseable => "edited beyond reading",
            Self::Other(what) => return write!(f, "unnamed: {what}"),
        })
    }
}

/// Parses the output of `git ls-files -u -z`.
pub(crate) fn parse_unmerged(listed: &str) -> Vec<(String, UnmergedStages)> {
    let mut paths: BTreeMap<String, UnmergedStages> = BTreeMap::new();
    for record in listed.split('\0').filter(|record| !record.is_empty()) {
        let Some((info, path)) = record.split_once('\t') else {
            continue;
        };
        let mut words = info.split(' ').skip(1);
        let (Some(id), Some(stage)) = (words.next(), words.next()) else {
            continue;
        };
        let stage: usize = stage.parse().expect("git counts stages");
        paths.entry(path.to_owned()).or_default()[stage - 1] = Some(id.to_owned());
    }
    paths.into_iter().collect()
}

/// Returns the reason for the conflict in `path`; `blanked` are the ids of redacted events.
pub(crate) fn conflict_cause(
    root: &Path,
    path: &str,
    stages: &UnmergedStages,
    blanked: &BTreeSet<EventId>,
) -> ConflictCause {
    if is_segment(path) {
        return ConflictCause::Segment;
    }
    if !path.starts_with(".ken/entries/") {
        return ConflictCause::Other("not an entry".to_owned());
    }
    let [base, ours, theirs] = stages.clone().map(|id| {
        let text = object_contents(root, &[id?.as_str()]).pop()?;
        String::from_utf8(text).ok()
    });
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        let gone = |id: &EventId| path.contains(&id.to_string()[18..].to_lowercase());
        return if blanked.iter().any(gone) {
            ConflictCause::ChangedAndRedacted
        } else {
            ConflictCause::ChangedAndDeleted
        };
    };
    let Some(base) = base else {
        return ConflictCause::NoCommonBase;
    };
    let readings = [&base, &ours, &theirs].map(|text| entry_file::parse(text));
    let [Ok(b), Ok(o), Ok(t)] = readings else {
        return ConflictCause::Unparseable;
    };
    if [&base, &ours, &theirs]
        .into_iter()
        .any(|text| has_duplicate_key(text))
    {
        return ConflictCause::Unparseable;
    }
    if b.id != o.id || b.id != t.id {
        return ConflictCause::TakenForRename;
    }
    let edited = b.digest != entry_file::content_digest(&b.content);
    // A revision event may leave the text unchanged; it still counts as an edit.
    let events = b.revision != o.revision && b.revision != t.revision;
    let [b, o, t] = [b, o, t].map(|reading| entry_file::content_digest(&reading.content));
    if (b != o && b != t) || (events && (b != o || b != t)) {
        return ConflictCause::BothEdited;
    }
    if edited && (b != o || b != t) {
        return ConflictCause::AbsorbedAndEdited;
    }
    let both: BTreeSet<String> = changed_keys(&base, &ours)
        .intersection(&changed_keys(&base, &theirs))
        .cloned()
        .collect();
    // `sources` has no value of its own, so that its lines count for the key before it.
    let machine = [
        "status",
        "lastConfirmed",
        "provenance",
        "rendered",
        "retracted",
        "schema_version",
    ];
    if !both.is_empty() && both.iter().all(|key| machine.contains(&key.as_str())) {
        return ConflictCause::BothRendered;
    }
    ConflictCause::Other(format!(
        "ours changed {:?}, theirs {:?}",
        changed_keys(&base, &ours),
        changed_keys(&base, &theirs)
    ))
}

/// Returns true for a line that git writes into a conflicted file.
pub(crate) fn is_marker(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "]
        .iter()
        .any(|mark| line.starts_with(mark))
        || line == "======="
}

/// Returns true if the frontmatter repeats a key, so that both halves of a conflict were kept.
fn has_duplicate_key(text: &str) -> bool {
    let front = text.trim_start_matches("---\n");
    let (front, _) = front.split_once("\n---\n").unwrap_or((front, ""));
    let keys = front.lines().filter(|line| !line.starts_with([' ', '-']));
    let mut seen = BTreeSet::new();
    !keys
        .filter_map(|line| line.split_once(':'))
        .all(|(key, _)| seen.insert(key))
}

/// Returns the keys of differing frontmatter lines, and `body` if the text below differs.
fn changed_keys(old: &str, new: &str) -> BTreeSet<String> {
    let parts = |text: &str| -> BTreeMap<String, String> {
        let front = text.trim_start_matches("---\n");
        let (front, body) = front.split_once("\n---\n").unwrap_or((front, ""));
        let mut parts = BTreeMap::from([("body".to_owned(), body.to_owned())]);
        let mut last = String::new();
        for line in front.lines() {
            match line.split_once(": ").filter(|_| !line.starts_with(' ')) {
                Some((key, value)) => {
                    last = key.to_owned();
                    parts.insert(last.clone(), value.to_owned());
                }
                None => parts.entry(last.clone()).or_default().push_str(line),
            }
        }
        parts
    };
    let (old, new) = (parts(old), parts(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .cloned()
        .collect()
}
