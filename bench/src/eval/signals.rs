//! The six signals' own ranking, beside that of relevance alone.
//!
//! Nobody has used these lessons, so five of the signals say the same of all of them: what is left
//! to measure is what the draws of a run, which try unproven entries out, cost.

use std::collections::BTreeMap;

use ken_core::retrieval::score::{
    DrawSeed, PosteriorDraw, QueryMatch, RankingWeights, ScoreBoosts, score_entry,
};
use ken_core::trust::facts::EntryFacts;
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use ken_index::SearchCandidate;

use super::DEPTH;
use super::data::Asked;
use super::figures::ndcg;

/// Candidates that are scored, as in `ken search`.
pub(super) const SCORED: usize = 50;

/// Which draws serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draws {
    Mean,
    Run,
}

impl Draws {
    pub(super) const ALL: [Self; 2] = [Self::Mean, Self::Run];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mean => "six signals, mean",
            Self::Run => "six signals, draws",
        }
    }
}

/// Hits among which an answer counts as found.
const RECALL_DEPTH: usize = 5;

/// Figures of one query after the six signals ranked its candidates.
pub(super) struct SignalFigures {
    pub(super) ndcg: f64,
    /// 1 if an answer is first.
    pub(super) first: f64,
    /// Share of the answers among the first five.
    pub(super) recall: f64,
}

/// Returns the figures of candidates after the six signals ranked them.
pub(super) fn scored(
    found: &[SearchCandidate],
    asked: &Asked,
    lessons: &BTreeMap<EntryId, String>,
    draws: Draws,
) -> SignalFigures {
    let now = Timestamp::from_seconds(0);
    let score = |it: &SearchCandidate| {
        let draw = match draws {
            Draws::Mean => PosteriorDraw::Mean,
            Draws::Run => PosteriorDraw::Of(DrawSeed::new("eval", &asked.text), it.entry.id),
        };
        let matched = QueryMatch {
            semantic: it.relevance,
            in_thread: false,
        };
        let facts = EntryFacts::from_entry(&it.entry, None, now);
        let ranking = (&RankingWeights::default(), ScoreBoosts::default());
        score_entry(&facts, matched, draw, now, ranking).score
    };
    let mut ranked: Vec<(f64, EntryId)> = found.iter().map(|it| (score(it), it.entry.id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let hits: Vec<bool> = ranked
        .iter()
        .map(|(_, id)| asked.relevant.contains(&lessons[id]))
        .collect();
    let found = hits.iter().take(RECALL_DEPTH).filter(|it| **it).count();
    let wanted = asked.relevant.len().clamp(1, RECALL_DEPTH);
    SignalFigures {
        ndcg: ndcg(&hits, asked.relevant.len(), DEPTH),
        first: if hits.first() == Some(&true) {
            1.0
        } else {
            0.0
        },
        recall: found as f64 / wanted as f64,
    }
}
