//! `ken audit`: checks the agent instructions of a repository. It needs no ledger and writes
//! nothing.

use clap::Args;
use ken_engine::audit::{
    AuditFinding, AuditOptions, AuditReport, AuditedClaim, AuditedDocument, UnreadableDocument,
    audit,
};
use serde::Serialize;

use super::Session;
use crate::args::Format;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::audit as told;
use crate::print::progress::ProgressIndicator;

/// `ken audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken audit\n  ken audit docs/adr --format markdown")]
pub(crate) struct DocumentsArgs {
    /// Documents or folders, relative to the repository root [default: every document with agent
    /// instructions]
    pub(crate) paths: Vec<String>,
    /// Also report claims whose cited files changed three times or more since the line was edited
    #[arg(long)]
    pub(crate) stale: bool,
}

#[derive(Serialize)]
struct AuditObject<'a> {
    schema: &'static str,
    clean: bool,
    files: usize,
    documents: &'a [AuditedDocument],
    #[serde(skip_serializing_if = "<[UnreadableDocument]>::is_empty")]
    unreadable: &'a [UnreadableDocument],
    claims: &'a [AuditedClaim],
    sound: usize,
    findings: &'a [AuditFinding],
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &DocumentsArgs,
) -> Result<CommandExit, CommandFailure> {
    let guard = session.surroundings.guard()?;
    let (start, git) = (
        session.surroundings.start.clone(),
        session.surroundings.git.clone(),
    );
    let progress = ProgressIndicator::start(session.printer, "auditing", None);
    let options = AuditOptions {
        only: args.paths.clone(),
        with_changed: args.stale,
    };
    let audited = progress.during(|_| audit(&start, &git, &guard, &options))?;
    match session.printer.format() {
        Format::Json => session.printer.json(&audit_object(&audited))?,
        Format::Markdown => session.printer.text(told::audit_markdown(&audited))?,
        Format::Text | Format::Sarif | Format::Github => {
            let width = session.printer.width();
            session.printer.text(told::audit_text(&audited, width))?;
            talk(session, &audited)?;
        }
    }
    Ok(if audited.is_clean() {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    })
}

fn talk(session: &mut Session<'_>, audited: &AuditReport) -> Result<(), CommandFailure> {
    let limits = told::limits_text(audited);
    let summary = told::audit_summary(audited);
    session.printer.talk(format_args!("{limits}{summary}"))?;
    if audited.claims.is_empty() {
        return Ok(());
    }
    session.printer.hint(
        "`ken import` adds the claims that are ok; claims with problems are skipped until you fix them",
    )
}

/// Returns the JSON document of an audit.
pub(crate) fn audit_object(audited: &AuditReport) -> impl Serialize {
    AuditObject {
        schema: "ken.audit.v1",
        clean: audited.is_clean(),
        files: audited.files,
        documents: &audited.documents,
        unreadable: &audited.unreadable,
        claims: &audited.claims,
        sound: audited.importable_claims().len(),
        findings: &audited.findings,
    }
}
