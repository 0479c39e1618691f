//! Validity checks: resolves the anchors and evaluates the conditions of entries against a version
//! of the code.
//!
//! Reading order: `code_version` abstracts over the work tree and commits, `file_reader` parses
//! each file content once, `range` lists the files a change touches, `moved_code` finds symbols
//! that moved. This file combines the verdicts of one entry.
//!
//! The age of an entry is no input: a claim does not become false by getting old.

pub(crate) mod anchoring;
mod bare_repository;
mod change;
mod check;
mod code_version;
pub(crate) mod file_history;
pub(crate) mod file_knowledge;
mod file_reader;
mod impact;
mod ledger_diff;
mod moved_code;
mod norms;
mod range;

use std::sync::Arc;

use ken_anchor::FileTree as _;
use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::Validity;
use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::condition::TruthValue;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;

pub use anchoring::ReanchorOutcome;
pub use bare_repository::{is_bare_repository, verify_bare_repository};
pub(crate) use check::{Effort, EntryChecker, FILE_GONE};
pub(crate) use code_version::{CodeVersion, CommitTree, WorkTree};
pub use file_history::{
    BLAMED_LINES_MAX, DiffHunk, DiffLine, FILE_DIFF_LINES_MAX, FileDiff, LineCommit, LineHistory,
};
pub use file_knowledge::{FileEntry, FileKnowledge, FileSource, FileSymbol, LineRange};
pub(crate) use file_reader::VersionReader;
pub use impact::ValidityReport;
pub(crate) use impact::{CheckContext, check_all_entries, check_change};
pub(crate) use ledger_diff::changed_entries;
pub use ledger_diff::{ChangeEffect, ChangeOrigin, LedgerChange};
pub(crate) use moved_code::MoveSearch;
pub(crate) use norms::norm_findings;
pub(crate) use range::ChangeRange;

/// Result of checking one anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnchorVerdict {
    /// The code is in place and its fingerprint matches.
    Intact,
    /// Code with the same fingerprint is at another location.
    Moved,
    /// No fingerprint was recorded, or the file cannot be read.
    Unverifiable,
    /// The code is in place and its fingerprint differs.
    Changed,
    /// The code does not exist in this version.
    Gone,
}

/// The verdict on one anchor, with its current location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnchorCheck {
    pub at: CodeLocation,
    pub verdict: AnchorVerdict,
    /// Current location and current fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Anchor>,
    /// First line at the current location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Last line at the current location. Programs get the first line only.
    #[serde(skip)]
    pub last_line: Option<u32>,
    /// Short reason for the verdict; empty if intact.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// A few lines of diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The evaluation of one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionCheck {
    pub condition: String,
    pub truth: TruthValue,
    pub why: String,
    /// The file and line that decided the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<(String, u32)>,
}

/// The verdicts on one entry in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryCheck {
    pub entry: Entry,
    pub anchors: Vec<AnchorCheck>,
    pub conditions: Vec<ConditionCheck>,
    pub validity: Validity,
}

impl EntryCheck {
    pub(crate) fn new(
        entry: Entry,
        anchors: Vec<AnchorCheck>,
        conditions: Vec<ConditionCheck>,
    ) -> Self {
        let validity = combine_validity(&anchors, &conditions, entry.is_prescriptive());
        Self {
            entry,
            anchors,
            conditions,
            validity,
        }
    }

    /// Returns true if the code contradicts the entry.
    pub fn is_invalid(&self) -> bool {
        match self.validity {
            Validity::Changed | Validity::Broken => true,
            Validity::Holds | Validity::Unverifiable => false,
        }
    }

    /// Returns true if the code changed under a prescriptive entry: the code may be wrong, not the
    /// entry.
    pub fn is_departure(&self) -> bool {
        self.validity == Validity::Changed && self.entry.is_prescriptive()
    }

    /// Returns true if at least one anchor moved.
    pub fn has_moved(&self) -> bool {
        let moved = |check: &AnchorCheck| check.verdict == AnchorVerdict::Moved;
        self.anchors.iter().any(moved)
    }

    /// Returns the anchors with moved ones relocated and missing fingerprints filled in.
    pub(crate) fn refreshed_anchors(&self) -> Vec<Anchor> {
        let content = self.entry.content.as_ref();
        let old = content.map_or(&[][..], |content| &content.anchors);
        // `anchors` has one check per anchor, in the order of the content, so that zip pairs them
        // up.
        let refreshed = old.iter().zip(&self.anchors).map(|(old, check)| {
            // A changed anchor keeps its old fingerprint: taking the new one would accept code that
            // no person compared with the statement.
            let is_due = check.verdict == AnchorVerdict::Moved || old.fingerprint.is_none();
            let now = check.now.clone().filter(|_| is_due);
            now.unwrap_or_else(|| old.clone())
        });
        refreshed.collect()
    }
}

/// Returns the files of the work tree that git tracks or would track, sorted.
pub(crate) fn listed_files(engine: &Engine) -> Result<Arc<[String]>, EngineError> {
    Ok(WorkTree::new(&engine.place)?.paths()?)
}

/// Combines the verdicts of an entry's anchors and conditions; the worst one decides.
///
/// The order is gone or broken, changed, unverifiable, valid. An entry without anchors and
/// conditions is unverifiable. Code that is gone breaks no prescriptive entry: whoever writes it
/// again must know the rule. A condition does, because the author wrote it to end the entry.
fn combine_validity(
    anchors: &[AnchorCheck],
    conditions: &[ConditionCheck],
    is_prescriptive: bool,
) -> Validity {
    let of_anchor = |check: &AnchorCheck| match check.verdict {
        // Code that moved unchanged still supports the claim; only its anchor is out of date.
        AnchorVerdict::Intact | AnchorVerdict::Moved => Validity::Holds,
        AnchorVerdict::Unverifiable => Validity::Unverifiable,
        AnchorVerdict::Changed => Validity::Changed,
        AnchorVerdict::Gone if is_prescriptive => Validity::Changed,
        AnchorVerdict::Gone => Validity::Broken,
    };
    let of_condition = |check: &ConditionCheck| match check.truth {
        TruthValue::Holds => Validity::Holds,
        TruthValue::Broken => Validity::Broken,
        TruthValue::Unverifiable => Validity::Unverifiable,
    };
    // The derived order of `Validity` puts `Unverifiable` last, which is not the order of severity.
    let severity = |validity: &Validity| match validity {
        Validity::Holds => 0,
        Validity::Unverifiable => 1,
        Validity::Changed => 2,
        Validity::Broken => 3,
    };
    let of_anchors = anchors.iter().map(of_anchor);
    let all = of_anchors.chain(conditions.iter().map(of_condition));
    all.max_by_key(severity).unwrap_or_default()
}

#[cfg(test)]
mod tests;
