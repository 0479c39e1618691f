//! `ken approve`: what waits for a person, and the person's word.

use std::path::Path;

use ken_core::entry::Entry;
use ken_core::kind::Kind;
use ken_engine::promotion::{Approving, SignatureError, Waiting};
use ken_engine::{Engine, Error};
use serde::Serialize;

use super::Session;
use crate::args::ApproveArgs;
use crate::failure::{Exit, Failure};
use crate::print::{counted, visible};

/// What waits, as programs read it.
#[derive(Serialize)]
struct WaitingObject {
    schema: &'static str,
    id: String,
    kind: &'static str,
    statement: String,
    /// What it was made from.
    sources: Vec<String>,
    /// Who may not approve it: they wrote it.
    authors: Vec<String>,
    /// The digest of what is approved.
    artifact: String,
    /// Whether the approval must be signed.
    signed: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &ApproveArgs) -> Result<Exit, Failure> {
    let Some(wanted) = &args.entry else {
        return list(session);
    };
    if args.show {
        return show(session, wanted);
    }
    let start = session.surroundings.start.clone();
    let read = |path: &Path| {
        let shown = path.display().to_string();
        std::fs::read(start.join(path))
            .map_err(|e| Failure::io(format!("cannot read `{shown}`"), &e))
    };
    let artifact = args.artifact.as_deref().map(read).transpose()?;
    let signature = args.signature.as_deref().map(read).transpose()?;
    let signature = signature.map(|it| String::from_utf8_lossy(&it).into_owned());
    let approving = Approving {
        artifact,
        signature,
    };
    let entry = session.write(|engine, by| {
        let entry = engine.find(wanted)?;
        let approved = engine.approve(entry.id, approving, by);
        approved.map_err(|error| unsigned(engine, &entry, error))
    })?;
    let said = match entry.quarantine.is_empty() {
        true => "approved: whoever it concerns is shown it from now on".to_owned(),
        false => "approved; something else about it still waits: `ken quarantine list`".to_owned(),
    };
    session.written(&entry, said)
}

/// Says how to sign, where that is what is missing.
fn unsigned(engine: &Engine, entry: &Entry, error: Error) -> Failure {
    let Error::Signature(why) = &error else {
        return error.into();
    };
    let (is_missing, id) = (*why == SignatureError::Missing, entry.id);
    let failure = Failure::from(error);
    let Ok(path) = engine.write_artifact(entry) else {
        return failure;
    };
    let sign = Engine::signing_command(&path);
    let next = format!("ken approve {id} --signature {path}.sig");
    let first = if is_missing {
        "sign it"
    } else {
        "sign it anew"
    };
    failure.with_hint(format!(
        "read {path}, {first} and approve:\n  {sign}\n  {next}"
    ))
}

fn show(session: &mut Session<'_>, wanted: &str) -> Result<Exit, Failure> {
    let bytes = session.read(|engine| {
        let entry = engine.find(wanted)?;
        Ok(engine.artifact_of(&entry)?)
    })?;
    session.printer.text(String::from_utf8_lossy(&bytes))?;
    Ok(Exit::Fine)
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (waiting, signed) = session.read(|engine| {
        let waiting = engine.waiting()?;
        Ok((waiting, engine.wants_signatures()?))
    })?;
    for it in &waiting {
        if session.is_json() {
            session.printer.json(&object(it, signed))?;
        } else {
            session.printer.text(lines(it))?;
        }
    }
    if session.is_json() {
        return Ok(Exit::Fine);
    }
    let count = counted(waiting.len() as u64, "entry waits", "entries wait");
    session
        .printer
        .talk(format_args!("{count} for an approval"))?;
    if !waiting.is_empty() {
        let how = if signed { " --signature FILE" } else { "" };
        session.printer.hint(format_args!(
            "`ken approve ID --show` prints what is approved, `ken approve ID{how}` approves it, `ken retract ID` takes it back"
        ))?;
    }
    Ok(Exit::Fine)
}

fn object(it: &Waiting, signed: bool) -> WaitingObject {
    WaitingObject {
        schema: "ken.waiting.v1",
        id: it.entry.id.to_string(),
        kind: it.entry.kind().map_or("", Kind::name),
        statement: it.entry.said().to_owned(),
        sources: sources(&it.entry),
        authors: it.authors.iter().map(ToString::to_string).collect(),
        artifact: it.artifact.clone(),
        signed,
    }
}

fn sources(entry: &Entry) -> Vec<String> {
    let created = entry.created.iter();
    let sources = created.flat_map(|it| &it.promoted_from);
    sources.map(ToString::to_string).collect()
}

/// What waits, for people: what it says, from what, by whom.
fn lines(it: &Waiting) -> String {
    let kind = it.entry.kind().map_or("", Kind::name);
    let authors: Vec<String> = it
        .authors
        .iter()
        .map(|by| visible(&by.to_string()))
        .collect();
    let authors = authors.join(", ");
    let sources = sources(&it.entry);
    let from = match sources.is_empty() {
        true => String::new(),
        false => format!(", from {}", sources.join(", ")),
    };
    let said = visible(&it.entry.title());
    format!("{}  {kind}  by {authors}{from}\n  {said}\n", it.entry.id)
}
