//! Retrieval: queries, candidates, relevance floors and ranked hits, shared by repository and hub.
//!
//! The relevance floor applies before scores are blended. Relevance is normalized per query, so the
//! best of several irrelevant candidates would otherwise score 1. The store finds the candidates;
//! [`surface`](crate::retrieval::surface) decides how many hits are shown and in how much detail.

mod ceiling;
mod code_frame;
mod global_hits;
mod results;
mod scorer;

use crate::ledger::entry::Entry;
use crate::ledger::store::EntryFilter;
use crate::retrieval::code_names::CodeNames;
use crate::retrieval::score::{ExplainedScore, ReaderRole};
use crate::retrieval::surface::HitView;
use crate::retrieval::words::strip_command_verbs;
use crate::trust::facts::EntryFacts;
use crate::values::id::EntryId;
use crate::values::text::Tag;
use serde::Deserialize;

pub use code_frame::{CodeFrame, prefer_frames};
pub use global_hits::{
    ForeignHit, ForeignTier, PEER_HITS_MAX, merge_foreign_hits, merge_global_hits,
};
pub use results::{ConflictMap, SearchResults};
pub use scorer::CandidateScorer;

/// Word coverage from which an entry is relevant to a query that a person typed.
///
/// Measured with `cargo ken-bench eval`: 1 % of unrelated queries and 75 % of prose queries reach
/// it.
const COVERAGE_RELEVANT: f64 = 0.4;

/// Word coverage from which an entry may be shown unasked: none of 200 unrelated queries reach it.
const COVERAGE_STRICT: f64 = 0.5;

/// Word coverage that an entry shown at a prompt must have besides a similar meaning:
/// `JOINT_COVERAGE_SCALE / words^JOINT_COVERAGE_EXPONENT`, at most [`COVERAGE_SUFFICIENT`].
///
/// Of a longer text an entry can cover a smaller share. Derived on 225 prompts of five
/// repositories; `docs/explanation/retrieval.md` has the figures.
const JOINT_COVERAGE_SCALE: f64 = 2.3;
const JOINT_COVERAGE_EXPONENT: f64 = 0.75;

/// Word coverage that is enough whatever the cosine: the model may not know the words.
const COVERAGE_SUFFICIENT: f64 = 0.8;

/// Weight of word coverage in its sum with the cosine.
///
/// Chosen on the development split from 0.1 to 0.7: at an equal share of answered unrelated
/// queries, 0.5 finds the most right answers, and more than cosine or coverage alone.
const COVERAGE_WEIGHT: f64 = 0.5;

/// Minimum length of a word of an explicit query that may name a symbol.
const TYPED_NAME_BYTES_MIN: usize = 4;

/// The text, filters and context of one search.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    pub query: String,
    /// Restricts the live entries that are searched.
    pub filter: EntryFilter,
    /// Code that the query means besides the names in its text, such as what a named test imports.
    pub names: Vec<String>,
    /// Files and folders of the task; entries anchored there match regardless of their words.
    pub paths: Vec<String>,
    /// Stack frames of an error; entries anchored in their code come first.
    pub frames: Vec<CodeFrame>,
    pub role: Option<ReaderRole>,
    /// The thread of work the query comes from.
    pub thread: Option<Tag>,
    /// The run that seeds Thompson sampling; without one, ranking uses mean confidence.
    pub run: Option<String>,
    pub floor: RelevanceFloor,
    /// Asks for the nearest entries if none is relevant. A hub ignores this.
    pub or_nearest: bool,
    /// Includes entries whose anchored code changed or is gone.
    pub include_stale: bool,
    /// Set if the query asks about `paths` and its text only repeats them. Then entries anchored
    /// there come before all others.
    pub is_about_paths: bool,
}

/// The minimum relevance of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RelevanceFloor {
    /// No minimum.
    None,
    /// For an explicit query.
    #[default]
    Relevant,
    /// For entries that match a task, a failure or a branch, as in a briefing or a hook.
    Strict,
    /// For a prompt, whose text has any length and asks for nothing: meaning and words must both
    /// match.
    Prompt,
    /// A cosine similarity chosen by the caller, or nearly all words of the query.
    Cosine(f64),
}

/// Visibility of thread-scoped entries outside their thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadVisibility {
    /// Visible everywhere, ranked higher in their own thread.
    #[default]
    Boost,
    /// Visible only in their own thread.
    Strict,
}

/// Cosine thresholds of an embedding model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineThresholds {
    /// Minimum for an explicit query.
    pub relevant: f64,
    /// Minimum for entries shown unasked.
    pub strict: f64,
    /// Minimum for entries that also cover enough words of a prompt.
    pub joint: f64,
    /// Minimum sums of cosine and weighted word coverage; `None` if they were not measured for the
    /// model. They replace the cosines, because they separate better.
    pub sums: Option<SumThresholds>,
}

/// Thresholds of the sum of cosine and weighted word coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumThresholds {
    /// Minimum for an explicit query.
    pub relevant: f64,
    /// Minimum for entries shown unasked.
    pub strict: f64,
}

/// The minimum match of a candidate: reaching one of the values is enough, or both of `joint`.
#[derive(Clone, Copy, Debug)]
pub struct MatchThreshold {
    pub cosine: f64,
    pub coverage: f64,
    /// Sum of cosine and weighted word coverage.
    pub sum: f64,
    /// Meaning and words that are enough together.
    pub joint: JointThreshold,
}

/// A cosine and a word coverage that a candidate must both reach.
#[derive(Clone, Copy, Debug)]
pub struct JointThreshold {
    pub cosine: f64,
    pub coverage: f64,
}

/// An entry considered for a query, before ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchCandidate {
    pub entry: Entry,
    /// BM25 score; 0 if the entry has none of the query's words.
    pub keywords: f64,
    /// Share of the query's words in the entry, weighted by rarity; 1 if it has all of them.
    pub coverage: f64,
    /// Cosine similarity of entry and query; 0 without an embedding model.
    pub cosine: f64,
    /// Keyword score and cosine, each scaled to [0, 1] over all entries, blended as the model asks.
    pub relevance: f64,
    /// Set if an anchor of the entry lies under one of the query's paths.
    pub anchored: bool,
    /// Set if the entry names code that the query names.
    pub named: bool,
}

impl SearchCandidate {
    /// Returns a relevance that does not depend on the other entries of its ledger: coverage and
    /// cosine, blended with the weight `blend` of the cosine.
    ///
    /// [`Self::relevance`] is scaled over all entries of a ledger: its best candidate has nearly 1
    /// even if it hardly matches. Candidates of several ledgers are compared by this.
    pub fn absolute_relevance(&self, blend: f64) -> f64 {
        let by_words = self.coverage.clamp(0.0, 1.0);
        let by_meaning = self.cosine.clamp(0.0, 1.0);
        (1.0 - blend) * by_words + blend * by_meaning
    }

    /// Returns whether the entry is a hit: it matches well enough, is anchored at one of the
    /// query's paths, or names the same code.
    pub fn is_relevant(&self, least: MatchThreshold) -> bool {
        self.anchored || self.named || least.is_met(self.cosine, self.coverage)
    }
}

impl MatchThreshold {
    /// Accepts every candidate.
    pub const NOTHING: Self = Self {
        cosine: f64::NEG_INFINITY,
        coverage: f64::NEG_INFINITY,
        sum: f64::NEG_INFINITY,
        joint: JointThreshold::NEVER,
    };

    /// Returns the threshold of one cosine or one coverage, of which a store may return all
    /// candidates that can meet this threshold.
    #[must_use]
    pub fn loosest(self) -> (f64, f64) {
        let cosine = self.cosine.min(self.joint.cosine);
        (cosine, self.coverage.min(self.joint.coverage))
    }

    /// Returns whether a candidate reaches one of the minimums, or both of the joint one.
    #[must_use]
    pub fn is_met(self, cosine: f64, coverage: f64) -> bool {
        // A few shared words and a similar meaning are each weak evidence, together strong.
        let sum = cosine + COVERAGE_WEIGHT * coverage;
        let is_joint = cosine >= self.joint.cosine && coverage >= self.joint.coverage;
        is_joint || cosine >= self.cosine || coverage >= self.coverage || sum >= self.sum
    }
}

impl JointThreshold {
    /// Accepts no candidate.
    pub const NEVER: Self = Self {
        cosine: f64::INFINITY,
        coverage: f64::INFINITY,
    };

    /// Returns the threshold for a query of a model, or of words alone.
    fn for_query(model: Option<CosineThresholds>, query: &str) -> Self {
        let words = query.split_whitespace().count().max(1);
        let words = f64::from(u32::try_from(words).unwrap_or(u32::MAX));
        let coverage = JOINT_COVERAGE_SCALE / libm::pow(words, JOINT_COVERAGE_EXPONENT);
        Self {
            // Without a model every cosine is 0, and words decide.
            cosine: model.map_or(f64::NEG_INFINITY, |it| it.joint),
            coverage: coverage.min(COVERAGE_SUFFICIENT),
        }
    }
}

/// An entry returned for a query, with its score.
#[derive(Clone, Debug)]
pub struct SearchHit {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// Similarity to the query relative to the other candidates, from 0 to 1.
    pub relevance: f64,
    /// Absolute cosine similarity to the query.
    pub cosine: f64,
    /// Share of the query's words in the entry.
    pub coverage: f64,
    /// Set if an anchor of the entry lies under one of the query's paths.
    pub anchored: bool,
    /// Set if the entry names code that the query names.
    pub named: bool,
    /// Hits that contradict this entry.
    pub conflicts: Vec<EntryId>,
    pub explained: ExplainedScore,
}

impl SearchQuery {
    /// Returns the names of code in the query.
    #[must_use]
    pub fn code_names(&self) -> CodeNames {
        let mut names = CodeNames::from_text(&self.query);
        names.add(self.names.iter().cloned());
        // Who asks types the name of a function without marking it: `slugify drops symbols`.
        if self.floor == RelevanceFloor::Relevant {
            let words = self.query.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.filter(|it| it.len() >= TYPED_NAME_BYTES_MIN);
            names.add(words.map(str::to_owned));
        }
        names
    }

    /// Builds the query of a briefing, which uses the strict floor because it is unasked for.
    ///
    /// Drops the leading verb of the task ("fix", "add"): it names the activity, not the subject,
    /// and would match unrelated entries.
    #[must_use]
    pub fn for_briefing(
        task: &str,
        paths: Vec<String>,
        role: Option<ReaderRole>,
        run: Option<String>,
    ) -> Self {
        Self {
            query: strip_command_verbs(task).to_owned(),
            paths,
            role,
            run,
            floor: RelevanceFloor::Strict,
            ..Self::default()
        }
    }
}

impl RelevanceFloor {
    /// Returns the threshold that this floor means for an embedding model and a query.
    ///
    /// Entries that name the same code, or lie under the query's paths, pass without it.
    #[must_use]
    pub fn threshold(self, model: Option<CosineThresholds>, query: &str) -> MatchThreshold {
        let joint = JointThreshold::for_query(model, query);
        let by_sum = |sum| MatchThreshold {
            cosine: f64::INFINITY,
            coverage: COVERAGE_SUFFICIENT,
            sum,
            joint,
        };
        let by_either = |cosine: Option<f64>, coverage| MatchThreshold {
            // Without a model every cosine is 0; infinity makes coverage the only way to qualify.
            cosine: cosine.unwrap_or(f64::INFINITY),
            coverage,
            sum: f64::INFINITY,
            joint: JointThreshold::NEVER,
        };
        let with_joint = |either: MatchThreshold| MatchThreshold { joint, ..either };
        match (self, model.and_then(|it| it.sums)) {
            (Self::None, _) => MatchThreshold::NOTHING,
            // Words still count: the model may not know them, or there may be no model.
            (Self::Cosine(least), _) => match model {
                Some(_) => by_either(Some(least), COVERAGE_SUFFICIENT),
                None => by_either(None, COVERAGE_RELEVANT),
            },
            (Self::Relevant, Some(sums)) => by_sum(sums.relevant),
            (Self::Strict, Some(sums)) => by_sum(sums.strict),
            (Self::Relevant, None) => {
                with_joint(by_either(model.map(|it| it.relevant), COVERAGE_RELEVANT))
            }
            (Self::Strict, None) => {
                with_joint(by_either(model.map(|it| it.strict), COVERAGE_STRICT))
            }
            // Nobody asked, so neither meaning nor words are enough alone.
            (Self::Prompt, _) => with_joint(by_either(None, f64::INFINITY)),
        }
    }
}

impl SearchHit {
    /// Returns whether the query asked about paths and the entry is anchored there.
    fn is_about_paths(&self) -> bool {
        let mut parts = self.explained.parts.iter();
        parts.any(|part| part.name == scorer::PATHS_PART)
    }

    /// Returns the view of this hit that selection reads.
    #[must_use]
    pub fn as_view(&self) -> HitView<'_> {
        HitView {
            entry: &self.entry,
            facts: &self.facts,
            score: self.explained.score,
            is_about_paths: self.is_about_paths(),
            conflicts: &self.conflicts,
        }
    }
}

impl SearchCandidate {
    /// Wraps an entry that the query did not match but that contradicts one of its hits.
    #[must_use]
    pub fn unmatched(entry: Entry) -> Self {
        Self {
            entry,
            // Zero throughout: it must not gain from a query that it does not match.
            keywords: 0.0,
            coverage: 0.0,
            cosine: 0.0,
            relevance: 0.0,
            anchored: false,
            named: false,
        }
    }
}

/// Sorts hits by descending score.
pub fn sort_hits(hits: &mut [SearchHit]) {
    hits.sort_by(|a, b| {
        // The id breaks ties, so that equal scores give the same order on every machine.
        let by_score = b.explained.score.total_cmp(&a.explained.score);
        by_score.then(a.entry.id.cmp(&b.entry.id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_words_pass_a_floor_with_a_model_and_without() {
        let model = CosineThresholds {
            relevant: 0.5,
            strict: 0.6,
            joint: 0.6,
            sums: Some(SumThresholds {
                relevant: 2.0,
                strict: 2.0,
            }),
        };
        let short = "one";
        let long = &"word ".repeat(16);
        for (floor, model, query, words) in [
            (RelevanceFloor::Relevant, None, short, 0.4),
            (RelevanceFloor::Strict, None, short, 0.5),
            (RelevanceFloor::Prompt, None, short, 0.8),
            // 2.3 / 16^0.75
            (RelevanceFloor::Prompt, None, long, 0.2875),
            (RelevanceFloor::Strict, None, long, 0.2875),
            (RelevanceFloor::Relevant, None, long, 0.2875),
            (RelevanceFloor::Cosine(0.3), None, short, 0.4),
            (RelevanceFloor::Cosine(0.3), Some(model), short, 0.8),
            (RelevanceFloor::Relevant, Some(model), short, 0.8),
        ] {
            let least = floor.threshold(model, query);
            assert!(least.is_met(0.0, words), "{floor:?}");
            assert!(!least.is_met(0.0, words - 0.01), "{floor:?}");
        }
        let least = RelevanceFloor::Cosine(0.3).threshold(Some(model), short);
        assert!(least.is_met(0.3, 0.0) && !least.is_met(0.29, 0.79));
        let least = RelevanceFloor::Prompt.threshold(Some(model), long);
        assert!(least.is_met(0.6, 0.29), "meaning and words together");
        assert!(!least.is_met(0.59, 1.0) && !least.is_met(1.0, 0.28));
    }
}
