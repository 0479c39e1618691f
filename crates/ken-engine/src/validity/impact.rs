//! Report on a version or a change: invalidated and moved entries, applicable norms, and changes to
//! the ledger itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_anchor::{FileTree as _, diff, resolve};
use ken_core::health::gates::{DECISION_GATE, VALIDITY_GATE};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::brief::is_norm_for;
use ken_core::trust::facts::Validity;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::condition::{ParsedCondition, TruthValue};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, IdPrefix, Memory};
use ken_core::values::time::Timestamp;
use ken_index::Index;

use super::check::{Effort, EntryChecker};
use super::code_version::CodeVersion;
use super::file_reader::VersionReader;
use super::ledger_diff::{ChangeOrigin, LedgerChange, LedgerDiff, diff_ledger};
use super::moved_code::MoveSearch;
use super::range::ChangeRange;
use super::{AnchorVerdict, EntryCheck};
use crate::config::{FailOn, RepositoryConfig};
use crate::error::EngineError;
use crate::guard::Guard;
use crate::verify::{GateFinding, GateLevel};

/// Maximum number of diff lines shown per anchor.
const DIFF_LINES_MAX: usize = 12;

/// The entries that were checked, sorted by result.
#[derive(Debug, Default)]
pub struct ValidityReport {
    /// Number of checked entries.
    pub checked: usize,
    /// Number of files that had to be parsed.
    pub parsed_files: usize,
    /// Entries the code contradicts now but did not contradict before the change.
    pub invalid: Vec<EntryCheck>,
    /// Entries the code contradicted before the change already.
    pub invalid_before: Vec<EntryCheck>,
    /// Entries whose code moved.
    pub moved: Vec<EntryCheck>,
    /// Entries with an anchor or condition that cannot be checked.
    pub unverifiable: Vec<EntryCheck>,
    /// Norms that apply to the files a change touches.
    pub norms: Vec<Entry>,
    /// Events a change adds to the ledger.
    pub ledger_changes: Vec<LedgerChange>,
    pub(crate) findings: Vec<GateFinding>,
}

/// The index, clock and progress callback of a check.
pub(crate) struct CheckContext<'a> {
    pub(crate) index: &'a mut Index,
    pub(crate) now: Timestamp,
    pub(crate) progress: &'a mut dyn FnMut(usize, usize),
}

impl ValidityReport {
    /// Returns the entries whose text the reader of this report is shown.
    pub fn shown_entries(&self) -> Vec<EntryId> {
        let lists = [
            &self.invalid,
            &self.invalid_before,
            &self.moved,
            &self.unverifiable,
        ];
        let checked = lists.into_iter().flatten().map(|it| it.entry.id);
        let brought = self.ledger_changes.iter().filter_map(|it| it.entry);
        let norms = self.norms.iter().map(|it| it.id);
        checked.chain(norms).chain(brought).collect()
    }

    /// Returns the findings about entries the code contradicts.
    pub(crate) fn validity_findings(&self, fail_on: FailOn) -> Vec<GateFinding> {
        let new = self
            .invalid
            .iter()
            .flat_map(|it| entry_findings(it, fail_on));
        // The author of a change must not be stopped by entries that were invalid before it.
        let before = self.invalid_before.iter();
        let warnings = before.flat_map(|it| entry_findings(it, FailOn::Nothing));
        let old = warnings.map(|mut finding| {
            finding
                .message
                .insert_str(0, "already before this change: ");
            finding
        });
        new.chain(old).collect()
    }

    /// Checks entries and adds each to the list of its result.
    fn check_entries(
        &mut self,
        mut checker: EntryChecker<'_>,
        entries: Vec<Entry>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), EngineError> {
        let all = entries.len();
        checker.check_all(entries, |checked| {
            self.insert_check(checked);
            progress(self.checked, all);
        })?;
        self.parsed_files = checker.reader.parsed_files;
        Ok(())
    }

    /// Adds a checked entry to the list of its result.
    fn insert_check(&mut self, checked: EntryCheck) {
        self.checked += 1;
        if checked.is_invalid() {
            self.invalid.push(checked);
        } else if checked.has_moved() {
            self.moved.push(checked);
        } else if checked.validity == Validity::Unverifiable {
            self.unverifiable.push(checked);
        }
    }
}

/// Checks all entries that have anchors or conditions against a version.
pub(crate) fn check_all_entries(
    bench: &mut CheckContext<'_>,
    mut entries: Vec<Entry>,
    version: &CodeVersion,
    config: &RepositoryConfig,
) -> Result<ValidityReport, EngineError> {
    entries.retain(Entry::is_checkable);
    // Entries about the same file become neighbors, so that it is read once.
    entries.sort_by_cached_key(|entry| (first_path(entry), entry.id));
    let reader = VersionReader::new(version, bench.index, bench.now);
    let checker = EntryChecker::new(reader, MoveSearch::Tree, Effort::Full, &config.facts);
    let mut impact = ValidityReport::default();
    impact.check_entries(checker, entries, bench.progress)?;
    Ok(impact)
}

/// Checks only the entries a change can affect; `config` is the configuration at its base.
pub(crate) fn check_change(
    bench: &mut CheckContext<'_>,
    range: &ChangeRange,
    config: &RepositoryConfig,
    (from, guard): (ChangeOrigin, &Guard),
) -> Result<ValidityReport, EngineError> {
    let touched: Vec<String> = range.touched.iter().cloned().collect();
    let affected = affected_entries(bench.index, &touched)?;
    let mut impact = ValidityReport::default();
    let mut entries = Vec::with_capacity(affected.len());
    for id in affected {
        entries.extend(bench.index.entry(id)?);
    }
    let reader = VersionReader::new(&range.head, bench.index, bench.now);
    let checker = EntryChecker::new(
        reader,
        MoveSearch::Change(range),
        Effort::Full,
        &config.facts,
    );
    impact.check_entries(checker, entries, bench.progress)?;
    separate_invalid_before(bench, range, config, &mut impact)?;
    impact.norms = norms_for_paths(bench.index, &touched)?;
    let LedgerDiff {
        changes: strokes,
        findings,
        ..
    } = diff_ledger(range, from, guard)?;
    (impact.ledger_changes, impact.findings) = (strokes, findings);
    Ok(impact)
}

/// Returns the live entries with an anchor or condition that a change of `paths` can affect.
pub(super) fn affected_entries(
    index: &Index,
    paths: &[String],
) -> Result<BTreeSet<EntryId>, EngineError> {
    let mut found = index.entries_anchored_at(paths)?;
    for (text, entries) in index.conditions()? {
        // A condition of a newer version of Ken cannot be evaluated either.
        let Ok(condition) = text.parse::<ParsedCondition>() else {
            continue;
        };
        if paths.iter().any(|path| condition.may_depend_on(path)) {
            found.extend(entries);
        }
    }
    Ok(found)
}

/// Moves entries that were invalid at the base to `before`, and adds diffs to changed anchors.
fn separate_invalid_before(
    bench: &mut CheckContext<'_>,
    range: &ChangeRange,
    config: &RepositoryConfig,
    impact: &mut ValidityReport,
) -> Result<(), EngineError> {
    let base = CodeVersion::Commit(Arc::clone(&range.base));
    let reader = VersionReader::new(&base, bench.index, bench.now);
    // Code that had left its file before this change counts as invalid before it, so the search at
    // the base stays within the anchor's own file.
    let mut checker = EntryChecker::new(reader, MoveSearch::File, Effort::Full, &config.facts);
    let mut invalid = Vec::new();
    for mut checked in std::mem::take(&mut impact.invalid) {
        let then = checker.check(checked.entry.clone())?;
        for (now, then) in checked.anchors.iter_mut().zip(&then.anchors) {
            if now.verdict == AnchorVerdict::Changed && then.verdict == AnchorVerdict::Intact {
                now.diff = anchor_diff(&base, &range.head, &now.at)?;
            }
        }
        if then.is_invalid() {
            impact.invalid_before.push(checked);
        } else {
            invalid.push(checked);
        }
    }
    impact.invalid = invalid;
    Ok(())
}

/// Returns the first lines of the diff at `at`; `None` if it cannot be resolved in both versions.
pub(super) fn anchor_diff(
    before: &CodeVersion,
    after: &CodeVersion,
    at: &CodeLocation,
) -> Result<Option<String>, EngineError> {
    let text = |version: &CodeVersion| -> Result<Option<String>, EngineError> {
        let Some(bytes) = version.read(at.path())? else {
            return Ok(None);
        };
        let found = resolve(at.path(), &bytes, at.part());
        Ok(found.ok().map(|found| found.text(&bytes)))
    };
    let both = text(before)?.zip(text(after)?);
    Ok(both.map(|(old, new)| diff(&old, &new, DIFF_LINES_MAX)))
}

pub(super) fn norms_for_paths(index: &Index, paths: &[String]) -> Result<Vec<Entry>, EngineError> {
    let mut norms = index.list(&EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    })?;
    norms.retain(|entry| entry.id.prefix() == IdPrefix::Norm && is_norm_for(entry, paths));
    norms.sort_by_key(|entry| entry.id);
    Ok(norms)
}

/// Returns a finding for each anchor and condition of an entry that does not hold.
fn entry_findings(checked: &EntryCheck, fail_on: FailOn) -> Vec<GateFinding> {
    let entry = &checked.entry;
    let is_norm = entry.id.prefix().memory() == Memory::Procedural;
    // The code departs from a prescriptive entry, it does not refute it: another class of finding.
    let is_departure = checked.is_departure();
    let level = match fail_on {
        FailOn::Any => GateLevel::Error,
        FailOn::Norms | FailOn::Decisions if is_norm => GateLevel::Error,
        FailOn::Decisions if is_departure => GateLevel::Error,
        FailOn::Norms | FailOn::Decisions | FailOn::Nothing => GateLevel::Warning,
    };
    let (id, claim) = (entry.id, entry.claim());
    let kind = entry.kind().map_or("entry", EntryKind::name);
    let finding = |problem: String, fix: String, at: String, line: Option<u32>| GateFinding {
        gate: if is_departure {
            DECISION_GATE
        } else {
            VALIDITY_GATE
        },
        level,
        message: if is_departure {
            format!(
                "{problem} after the {kind} {id} was recorded: {claim} (check that the code still follows it, then run {fix})"
            )
        } else {
            format!("{problem}; {id} depends on it: {claim} (run {fix})")
        },
        at,
        line: line.map(u64::from),
    };
    let anchors = checked
        .anchors
        .iter()
        .filter_map(|anchor| match anchor.verdict {
            AnchorVerdict::Changed => Some(finding(
                format!("`{}` changed", anchor.at),
                format!("`ken entry reanchor {id}`"),
                anchor.at.path().to_owned(),
                anchor.line,
            )),
            AnchorVerdict::Gone => {
                // The reason starts with "gone" and may continue with the nearest symbol names.
                let why = anchor.why.strip_prefix("gone").unwrap_or_default();
                let problem = format!("`{}` is gone{why}", anchor.at);
                let fix = format!("`ken entry reanchor {id} --to ANCHOR` or `ken retract {id}`");
                Some(finding(problem, fix, anchor.at.path().to_owned(), None))
            }
            AnchorVerdict::Intact | AnchorVerdict::Moved | AnchorVerdict::Unverifiable => None,
        });
    let broken = checked
        .conditions
        .iter()
        .filter(|condition| condition.truth == TruthValue::Broken);
    let conditions = broken.map(|condition| {
        let (at, line) = match &condition.at {
            Some((path, line)) => (path.clone(), Some(*line)),
            None => (id.to_string(), None),
        };
        let problem = format!("`{}` is not met ({})", condition.condition, condition.why);
        let fix = format!("`ken edit {id}` or `ken retract {id}`");
        finding(problem, fix, at, line)
    });
    anchors.chain(conditions).collect()
}

fn first_path(entry: &Entry) -> String {
    let content = entry.content.as_ref();
    let first = content.and_then(|content| content.anchors.first());
    first.map_or_else(String::new, |anchor| anchor.at.path().to_owned())
}
