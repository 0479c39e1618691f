//! `ken undo` and `ken redo`: reverse your steps and repeat them, with further events.

use clap::Args;
use ken_core::json::describe_event;
use ken_core::ledger::event::{Event, Proposed, RecordedEvent};
use ken_core::ledger::step::Step;
use ken_core::values::id::EntryId;
use ken_engine::undo::UndoneStep;
use serde::Serialize;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::event_text::minute;
use crate::print::{DIM, escape_invisible, pluralize, styled, truncate_columns};

/// Default number of listed steps.
const LISTED_MAX: usize = 20;

/// `ken undo`.
#[derive(Debug, Args)]
#[command(
    after_help = "One command is one step: an import or a merge is undone as a whole. Repeat `ken undo` to go\nfurther back; `ken redo` repeats the step that you undid last.\n\nExamples:\n  ken undo\n  ken undo --list\n  ken undo 01KDYARJX8FB5A8X66D95SHC1G\n  ken redo"
)]
pub(crate) struct UndoArgs {
    /// The step to undo, from --list [default: your last one]
    #[arg(value_name = "STEP", conflicts_with_all = ["list", "redo"])]
    pub(crate) step: Option<String>,
    /// List the steps that `ken undo` would undo, newest first
    #[arg(long, conflicts_with = "redo")]
    pub(crate) list: bool,
    /// Maximum number of listed steps
    #[arg(long, value_name = "N", default_value_t = LISTED_MAX, requires = "list")]
    pub(crate) limit: usize,
    /// Repeat the step that you undid last, as `ken redo` does
    #[arg(long)]
    pub(crate) redo: bool,
}

#[derive(Serialize)]
struct UndoObject {
    schema: &'static str,
    entry: String,
    /// The first event that was undone, which is the id of the step.
    undone: String,
    #[serde(rename = "type")]
    type_name: String,
    entries: Vec<String>,
    events: usize,
    /// Parts of the step that stay.
    kept: Vec<&'static str>,
}

#[derive(Serialize)]
struct StepObject {
    schema: &'static str,
    step: String,
    at: String,
    said: String,
    entries: Vec<String>,
    events: usize,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &UndoArgs,
) -> Result<CommandExit, CommandFailure> {
    if args.list {
        return list(session, args.limit);
    }
    let undone = session.write(|engine, by| {
        if args.redo {
            return Ok(engine.redo(by)?);
        }
        let step = args.step.as_ref().map(|id| engine.event(id));
        let step = step.transpose()?.map(|it| it.event.id);
        Ok(engine.undo(step, by)?)
    })?;
    print_undone(session, &undone, if args.redo { "redid" } else { "undid" })
}

fn print_undone(
    session: &mut Session<'_>,
    undone: &UndoneStep,
    verb: &str,
) -> Result<CommandExit, CommandFailure> {
    let entries: Vec<String> = undone.entries.iter().map(ToString::to_string).collect();
    if session.is_json() {
        let first = undone.events.first().map(|it| it.event.body.type_name());
        session.printer.json(&UndoObject {
            schema: "ken.undo.v1",
            entry: entries.first().cloned().unwrap_or_default(),
            undone: undone.id.to_string(),
            type_name: first.unwrap_or_default().to_owned(),
            entries,
            events: undone.events.len(),
            kept: undone.kept.clone(),
        })?;
        return Ok(CommandExit::Fine);
    }
    for id in &entries {
        session.printer.line(id)?;
    }
    let said = describe_step(&undone.events);
    session.printer.talk(format_args!("{verb}: {said}"))?;
    for what in &undone.kept {
        session
            .printer
            .talk(format_args!("kept: {what} cannot be undone"))?;
    }
    Ok(CommandExit::Fine)
}

fn list(session: &mut Session<'_>, limit: usize) -> Result<CommandExit, CommandFailure> {
    let steps = session.write(|engine, by| Ok(engine.undoable_steps(limit, by)?))?;
    let width = session.printer.width();
    for step in &steps {
        if session.is_json() {
            session.printer.json(&step_object(step))?;
            continue;
        }
        let at = step.events.first().map(|it| minute(&it.event));
        let head = format!("{}  {}", step.id, at.unwrap_or_default());
        session.printer.line(styled(DIM, head))?;
        let said = format!("    {}", describe_step(&step.events));
        session
            .printer
            .line(truncate_columns(&escape_invisible(&said), width))?;
    }
    if !session.is_json() {
        let count = pluralize(steps.len() as u64, "step", "steps");
        session
            .printer
            .talk(format_args!("{count}, newest first"))?;
    }
    Ok(CommandExit::Fine)
}

fn step_object(step: &Step) -> StepObject {
    let first = step.events.first();
    let entries = step.events.iter().flat_map(|it| it.event.entries());
    let entries: std::collections::BTreeSet<EntryId> = entries.collect();
    StepObject {
        schema: "ken.undo.step.v1",
        step: step.id.to_string(),
        at: first
            .map(|it| it.event.at.wall.to_string())
            .unwrap_or_default(),
        said: describe_step(&step.events),
        entries: entries.iter().map(ToString::to_string).collect(),
        events: step.events.len(),
    }
}

/// Describes the events of a step in one line.
fn describe_step(events: &[RecordedEvent]) -> String {
    let is_new = |event: &Event| event.get::<Proposed>().is_some();
    let added = events.iter().filter(|it| is_new(&it.event)).count();
    let Some(first) = events.first() else {
        return String::new();
    };
    if added > 1 {
        return format!("added {added} entries");
    }
    match events.len() {
        1 => describe_event(first),
        count => format!("{} (and {} more events)", describe_event(first), count - 1),
    }
}
