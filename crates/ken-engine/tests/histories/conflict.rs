//! Why git stopped at a file: every cause that is allowed has a name here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use ken_core::id::EventId;
use ken_engine::view::document;

use super::git::contents;
use super::site::is_segment;

/// Object ids of base, ours and theirs, as far as each has the file.
pub(crate) type Stages = [Option<String>; 3];

/// Why two sides of a file do not go together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Two sides of a segment or pack: this must never happen.
    Segment,
    /// Both sides worded the entry anew: a person must choose.
    BothReworded,
    /// Machine state was rendered on both sides by `ken render`.
    BothRendered,
    /// Both sides have the file without a common ancestor that has it (cherry-pick, squash,
    /// partial commit), and one of them changed it since.
    NoCommonBase,
    /// One side deleted the file (a revert, a reset, a person), the other changed it.
    ChangedAndDeleted,
    /// One side made a person's committed edit an event and rendered it; the other worded the
    /// entry anew since.
    AbsorbedAndReworded,
    /// One side blanked the proposal, so that its file had to go; the other changed the file.
    ChangedAndBlanked,
    /// Git took a deleted entry's file and a new one for a rename, because they look alike.
    TakenForRename,
    /// A side cannot be read as an entry: somebody left both halves of an earlier conflict in it.
    EditedBeyondReading,
    /// Anything else breaks the law; the text says which lines both sides changed.
    Other(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Segment => "a segment",
            Self::BothReworded => "both reworded",
            Self::BothRendered => "both rendered",
            Self::NoCommonBase => "no common base",
            Self::ChangedAndDeleted => "changed and deleted",
            Self::AbsorbedAndReworded => "absorbed and reworded",
            Self::ChangedAndBlanked => "changed and blanked",
            Self::TakenForRename => "taken for a rename",
            Self::EditedBeyondReading => "edited beyond reading",
            Self::Other(what) => return write!(f, "unnamed: {what}"),
        })
    }
}

/// Reads what `git ls-files -u -z` says.
pub(crate) fn unmerged(listed: &str) -> Vec<(String, Stages)> {
    let mut paths: BTreeMap<String, Stages> = BTreeMap::new();
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

/// Finds out why `path` conflicts; `blanked` are the ids of blanked events.
pub(crate) fn cause(
    root: &Path,
    path: &str,
    stages: &Stages,
    blanked: &BTreeSet<EventId>,
) -> Cause {
    if is_segment(path) {
        return Cause::Segment;
    }
    if !path.starts_with(".ken/entries/") {
        return Cause::Other("not an entry".to_owned());
    }
    let [base, ours, theirs] = stages.clone().map(|id| {
        let text = contents(root, &[id?.as_str()]).pop()?;
        String::from_utf8(text).ok()
    });
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        let gone = |id: &EventId| path.contains(&id.to_string()[18..].to_lowercase());
        return if blanked.iter().any(gone) {
            Cause::ChangedAndBlanked
        } else {
            Cause::ChangedAndDeleted
        };
    };
    let Some(base) = base else {
        return Cause::NoCommonBase;
    };
    let readings = [&base, &ours, &theirs].map(|text| document::read(text));
    let [Ok(b), Ok(o), Ok(t)] = readings else {
        return Cause::EditedBeyondReading;
    };
    if [&base, &ours, &theirs]
        .into_iter()
        .any(|text| says_twice(text))
    {
        return Cause::EditedBeyondReading;
    }
    if b.id != o.id || b.id != t.id {
        return Cause::TakenForRename;
    }
    let edited = b.digest != document::digest(&b.content);
    // Another wording event may leave the words as they were; it is a wording all the same.
    let events = b.revision != o.revision && b.revision != t.revision;
    let [b, o, t] = [b, o, t].map(|reading| document::digest(&reading.content));
    if (b != o && b != t) || (events && (b != o || b != t)) {
        return Cause::BothReworded;
    }
    if edited && (b != o || b != t) {
        return Cause::AbsorbedAndReworded;
    }
    let both: BTreeSet<String> = changed(&base, &ours)
        .intersection(&changed(&base, &theirs))
        .cloned()
        .collect();
    let machine = ["status", "lastConfirmed", "provenance", "rendered"];
    if !both.is_empty() && both.iter().all(|key| machine.contains(&key.as_str())) {
        return Cause::BothRendered;
    }
    Cause::Other(format!(
        "ours changed {:?}, theirs {:?}",
        changed(&base, &ours),
        changed(&base, &theirs)
    ))
}

/// Returns whether a line is one of those git leaves in a conflict.
pub(crate) fn is_marker(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "]
        .iter()
        .any(|mark| line.starts_with(mark))
        || line == "======="
}

/// Returns whether the frontmatter has a key twice: somebody kept both halves of a conflict.
fn says_twice(text: &str) -> bool {
    let front = text.trim_start_matches("---\n");
    let (front, _) = front.split_once("\n---\n").unwrap_or((front, ""));
    let keys = front.lines().filter(|line| !line.starts_with([' ', '-']));
    let mut seen = BTreeSet::new();
    !keys
        .filter_map(|line| line.split_once(':'))
        .all(|(key, _)| seen.insert(key))
}

/// Returns the keys of frontmatter lines that differ, and `body` if anything below does.
fn changed(old: &str, new: &str) -> BTreeSet<String> {
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
