//! `ken run handoff`, also `ken handoff`: unfinished work for the next session on this branch.

use clap::{Args, Subcommand};
use ken_core::trust::handoff::{EXPIRES_AFTER_DAYS, Handoff, HandoffState};
use ken_core::values::text::{Note, enum_label};
use ken_engine::runs::HandoffPoints;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{BOLD, escape_invisible, pluralize, styled};

/// `ken run handoff`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A handoff reaches everyone who has the branch: it is part of the ledger. The next session there is
shown it once, until one takes it or it expires. It is not an entry: no search finds it.

Examples:
  ken handoff                 show what waits on this branch
  ken handoff write --unfinished \"Refunds lack tests\" --tried \"A mutex: deadlocks with the retry\"
  ken handoff take            continue the work of the newest one"
)]
pub(crate) struct HandoffArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HandoffCommand>,
    /// Also show handoffs of other branches, and taken, replaced and expired ones
    #[arg(long)]
    pub(crate) all: bool,
}

/// `ken run handoff …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HandoffCommand {
    /// Leave unfinished work to the next session on this branch
    Write(WriteHandoffArgs),
    /// Take a handoff, so that no other session continues the same work
    #[command(after_help = "Example:\n  ken handoff take")]
    Take {
        /// The handoff, or an unambiguous prefix of its id [default: the newest on this branch]
        id: Option<String>,
    },
}

/// `ken run handoff write`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken handoff write --unfinished \"Refunds lack tests\" --open \"Is a partial refund allowed?\""
)]
pub(crate) struct WriteHandoffArgs {
    /// Work that is not finished; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) unfinished: Vec<Note>,
    /// What was tried, and why it did not work; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) tried: Vec<Note>,
    /// Open questions; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) open: Vec<Note>,
}

#[derive(Serialize)]
struct HandoffObject<'a> {
    schema: &'static str,
    state: HandoffState,
    #[serde(flatten)]
    handoff: &'a Handoff,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: HandoffArgs,
) -> Result<CommandExit, CommandFailure> {
    match args.command {
        None => show(session, args.all),
        Some(HandoffCommand::Write(args)) => write(session, args),
        Some(HandoffCommand::Take { id }) => take(session, id.as_deref()),
    }
}

fn show(session: &mut Session<'_>, all: bool) -> Result<CommandExit, CommandFailure> {
    let (shown, elsewhere, now) = session.read(|engine| {
        let now = engine.now();
        let mut every = engine.handoffs()?;
        every.reverse();
        let here = engine.waiting_handoffs()?;
        let waiting = every
            .iter()
            .filter(|it| it.state(now) == HandoffState::Waiting);
        let elsewhere = waiting.count() - here.len();
        Ok((if all { every } else { here }, elsewhere, now))
    })?;
    for handoff in &shown {
        print(session, handoff, handoff.state(now))?;
    }
    if session.is_json() {
        return Ok(CommandExit::Fine);
    }
    if shown.is_empty() {
        session.printer.talk("No handoff waits on this branch.")?;
    }
    if elsewhere > 0 && !all {
        let waits = pluralize(elsewhere as u64, "handoff waits", "handoffs wait");
        let hint = format!("{waits} on other branches: `ken handoff --all`");
        session.printer.hint(hint)?;
    }
    Ok(CommandExit::Fine)
}

fn print(
    session: &mut Session<'_>,
    handoff: &Handoff,
    state: HandoffState,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        let schema = "ken.handoff.v1";
        return session.printer.json(&HandoffObject {
            schema,
            state,
            handoff,
        });
    }
    let branch = handoff.written.branch.as_deref().unwrap_or("no branch");
    let by = handoff.taken.as_ref().map(|it| format!(" by {}", it.by));
    let head = format!(
        "{}  {}  {} on {}  {}{}",
        handoff.id,
        escape_invisible(branch),
        handoff.by,
        handoff.at.date(),
        enum_label(&state),
        by.unwrap_or_default()
    );
    session.printer.line(styled(BOLD, head))?;
    for line in handoff.written.to_text().lines() {
        session.printer.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn write(session: &mut Session<'_>, args: WriteHandoffArgs) -> Result<CommandExit, CommandFailure> {
    let points = HandoffPoints {
        unfinished: args.unfinished,
        tried: args.tried,
        open: args.open,
    };
    let written = session.write_as(|engine, reader| Ok(engine.write_handoff(points, reader)?))?;
    if session.is_json() {
        print(session, &written, HandoffState::Waiting)?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(written.id)?;
    let branch = written.written.branch.as_deref();
    let place = branch.map_or_else(
        || "here".to_owned(),
        |it| format!("on {}", escape_invisible(it)),
    );
    session.printer.talk(format_args!(
        "the next session {place} is shown it, for {EXPIRES_AFTER_DAYS} days; commit .ken to reach colleagues"
    ))?;
    Ok(CommandExit::Fine)
}

fn take(session: &mut Session<'_>, id: Option<&str>) -> Result<CommandExit, CommandFailure> {
    let taken = session.write_as(|engine, reader| Ok(engine.take_handoff(id, reader)?))?;
    print(session, &taken, HandoffState::Taken)?;
    Ok(CommandExit::Fine)
}
