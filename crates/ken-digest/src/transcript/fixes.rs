//! Failures that were followed by a fix: a command failed, something was done, the same command passed.
//!
//! A failure of the agent's own making teaches nothing: what it broke by an edit and mended by the next is left out. So are
//! failures that passed by themselves, that came back, or between which and the success too much happened.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::kind::Kind;

use super::command::Settled;
use super::moments::{MOMENTS_MAX, Moment, MomentKind, Ran, Step, Written};
use crate::topic;

/// Steps between a failure and its fix at most.
const STEPS_MAX: usize = 40;

/// Files whose editing is still one fix.
const FILES_MAX: usize = 3;

/// Commands whose running is still one fix.
const COMMANDS_MAX: usize = 2;

/// Characters of an added line that is told.
const ADDED_CHARS_MAX: usize = 90;

/// What is asked of the whole again and again, gathered once: transcripts are long.
struct Past<'a> {
    /// The step each file was first written at.
    written: BTreeMap<&'a str, usize>,
    /// The step a program last failed at, for each reason.
    failed: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Past<'a> {
    fn of(steps: &'a [Step]) -> Self {
        let (mut written, mut failed) = (BTreeMap::new(), BTreeMap::new());
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Wrote { edits } => {
                    for edit in edits {
                        written.entry(edit.path.as_str()).or_insert(at);
                    }
                }
                Step::Ran(ran) => {
                    if let Some(why) = ran.why.as_deref().filter(|_| !ran.passed) {
                        failed.insert((ran.simple.program(), why), at);
                    }
                }
            }
        }
        Self { written, failed }
    }
}

/// Returns the fixes, each failure once.
pub(super) fn fixes(steps: &[Step]) -> Vec<Moment> {
    let past = Past::of(steps);
    let mut told = BTreeSet::new();
    let found = steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| match step {
            Step::Ran(ran) if ran.passed && ran.simple.is_checker() => fix(steps, &past, at, ran),
            Step::Ran(_) | Step::Wrote { .. } => None,
        });
    let found = found.filter(|it| told.insert(it.text.clone()));
    found.take(MOMENTS_MAX).collect()
}

/// Returns what made the command at `at` pass, if it failed before and that can be told.
fn fix(steps: &[Step], past: &Past<'_>, at: usize, passed: &Ran) -> Option<Moment> {
    let from = at.saturating_sub(STEPS_MAX);
    let (place, failed, settled) = (from..at).rev().find_map(|place| match &steps[place] {
        Step::Ran(ran) => {
            let settled = passed.simple.settles(&ran.simple)?;
            Some((place, ran, settled))
        }
        Step::Wrote { .. } => None,
    })?;
    let why = failed.why.as_deref().filter(|_| !failed.passed)?;
    let last = past.failed.get(&(failed.simple.program(), why));
    if last.is_some_and(|last| at < *last) {
        // What mended it did not last.
        return None;
    }
    let cause = Cause::of(steps, past, place, at);
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

/// What was done between a failure and a success.
#[derive(Default)]
struct Cause {
    edits: Vec<Written>,
    commands: Vec<String>,
    /// Whether only files were written that the agent had written before the failure.
    is_own: bool,
}

impl Cause {
    fn of(steps: &[Step], past: &Past<'_>, failed: usize, passed: usize) -> Self {
        let between = &steps[failed..passed];
        let written = between.iter().filter_map(|it| match it {
            Step::Wrote { edits } => Some(edits),
            Step::Ran(_) => None,
        });
        let mut edits: Vec<Written> = Vec::new();
        for edit in written.flatten() {
            let has_room = edits.len() <= FILES_MAX;
            match edits.iter_mut().find(|it| it.path == edit.path) {
                // Two edits of one file are more than one line.
                Some(known) => known.added = None,
                // More than a few are too many, however many they are.
                None if has_room => edits.push(edit.clone()),
                None => {}
            }
        }
        let mut commands = Vec::new();
        for step in between {
            if let Step::Ran(ran) = step
                && ran.passed
                && ran.simple.is_changing()
                && let Some(text) = ran.simple.text()
                && !commands.contains(&text)
            {
                commands.push(text);
            }
        }
        let was_written = |it: &Written| {
            past.written
                .get(it.path.as_str())
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
