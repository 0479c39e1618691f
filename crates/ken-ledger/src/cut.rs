//! Sealed segments that lost their end: a failing disk or copy, or a person.
//!
//! A sealed segment never changes, so it contains every line that the journal has for it. A shorter
//! file is cut, also if the cut is at the end of a line. Open segments are repaired when the ledger
//! is opened.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::{DiskError, LockGuard};
use crate::journal::{self, Journal, JournalPosition};
use crate::layout::{SegmentForm, SegmentName};
use crate::ledger::{Ledger, list_segments};
use crate::recover::RecoveryReport;
use crate::repair::replace_segment;
use crate::repair_plan::plan_repair;
use crate::state::OpenState;

/// A sealed segment that is shorter than the journal's lines for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutSegment {
    pub segment: SegmentName,
    /// Number of events that the journal has and the file lacks.
    pub missing: u64,
    /// Bytes of the whole segment.
    pub whole_len: u64,
}

/// Branch and line of each journal record of a segment.
type SegmentRecords = Vec<(String, String)>;

impl Ledger {
    /// Returns the sealed segments that are shorter than the journal says: all, or those `among`.
    ///
    /// Reads the whole journal, so callers ask only if something is suspicious.
    pub fn cut_segments(
        &self,
        among: Option<&BTreeSet<SegmentName>>,
    ) -> Result<Vec<CutSegment>, DiskError> {
        if self.parts.git.is_none() {
            return Ok(Vec::new());
        }
        let short = self.short_segments(among)?;
        let records = self.records_of(&short.keys().cloned().collect())?;
        let mut found = Vec::new();
        for (segment, records) in records {
            let missing = plan_repair(&self.stored_bytes(&segment)?, &lines_of(&records)).missing;
            let whole_len = short.get(&segment).copied().unwrap_or_default();
            found.push(CutSegment {
                segment,
                missing,
                whole_len,
            });
        }
        Ok(found)
    }

    /// Restores cut segments from the journal and counts their events in `report`.
    pub(crate) fn restore_cut_segments(
        &self,
        _lock: &LockGuard,
        report: &mut RecoveryReport,
    ) -> Result<(), DiskError> {
        let short = self.short_segments(None)?;
        let records = self.records_of(&short.keys().cloned().collect())?;
        for (segment, records) in records {
            let bytes = self.stored_bytes(&segment)?;
            let repair = plan_repair(&bytes, &lines_of(&records));
            let Some(content) = repair.content else {
                continue;
            };
            let path = segment.path();
            for (line, bytes) in repair.aside {
                self.save_torn_bytes(&path, line, &bytes)?;
            }
            // Git has seen this file, but with this content: the invariant holds.
            replace_segment(&*self.parts.ken, &segment, &content)?;
            let kept = String::from_utf8_lossy(&bytes);
            let kept: BTreeSet<&str> = kept.lines().collect();
            for (branch, _) in records.iter().filter(|(_, it)| !kept.contains(it.as_str())) {
                *report.restored.entry(branch.clone()).or_default() += 1;
            }
            report.segments.push(segment);
        }
        Ok(())
    }

    /// Returns the sealed segments that are shorter than the journal's lines, with that length.
    fn short_segments(
        &self,
        among: Option<&BTreeSet<SegmentName>>,
    ) -> Result<BTreeMap<SegmentName, u64>, DiskError> {
        let open = OpenState::load(&*self.parts.worktree, &self.memo, &mut Vec::new())?;
        let open: BTreeSet<SegmentName> = open.segments.into_iter().map(|it| it.name).collect();
        // A pack is compressed and has a checksum: a reader reports its damage.
        let mut lens: BTreeMap<SegmentName, (u64, u64)> = list_segments(&*self.parts.ken)?
            .into_iter()
            .filter(|it| it.name.form() == SegmentForm::Lines && !open.contains(&it.name))
            .filter(|it| among.is_none_or(|among| among.contains(&it.name)))
            .map(|it| (it.name, (it.len, 0)))
            .collect();
        let start = JournalPosition { file: 0, offset: 0 };
        Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if let Some((_, whole)) = lens.get_mut(&record.segment) {
                *whole += record.line.len() as u64 + 1;
            }
        })?;
        let short = lens.into_iter().filter(|(_, (len, whole))| len < whole);
        Ok(short.map(|(name, (_, whole))| (name, whole)).collect())
    }

    /// Returns the valid journal records of some segments.
    fn records_of(
        &self,
        names: &BTreeSet<SegmentName>,
    ) -> Result<BTreeMap<SegmentName, SegmentRecords>, DiskError> {
        let mut records: BTreeMap<SegmentName, SegmentRecords> = BTreeMap::new();
        if names.is_empty() {
            return Ok(records);
        }
        let start = JournalPosition { file: 0, offset: 0 };
        Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if names.contains(&record.segment) && journal::is_valid_record(record) {
                let line = (record.branch.to_owned(), record.line.to_owned());
                records
                    .entry(record.segment.clone())
                    .or_default()
                    .push(line);
            }
        })?;
        Ok(records)
    }

    fn stored_bytes(&self, name: &SegmentName) -> Result<Vec<u8>, DiskError> {
        let path = name.path();
        let read = self.parts.ken.read(&path);
        read.map_err(DiskError::on("read", &path))
    }
}

fn lines_of(records: &SegmentRecords) -> Vec<String> {
    records.iter().map(|(_, line)| line.clone()).collect()
}
