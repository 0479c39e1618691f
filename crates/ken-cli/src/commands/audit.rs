//! `ken audit`: what is wrong with the knowledge a repository keeps already; needs no ledger and writes nothing.

use ken_engine::audit::{Audit, AuditFinding, Claim, Document, audit};
use serde::Serialize;

use super::Session;
use crate::args::{DocumentsArgs, Format};
use crate::failure::{Exit, Failure};
use crate::print::audit as told;
use crate::print::progress::Progress;

#[derive(Serialize)]
struct AuditObject<'a> {
    schema: &'static str,
    clean: bool,
    files: usize,
    documents: &'a [Document],
    claims: &'a [Claim],
    sound: usize,
    findings: &'a [AuditFinding],
}

pub(super) fn run(session: &mut Session<'_>, args: &DocumentsArgs) -> Result<Exit, Failure> {
    let guard = session.surroundings.guard()?;
    let (start, git) = (
        session.surroundings.start.clone(),
        session.surroundings.git.clone(),
    );
    let progress = Progress::start(session.printer, "auditing", None);
    let audited = progress.during(|_| audit(&start, &git, &guard, &args.paths))?;
    match session.printer.format() {
        Format::Json => session.printer.json(&object(&audited))?,
        Format::Markdown => session.printer.text(told::markdown(&audited))?,
        Format::Text | Format::Sarif | Format::Github => {
            let width = session.printer.width();
            session.printer.text(told::text(&audited, width))?;
            talk(session, &audited)?;
        }
    }
    Ok(match audited.is_clean() {
        true => Exit::Fine,
        false => Exit::Refused,
    })
}

fn talk(session: &mut Session<'_>, audited: &Audit) -> Result<(), Failure> {
    session.printer.talk(told::summary(audited))?;
    if audited.claims.is_empty() {
        return Ok(());
    }
    session.printer.hint(
        "`ken import` takes the sound ones in; what has findings stays out until it is mended",
    )
}

fn object(audited: &Audit) -> AuditObject<'_> {
    AuditObject {
        schema: "ken.audit.v1",
        clean: audited.is_clean(),
        files: audited.files,
        documents: &audited.documents,
        claims: &audited.claims,
        sound: audited.sound().len(),
        findings: &audited.findings,
    }
}
