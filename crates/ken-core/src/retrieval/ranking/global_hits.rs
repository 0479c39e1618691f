//! Merges hits of the global ledger below local hits: labeled, discounted, never above verified
//! ones.

use super::{SearchHit, SearchQuery, sort_hits};
use crate::trust::similarity::{TokenizedStatement, classify_similarity};
use crate::values::status::EntryStatus;

/// Factor applied to the score of a global hit.
const GLOBAL_DISCOUNT: f64 = 0.8;

/// Name of the score part that records the global discount.
const GLOBAL_PART: &str = "global";

/// Name of the score part that records the cap below verified local hits.
const BELOW_LOCAL_PART: &str = "below local";

impl SearchQuery {
    /// Returns this query for the global ledger.
    ///
    /// Paths and threads mean nothing in another repository, and an entry that is stale in its own
    /// repository is useless here.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        Self {
            paths: Vec::new(),
            is_about_paths: false,
            thread: None,
            include_stale: false,
            ..self.clone()
        }
    }
}

/// Returns the global hits that add to `local`, best first.
///
/// Drops hits that make the same claim as a local hit and discounts the rest. No global hit scores
/// as high as a verified local one.
#[must_use]
pub fn merge_global_hits(local: &[SearchHit], elsewhere: Vec<SearchHit>) -> Vec<SearchHit> {
    let local_claims: Vec<TokenizedStatement> = local
        .iter()
        .map(|it| TokenizedStatement::parse(it.entry.statement_text()))
        .collect();
    // No pairwise cosine exists here: a hit carries only its cosine to the query.
    let is_known_locally = |hit: &SearchHit| {
        let claim = TokenizedStatement::parse(hit.entry.statement_text());
        let mut local_claims = local_claims.iter();
        local_claims.any(|it| classify_similarity(it, &claim, None).is_match())
    };
    let new_hits = elsewhere.into_iter().filter(|it| !is_known_locally(it));
    let mut new_hits: Vec<SearchHit> = new_hits.map(apply_global_discount).collect();
    sort_hits(&mut new_hits);
    let verified = local
        .iter()
        .filter(|it| it.facts.status == EntryStatus::Verified);
    let lowest_verified = verified.map(|it| it.explained.score).min_by(f64::total_cmp);
    let mut bound = lowest_verified;
    for hit in &mut new_hits {
        // Each hit stays strictly below the previous one, so that capping preserves the order.
        bound = bound.map(|bound| cap_below(hit, bound));
    }
    new_hits
}

fn apply_global_discount(mut hit: SearchHit) -> SearchHit {
    let lost = hit.explained.score * (GLOBAL_DISCOUNT - 1.0);
    hit.explained.adjust(GLOBAL_PART, lost);
    hit
}

/// Caps a score strictly below `bound` and returns the bound for the next hit.
fn cap_below(hit: &mut SearchHit, bound: f64) -> f64 {
    let (score, most) = (hit.explained.score, bound.next_down());
    if score <= most {
        return bound;
    }
    hit.explained.adjust(BELOW_LOCAL_PART, most - score);
    // `score + (most - score)` may round to `bound`; assigning keeps the order strict.
    hit.explained.score = most;
    most
}
