//! `ken reanchor`: takes fingerprints, follows code that moved, and leads a person through what changed.

use std::io::{self, BufRead as _, IsTerminal as _};

use ken_core::citation::Evidence;
use ken_core::content::Changes;
use ken_core::event::RetractReason;
use ken_core::id::EntryId;
use ken_core::run::How;
use ken_engine::validity::{Checked, Verdict};
use serde::Serialize;

use super::Session;
use crate::args::ReanchorArgs;
use crate::failure::{Exit, Failure};
use crate::print::gate::indented;
use crate::print::{counted, visible};

#[derive(Serialize)]
struct ReanchoredObject {
    schema: &'static str,
    taken: Vec<EntryId>,
    followed: Vec<EntryId>,
    left: Vec<EntryId>,
}

pub(super) fn run(session: &mut Session<'_>, args: &ReanchorArgs) -> Result<Exit, Failure> {
    match (&args.id, &args.cite) {
        (Some(id), Some(evidence)) if args.keep => {
            let entry = session.write(|engine, by| {
                let id = engine.find(id)?.id;
                engine.cite(id, evidence.clone(), by)?;
                Ok(engine.keep(id, by)?)
            })?;
            session.written(&entry, "its code is taken as it is now")
        }
        (Some(id), _) => {
            let checked = session.write_as(|engine, reader| {
                let id = engine.find(id)?.id;
                engine.note_shown(reader, &[id], How::Show)?;
                Ok(engine.check_entry(id)?)
            })?;
            walk(session, vec![checked])
        }
        (None, _) if args.all => all(session),
        (None, _) => {
            let invalid = session.write_as(|engine, reader| {
                let invalid = engine.invalid()?;
                let ids: Vec<EntryId> = invalid.iter().map(|it| it.entry.id).collect();
                engine.note_shown(reader, &ids, How::Pull)?;
                Ok(invalid)
            })?;
            walk(session, invalid)
        }
    }
}

fn all(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let done = session.write(|engine, by| Ok(engine.reanchor_all(by)?))?;
    if session.is_json() {
        session.printer.json(&ReanchoredObject {
            schema: "ken.reanchored.v1",
            taken: done.taken,
            followed: done.followed,
            left: done.left,
        })?;
        return Ok(Exit::Fine);
    }
    let count = |ids: &[EntryId]| counted(ids.len() as u64, "entry", "entries");
    let (taken, followed) = (count(&done.taken), count(&done.followed));
    session.printer.line(format_args!(
        "fingerprints taken: {taken}; followed: {followed}"
    ))?;
    if !done.left.is_empty() {
        let left = count(&done.left);
        session.printer.hint(format_args!(
            "the code of {left} changed: `ken reanchor` asks about each"
        ))?;
    }
    Ok(Exit::Fine)
}

/// Asks about each entry what is to become of it.
fn walk(session: &mut Session<'_>, all: Vec<Checked>) -> Result<Exit, Failure> {
    let mut open: Vec<Checked> = all.into_iter().filter(Checked::is_invalid).collect();
    if open.is_empty() {
        session
            .printer
            .line("Nothing to decide: no code changed under it.")?;
        return Ok(Exit::Fine);
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
            "`ken reanchor ID --keep --cite TYPE:REF` says that it stands; `ken revise ID` or `ken retract ID` that it does not",
        )?;
        return Ok(Exit::Refused);
    }
    Ok(Exit::Fine)
}

fn show(session: &mut Session<'_>, checked: &Checked) -> Result<(), Failure> {
    let content = checked.entry.content.as_ref();
    let statement = content.map(|it| it.statement.to_string());
    let statement = visible(&statement.unwrap_or_default());
    let id = checked.entry.id;
    session.printer.line(format_args!("{id}  {statement}"))?;
    for it in &checked.anchors {
        if matches!(it.verdict, Verdict::Changed | Verdict::Gone) {
            let line = it.line.map(|line| format!(" (line {line})"));
            let line = line.unwrap_or_default();
            session
                .printer
                .line(format_args!("  {}{line}: {}", it.at, visible(&it.why)))?;
            if let Some(diff) = &it.diff {
                session.printer.text(indented(diff))?;
            }
        }
    }
    for it in &checked.conditions {
        if it.truth == ken_core::condition::Truth::Broken {
            session
                .printer
                .line(format_args!("  {}: {}", it.condition, visible(&it.why)))?;
        }
    }
    Ok(())
}

/// Reads a person's answer and carries it out.
fn decide(session: &mut Session<'_>, id: EntryId) -> Result<(), Failure> {
    loop {
        let answer = ask(session, "[k]eep, [r]evise, re[t]ract, [s]kip?")?;
        match answer.as_str() {
            "k" | "keep" => {
                let cited = ask(session, "what shows it (commit:HASH, test:NAME, …)?")?;
                let Ok(evidence) = cited.parse::<Evidence>() else {
                    session
                        .printer
                        .hint("write TYPE:REF, such as commit:3fce3b5")?;
                    continue;
                };
                return session.write(|engine, by| {
                    engine.cite(id, evidence, by)?;
                    engine.keep(id, by)?;
                    Ok(())
                });
            }
            "r" | "revise" => {
                let text = ask(session, "the claim as it should read now:")?;
                let statement = match text.parse() {
                    Ok(statement) => statement,
                    Err(error) => {
                        session.printer.hint(error)?;
                        continue;
                    }
                };
                let changes = Changes {
                    statement: Some(statement),
                    ..Changes::default()
                };
                return session.write(|engine, by| {
                    engine.revise(id, changes, None, by)?;
                    engine.keep(id, by)?;
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

fn ask(session: &mut Session<'_>, question: &str) -> Result<String, Failure> {
    session.printer.talk(question)?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::usage(format_args!("cannot read the answer: {error}")))?;
    Ok(line.trim().to_owned())
}
