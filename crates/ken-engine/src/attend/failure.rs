//! A tool failed: what is known about such an error is said, and that it got in the way is recorded.

use std::path::Path;

use ken_core::content::FrictionType;
use ken_core::event::SourceRun;
use ken_ledger::{GitEnv, discover};
use serde_json::json;

use super::Attendee;
use super::memory::{Line, Memory, print_of, remember};
use crate::engine::Engine;
use crate::error::Error;
use crate::friction;
use crate::search::from_error;

/// Errors of one conversation that are recorded; more say nothing new.
const FRICTIONS_MAX: usize = 20;

/// Characters of a command and of an error that are recorded.
const COMMAND_CHARS_MAX: usize = 200;
const ERROR_CHARS_MAX: usize = 500;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub tool: &'a str,
    /// What it was asked, such as a command.
    pub asked: &'a str,
}

impl Call<'_> {
    fn print(&self) -> String {
        print_of(&[self.tool, self.asked])
    }
}

/// Notes that a call did what it should, in case it failed before; asks no ledger.
pub fn worked(start: &Path, git: &GitEnv, who: &Attendee, call: Call<'_>) {
    let (Ok(Some(place)), Some(run)) = (discover(start, git), who.run()) else {
        return;
    };
    let print = call.print();
    if Memory::of(&place, &run).waits_for(&print) {
        remember(&place, &run, Line::Fixed { call: &print });
    }
}

impl Engine {
    /// Says what is known about an error, once a conversation, and records that it got in the way.
    pub fn attend_failure(
        &mut self,
        who: &Attendee,
        call: Call<'_>,
        error: &str,
    ) -> Result<Option<String>, Error> {
        let told: Vec<&str> = error.lines().filter(|line| !is_bare_exit(line)).collect();
        let asked = from_error(told.join("\n").as_bytes());
        if asked.text.trim().is_empty() {
            // A command that found nothing, as `grep` does, is no error.
            return Ok(None);
        }
        if self.is_met_again(who, call, &asked.text) {
            return Ok(None);
        }
        let said = match who.listens {
            true => self.tell_few(who, asked.text.clone(), asked.paths)?,
            false => None,
        };
        // What is known is worth no less where this cannot be recorded.
        let _ = self.record_friction(who, call, &asked.text);
        Ok(said)
    }

    /// Returns whether the conversation met an error before, or more than are recorded; remembers it.
    fn is_met_again(&self, who: &Attendee, call: Call<'_>, error: &str) -> bool {
        let Some(run) = who.run() else {
            return false;
        };
        let memory = Memory::of(&self.place, &run);
        let first: String = error.lines().next().unwrap_or_default().to_owned();
        let plain: String = first.chars().filter(|c| !c.is_ascii_digit()).collect();
        let error = print_of(&[call.tool, &plain]);
        if memory.failed.contains_key(&error) || FRICTIONS_MAX <= memory.failed.len() {
            return true;
        }
        let call = call.print();
        let line = Line::Failed {
            error: &error,
            call: &call,
        };
        remember(&self.place, &run, line);
        false
    }

    fn record_friction(
        &mut self,
        who: &Attendee,
        call: Call<'_>,
        error: &str,
    ) -> Result<(), Error> {
        let short = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let context = json!({
            "tool": call.tool,
            "asked": short(call.asked, COMMAND_CHARS_MAX),
            "error": short(error, ERROR_CHARS_MAX),
        });
        let by = who.actor();
        let mut proposal = friction::proposal(FrictionType::ToolError, context, &by)?;
        let run = self.open_run_of(&who.reader())?;
        proposal.run = run.map(|run| SourceRun {
            id: run.id,
            outcome: None,
        });
        self.add_quickly(proposal, &by).map(drop)
    }
}

/// Whether a line says no more than how a command ended.
fn is_bare_exit(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    let rest = line.split_once("exit code").map(|(before, rest)| {
        let words = ["", "process", "command", "error:", "(", "exited with"];
        (words.contains(&before.trim()), rest)
    });
    rest.is_some_and(|(alone, rest)| {
        let digits = |c: char| c.is_ascii_digit() || ": =.)".contains(c);
        alone && rest.chars().all(digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_command_ended_is_no_error_by_itself() {
        for line in ["Exit code 1", "exit code: 127", "Process exit code = 2."] {
            assert!(is_bare_exit(line), "{line}");
        }
        for line in [
            "error: exit code 1 of `cc`",
            "Exit code 1: no such file",
            "fatal",
        ] {
            assert!(!is_bare_exit(line), "{line}");
        }
    }
}
