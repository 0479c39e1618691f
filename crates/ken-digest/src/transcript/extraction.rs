//! Claims extracted from a transcript: failures with their fix, decisions and corrections by
//! people, and habitual commands.
//!
//! Extraction uses no model and is conservative: a wrong claim costs a person's time, a missed one
//! costs nothing.

use ken_core::values::kind::EntryKind;
use serde::Serialize;

use super::command::{CommandLine, SimpleCommand, parse_command_line};
use super::{
    ActionKind, ActionOutcome, Transcript, TurnContent, decisions, fixes, habits, trouble,
};

/// Maximum number of claims per transcript.
pub const EXTRACTED_CLAIMS_MAX: usize = 60;

/// Folders that are not subjects of knowledge.
const FOREIGN: [&str; 6] = [
    ".git",
    ".ken",
    ".claude",
    ".codex",
    "node_modules",
    "target",
];

/// Kind of an extracted claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractionKind {
    /// A failure and the change that fixed it.
    Fix,
    /// A rule a person gave the agent.
    Correction,
    /// A decision a person made in the conversation, or the agent's summary of it.
    Decision,
    /// A command that was run repeatedly.
    Habit,
}

/// A claim extracted from a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtractedClaim {
    pub found: ExtractionKind,
    /// Kind of the proposed entry.
    pub kind: EntryKind,
    pub text: String,
    pub tags: Vec<&'static str>,
    /// Files the claim is about, relative to the repository root.
    pub paths: Vec<String>,
    /// Steps that verify the claim.
    pub verify: Vec<String>,
    /// The exchange it was extracted from: what the agent asked or proposed, the message of the
    /// person, and the agent's reply.
    pub exchange: Option<String>,
    /// True if it says that something decided before changes.
    pub amends: bool,
    /// The first and last line of the transcript it was extracted from, counted from 1.
    pub first_line: usize,
    pub line: usize,
}

impl ExtractionKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Correction => "correction",
            Self::Decision => "decision",
            Self::Habit => "habit",
        }
    }
}

/// Extracts claims, ordered by line. `root` is the repository root on this machine.
pub fn extract_transcript_claims(
    transcript: &Transcript,
    root: Option<&str>,
) -> Vec<ExtractedClaim> {
    let steps = collect_steps(transcript, root);
    let mut found = fixes::find_fixes(&steps);
    found.extend(decisions::find_decisions(transcript));
    found.extend(habits::find_habits(&steps));
    found.sort_by_key(|it| it.line);
    // Truncated after sorting, so that no kind of claim takes precedence.
    found.truncate(EXTRACTED_CLAIMS_MAX);
    found
}

/// A parsed action of the agent.
#[derive(Clone, Debug)]
pub(super) enum AgentStep {
    Ran(ProgramRun),
    Wrote { edits: Vec<WrittenFile> },
}

/// A run of one program.
#[derive(Clone, Debug)]
pub(super) struct ProgramRun {
    pub(super) simple: SimpleCommand,
    pub(super) passed: bool,
    /// The error line of its output.
    pub(super) why: Option<String>,
    pub(super) line: usize,
}

/// A written file, relative to the repository root.
#[derive(Clone, Debug)]
pub(super) struct WrittenFile {
    pub(super) path: String,
    pub(super) added: Option<String>,
}

fn collect_steps(transcript: &Transcript, root: Option<&str>) -> Vec<AgentStep> {
    let mut steps = Vec::new();
    let folder = transcript.folder.as_deref();
    for turn in &transcript.turns {
        let TurnContent::Did(action) = &turn.what else {
            continue;
        };
        match (&action.deed, action.outcome) {
            (ActionKind::Command(line), ActionOutcome::Succeeded | ActionOutcome::Failed) => {
                let Some(parsed) = parse_command_line(line, folder) else {
                    continue;
                };
                // In `test | tail`, the exit code is that of `tail`; the output has to be checked.
                let passed = action.outcome == ActionOutcome::Succeeded
                    && !(parsed.is_masked && trouble::reports_failure(&action.output));
                let why = (!passed)
                    .then(|| trouble::find_error_line(&action.output))
                    .flatten();
                steps.extend(program_runs(parsed, passed, why.as_deref(), turn.line));
            }
            // Some formats report no result for edits.
            (ActionKind::Edit(edits), ActionOutcome::Succeeded | ActionOutcome::Unknown) => {
                let edits = edits.iter().filter_map(|edit| {
                    let path = repository_path(&edit.path, folder, root)?;
                    let added = edit.added.clone();
                    Some(WrittenFile { path, added })
                });
                let edits: Vec<WrittenFile> = edits.collect();
                if !edits.is_empty() {
                    steps.push(AgentStep::Wrote { edits });
                }
            }
            (ActionKind::Command(_) | ActionKind::Edit(_) | ActionKind::Other(_), _) => {}
        }
    }
    steps
}

/// Returns the program runs of a line. If a line with several programs failed, the failing one is
/// unknown.
fn program_runs(
    parsed: CommandLine,
    passed: bool,
    why: Option<&str>,
    line: usize,
) -> Vec<AgentStep> {
    if !passed && parsed.simples.len() > 1 {
        return Vec::new();
    }
    let each = parsed.simples.into_iter().map(|simple| {
        AgentStep::Ran(ProgramRun {
            simple,
            passed,
            why: why.map(str::to_owned),
            line,
        })
    });
    each.collect()
}

/// Returns a path relative to the repository root, or `None` if it is outside or excluded.
fn repository_path(path: &str, folder: Option<&str>, root: Option<&str>) -> Option<String> {
    let path = path.trim().replace('\\', "/");
    // `C:` marks an absolute path on Windows.
    let is_absolute = path.starts_with('/') || path.chars().nth(1) == Some(':');
    let whole = match folder {
        _ if is_absolute => path,
        Some(folder) => format!(
            "{}/{}",
            folder.trim_end_matches('/'),
            path.trim_start_matches("./")
        ),
        None => format!("/{}", path.trim_start_matches("./")),
    };
    // The transcript may come from another machine, where only its own folder is a valid prefix.
    let tops = [root, folder, folder.is_none().then_some("")];
    let below = tops.into_iter().flatten().find_map(|top| {
        whole
            .strip_prefix(top.trim_end_matches('/'))?
            .strip_prefix('/')
    });
    let below = below.filter(|path| {
        let mut parts = path.split('/');
        let is_plain = parts
            .clone()
            .all(|part| !part.is_empty() && part != ".." && part != ".");
        is_plain && !parts.any(|part| FOREIGN.contains(&part)) && !path.contains('`')
    });
    below.map(str::to_owned)
}
