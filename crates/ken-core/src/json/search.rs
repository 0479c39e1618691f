//! JSON view of a search result: `ken.search.v1`.

use serde::Serialize;

use super::EntryJson;
use crate::federation::{CompetingHypotheses, ForeignSource};
use crate::retrieval::ranking::SearchHit;
use crate::retrieval::score::{ExplainedScore, HiddenReason};
use crate::retrieval::surface::{
    CompetingEntry, DetailTier, EntrySelection, OmittedEntry, SelectedEntry,
};
use crate::retrieval::unrecorded::UnrecordedHit;
use crate::values::id::EntryId;

/// The result of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchResult<'a> {
    pub query: &'a str,
    /// The embedding model that served the query.
    pub served_by: &'static str,
    pub hits: &'a [SearchHit],
    pub withheld: &'a [(EntryId, HiddenReason)],
    pub page: &'a EntrySelection,
    /// Hits from the global ledger.
    pub global: Option<(&'a [SearchHit], &'a EntrySelection)>,
}

/// The JSON view of a search result.
#[derive(Clone, Debug, Serialize)]
pub struct SearchJson<'a> {
    schema: &'static str,
    query: &'a str,
    served_by: &'static str,
    tier: DetailTier,
    /// Number of tokens in the texts of all results.
    tokens: usize,
    results: Vec<HitJson<'a>>,
    /// Relevant hits beyond the result limit or token budget.
    left_out: &'a [OmittedEntry],
    withheld: Vec<WithheldHitJson>,
    /// Hits from the global ledger, ranked below all local ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    global: Vec<HitJson<'a>>,
    /// The peers of those hits that other organizations published.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    peers: Vec<&'a ForeignSource>,
    /// Hits of peers that contradict entries of this repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    competing_hypotheses: Vec<&'a CompetingHypotheses>,
    /// Conversations and commits of this machine, ranked below all entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unrecorded: Vec<UnrecordedJson<'a>>,
}

/// A conversation or commit; see [`UnrecordedHit`].
#[derive(Clone, Debug, Serialize)]
struct UnrecordedJson<'a> {
    #[serde(flatten)]
    hit: &'a UnrecordedHit,
    /// What the hit is.
    label: String,
    /// The command that records what it says.
    record: String,
}

#[derive(Clone, Debug, Serialize)]
struct HitJson<'a> {
    id: String,
    score: f64,
    relevance: f64,
    cosine: f64,
    coverage: f64,
    confidence: f64,
    /// True if an anchor matches a path of the query.
    anchored: bool,
    conflicts: &'a [EntryId],
    /// Conflicting entries with their confidence, if more than one line of each is shown.
    #[serde(skip_serializing_if = "<[CompetingEntry]>::is_empty")]
    competing_with: &'a [CompetingEntry],
    /// The text shown to an agent.
    text: &'a str,
    /// Every term of the score.
    signals: &'a ExplainedScore,
    /// The whole entry, unless the reader asked for the texts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryJson>,
}

#[derive(Clone, Debug, Serialize)]
struct WithheldHitJson {
    id: String,
    why: HiddenReason,
}

impl<'a> SearchJson<'a> {
    /// Returns the view with the texts of the hits only, which the token budget bounds.
    #[must_use]
    pub fn without_entries(mut self) -> Self {
        for hit in self.results.iter_mut().chain(&mut self.global) {
            hit.entry = None;
        }
        self
    }

    /// Returns the view with conversations and commits of this machine. A hub has none.
    #[must_use]
    pub fn with_unrecorded(mut self, hits: &'a [UnrecordedHit]) -> Self {
        let objects = hits.iter().map(|hit| UnrecordedJson {
            hit,
            label: hit.label(),
            record: hit.record_command(),
        });
        self.unrecorded = objects.collect();
        self
    }

    /// Returns the view with the peers of foreign hits, and what competes with local entries.
    #[must_use]
    pub fn with_peers(
        mut self,
        sources: impl Iterator<Item = &'a ForeignSource>,
        competing: &'a [CompetingHypotheses],
    ) -> Self {
        let shown = |id: &EntryId| {
            let id = id.to_string();
            self.global.iter().any(|hit| hit.id == id)
        };
        let peers = sources.filter(|it| shown(&it.entry)).collect();
        let competing = competing.iter().filter(|it| shown(&it.foreign)).collect();
        self.peers = peers;
        self.competing_hypotheses = competing;
        self
    }

    /// Builds the view of a search result.
    #[must_use]
    pub fn new(result: SearchResult<'a>) -> Self {
        let withheld = result.withheld.iter().map(|(id, why)| WithheldHitJson {
            id: id.to_string(),
            why: *why,
        });
        let global = result.global.map(|(hits, page)| hits_to_json(hits, page));
        Self {
            schema: "ken.search.v1",
            query: result.query,
            served_by: result.served_by,
            tier: result.page.tier,
            tokens: result.page.tokens,
            results: hits_to_json(result.hits, result.page),
            left_out: &result.page.left_out,
            withheld: withheld.collect(),
            global: global.unwrap_or_default(),
            peers: Vec::new(),
            competing_hypotheses: Vec::new(),
            unrecorded: Vec::new(),
        }
    }
}

fn hits_to_json<'a>(hits: &'a [SearchHit], page: &'a EntrySelection) -> Vec<HitJson<'a>> {
    // The text comes from the page, where the token budget may have shortened it.
    let object = |hit: &'a SearchHit, shown: &'a SelectedEntry| HitJson {
        anchored: hit.anchored,
        conflicts: &hit.conflicts,
        competing_with: &shown.competing_with,
        text: &shown.text,
        id: hit.entry.id.to_string(),
        score: hit.explained.score,
        relevance: hit.relevance,
        cosine: hit.cosine,
        coverage: hit.coverage,
        confidence: hit.facts.posterior.mean(),
        signals: &hit.explained,
        entry: Some(EntryJson::new(&hit.entry)),
    };
    // In the order of the page, which may differ from the ranking of `hits`.
    let views = page.shown.iter().filter_map(|shown| {
        let hit = hits.iter().find(|hit| hit.entry.id == shown.id)?;
        Some(object(hit, shown))
    });
    views.collect()
}
