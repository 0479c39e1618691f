//! `ken entry reanchor`: updates anchors after code moved, and asks a person about changed code.

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use ken_core::ledger::event::RetractReason;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EntryId;
use ken_engine::validity::{AnchorVerdict, EntryCheck};
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::gate::indent_diff;
use crate::print::{escape_invisible, pluralize};

/// `ken entry reanchor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken entry reanchor --all\n  ken entry reanchor L-7k2f --keep --cite commit:3fce3b5\n  ken entry reanchor L-7k2f --to src/pay.rs#charge_once"
)]
pub(crate) struct ReanchorArgs {
    /// The entry [default: ask about every entry whose code changed]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Add missing fingerprints and follow moved code, for every entry
    #[arg(long, conflicts_with_all = ["id", "keep"])]
    pub(crate) all: bool,
    /// The code has moved: replace the anchors whose code changed or is gone; repeatable
    #[arg(long, value_name = "ANCHOR", requires = "id", conflicts_with_all = ["all", "keep"])]
    pub(crate) to: Vec<CodeLocation>,
    /// The claim still holds: accept the current code
    #[arg(long, requires = "id", requires = "cite")]
    pub(crate) keep: bool,
    #[arg(
        long,
        help = values::cite_help("Citation that shows it still holds"),
        value_name = "TYPE:REF",
        requires = "keep"
    )]
    pub(crate) cite: Option<CitationSource>,
}

#[derive(Serialize)]
struct ReanchoredObject {
    schema: &'static str,
    taken: Vec<EntryId>,
    followed: Vec<EntryId>,
    left: Vec<EntryId>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ReanchorArgs,
) -> Result<CommandExit, CommandFailure> {
    match (&args.id, &args.cite) {
        (Some(id), Some(evidence)) if args.keep => {
            let entry = session.write(|engine, by| {
                let id = engine.find(id)?.id;
                Ok(engine.accept_current_code(id, Some(evidence.clone()), by)?)
            })?;
            session.written(&entry, "reanchored to the current code")
        }
        (Some(id), _) if !args.to.is_empty() => {
            let entry = session.write(|engine, by| {
                let id = engine.find(id)?.id;
                Ok(engine.reanchor_to(id, args.to.clone(), by)?)
            })?;
            session.written(&entry, "reanchored")
        }
        (Some(id), _) => {
            let checked = session.write_as(|engine, reader| {
                let id = engine.find(id)?.id;
                engine.record_exposures(reader, &[id], ExposureChannel::Show)?;
                Ok(engine.check_entry(id)?)
            })?;
            walk(session, vec![checked])
        }
        (None, _) if args.all => all(session),
        (None, _) => {
            let invalid = session.write_as(|engine, reader| {
                let invalid = engine.invalid_entries()?;
                let ids: Vec<EntryId> = invalid.iter().map(|it| it.entry.id).collect();
                engine.record_exposures(reader, &ids, ExposureChannel::Pull)?;
                Ok(invalid)
            })?;
            walk(session, invalid)
        }
    }
}

fn all(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let done = session.write(|engine, by| Ok(engine.reanchor_all(by)?))?;
    if session.is_json() {
        session.printer.json(&ReanchoredObject {
            schema: "ken.reanchored.v1",
            taken: done.fingerprinted,
            followed: done.moved,
            left: done.unresolved,
        })?;
        return Ok(CommandExit::Fine);
    }
    let count = |ids: &[EntryId]| pluralize(ids.len() as u64, "entry", "entries");
    let (taken, followed) = (count(&done.fingerprinted), count(&done.moved));
    session.printer.line(format_args!(
        "fingerprints added: {taken}; anchors moved: {followed}"
    ))?;
    if !done.unresolved.is_empty() {
        let left = count(&done.unresolved);
        session.printer.hint(format_args!(
            "the code of {left} changed: run `ken entry reanchor` to decide about each"
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// Asks a person to decide about each entry.
fn walk(session: &mut Session<'_>, all: Vec<EntryCheck>) -> Result<CommandExit, CommandFailure> {
    let mut open: Vec<EntryCheck> = all.into_iter().filter(EntryCheck::is_invalid).collect();
    if open.is_empty() {
        session
            .printer
            .line("Nothing to decide: no anchored code changed.")?;
        return Ok(CommandExit::Fine);
    }
    let asks = io::stdin().is_terminal() && !session.is_json();
    for checked in open.drain(..) {
        show(session, &checked)?;
        if asks {
            decide(session, checked.entry.id)?;
        }
    }
    if !asks {
        session.printer.hint(
            "run `ken entry reanchor ID --keep --cite TYPE:REF` if the claim still holds, `ken entry reanchor ID --to PATH#SYMBOL` if the code moved, otherwise `ken edit ID --statement TEXT` or `ken retract ID`",
        )?;
        return Ok(CommandExit::Refused);
    }
    Ok(CommandExit::Fine)
}

fn show(session: &mut Session<'_>, checked: &EntryCheck) -> Result<(), CommandFailure> {
    let content = checked.entry.content.as_ref();
    let statement = content.map(|it| it.statement.to_string());
    let statement = escape_invisible(&statement.unwrap_or_default());
    let id = checked.entry.id;
    session.printer.line(format_args!("{id}  {statement}"))?;
    for it in &checked.anchors {
        if matches!(it.verdict, AnchorVerdict::Changed | AnchorVerdict::Gone) {
            let line = it.line.map(|line| format!(" (line {line})"));
            let line = line.unwrap_or_default();
            session.printer.line(format_args!(
                "  {}{line}: {}",
                it.at,
                escape_invisible(&it.why)
            ))?;
            if let Some(diff) = &it.diff {
                session.printer.text(indent_diff(diff))?;
            }
        }
    }
    for it in &checked.conditions {
        if it.truth == ken_core::values::condition::TruthValue::Broken {
            session.printer.line(format_args!(
                "  {}: {}",
                it.condition,
                escape_invisible(&it.why)
            ))?;
        }
    }
    Ok(())
}

/// Reads a person's answer and applies it.
fn decide(session: &mut Session<'_>, id: EntryId) -> Result<(), CommandFailure> {
    loop {
        let answer = ask(session, "[k]eep, [e]dit, re[t]ract, [s]kip?")?;
        match answer.as_str() {
            "k" | "keep" => {
                let cited = ask(
                    session,
                    "citation that shows it still holds (commit:HASH, test:NAME, …):",
                )?;
                let Ok(evidence) = cited.parse::<CitationSource>() else {
                    session
                        .printer
                        .hint("write TYPE:REF, such as commit:3fce3b5")?;
                    continue;
                };
                return session.write(|engine, by| {
                    engine.accept_current_code(id, Some(evidence), by)?;
                    Ok(())
                });
            }
            "e" | "edit" | "r" | "revise" => {
                let text = ask(session, "new statement:")?;
                let statement = match text.parse() {
                    Ok(statement) => statement,
                    Err(error) => {
                        session.printer.hint(error)?;
                        continue;
                    }
                };
                let changes = ContentChanges {
                    statement: Some(statement),
                    ..ContentChanges::default()
                };
                return session.write(|engine, by| {
                    engine.edit(id, changes, None, by)?;
                    engine.accept_current_code(id, None, by)?;
                    Ok(())
                });
            }
            "t" | "retract" => {
                return session.write(|engine, by| {
                    engine.retract(id, RetractReason::Obsolete, None, by)?;
                    Ok(())
                });
            }
            "s" | "skip" | "" => return Ok(()),
            _ => {}
        }
    }
}

fn ask(session: &mut Session<'_>, question: &str) -> Result<String, CommandFailure> {
    session.printer.talk(question)?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CommandFailure::usage(format_args!("cannot read the answer: {error}")))?;
    Ok(line.trim().to_owned())
}
