//! The gate: what must hold before knowledge is relied on. Deterministic, asks no model.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use ken_core::actor::{Actor, Role};
use ken_core::entry::Entry;
use ken_core::id::{EntryId, EventId};
use ken_core::store::{Filter, Shelf, Store as _};
use ken_core::time::Timestamp;
use ken_core::workspace::Workspace;
use ken_index::Index;
use ken_ledger::SegmentName;
use ken_ledger::check::Severity;

pub use ken_core::gates::{Finding, Level};

use crate::config::Config;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::Quoting;
use crate::gates::{self, SCHEMA_GATE};
use crate::guard::{Guard, Rescanned};
use crate::notice::Notice;
use crate::promotion::brought_approvals;
use crate::validity::{
    Bench, CommitTree, From, GUARD_GATE, Impact, Range, Stroke, Version, WorkTree, everything,
    norm_findings, of_change,
};

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// The whole ledger, and every entry against the work tree.
    Everything,
    /// What a change can touch.
    Change {
        base: &'a str,
        /// The work tree without one.
        head: Option<&'a str>,
        from: From,
    },
}

/// The outcome of `ken verify`.
#[derive(Debug)]
pub struct Verified {
    pub entries: usize,
    pub events: u64,
    pub findings: Vec<Finding>,
    pub impact: Impact,
    /// Entries that were led to where their code went.
    pub followed: Vec<EntryId>,
}

impl Verified {
    /// Returns whether nothing blocks.
    pub fn passes(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.level < Level::Error)
    }
}

impl Engine {
    /// Checks what `scope` says; `progress` is told how many of how many entries are done.
    pub fn verify(
        &mut self,
        scope: Scope<'_>,
        by: &Actor,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Verified, Error> {
        let _in = tracing::info_span!("verify").entered();
        match scope {
            Scope::Everything => self.verify_everything(by, progress),
            Scope::Change { base, head, from } => {
                let head = head.map(|head| CommitTree::named(&self.place, head));
                let head = head.transpose()?.map(Arc::new);
                let range = Range::of(&self.place, base, head)?;
                let now = self.now();
                verify_change(&mut self.index, (&range, from), &self.guard, now, progress)
            }
        }
    }

    /// Checks schema, provenance and links of everything, that no blanked data is back, and every entry
    /// against the code. Entries whose code moved are led there, unless a machine asks.
    fn verify_everything(
        &mut self,
        by: &Actor,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Verified, Error> {
        // First of all: a gate that mends what it should find would never find it.
        let quoting = self.quoting_files(&self.blanked_here()?)?;
        self.absorb_once()?;
        let mut findings = self.blanked_findings(quoting)?;
        findings.extend(self.rescanned_findings()?);
        let mut entries = self.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?;
        let known = entries.len();
        let now = self.now();
        for entry in &entries {
            findings.extend(gates::of_entry(&self.index, entry)?);
            findings.extend(gates::staleness(entry, now.date()));
        }
        findings.extend(self.approval_findings(&entries)?);
        findings.extend(gates::contradictions(&self.index, None)?);
        let version = Version::Work(WorkTree::new(&self.place)?);
        let config = Config::of(&version)?;
        let mut bench = Bench {
            index: &mut self.index,
            now,
            progress,
        };
        entries.retain(Entry::is_live);
        // Lines are checked on one processor while code is read on the others.
        let ledger = &self.ledger;
        let (checked, impact) = thread::scope(|scope| {
            let checked = scope.spawn(|| ledger.check());
            let impact = everything(&mut bench, entries, &version, &config);
            (
                checked.join().unwrap_or_else(|panic| resume_unwind(panic)),
                impact,
            )
        });
        let (checked, impact) = (checked?, impact?);
        findings.splice(0..0, checked.findings.into_iter().map(damage));
        findings.extend(impact.told(config.verify.fail_on));
        let followed = match by.role() {
            Role::Ci => Vec::new(),
            Role::Human | Role::Agent | Role::Import | Role::Peer => {
                self.follow(&impact.moved, by)?.followed
            }
        };
        Ok(Verified {
            entries: known,
            events: checked.events,
            findings,
            impact,
            followed,
        })
    }

    /// Returns lines that today's rules would refuse.
    fn rescanned_findings(&self) -> Result<Vec<Finding>, Error> {
        let refused = self.rescan()?.into_iter();
        let finding = |it: Rescanned| Finding {
            gate: GUARD_GATE,
            level: Level::Error,
            message: it.to_string(),
            at: it
                .entry
                .map_or_else(|| it.event.to_string(), |id| id.to_string()),
            line: None,
        };
        Ok(refused.map(finding).collect())
    }

    /// Returns where blanked data is back, and which edits were left alone.
    fn blanked_findings(&self, quoting: Vec<Quoting>) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        for (segment, event) in self.returned_copies()? {
            findings.push(Finding {
                gate: "knowledge.blanked",
                level: Level::Error,
                message: format!("the data of blanked event {event} is back; run `ken sync`"),
                at: segment.tree_path(),
                line: None,
            });
        }
        for file in quoting {
            let next = if file.edited {
                "and somebody edited it: word the entry anew with `ken revise`, then delete the file and run `ken render`"
            } else {
                "run `ken sync`"
            };
            findings.push(Finding {
                gate: "knowledge.blanked",
                level: Level::Error,
                message: format!("this file shows a blanked event; {next}"),
                at: format!(".ken/entries/{}", file.name),
                line: None,
            });
        }
        for notice in &self.notices {
            if let Notice::LeftAlone { file, why } = notice {
                findings.push(Finding {
                    gate: SCHEMA_GATE,
                    level: Level::Error,
                    message: format!("this edit was not absorbed: {why}"),
                    at: format!(".ken/entries/{file}"),
                    line: None,
                });
            }
        }
        Ok(findings)
    }

    /// Returns where full copies of blanked events stand in the tree.
    pub(crate) fn returned_copies(&self) -> Result<Vec<(SegmentName, EventId)>, Error> {
        let blanked = self.blanked_here()?;
        if blanked.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.ledger.full_copies(&blanked)?)
    }

    /// Returns the ids of events whose data must not be here, by memory or by order.
    pub(crate) fn blanked_here(&self) -> Result<BTreeSet<EventId>, Error> {
        let mut blanked = self.ledger.blanked_ids()?;
        blanked.extend(self.index.ordered_blank()?);
        Ok(blanked)
    }

    /// Returns the state that belongs to no entry.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Ok(self.index.workspace()?)
    }
}

/// Checks the entries a change can touch, and what it does to knowledge itself.
pub(crate) fn verify_change(
    index: &mut Index,
    (range, from): (&Range, From),
    guard: &Guard,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verified, Error> {
    let config = Config::of(&*range.base)?;
    let mut bench = Bench {
        index,
        now,
        progress,
    };
    let mut impact = of_change(&mut bench, range, &config, (from, guard))?;
    let mut findings = std::mem::take(&mut impact.findings);
    let approved = impact.strokes.iter();
    let approved = approved.filter(|it| it.type_name == "approval.granted");
    let approved = approved.filter_map(|it| it.entry).collect();
    findings.extend(brought_approvals(bench.index, &approved, &*range.base)?);
    findings.extend(of_brought(bench.index, &impact.strokes)?);
    findings.extend(norm_findings(range, config.verify.fail_on)?);
    findings.extend(impact.told(config.verify.fail_on));
    Ok(Verified {
        entries: impact.checked,
        events: impact.strokes.len() as u64,
        findings,
        impact,
        followed: Vec::new(),
    })
}

/// Holds the entries a change brings against the gates over knowledge itself.
fn of_brought(index: &Index, strokes: &[Stroke]) -> Result<Vec<Finding>, Error> {
    let brought: BTreeSet<EntryId> = strokes.iter().filter_map(|it| it.entry).collect();
    if brought.is_empty() {
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    for id in &brought {
        if let Some(entry) = index.entry(*id)? {
            findings.extend(gates::of_entry(index, &entry)?);
        }
    }
    findings.extend(gates::contradictions(index, Some(&brought))?);
    Ok(findings)
}

/// Returns a few characters that stand for a text.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// What the ledger's own check found.
fn damage(it: ken_ledger::check::Finding) -> Finding {
    Finding {
        gate: SCHEMA_GATE,
        level: match it.severity {
            Severity::Note => Level::Warning,
            Severity::Damage => Level::Error,
        },
        message: it.message,
        at: format!(".ken/{}", it.file),
        line: it.line,
    }
}
