//! Failures that were followed by a fix: a command failed, something was done, the same command passed.
//!
//! A failure of the agent's own making teaches nothing: what it broke by an edit and mended by the next is left out. So are
//! failures that passed by themselves, that came back, or between which and the success too much happened.

use std::collections::BTreeSet;

use ken_core::kind::Kind;

use super::command::Settled;
use super::moments::{Moment, MomentKind, Ran, Step, Written};
use crate::topic;

/// Steps between a failure and its fix at most.
const STEPS_MAX: usize = 40;

/// Files whose editing is still one fix.
const FILES_MAX: usize = 3;

/// Commands whose running is still one fix.
const COMMANDS_MAX: usize = 2;

/// Characters of an added line that is told.
const ADDED_CHARS_MAX: usize = 90;

/// Returns the fixes, each failure once.
pub(super) fn fixes(steps: &[Step]) -> Vec<Moment> {
    let mut told = BTreeSet::new();
    let found = steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| match step {
            Step::Ran(ran) if ran.passed && ran.simple.is_checker() => fix(steps, at, ran),
            Step::Ran(_) | Step::Wrote { .. } => None,
        });
    found.filter(|it| told.insert(it.text.clone())).collect()
}

/// Returns what made the command at `at` pass, if it failed before and that can be told.
fn fix(steps: &[Step], at: usize, passed: &Ran) -> Option<Moment> {
    let from = at.saturating_sub(STEPS_MAX);
    let (place, failed, settled) = (from..at).rev().find_map(|place| match &steps[place] {
        Step::Ran(ran) => {
            let settled = passed.simple.settles(&ran.simple)?;
            Some((place, ran, settled))
        }
        Step::Wrote { .. } => None,
    })?;
    let why = failed.why.as_deref().filter(|_| !failed.passed)?;
    if came_back(&steps[at + 1..], failed) {
        return None;
    }
    let cause = Cause::of(steps, place, at);
    let command = failed.simple.text()?;
    let whereabouts = failed
        .simple
        .folder
        .as_ref()
        .map(|it| format!(" in `{it}`"))
        .unwrap_or_default();
    let passing = passed.simple.text()?;
    let (text, kind) = match (settled, cause.is_none()) {
        (Settled::Otherwise, true) => {
            let text = format!("`{command}`{whereabouts} fails with `{why}`; `{passing}` passes.");
            (text, Kind::Technique)
        }
        // Passed by itself, or for two reasons at once.
        (Settled::Alike, true) | (Settled::Otherwise, false) => return None,
        (Settled::Alike, false) => {
            let done = cause.told()?;
            let kind = if cause.edits.is_empty() {
                Kind::Technique
            } else {
                Kind::Bug
            };
            (
                format!("`{command}`{whereabouts} failed with `{why}` until {done}."),
                kind,
            )
        }
    };
    Some(Moment {
        found: MomentKind::Fix,
        kind,
        tags: topic::tags(&text, &[]),
        paths: cause.edits.iter().map(|it| it.path.clone()).collect(),
        verify: vec![passing],
        line: passed.line,
        text,
    })
}

/// Returns whether the same failure was seen again later.
fn came_back(later: &[Step], failed: &Ran) -> bool {
    later.iter().any(|step| match step {
        Step::Ran(ran) => {
            !ran.passed && ran.why == failed.why && ran.simple.program() == failed.simple.program()
        }
        Step::Wrote { .. } => false,
    })
}

/// What was done between a failure and a success.
#[derive(Default)]
struct Cause {
    edits: Vec<Written>,
    commands: Vec<String>,
    /// Whether only files were written that the agent had written before the failure.
    is_own: bool,
}

impl Cause {
    fn of(steps: &[Step], failed: usize, passed: usize) -> Self {
        let written = |steps: &[Step]| -> Vec<Written> {
            let all = steps.iter().filter_map(|it| match it {
                Step::Wrote { edits } => Some(edits.clone()),
                Step::Ran(_) => None,
            });
            all.flatten().collect()
        };
        let before: BTreeSet<String> = written(&steps[..failed])
            .into_iter()
            .map(|it| it.path)
            .collect();
        let mut edits: Vec<Written> = Vec::new();
        for edit in written(&steps[failed..passed]) {
            match edits.iter_mut().find(|it| it.path == edit.path) {
                // Two edits of one file are more than one line.
                Some(known) => known.added = None,
                None => edits.push(edit),
            }
        }
        let mut commands = Vec::new();
        for step in &steps[failed..passed] {
            if let Step::Ran(ran) = step
                && ran.passed
                && ran.simple.is_changing()
                && let Some(text) = ran.simple.text()
                && !commands.contains(&text)
            {
                commands.push(text);
            }
        }
        let is_own = !edits.is_empty() && edits.iter().all(|it| before.contains(&it.path));
        Self {
            edits,
            commands,
            is_own,
        }
    }

    fn is_none(&self) -> bool {
        self.edits.is_empty() && self.commands.is_empty()
    }

    /// Returns what was done, if it is little enough to be the reason.
    fn told(&self) -> Option<String> {
        if self.is_own || FILES_MAX < self.edits.len() || COMMANDS_MAX < self.commands.len() {
            return None;
        }
        let ran = || {
            let commands: Vec<String> = self.commands.iter().map(|it| format!("`{it}`")).collect();
            let was = if commands.len() == 1 { "was" } else { "were" };
            format!("{} {was} run", commands.join(" and "))
        };
        match self.edits.as_slice() {
            [] => Some(ran()),
            [edit] if self.commands.is_empty() => Some(match added(edit) {
                Some(line) => format!("`{}` got the line `{line}`", edit.path),
                None => format!("`{}` was edited", edit.path),
            }),
            edits => {
                let paths: Vec<String> = edits.iter().map(|it| format!("`{}`", it.path)).collect();
                let was = if paths.len() == 1 { "was" } else { "were" };
                let edited = format!("{} {was} edited", paths.join(" and "));
                Some(match self.commands.is_empty() {
                    true => edited,
                    false => format!("{edited} and {}", ran()),
                })
            }
        }
    }
}

/// Words of lines that are not told: what stands behind them is nobody's business, in whatever form it is written.
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

fn added(edit: &Written) -> Option<&str> {
    let fits = |line: &&str| {
        let low = line.to_lowercase();
        let told = !CONFIDENTIAL.iter().any(|word| low.contains(word));
        told && line.chars().count() <= ADDED_CHARS_MAX && !line.contains('`')
    };
    edit.added.as_deref().filter(fits)
}
