//! `ken inbox approve`: approval of entries that need a person.

use std::path::{Path, PathBuf};

use clap::Args;
use ken_core::ledger::entry::Entry;
use ken_core::values::kind::EntryKind;
use ken_engine::promotion::{ApprovalInput, PendingApproval, SignatureError};
use ken_engine::{Engine, EngineError};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// `ken inbox approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken inbox approve\n  ken inbox approve N-3fce --show\n  ken inbox approve N-3fce"
)]
pub(crate) struct ApproveArgs {
    /// The entry [default: list every entry that needs approval]
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: Option<String>,
    /// Print the artifact without approving it
    #[arg(long, requires = "entry", conflicts_with = "signature")]
    pub(crate) show: bool,
    /// The artifact you reviewed; the approval fails if the ledger differs
    #[arg(long, value_name = "FILE", requires = "entry")]
    pub(crate) artifact: Option<PathBuf>,
    /// Your signature over it, made with `ssh-keygen -Y sign -n ken`
    #[arg(long, value_name = "FILE", requires = "entry")]
    pub(crate) signature: Option<PathBuf>,
}

/// JSON view of a pending approval.
#[derive(Serialize)]
pub(super) struct PendingJson {
    schema: &'static str,
    id: String,
    kind: &'static str,
    statement: String,
    /// Entries it was promoted from.
    sources: Vec<String>,
    /// Authors, who may not approve it.
    authors: Vec<String>,
    /// Digest of the artifact.
    artifact: String,
    /// Whether the approval must be signed.
    signed: bool,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ApproveArgs,
) -> Result<CommandExit, CommandFailure> {
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
            .map_err(|e| CommandFailure::io(format!("cannot read `{shown}`"), &e))
    };
    let artifact = args.artifact.as_deref().map(read).transpose()?;
    let signature = args.signature.as_deref().map(read).transpose()?;
    let signature = signature.map(|it| String::from_utf8_lossy(&it).into_owned());
    let approving = ApprovalInput {
        artifact,
        signature,
    };
    if args.signature.is_some() {
        session.surroundings = session.surroundings.signed();
    }
    let agent = session.surroundings.impersonating_agent();
    let entry = session.write(|engine, by| {
        let entry = engine.find(wanted)?;
        // Without a list of signers, nothing would verify that the person signed.
        if let Some(agent) = agent.filter(|_| !engine.requires_signatures().unwrap_or_default()) {
            let message = format!(
                "{agent} runs this command and cannot act as {by}: no `.ken/allowed_signers` verifies the signature"
            );
            return Err(CommandFailure::refused("person_needed", message));
        }
        let approved = engine.approve(entry.id, approving, by);
        approved.map_err(|error| unsigned(engine, &entry, error))
    })?;
    let message = if entry.quarantine.is_empty() {
        "approved: agents see it from now on".to_owned()
    } else {
        "approved, but still quarantined; see `ken guard quarantine list`".to_owned()
    };
    session.written(&entry, message)
}

/// Adds instructions for signing if a signature is missing or invalid.
fn unsigned(engine: &Engine, entry: &Entry, error: EngineError) -> CommandFailure {
    let EngineError::Signature(why) = &error else {
        return error.into();
    };
    let (is_missing, id) = (*why == SignatureError::Missing, entry.id);
    let failure = CommandFailure::from(error);
    let Ok(path) = engine.write_artifact(entry) else {
        return failure;
    };
    let sign = Engine::signing_command(&path);
    let next = format!("ken inbox approve {id} --signature {path}.sig");
    let first = if is_missing {
        "sign it"
    } else {
        "sign it again"
    };
    failure.with_hint(format!(
        "read {path}, {first} and approve:\n  {sign}\n  {next}"
    ))
}

fn show(session: &mut Session<'_>, wanted: &str) -> Result<CommandExit, CommandFailure> {
    let bytes = session.read(|engine| {
        let entry = engine.find(wanted)?;
        Ok(engine.artifact_bytes(&entry)?)
    })?;
    session.printer.text(String::from_utf8_lossy(&bytes))?;
    Ok(CommandExit::Fine)
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (pending, signed) = session.read(|engine| {
        let pending = engine.pending_approvals()?;
        Ok((pending, engine.requires_signatures()?))
    })?;
    for it in &pending {
        if session.is_json() {
            session.printer.json(&object(it, signed))?;
        } else {
            session.printer.text(lines(it))?;
        }
    }
    if session.is_json() {
        return Ok(CommandExit::Fine);
    }
    let count = pluralize(pending.len() as u64, "entry needs", "entries need");
    session.printer.talk(format_args!("{count} approval"))?;
    if !pending.is_empty() {
        let how = if signed { " --signature FILE" } else { "" };
        session.printer.hint(format_args!(
            "`ken inbox approve ID --show` prints the artifact, `ken inbox approve ID{how}` approves it, `ken retract ID` rejects it"
        ))?;
    }
    Ok(CommandExit::Fine)
}

pub(super) fn object(it: &PendingApproval, signed: bool) -> PendingJson {
    PendingJson {
        schema: "ken.approval.v1",
        id: it.entry.id.to_string(),
        kind: it.entry.kind().map_or("", EntryKind::name),
        statement: it.entry.statement_text().to_owned(),
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

/// Returns the text of a pending approval: statement, sources, authors.
pub(super) fn lines(it: &PendingApproval) -> String {
    let kind = it.entry.kind().map_or("", EntryKind::name);
    let authors: Vec<String> = it
        .authors
        .iter()
        .map(|by| escape_invisible(&by.to_string()))
        .collect();
    let authors = authors.join(", ");
    let sources = sources(&it.entry);
    let from = if sources.is_empty() {
        String::new()
    } else {
        format!(", from {}", sources.join(", "))
    };
    let title = escape_invisible(&it.entry.title());
    format!("{}  {kind}  by {authors}{from}\n  {title}\n", it.entry.id)
}
