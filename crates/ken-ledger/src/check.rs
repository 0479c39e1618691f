//! Full verification of the ledger.
//!
//! Unlike a reader, it does not stop at the first damage, and it changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use ken_core::values::id::EventId;
use ken_core::values::kind::Memory;

use crate::disk::{DiskError, read_if_exists};
use crate::journal::{self, BadRecord, Journal, JournalPosition};
use crate::layout::{self, SegmentForm, SegmentName, TEMPORARY_DIR, VERSION, VERSION_FILE};
use crate::ledger::Ledger;
use crate::pack;
use crate::segment::{LineEnding, check_line, raw_lines};

/// A problem in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerFinding {
    /// Relative to `.ken`, or to the local state for the journal.
    pub file: String,
    /// 1-based; `None` if the finding concerns the whole file.
    pub line: Option<u64>,
    pub severity: LedgerSeverity,
    pub message: String,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LedgerSeverity {
    /// Informational; no data is lost.
    Note,
    /// Data is damaged or could be misread.
    Damage,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerCheck {
    pub segments: u64,
    /// Number of lines; an event may be in several segments.
    pub events: u64,
    pub findings: Vec<LedgerFinding>,
}

/// First location of each event, to detect different events with the same id.
#[derive(Debug, Default)]
struct SeenEventCopies {
    full: BTreeMap<EventId, (blake3::Hash, String)>,
    blanked: BTreeSet<EventId>,
}

impl Ledger {
    /// Verifies every segment, pack and journal file.
    pub fn check(&self) -> Result<LedgerCheck, DiskError> {
        let mut checked = LedgerCheck::default();
        let mut seen = SeenEventCopies {
            blanked: self.blanked_ids()?,
            ..SeenEventCopies::default()
        };
        self.check_version(&mut checked)?;
        for memory in Memory::ALL {
            self.check_memory(memory, &mut checked, &mut seen);
        }
        self.check_leftovers(&mut checked);
        if self.parts.git.is_some() {
            self.check_journal(&mut checked)?;
            self.check_cuts(&mut checked);
        }
        Ok(checked)
    }

    fn check_version(&self, checked: &mut LedgerCheck) -> Result<(), DiskError> {
        let text = read_if_exists(&*self.parts.ken, VERSION_FILE)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let major = |version: &str| version.trim().split('.').next().map(str::to_owned);
        if text.is_empty() {
            checked.note(VERSION_FILE, None, "the version file is missing".to_owned());
        } else if major(&text) != major(VERSION) {
            let message = format!(
                "the ledger has version {}; this build supports {VERSION}",
                text.trim()
            );
            checked.damage(VERSION_FILE, None, message);
        }
        Ok(())
    }

    fn check_memory(&self, memory: Memory, checked: &mut LedgerCheck, seen: &mut SeenEventCopies) {
        let dir = layout::memory_dir(memory);
        let files = match self.parts.ken.list(&dir) {
            Ok(files) => files,
            Err(error) => return checked.damage(&dir, None, error.to_string()),
        };
        for (file, _) in files {
            let path = format!("{dir}/{file}");
            match (
                SegmentName::in_memory(memory, &file),
                self.parts.ken.read(&path),
            ) {
                (Err(_), _) => {
                    checked.note(
                        &path,
                        None,
                        "Ken does not write files with this name".to_owned(),
                    );
                }
                (_, Err(error)) => checked.damage(&path, None, error.to_string()),
                (Ok(name), Ok(bytes)) => {
                    // A write to a sealed segment cannot be in progress.
                    let torn = if self.is_open_segment(&name) {
                        LedgerSeverity::Note
                    } else {
                        LedgerSeverity::Damage
                    };
                    check_segment((&name, torn), &bytes, checked, seen);
                }
            }
        }
    }

    fn check_cuts(&self, checked: &mut LedgerCheck) {
        // A memory or journal that cannot be read is a finding already.
        for cut in self.cut_segments(None).unwrap_or_default() {
            let missing = cut.missing;
            let message = format!(
                "the file is cut short: {missing} of its events are only in the journal; \
                 `ken ledger recover` restores it"
            );
            checked.damage(&cut.segment.path(), None, message);
        }
    }

    fn check_leftovers(&self, checked: &mut LedgerCheck) {
        for (file, _) in self.parts.ken.list(TEMPORARY_DIR).unwrap_or_default() {
            let path = format!("{TEMPORARY_DIR}/{file}");
            checked.note(
                &path,
                None,
                "this file is left over from an interrupted write".to_owned(),
            );
        }
    }

    fn check_journal(&self, checked: &mut LedgerCheck) -> Result<(), DiskError> {
        let journal = Journal::new(&*self.parts.local);
        let (mut whole, mut broken) = (0_u64, 0_u64);
        let start = JournalPosition { file: 0, offset: 0 };
        let bad = journal.scan(start, &mut |record| {
            if journal::is_valid_record(record) {
                whole += 1;
            } else {
                broken += 1;
            }
        })?;
        for BadRecord { file, line } in bad {
            checked.damage(
                &file,
                Some(line),
                "the line is not a valid journal record".to_owned(),
            );
        }
        if broken > 0 {
            let message = format!(
                "{broken} of {} records contain a damaged event",
                whole + broken
            );
            checked.damage("journal", None, message);
        }
        Ok(())
    }
}

impl LedgerCheck {
    fn note(&mut self, file: &str, line: Option<u64>, message: String) {
        self.find(file, line, LedgerSeverity::Note, message);
    }

    fn damage(&mut self, file: &str, line: Option<u64>, message: String) {
        self.find(file, line, LedgerSeverity::Damage, message);
    }

    fn find(&mut self, file: &str, line: Option<u64>, severity: LedgerSeverity, message: String) {
        self.findings.push(LedgerFinding {
            file: file.to_owned(),
            line,
            severity,
            message,
        });
    }
}

fn check_segment(
    (name, torn): (&SegmentName, LedgerSeverity),
    bytes: &[u8],
    checked: &mut LedgerCheck,
    seen: &mut SeenEventCopies,
) {
    let path = name.path();
    checked.segments += 1;
    let lines = match pack::decode_lines(name.form(), bytes) {
        Ok(lines) => lines,
        Err(error) => return checked.damage(&path, None, display_with_causes(&error)),
    };
    let mut before = None;
    for (line, text, ending) in raw_lines(&lines) {
        match (check_line(text), ending) {
            (Ok(head), _) => {
                checked.events += 1;
                let order = head.order;
                // Packs are written sorted; another order means that a different tool wrote the
                // file.
                if name.form() == SegmentForm::Pack && before.is_some_and(|before| order < before) {
                    checked.note(
                        &path,
                        Some(line),
                        "the pack is not in canonical order".to_owned(),
                    );
                }
                before = Some(order);
                // Redacted copies of an event differ from full ones by design.
                if !head.is_redacted {
                    check_copies(&path, line, (head.id, text), checked, seen);
                }
            }
            (Err(_), LineEnding::None) => {
                let message = "the line is incomplete: a write was interrupted".to_owned();
                checked.find(&path, Some(line), torn, message);
            }
            (Err(damage), LineEnding::Newline) => {
                checked.damage(&path, Some(line), display_with_causes(&damage));
            }
        }
    }
}

fn check_copies(
    path: &str,
    line: u64,
    (id, text): (EventId, &[u8]),
    checked: &mut LedgerCheck,
    seen: &mut SeenEventCopies,
) {
    if seen.blanked.contains(&id) {
        checked.damage(
            path,
            Some(line),
            format!("the data of {id} was redacted but is back"),
        );
    }
    // Hashes instead of lines keep memory use small in a large ledger.
    let hash = blake3::hash(text);
    let first = seen
        .full
        .entry(id)
        .or_insert_with(|| (hash, format!("`{path}` line {line}")));
    if first.0 != hash {
        let message = format!("{id} differs from its copy in {}", first.1);
        checked.damage(path, Some(line), message);
    }
}

fn display_with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
