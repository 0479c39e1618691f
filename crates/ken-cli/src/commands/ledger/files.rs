//! `ken ledger check`, `pack` and `cat`: the files of the ledger.

use ken_engine::check::{LedgerCheck, LedgerFinding, LedgerSeverity};
use ken_engine::replace::ReplaceReport;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::{BAD, WARN, pluralize, styled};

/// JSON view of a replacement of segments by packing or redaction.
#[derive(Serialize)]
pub(super) struct ReplacedObject {
    schema: &'static str,
    added: Vec<String>,
    removed: Vec<String>,
    events: u64,
    redacted: u64,
    committed: bool,
    commits_in_history: Option<u64>,
}

#[derive(Serialize)]
struct CheckObject<'a> {
    schema: &'static str,
    segments: u64,
    events: u64,
    findings: Vec<FindingObject<'a>>,
}

#[derive(Serialize)]
struct FindingObject<'a> {
    severity: &'static str,
    file: &'a str,
    line: Option<u64>,
    message: &'a str,
}

impl ReplacedObject {
    pub(super) fn new(it: &ReplaceReport) -> Self {
        Self {
            schema: "ken.replacement.v1",
            added: it.added.iter().map(|name| name.tree_path()).collect(),
            removed: it.removed.iter().map(|name| name.tree_path()).collect(),
            events: it.events,
            redacted: it.blanked,
            committed: it.committed,
            commits_in_history: it.commits_in_history,
        }
    }
}

pub(super) fn cat(session: &mut Session<'_>, path: &str) -> Result<CommandExit, CommandFailure> {
    let text = session.read(|engine| Ok(engine.segment_text(path)?))?;
    session.printer.text(text)?;
    Ok(CommandExit::Fine)
}

pub(super) fn pack(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "packing", None);
    let replaced = session.maintain(|engine| progress.during(|_| Ok(engine.pack()?)))?;
    let object = ReplacedObject::new(&replaced);
    if session.is_json() {
        session.printer.json(&object)?;
        return Ok(CommandExit::Fine);
    }
    if object.added.is_empty() {
        session
            .printer
            .talk("nothing to pack: packing needs several committed segments")?;
        return Ok(CommandExit::Fine);
    }
    for path in &object.added {
        session.printer.line(path)?;
    }
    let (events, files) = (
        pluralize(object.events, "event", "events"),
        pluralize(object.removed.len() as u64, "segment", "segments"),
    );
    let commit = if object.committed {
        ", in a separate commit"
    } else {
        ""
    };
    session
        .printer
        .talk(format_args!("packed {events} of {files}{commit}"))?;
    Ok(CommandExit::Fine)
}

pub(super) fn check(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "checking every line", None);
    let checked = session.read(|engine| progress.during(|_| Ok(engine.check_ledger()?)))?;
    let damaged = checked
        .findings
        .iter()
        .any(|finding| finding.severity == LedgerSeverity::Damage);
    let exit = if damaged {
        CommandExit::Damaged
    } else {
        CommandExit::Fine
    };
    if session.is_json() {
        session.printer.json(&check_object(&checked))?;
        return Ok(exit);
    }
    for finding in &checked.findings {
        let (style, word) = match finding.severity {
            LedgerSeverity::Note => (WARN, "note"),
            LedgerSeverity::Damage => (BAD, "damage"),
        };
        let place = match finding.line {
            Some(line) => format!("{}:{line}", finding.file),
            None => finding.file.clone(),
        };
        session.printer.line(format_args!(
            "{} {place}: {}",
            styled(style, word),
            finding.message
        ))?;
    }
    let events = pluralize(checked.events, "event", "events");
    let files = pluralize(checked.segments, "file", "files");
    let findings = pluralize(checked.findings.len() as u64, "finding", "findings");
    session
        .printer
        .talk(format_args!("checked {events} in {files}: {findings}"))?;
    if damaged {
        session.printer.hint("`git checkout -- FILE` restores a committed segment, `ken ledger recover` restores events from the journal")?;
    }
    Ok(exit)
}

fn check_object<'a>(checked: &'a LedgerCheck) -> CheckObject<'a> {
    let finding = |it: &'a LedgerFinding| {
        let LedgerFinding {
            file,
            line,
            severity,
            message,
        } = it;
        let severity = match severity {
            LedgerSeverity::Note => "note",
            LedgerSeverity::Damage => "damage",
        };
        FindingObject {
            severity,
            file,
            line: *line,
            message,
        }
    };
    CheckObject {
        schema: "ken.check.v1",
        segments: checked.segments,
        events: checked.events,
        findings: checked.findings.iter().map(finding).collect(),
    }
}
