//! Whether the code still bears entries out: anchors looked up, conditions evaluated, in any version.
//!
//! Reading order: [`tree`](self) is a version, `reading` what its files hold, parsed once for each content;
//! `range` what a change touches, `moves` where symbols went. This file puts one entry's verdicts together.
//!
//! Time does not make a claim false; so nothing here asks for it.

mod anchoring;
mod bare;
mod brought;
mod change;
mod check;
mod impact;
mod moves;
mod norms;
mod range;
mod reading;
mod tree;

use ken_core::anchor::{Anchor, Target};
use ken_core::condition::Truth;
use ken_core::entry::Entry;
use ken_core::facts::Validity;
use serde::Serialize;

pub use anchoring::Reanchored;
pub use bare::{is_bare, verify_bare};
pub use brought::{Effect, From, Stroke};
pub(crate) use brought::{GUARD_GATE, brought_ids};
pub(crate) use check::{Checker, Haste, NO_FILE};
pub use impact::Impact;
pub(crate) use impact::{Bench, everything, of_change};
pub(crate) use moves::Search;
pub(crate) use norms::norm_findings;
pub(crate) use range::Range;
pub(crate) use reading::Reader;
pub(crate) use tree::{CommitTree, Version, WorkTree};

/// What became of what an anchor points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is there and says the same.
    Intact,
    /// It says the same somewhere else.
    Moved,
    /// Nobody can tell: no fingerprint was taken, or the file cannot be read.
    Unverifiable,
    /// It is there and says something else.
    Changed,
    /// It is nowhere.
    Gone,
}

/// An anchor, looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnchorCheck {
    pub at: Target,
    pub verdict: Verdict,
    /// Where it is now, with its fingerprint as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Anchor>,
    /// Its first line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Why, in a few words; empty of what is intact.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What changed, a few lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A condition, evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionCheck {
    pub condition: String,
    pub truth: Truth,
    pub why: String,
    /// The file and line that decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<(String, u32)>,
}

/// An entry, checked against one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub entry: Entry,
    pub anchors: Vec<AnchorCheck>,
    pub conditions: Vec<ConditionCheck>,
    pub validity: Validity,
}

impl Checked {
    pub(crate) fn of(
        entry: Entry,
        anchors: Vec<AnchorCheck>,
        conditions: Vec<ConditionCheck>,
    ) -> Self {
        let validity = validity(&anchors, &conditions);
        Self {
            entry,
            anchors,
            conditions,
            validity,
        }
    }

    /// Returns whether the code contradicts it now.
    pub fn is_invalid(&self) -> bool {
        match self.validity {
            Validity::Changed | Validity::Broken => true,
            Validity::Holds | Validity::Unverifiable => false,
        }
    }

    /// Returns whether something it rests on is somewhere else now.
    pub fn has_moved(&self) -> bool {
        let moved = |it: &AnchorCheck| it.verdict == Verdict::Moved;
        self.anchors.iter().any(moved)
    }

    /// Returns the anchors as they should read now: moved ones where they went, those without a
    /// fingerprint with one, others as they are.
    pub(crate) fn refreshed(&self) -> Vec<Anchor> {
        let content = self.entry.content.as_ref();
        let old = content.map_or(&[][..], |content| &content.evidence);
        let refreshed = old.iter().zip(&self.anchors).map(|(old, check)| {
            let is_due = check.verdict == Verdict::Moved || old.fingerprint.is_none();
            let now = check.now.clone().filter(|_| is_due);
            now.unwrap_or_else(|| old.clone())
        });
        refreshed.collect()
    }
}

/// Puts together what its grounds say: one that is gone or broken decides, then one that changed; an entry
/// holds when something was checked and nothing is open.
fn validity(anchors: &[AnchorCheck], conditions: &[ConditionCheck]) -> Validity {
    let of_anchor = |it: &AnchorCheck| match it.verdict {
        Verdict::Intact | Verdict::Moved => Validity::Holds,
        Verdict::Unverifiable => Validity::Unverifiable,
        Verdict::Changed => Validity::Changed,
        Verdict::Gone => Validity::Broken,
    };
    let of_condition = |it: &ConditionCheck| match it.truth {
        Truth::Holds => Validity::Holds,
        Truth::Broken => Validity::Broken,
        Truth::Unverifiable => Validity::Unverifiable,
    };
    let weight = |it: &Validity| match it {
        Validity::Holds => 0,
        Validity::Unverifiable => 1,
        Validity::Changed => 2,
        Validity::Broken => 3,
    };
    let all = anchors.iter().map(of_anchor);
    let all = all.chain(conditions.iter().map(of_condition));
    all.max_by_key(weight).unwrap_or_default()
}

#[cfg(test)]
mod tests;
