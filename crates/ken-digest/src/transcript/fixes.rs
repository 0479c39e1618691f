//! Failures followed by a fix: a command failed, something changed, the same command passed.
//!
//! Excluded are failures the agent caused itself by an edit and repaired by the next, failures that
//! passed without a change, failures that came back, and those with too many changes in between.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::kind::EntryKind;

use super::command::CommandMatch;
use super::extraction::{
    AgentStep, EXTRACTED_CLAIMS_MAX, ExtractedClaim, ExtractionKind, ProgramRun, WrittenFile,
};
use crate::topic;

/// Maximum number of steps between a failure and its fix.
const STEPS_MAX: usize = 40;

/// Maximum number of edited files of one fix.
const FILES_MAX: usize = 3;

/// Maximum number of commands of one fix.
const COMMANDS_MAX: usize = 2;

/// Maximum length in characters of a quoted added line.
const ADDED_CHARS_MAX: usize = 90;

/// Lookup tables over all steps, built once: scanning per failure would be quadratic.
struct StepIndex<'a> {
    /// Step at which each file was first written.
    written: BTreeMap<&'a str, usize>,
    /// Step at which a program last failed, per reason.
    failed: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> StepIndex<'a> {
    fn of(steps: &'a [AgentStep]) -> Self {
        let (mut written, mut failed) = (BTreeMap::new(), BTreeMap::new());
        for (at, step) in steps.iter().enumerate() {
            match step {
                AgentStep::Wrote { edits } => {
                    for edit in edits {
                        written.entry(edit.path.as_str()).or_insert(at);
                    }
                }
                AgentStep::Ran(ran) => {
                    if let Some(why) = ran.why.as_deref().filter(|_| !ran.passed) {
                        failed.insert((ran.simple.program(), why), at);
                    }
                }
            }
        }
        Self { written, failed }
    }
}

/// Returns the fixes, without duplicates.
pub(super) fn find_fixes(steps: &[AgentStep]) -> Vec<ExtractedClaim> {
    let past = StepIndex::of(steps);
    let mut seen_texts = BTreeSet::new();
    let found = steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| match step {
            AgentStep::Ran(ran) if ran.passed && ran.simple.is_checker() => {
                find_fix(steps, &past, at, ran)
            }
            AgentStep::Ran(_) | AgentStep::Wrote { .. } => None,
        });
    let unique = found.filter(|claim| seen_texts.insert(claim.text.clone()));
    unique.take(EXTRACTED_CLAIMS_MAX).collect()
}

/// Returns the fix that made the command at `at` pass, if it failed before and the cause is clear.
fn find_fix(
    steps: &[AgentStep],
    past: &StepIndex<'_>,
    at: usize,
    passed: &ProgramRun,
) -> Option<ExtractedClaim> {
    // Only the latest run of the command counts: if that one passed, there is no failure to
    // explain.
    let from = at.saturating_sub(STEPS_MAX);
    let (place, failed, settled) = (from..at).rev().find_map(|place| match &steps[place] {
        AgentStep::Ran(ran) => {
            let settled = passed.simple.match_failure(&ran.simple)?;
            Some((place, ran, settled))
        }
        AgentStep::Wrote { .. } => None,
    })?;
    // If the previous run passed, there was nothing to fix.
    let why = failed.why.as_deref().filter(|_| !failed.passed)?;
    let last = past.failed.get(&(failed.simple.program(), why));
    if last.is_some_and(|last| at < *last) {
        // The failure came back later, so this was not the fix.
        return None;
    }
    let cause = FixCause::of(steps, past, place, at);
    let command = failed.simple.text()?;
    let whereabouts = failed
        .simple
        .folder
        .as_ref()
        .map(|it| format!(" in `{it}`"))
        .unwrap_or_default();
    let passing = passed.simple.text()?;
    let (text, kind) = match (settled, cause.is_none()) {
        (CommandMatch::Variant, true) => {
            let text = format!("`{command}`{whereabouts} fails with `{why}`; `{passing}` passes.");
            (text, EntryKind::Technique)
        }
        // The command passed without a change, or for two possible reasons.
        (CommandMatch::Alike, true) | (CommandMatch::Variant, false) => return None,
        (CommandMatch::Alike, false) => {
            let done = cause.told()?;
            let kind = if cause.edits.is_empty() {
                EntryKind::Technique
            } else {
                EntryKind::Bug
            };
            (
                format!("`{command}`{whereabouts} failed with `{why}` until {done}."),
                kind,
            )
        }
    };
    Some(ExtractedClaim {
        found: ExtractionKind::Fix,
        kind,
        tags: topic::assign_tags(&text, &[]),
        paths: cause.edits.iter().map(|it| it.path.clone()).collect(),
        verify: vec![passing],
        exchange: None,
        amends: false,
        first_line: passed.line,
        line: passed.line,
        text,
    })
}

/// The changes between a failure and a success.
#[derive(Default)]
struct FixCause {
    edits: Vec<WrittenFile>,
    commands: Vec<String>,
    /// True if the agent had already written all these files before the failure.
    is_own: bool,
}

impl FixCause {
    fn of(steps: &[AgentStep], past: &StepIndex<'_>, failed: usize, passed: usize) -> Self {
        let between = &steps[failed..passed];
        let written = between.iter().filter_map(|step| match step {
            AgentStep::Wrote { edits } => Some(edits),
            AgentStep::Ran(_) => None,
        });
        let mut edits: Vec<WrittenFile> = Vec::new();
        for edit in written.flatten() {
            let has_room = edits.len() <= FILES_MAX;
            match edits.iter_mut().find(|it| it.path == edit.path) {
                // Two edits of one file add more than one line.
                Some(known) => known.added = None,
                // One more than the limit suffices to know that there are too many.
                None if has_room => edits.push(edit.clone()),
                None => {}
            }
        }
        let mut commands = Vec::new();
        for step in between {
            if let AgentStep::Ran(ran) = step
                && ran.passed
                && ran.simple.is_changing()
                && let Some(text) = ran.simple.text()
                && !commands.contains(&text)
            {
                commands.push(text);
            }
        }
        let was_written = |edit: &WrittenFile| {
            past.written
                .get(edit.path.as_str())
                .is_some_and(|at| *at < failed)
        };
        let is_own = !edits.is_empty() && edits.iter().all(was_written);
        Self {
            edits,
            commands,
            is_own,
        }
    }

    fn is_none(&self) -> bool {
        self.edits.is_empty() && self.commands.is_empty()
    }

    /// Describes the changes, if they are few enough to be the reason.
    fn told(&self) -> Option<String> {
        if self.is_own || self.edits.len() > FILES_MAX || self.commands.len() > COMMANDS_MAX {
            return None;
        }
        let ran = || {
            let commands: Vec<String> = self.commands.iter().map(|it| format!("`{it}`")).collect();
            let was = if commands.len() == 1 { "was" } else { "were" };
            format!("{} {was} run", commands.join(" and "))
        };
        match self.edits.as_slice() {
            [] => Some(ran()),
            [edit] if self.commands.is_empty() => Some(match quotable_line(edit) {
                Some(line) => format!("`{}` got the line `{line}`", edit.path),
                None => format!("`{}` was edited", edit.path),
            }),
            edits => {
                let paths: Vec<String> = edits.iter().map(|it| format!("`{}`", it.path)).collect();
                let was = if paths.len() == 1 { "was" } else { "were" };
                let edited = format!("{} {was} edited", paths.join(" and "));
                Some(if self.commands.is_empty() {
                    edited
                } else {
                    format!("{edited} and {}", ran())
                })
            }
        }
    }
}

/// Words of lines that are not quoted, because a secret may follow them in any form.
const CONFIDENTIAL: [&str; 8] = [
    "key",
    "token",
    "secret",
    "passw",
    "auth",
    "credential",
    "private",
    "cookie",
];

fn quotable_line(edit: &WrittenFile) -> Option<&str> {
    let fits = |line: &&str| {
        let low = line.to_lowercase();
        let is_public = !CONFIDENTIAL.iter().any(|word| low.contains(word));
        is_public && line.chars().count() <= ADDED_CHARS_MAX && !line.contains('`')
    };
    edit.added.as_deref().filter(fits)
}
