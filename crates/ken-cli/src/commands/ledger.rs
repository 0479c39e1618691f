//! `ken ledger`: the ledger's own files.

use ken_engine::check::{Checked, Finding, Severity};
use ken_engine::replace::Replaced;
use serde::Serialize;

use super::Session;
use crate::args::LedgerCommand;
use crate::failure::{Exit, Failure};
use crate::print::progress::Progress;
use crate::print::{BAD, WARN, counted, styled};

/// What packing or blanking did.
#[derive(Serialize)]
pub(super) struct ReplacedObject {
    schema: &'static str,
    added: Vec<String>,
    removed: Vec<String>,
    events: u64,
    blanked: u64,
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
    pub(super) fn new(it: &Replaced) -> Self {
        Self {
            schema: "ken.replacement.v1",
            added: it.added.iter().map(|name| name.tree_path()).collect(),
            removed: it.removed.iter().map(|name| name.tree_path()).collect(),
            events: it.events,
            blanked: it.blanked,
            committed: it.committed,
            commits_in_history: it.commits_in_history,
        }
    }
}

pub(super) fn run(session: &mut Session<'_>, command: LedgerCommand) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::Pack => pack(session),
        LedgerCommand::Check => check(session),
        LedgerCommand::Cat { path } => {
            let text = session.read(|engine| Ok(engine.segment_text(&path)?))?;
            session.printer.text(text)?;
            Ok(Exit::Fine)
        }
    }
}

fn pack(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "packing", None);
    let replaced = session.write(|engine, _| progress.during(|_| Ok(engine.pack()?)))?;
    let object = ReplacedObject::new(&replaced);
    if session.is_json() {
        session.printer.json(&object)?;
        return Ok(Exit::Fine);
    }
    if object.added.is_empty() {
        session
            .printer
            .talk("nothing to pack: it takes several committed segments")?;
        return Ok(Exit::Fine);
    }
    for path in &object.added {
        session.printer.line(path)?;
    }
    let (events, files) = (
        counted(object.events, "event", "events"),
        counted(object.removed.len() as u64, "segment", "segments"),
    );
    let commit = if object.committed {
        ", in a commit of its own"
    } else {
        ""
    };
    session
        .printer
        .talk(format_args!("packed {events} of {files}{commit}"))?;
    Ok(Exit::Fine)
}

fn check(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "checking every line", None);
    let checked = session.read(|engine| progress.during(|_| Ok(engine.check_ledger()?)))?;
    let damaged = checked
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Damage);
    let exit = if damaged { Exit::Damaged } else { Exit::Fine };
    if session.is_json() {
        session.printer.json(&check_object(&checked))?;
        return Ok(exit);
    }
    for finding in &checked.findings {
        let (style, word) = match finding.severity {
            Severity::Note => (WARN, "note"),
            Severity::Damage => (BAD, "damage"),
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
    let events = counted(checked.events, "event", "events");
    let files = counted(checked.segments, "file", "files");
    let findings = counted(checked.findings.len() as u64, "finding", "findings");
    session
        .printer
        .talk(format_args!("checked {events} in {files}: {findings}"))?;
    if damaged {
        session.printer.hint("`git checkout -- FILE` restores a committed segment, `ken recover` what the journal holds")?;
    }
    Ok(exit)
}

fn check_object<'a>(checked: &'a Checked) -> CheckObject<'a> {
    let finding = |it: &'a Finding| {
        let Finding {
            file,
            line,
            severity,
            message,
        } = it;
        let severity = match severity {
            Severity::Note => "note",
            Severity::Damage => "damage",
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
