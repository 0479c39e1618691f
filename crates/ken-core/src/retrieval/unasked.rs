//! Which hits are worth showing when nobody asked.
//!
//! A floor tells what is similar. That is not enough unasked: of the entries above the floor, those
//! that readers called irrelevant were mostly not the best match, or only named the same code. The
//! figures are in `docs/explanation/retrieval.md`.

use super::ranking::{MatchThreshold, SearchHit};
use crate::values::kind::EntryKind;

/// Minimum relevance of an entry that is shown unasked. Relevance is relative to the other entries,
/// so this keeps the best match and its equals; decisions are compared with what remains.
const UNASKED_RELEVANCE_MIN: f64 = 0.92;

/// Minimum number of searchable entries for these rules. Relevance is relative, so in a smaller
/// ledger it says nothing, and the floor alone decides.
const RELATIVE_ENTRIES_MIN: usize = 20;

/// Share of an error's words that makes an entry of any kind worth showing.
const FAILURE_COVERAGE_MIN: f64 = 0.3;

/// Moment at which a hook shows entries that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaskedMoment {
    /// The user submitted a prompt.
    Prompt,
    /// A tool call failed.
    Failure,
}

impl UnaskedMoment {
    /// Removes the hits that are not worth showing at this moment, from a ledger with `entries`
    /// searchable entries.
    pub fn drop_weak_hits(
        self,
        hits: &mut Vec<SearchHit>,
        threshold: MatchThreshold,
        entries: usize,
    ) {
        if entries < RELATIVE_ENTRIES_MIN {
            return;
        }
        hits.retain(|hit| match self {
            Self::Prompt => is_strong_at_prompt(hit, threshold),
            Self::Failure => is_strong_at_failure(hit),
        });
        let best = hits.iter().map(|hit| hit.relevance).fold(0.0, f64::max);
        hits.retain(|hit| {
            // A strong hit beside a better one still fills space that nobody asked to fill. A
            // decision about the very code is not measured against what is not shown: of a lesson
            // that only describes the code it would otherwise be hidden, and nothing shown at all.
            let scale = match self {
                Self::Prompt if hit.entry.is_prescriptive() => best,
                Self::Prompt | Self::Failure => 1.0,
            };
            hit.relevance >= UNASKED_RELEVANCE_MIN * scale
        });
    }
}

/// Returns whether meaning and words match, or the entry prescribes something for code that the
/// prompt names. What only describes the same code says most often something else about it.
fn is_strong_at_prompt(hit: &SearchHit, threshold: MatchThreshold) -> bool {
    threshold.is_met(hit.cosine, hit.coverage) || hit.entry.is_prescriptive()
}

/// Returns whether the entry is about a failure, or repeats much of the error. A stack trace names
/// much code that has nothing to do with the failure.
fn is_strong_at_failure(hit: &SearchHit) -> bool {
    let kind = hit.entry.kind();
    kind.is_some_and(EntryKind::is_about_failure) || hit.coverage >= FAILURE_COVERAGE_MIN
}
