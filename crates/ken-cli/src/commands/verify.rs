//! `ken verify`: the gate; fails where something must not be relied on.

use ken_engine::notice::Notice;
use ken_engine::verify::{Finding, Level, Verified};
use serde::Serialize;

use super::Session;
use crate::failure::{Exit, Failure};
use crate::print::progress::Progress;
use crate::print::{BAD, GOOD, WARN, counted, styled};

#[derive(Serialize)]
struct VerifyObject<'a> {
    schema: &'static str,
    passes: bool,
    entries: usize,
    events: u64,
    findings: &'a [Finding],
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "verifying", None);
    let (verified, mut notices) =
        session.write_quietly(|engine| progress.during(|_| Ok(engine.verify()?)))?;
    // An edit that was left alone is a finding here.
    notices.retain(|notice| !matches!(notice, Notice::LeftAlone { .. }));
    session.printer.notices(&notices)?;
    let exit = if verified.passes() {
        Exit::Fine
    } else {
        Exit::Refused
    };
    if session.is_json() {
        session.printer.json(&VerifyObject {
            schema: "ken.verify.v1",
            passes: verified.passes(),
            entries: verified.entries,
            events: verified.events,
            findings: &verified.findings,
        })?;
        return Ok(exit);
    }
    for finding in &verified.findings {
        let (style, word) = match finding.level {
            Level::Warning => (WARN, "warning"),
            Level::Error => (BAD, "error"),
        };
        let line = finding
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let (at, gate, message) = (&finding.at, finding.gate, &finding.message);
        session.printer.line(format_args!(
            "{} {at}{line}: {message} [{gate}]",
            styled(style, word)
        ))?;
    }
    summarise(session, &verified)?;
    Ok(exit)
}

fn summarise(session: &mut Session<'_>, verified: &Verified) -> Result<(), Failure> {
    let entries = counted(verified.entries as u64, "entry", "entries");
    let events = counted(verified.events, "event", "events");
    let (style, word) = if verified.passes() {
        (GOOD, "passes")
    } else {
        (BAD, "fails")
    };
    let findings = counted(verified.findings.len() as u64, "finding", "findings");
    let verdict = styled(style, word);
    session
        .printer
        .line(format_args!("{verdict}: {entries}, {events}, {findings}"))
}
