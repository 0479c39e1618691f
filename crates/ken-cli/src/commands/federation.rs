//! What `ken remote` and `ken hub` print about publications and peers.
//!
//! An approval covers every field of a wording, so every field is printed: whoever approves must
//! not be shown less than an agent is shown later.

use ken_core::federation::{BlockedExport, ExportArtifact, PeerPullReport, PublicationUpdate};
use ken_core::values::content::Content;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::CommandFailure;
use crate::print::{escape_invisible, pluralize};

/// Beginning of each printed line of a wording. With it, a line break in somebody's words cannot
/// imitate the row of another entry.
const WORDS_PREFIX: &str = "  | ";

/// JSON view of an entry that may leave.
#[derive(Serialize)]
struct ExportObject<'a> {
    schema: &'static str,
    id: String,
    state: &'static str,
    /// Exactly what leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<&'a ExportArtifact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// JSON view of an update.
#[derive(Serialize)]
struct UpdateObject {
    schema: &'static str,
    batches: usize,
    added: usize,
    withdrawn: usize,
    redacted: usize,
    new_epoch: bool,
}

/// JSON view of a pull.
#[derive(Serialize)]
struct PeerPullObject<'a> {
    schema: &'static str,
    peer: &'a str,
    batches: usize,
    new: usize,
    redacted: usize,
    withdrawn: usize,
    refused: Vec<RefusedLineObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'a str>,
}

#[derive(Serialize)]
struct RefusedLineObject<'a> {
    line: String,
    why: &'a str,
}

/// Prints what a publication would contain.
pub(super) fn print_export_review(
    session: &mut Session<'_>,
    waiting: &[&ExportArtifact],
    approved: &[&ExportArtifact],
    blocked: &[BlockedExport],
) -> Result<(), CommandFailure> {
    for artifact in waiting {
        print_export(session, artifact, "waiting")?;
    }
    for artifact in approved {
        print_export(session, artifact, "approved")?;
    }
    for it in blocked {
        if session.is_json() {
            session.printer.json(&ExportObject {
                schema: "ken.export_review.v1",
                id: it.entry.to_string(),
                state: "kept",
                artifact: None,
                why: Some(it.why.to_string()),
            })?;
        } else {
            let line = format_args!("{}  kept: {}", it.entry, it.why);
            session.printer.line(line)?;
        }
    }
    if !session.is_json() {
        let waiting = pluralize(waiting.len() as u64, "entry waits", "entries wait");
        let approved = approved.len();
        session
            .printer
            .talk(format_args!("{waiting} for you, {approved} approved"))?;
    }
    Ok(())
}

fn print_export(
    session: &mut Session<'_>,
    artifact: &ExportArtifact,
    state: &'static str,
) -> Result<(), CommandFailure> {
    let id = artifact.entry();
    if session.is_json() {
        return session.printer.json(&ExportObject {
            schema: "ken.export_review.v1",
            id: id.to_string(),
            state,
            artifact: Some(artifact),
            why: None,
        });
    }
    session.printer.line(format_args!("{id}  {state}"))?;
    print_wording(session, &artifact.content)
}

/// Prints every field of a wording, each line behind a prefix.
pub(super) fn print_wording(
    session: &mut Session<'_>,
    content: &Content,
) -> Result<(), CommandFailure> {
    let mut lines: Vec<String> = content.statement.as_str().lines().map(Into::into).collect();
    let body = content.body.as_ref();
    lines.extend(
        body.into_iter()
            .flat_map(|it| it.as_str().lines())
            .map(Into::into),
    );
    // The other fields as they are stored, so that one that is added later is not forgotten here.
    let fields = serde_json::to_value(content);
    let fields = fields.as_ref().ok().and_then(serde_json::Value::as_object);
    for (name, value) in fields.into_iter().flatten() {
        if matches!(name.as_str(), "statement" | "body") {
            continue;
        }
        lines.push(match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        });
    }
    for line in lines {
        let line = escape_invisible(&line);
        session.printer.line(format_args!("{WORDS_PREFIX}{line}"))?;
    }
    Ok(())
}

/// Prints the result of an update of a publication. `disagreed` says what did not agree if a new
/// epoch began.
pub(super) fn print_update(
    session: &mut Session<'_>,
    done: &PublicationUpdate,
    disagreed: &str,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&UpdateObject {
            schema: "ken.publication_update.v1",
            batches: done.batches,
            added: done.added,
            withdrawn: done.withdrawn,
            redacted: done.redacted,
            new_epoch: done.new_epoch,
        });
    }
    if done.batches == 0 {
        session.printer.line("up to date")?;
    } else {
        session.printer.line(format_args!(
            "published {} added, {} withdrawn, {} redacted",
            done.added, done.withdrawn, done.redacted
        ))?;
    }
    if done.new_epoch {
        session.printer.talk(format_args!(
            "{disagreed} did not agree on the last batch, so a new epoch began"
        ))?;
    }
    Ok(())
}

/// Prints the result of a pull.
pub(super) fn print_pull(
    session: &mut Session<'_>,
    peer: &str,
    done: &PeerPullReport,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        let refused = done.refused.iter().map(|(line, why)| RefusedLineObject {
            line: line.to_string(),
            why,
        });
        return session.printer.json(&PeerPullObject {
            schema: "ken.peer_pull.v1",
            peer,
            batches: done.batches,
            new: done.new,
            redacted: done.redacted,
            withdrawn: done.withdrawn,
            refused: refused.collect(),
            stopped: done.stopped.as_deref(),
        });
    }
    session.printer.line(format_args!(
        "{peer}: {} new, {} withdrawn, {} redacted",
        done.new, done.withdrawn, done.redacted
    ))?;
    for (line, why) in &done.refused {
        let why = escape_invisible(why);
        session
            .printer
            .line(format_args!("  refused {line}: {why}"))?;
    }
    if let Some(why) = &done.stopped {
        let why = escape_invisible(why);
        session.printer.line(format_args!("  stopped: {why}"))?;
    }
    Ok(())
}
