//! What a search found as one object for programs: `ken.search.v1`.

use ken_core::id::EntryId;
use ken_core::score::{Explained, Withheld};
use ken_core::surface::{Competitor, LeftOut, Page, Shown, Tier};
use ken_engine::search::{Answer, Hit};
use serde::Serialize;

use crate::asking::Found;
use ken_core::object::EntryObject;

/// The answer as programs read it.
#[derive(Serialize)]
pub(crate) struct AnswerObject<'a> {
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

#[derive(Serialize)]
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

#[derive(Serialize)]
struct WithheldObject {
    id: String,
    why: Withheld,
}

impl<'a> AnswerObject<'a> {
    pub(crate) fn new(found: &'a Found) -> Self {
        let withheld = found.answer.withheld.iter();
        let withheld = withheld.map(|(id, why)| WithheldObject {
            id: id.to_string(),
            why: *why,
        });
        let global = found.global.overlay.as_ref();
        Self {
            schema: "ken.search.v1",
            query: &found.search.query,
            served_by: found.answer.served_by.name(),
            tier: found.page.tier,
            tokens: found.page.tokens,
            results: hit_objects(&found.answer, &found.page),
            left_out: &found.page.left_out,
            withheld: withheld.collect(),
            global: global.map_or_else(Vec::new, |it| hit_objects(&it.answer, &it.page)),
        }
    }
}

fn hit_objects<'a>(answer: &'a Answer, page: &'a Page) -> Vec<HitObject<'a>> {
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
    let shown = page.shown.iter();
    shown
        .filter_map(|shown| Some(object(answer.hit(shown.id)?, shown)))
        .collect()
}
