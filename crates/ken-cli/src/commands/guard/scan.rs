//! `ken guard scan`: prints the guard's findings. Writes nothing and needs no ledger.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ken_engine::guard::{FindingSeverity, Guard, Mode, RULES, ScanFinding, Status};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{BAD, DIM, WARN, pluralize, styled};

/// `ken guard scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken guard scan docs\n  git diff | ken guard scan --as code")]
pub(crate) struct ScanArgs {
    /// Files and folders; `-` or none reads standard input
    pub(crate) paths: Vec<PathBuf>,
    /// Type of text [default: by file name; prose for standard input]
    #[arg(long = "as", value_name = "MODE")]
    pub(crate) mode: Option<ScanMode>,
}

/// Type of scanned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanMode {
    /// Natural language
    Prose,
    /// Natural language to be shared: also finds names, hosts and folders
    Statement,
    /// Source code, configuration and commands: also finds high-entropy strings
    Code,
}

/// Maximum bytes of a file; larger files are data, not text.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Folders that are skipped because they contain generated or third-party files.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// File extensions of natural language.
const PROSE: [&str; 5] = ["md", "markdown", "txt", "rst", "adoc"];

#[derive(Serialize)]
struct ScanObject {
    schema: &'static str,
    rules: &'static str,
    status: &'static str,
    files: usize,
    skipped: usize,
    findings: Vec<FindingObject>,
}

#[derive(Serialize)]
struct FindingObject {
    file: String,
    line: usize,
    column: usize,
    /// Byte range in the file; the end is exclusive.
    span: [usize; 2],
    rule: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    axis: &'static str,
    severity: String,
}

/// State of a scan.
struct Scan<'g> {
    guard: &'g Guard,
    mode: Option<ScanMode>,
    status: Status,
    refused: bool,
    files: usize,
    /// Number of files that are not text, or too large.
    skipped: usize,
    findings: Vec<(FindingObject, FindingSeverity)>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ScanArgs,
) -> Result<CommandExit, CommandFailure> {
    let guard = session.surroundings.guard()?;
    let mut scan = Scan {
        guard: &guard,
        mode: args.mode,
        status: Status::Safe,
        refused: false,
        files: 0,
        skipped: 0,
        findings: Vec::new(),
    };
    let input = [PathBuf::from("-")];
    let paths = if args.paths.is_empty() {
        &input[..]
    } else {
        &args.paths
    };
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let read = io::stdin()
                .lock()
                .take(FILE_BYTES_MAX + 1)
                .read_to_end(&mut bytes);
            read.map_err(|e| CommandFailure::io("cannot read standard input", &e))?;
            scan.text("-", &String::from_utf8_lossy(&bytes), Mode::Prose);
        } else {
            scan.path(&session.surroundings.start.join(path), path)?;
        }
    }
    finish(session, scan)
}

impl Scan<'_> {
    fn path(&mut self, path: &Path, shown: &Path) -> Result<(), CommandFailure> {
        let failed =
            |e: &io::Error| CommandFailure::io(format!("cannot read `{}`", shown.display()), e);
        let metadata = fs::symlink_metadata(path).map_err(|e| failed(&e))?;
        if metadata.is_dir() {
            let entries = fs::read_dir(path).map_err(|e| failed(&e))?;
            let mut names: Vec<_> = entries.flatten().map(|it| it.file_name()).collect();
            names.sort();
            for name in names {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    self.path(&path.join(&name), &shown.join(&name))?;
                }
            }
            return Ok(());
        }
        if !metadata.is_file() {
            return Ok(());
        }
        if metadata.len() > FILE_BYTES_MAX {
            self.skipped += 1;
            return Ok(());
        }
        let bytes = fs::read(path).map_err(|e| failed(&e))?;
        if bytes.contains(&0) {
            self.skipped += 1;
            return Ok(());
        }
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or("");
        let prose = PROSE.contains(&ending.to_ascii_lowercase().as_str());
        let mode = if prose { Mode::Prose } else { Mode::Code };
        self.text(
            &shown.display().to_string(),
            &String::from_utf8_lossy(&bytes),
            mode,
        );
        Ok(())
    }

    fn text(&mut self, file: &str, text: &str, mode: Mode) {
        let mode = match self.mode {
            None => mode,
            Some(ScanMode::Prose) => Mode::Prose,
            Some(ScanMode::Statement) => Mode::Statement,
            Some(ScanMode::Code) => Mode::Code,
        };
        let scanned = self.guard.scan(text, mode);
        self.files += 1;
        self.status = self.status.max(scanned.status);
        self.refused |= scanned.refused;
        let found = scanned.findings.iter();
        self.findings.extend(found.map(|it| object(file, it)));
    }
}

fn object(file: &str, it: &ScanFinding) -> (FindingObject, FindingSeverity) {
    let severity = it.severity;
    let object = FindingObject {
        file: file.to_owned(),
        line: it.line,
        column: it.column,
        span: [it.span.start, it.span.end],
        rule: it.rule,
        kind: it.kind,
        axis: it.axis.as_str(),
        severity: severity.to_string(),
    };
    (object, severity)
}

/// Prints the summary; the exit code is 1 if a finding would be refused.
fn finish(session: &mut Session<'_>, scan: Scan<'_>) -> Result<CommandExit, CommandFailure> {
    // If nothing was scanned, success would be misleading.
    let unread = scan.files == 0 && scan.skipped != 0;
    let exit = if scan.refused || unread {
        CommandExit::Refused
    } else {
        CommandExit::Fine
    };
    if session.is_json() {
        session.printer.json(&ScanObject {
            schema: "ken.scan.v1",
            rules: RULES,
            status: scan.status.as_str(),
            files: scan.files,
            skipped: scan.skipped,
            findings: scan.findings.into_iter().map(|(it, _)| it).collect(),
        })?;
        return Ok(exit);
    }
    for (it, severity) in &scan.findings {
        let style = match severity {
            FindingSeverity::Low => DIM,
            FindingSeverity::Medium => WARN,
            FindingSeverity::High | FindingSeverity::Critical => BAD,
        };
        let severity = styled(style, format_args!("{:<8}", it.severity));
        let (file, line, column) = (&it.file, it.line, it.column);
        session.printer.line(format_args!(
            "{file}:{line}:{column}  {severity}  {} ({}, {})",
            it.kind, it.rule, it.axis
        ))?;
    }
    let files = pluralize(scan.files as u64, "text", "texts");
    let findings = pluralize(scan.findings.len() as u64, "finding", "findings");
    session.printer.talk(format_args!(
        "{files}, {findings}: {} ({RULES})",
        scan.status
    ))?;
    if scan.skipped != 0 {
        let skipped = pluralize(scan.skipped as u64, "file", "files");
        session.printer.talk(format_args!(
            "{skipped} skipped: not text, or larger than 1 MiB"
        ))?;
    }
    Ok(exit)
}
