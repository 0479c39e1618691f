//! What a search found as one object for programs: `ken.search.v1`.

use serde::Serialize;

use super::EntryObject;
use crate::answer::Hit;
use crate::id::EntryId;
use crate::score::{Explained, Withheld};
use crate::surface::{Competitor, LeftOut, Page, Shown, Tier};

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    pub query: &'a str,
    /// Which kind of model the answer rests on.
    pub served_by: &'static str,
    pub hits: &'a [Hit],
    pub withheld: &'a [(EntryId, Withheld)],
    pub page: &'a Page,
    /// What was learnt elsewhere.
    pub global: Option<(&'a [Hit], &'a Page)>,
}

/// The answer as programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerObject<'a> {
    schema: &'static str,
    query: &'a str,
    served_by: &'static str,
    tier: Tier,
    /// What the texts of all results cost.
    tokens: usize,
    results: Vec<HitObject<'a>>,
    /// Relevant, but beyond the cap or the budget.
    left_out: &'a [LeftOut],
    withheld: Vec<WithheldObject>,
    /// What other projects know, below everything known here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    global: Vec<HitObject<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct HitObject<'a> {
    id: String,
    score: f64,
    relevance: f64,
    cosine: f64,
    coverage: f64,
    confidence: f64,
    /// Whether it is about a path in hand.
    anchored: bool,
    conflicts: &'a [EntryId],
    /// Who they are and how far they are trusted, where more than a line of each is shown.
    #[serde(skip_serializing_if = "<[Competitor]>::is_empty")]
    competing_with: &'a [Competitor],
    /// As an agent is shown it.
    text: &'a str,
    /// Every summand of the score.
    signals: &'a Explained,
    entry: EntryObject,
}

#[derive(Clone, Debug, Serialize)]
struct WithheldObject {
    id: String,
    why: Withheld,
}

impl<'a> AnswerObject<'a> {
    /// Tells an answer.
    #[must_use]
    pub fn new(it: Answered<'a>) -> Self {
        let withheld = it.withheld.iter().map(|(id, why)| WithheldObject {
            id: id.to_string(),
            why: *why,
        });
        let global = it.global.map(|(hits, page)| hit_objects(hits, page));
        Self {
            schema: "ken.search.v1",
            query: it.query,
            served_by: it.served_by,
            tier: it.page.tier,
            tokens: it.page.tokens,
            results: hit_objects(it.hits, it.page),
            left_out: &it.page.left_out,
            withheld: withheld.collect(),
            global: global.unwrap_or_default(),
        }
    }
}

fn hit_objects<'a>(hits: &'a [Hit], page: &'a Page) -> Vec<HitObject<'a>> {
    let object = |hit: &'a Hit, shown: &'a Shown| HitObject {
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
        entry: EntryObject::new(&hit.entry),
    };
    let told = page.shown.iter().filter_map(|shown| {
        let hit = hits.iter().find(|hit| hit.entry.id == shown.id)?;
        Some(object(hit, shown))
    });
    told.collect()
}
