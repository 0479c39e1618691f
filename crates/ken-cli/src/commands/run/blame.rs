//! `ken run blame`, also `ken blame`: what the agents of a run or commit were shown.

use clap::Args;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::runs::{BlamedEntry, RunBlame, RunJoin};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{BOLD, escape_invisible, pluralize, styled, truncate_columns};

/// `ken run blame`.
#[derive(Debug, Args)]
#[command(after_help = "\
A commit belongs to the run that its trailer `Ken-Run:` names, or else to the last run that was open
on this machine when it was made. New is what the last run that succeeded was not shown, and what
was changed since.

Examples:
  ken blame HEAD
  ken blame 3f0b26c
  ken blame r1 --format json")]
pub(crate) struct BlameArgs {
    /// The run or the commit
    #[arg(value_name = "RUN|COMMIT")]
    pub(crate) target: String,
}

#[derive(Serialize)]
struct BlameObject<'a> {
    schema: &'static str,
    run: &'a str,
    joined_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good_run: Option<&'a str>,
    /// Agents that read a file with too many entries to list.
    saw_everything: Vec<String>,
    entries: Vec<BlamedObject<'a>>,
}

#[derive(Serialize)]
struct BlamedObject<'a> {
    id: EntryId,
    statement: &'a str,
    new: bool,
    used: bool,
    channel: String,
    shown_to: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    derived_from: Vec<EntryId>,
}

impl<'a> BlamedObject<'a> {
    fn new(blamed: &'a BlamedEntry) -> Self {
        let entry = &blamed.entry;
        Self {
            id: entry.id,
            statement: entry.statement_text(),
            new: blamed.is_new,
            used: blamed.was_used,
            channel: enum_label(&blamed.channel),
            shown_to: blamed.agents.iter().map(ToString::to_string).collect(),
            author: entry.created.as_ref().map(|it| it.by.to_string()),
            derived_from: blamed.derived_from.iter().copied().collect(),
        }
    }
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &BlameArgs,
) -> Result<CommandExit, CommandFailure> {
    let blame = session.read(|engine| Ok(engine.blame(&args.target)?))?;
    if session.is_json() {
        let good = blame.last_good.as_ref();
        session.printer.json(&BlameObject {
            schema: "ken.blame.v1",
            run: &blame.run,
            joined_by: match blame.join {
                RunJoin::Named => "name",
                RunJoin::Trailer => "trailer",
                RunJoin::Observed => "observed",
                RunJoin::Time => "time",
            },
            last_good_run: good.map(|it| it.closed.run.as_str()),
            saw_everything: blame
                .saw_everything
                .iter()
                .map(ToString::to_string)
                .collect(),
            entries: blame.entries.iter().map(BlamedObject::new).collect(),
        })?;
        return Ok(CommandExit::Fine);
    }
    print(session, &blame)?;
    Ok(CommandExit::Fine)
}

fn print(session: &mut Session<'_>, blame: &RunBlame) -> Result<(), CommandFailure> {
    let how = match blame.join {
        RunJoin::Named => "",
        RunJoin::Trailer => ", named by the commit",
        RunJoin::Observed => ", whose hook saw the commit",
        RunJoin::Time => ", open when the commit was made",
    };
    let shown = pluralize(blame.entries.len() as u64, "entry", "entries");
    let head = format!("run {}{how}: agents were shown {shown}", blame.run);
    session.printer.line(styled(BOLD, head))?;
    let since = blame.last_good.as_ref().map(|it| &it.closed.run);
    let (new, known): (Vec<_>, Vec<_>) = blame.entries.iter().partition(|it| it.is_new);
    if !new.is_empty() {
        session.printer.line(match since {
            Some(good) => format!("\nNew since run {good}, the last that succeeded:"),
            None => "\nNo earlier run succeeded, so all of it counts as new:".to_owned(),
        })?;
    }
    print_entries(session, &new)?;
    if !known.is_empty() {
        session
            .printer
            .line("\nAlso shown in the last run that succeeded:")?;
    }
    print_entries(session, &known)?;
    for agent in &blame.saw_everything {
        session.printer.line(format_args!(
            "\n{agent} read a file with too many entries to list"
        ))?;
    }
    if new.len() > 1 {
        session.printer.hint(
            "`ken bisect --suspects RUN -- COMMAND` finds the one that changes what the agent does",
        )?;
    }
    Ok(())
}

fn print_entries(session: &mut Session<'_>, all: &[&BlamedEntry]) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    for blamed in all {
        let entry = &blamed.entry;
        let line = format!(
            "  {}  {}",
            entry.id,
            escape_invisible(entry.statement_text())
        );
        session.printer.line(truncate_columns(&line, width))?;
        let agents: Vec<String> = blamed.agents.iter().map(ToString::to_string).collect();
        let author = entry.created.as_ref().map(|it| it.by.to_string());
        let mut about = format!(
            "              by {}; shown {} to {}",
            author.as_deref().unwrap_or("nobody known"),
            blamed.channel.description(),
            agents.join(", ")
        );
        if blamed.was_used {
            about.push_str(", used");
        }
        if !blamed.derived_from.is_empty() {
            let from: Vec<String> = blamed
                .derived_from
                .iter()
                .map(ToString::to_string)
                .collect();
            about.push_str("; made from ");
            about.push_str(&from.join(", "));
        }
        session.printer.line(truncate_columns(&about, width))?;
    }
    Ok(())
}
