//! The six signals' own ranking, beside that of relevance alone.
//!
//! Nobody has used these lessons, so five of the signals say the same of all of them: what is left to
//! measure is what the draws of a run, which try unproven entries out, cost.

use std::collections::BTreeMap;

use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::score::{Boosts, Draw, Match, Seed, Signals, Weights};
use ken_core::time::Timestamp;
use ken_index::Candidate;

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

/// Returns nDCG of candidates after the six signals ranked them.
pub(super) fn scored(
    found: &[Candidate],
    asked: &Asked,
    lessons: &BTreeMap<EntryId, String>,
    draws: Draws,
) -> f64 {
    let now = Timestamp::from_seconds(0);
    let score = |it: &Candidate| {
        let draw = match draws {
            Draws::Mean => Draw::Mean,
            Draws::Run => Draw::Of(Seed::new("eval", &asked.text), it.entry.id),
        };
        let matched = Match {
            semantic: it.relevance,
            in_thread: false,
        };
        let signals = Signals::of(&EntryFacts::of(&it.entry, None, now), matched, draw, now);
        signals
            .explain(&Weights::default(), Boosts::default())
            .score
    };
    let mut ranked: Vec<(f64, EntryId)> = found.iter().map(|it| (score(it), it.entry.id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let hits: Vec<bool> = ranked
        .iter()
        .map(|(_, id)| asked.relevant.contains(&lessons[id]))
        .collect();
    ndcg(&hits, asked.relevant.len(), DEPTH)
}
