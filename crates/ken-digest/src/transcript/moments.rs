//! What of a transcript is worth keeping: failures that were followed by a fix, what people corrected, commands that came
//! again and again.
//!
//! Found without a model, and with little trust in what is found: a wrong finding takes a person's time, a missed one takes
//! nothing that was there before.

use ken_core::kind::Kind;
use serde::Serialize;

use super::command::{Line, Simple, parse};
use super::{Deed, Outcome, Transcript, What, corrections, fixes, habits, trouble};

/// Moments taken from one transcript at most.
pub const MOMENTS_MAX: usize = 60;

/// Folders nobody writes knowledge about.
const FOREIGN: [&str; 6] = [
    ".git",
    ".ken",
    ".claude",
    ".codex",
    "node_modules",
    "target",
];

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MomentKind {
    /// Something failed, and something made it pass.
    Fix,
    /// A person told the agent how things are done.
    Correction,
    /// A command that came again and again.
    Habit,
}

/// Something worth keeping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    pub found: MomentKind,
    /// What kind of entry it would be.
    pub kind: Kind,
    pub text: String,
    pub tags: Vec<&'static str>,
    /// Files it is about, seen from the top of the repository.
    pub paths: Vec<String>,
    /// Steps that show whether it holds.
    pub verify: Vec<String>,
    /// The line of the transcript it ends on, counted from 1.
    pub line: usize,
}

impl MomentKind {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Correction => "correction",
            Self::Habit => "habit",
        }
    }
}

/// Returns what is worth keeping, in the order it ended. `root` is the top of the repository on this machine.
pub fn moments(transcript: &Transcript, root: Option<&str>) -> Vec<Moment> {
    let steps = steps(transcript, root);
    let mut found = fixes::fixes(&steps);
    found.extend(corrections::corrections(transcript));
    found.extend(habits::habits(&steps));
    found.sort_by_key(|it| it.line);
    found.truncate(MOMENTS_MAX);
    found
}

/// Something the agent did that was understood.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Ran(Ran),
    Wrote { edits: Vec<Written> },
}

/// A program that ran.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub(super) simple: Simple,
    pub(super) passed: bool,
    /// What its output says went wrong.
    pub(super) why: Option<String>,
    pub(super) line: usize,
}

/// A file that was written, seen from the top of the repository.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) path: String,
    pub(super) added: Option<String>,
}

fn steps(transcript: &Transcript, root: Option<&str>) -> Vec<Step> {
    let mut steps = Vec::new();
    let folder = transcript.folder.as_deref();
    for turn in &transcript.turns {
        let What::Did(action) = &turn.what else {
            continue;
        };
        match (&action.deed, action.outcome) {
            (Deed::Command(line), Outcome::Succeeded | Outcome::Failed) => {
                let Some(parsed) = parse(line, folder) else {
                    continue;
                };
                let passed = action.outcome == Outcome::Succeeded
                    && !(parsed.is_masked && trouble::is_troubled(&action.output));
                let why = (!passed)
                    .then(|| trouble::telling(&action.output))
                    .flatten();
                steps.extend(ran(parsed, passed, why.as_deref(), turn.line));
            }
            (Deed::Edit(edits), Outcome::Succeeded | Outcome::Unknown) => {
                let edits = edits.iter().filter_map(|edit| {
                    let path = below(&edit.path, folder, root)?;
                    let added = edit.added.clone();
                    Some(Written { path, added })
                });
                let edits: Vec<Written> = edits.collect();
                if !edits.is_empty() {
                    steps.push(Step::Wrote { edits });
                }
            }
            (Deed::Command(_) | Deed::Edit(_) | Deed::Other(_), _) => {}
        }
    }
    steps
}

/// Returns what a line shows about each of its programs; which of several failed, nobody can tell.
fn ran(parsed: Line, passed: bool, why: Option<&str>, line: usize) -> Vec<Step> {
    if !passed && 1 < parsed.simples.len() {
        return Vec::new();
    }
    let each = parsed.simples.into_iter().map(|simple| {
        Step::Ran(Ran {
            simple,
            passed,
            why: why.map(str::to_owned),
            line,
        })
    });
    each.collect()
}

/// Returns a path seen from the top of the repository; none for one outside or of no interest.
fn below(path: &str, folder: Option<&str>, root: Option<&str>) -> Option<String> {
    let path = path.trim().replace('\\', "/");
    let whole = match (
        path.starts_with('/') || path.chars().nth(1) == Some(':'),
        folder,
    ) {
        (true, _) => path,
        (false, Some(folder)) => format!(
            "{}/{}",
            folder.trim_end_matches('/'),
            path.trim_start_matches("./")
        ),
        (false, None) => format!("/{}", path.trim_start_matches("./")),
    };
    let tops = [root, folder, folder.is_none().then_some("")];
    let below = tops.into_iter().flatten().find_map(|top| {
        whole
            .strip_prefix(top.trim_end_matches('/'))?
            .strip_prefix('/')
    });
    let below = below.filter(|it| {
        let mut parts = it.split('/');
        let is_plain = parts
            .clone()
            .all(|part| !part.is_empty() && part != ".." && part != ".");
        is_plain && !parts.any(|part| FOREIGN.contains(&part)) && !it.contains('`')
    });
    below.map(str::to_owned)
}
