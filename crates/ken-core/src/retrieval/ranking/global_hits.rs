//! Merges hits of the global ledger and of peers below local hits: labeled, discounted, never above
//! verified ones.

use super::{SearchHit, SearchQuery, sort_hits};
use crate::trust::similarity::{TokenizedStatement, classify_similarity};
use crate::values::status::EntryStatus;

/// Factor applied to the score of a global hit.
const GLOBAL_DISCOUNT: f64 = 0.8;

/// Name of the score part that records the global discount.
const GLOBAL_PART: &str = "global";

/// Name of the score part that records the weight of a peer.
const PEER_PART: &str = "peer";

/// Maximum number of hits of peers in one answer.
pub const PEER_HITS_MAX: usize = 2;

/// The tier below the repository that a hit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignTier {
    /// The user's global ledger, or the organization's own tier at a hub.
    Global,
    /// A publication of another organization.
    Peer,
}

/// A hit from another ledger, before its score is discounted.
#[derive(Clone, Debug)]
pub struct ForeignHit {
    pub hit: SearchHit,
    /// Factor of the score, at most 1.
    pub weight: f64,
    pub tier: ForeignTier,
}

impl ForeignHit {
    /// Returns a hit of the global ledger.
    #[must_use]
    pub fn global(hit: SearchHit) -> Self {
        Self {
            hit,
            weight: GLOBAL_DISCOUNT,
            tier: ForeignTier::Global,
        }
    }
}

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
#[must_use]
pub fn merge_global_hits(local: &[SearchHit], elsewhere: Vec<SearchHit>) -> Vec<SearchHit> {
    merge_foreign_hits(
        local,
        elsewhere.into_iter().map(ForeignHit::global).collect(),
    )
}

/// Returns the foreign hits that add to `local`, best first.
///
/// Drops hits that make the same claim as a local hit and discounts the rest. No foreign hit scores
/// as high as a verified local one, and at most [`PEER_HITS_MAX`] come from peers.
#[must_use]
pub fn merge_foreign_hits(local: &[SearchHit], elsewhere: Vec<ForeignHit>) -> Vec<SearchHit> {
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
    let (mut global, mut peers) = (Vec::new(), Vec::new());
    for foreign in elsewhere {
        // A contradiction says nearly the same words, and both sides must be seen.
        let is_news = !foreign.hit.conflicts.is_empty() || !is_known_locally(&foreign.hit);
        match foreign.tier {
            ForeignTier::Global if !is_known_locally(&foreign.hit) => {
                global.push(apply_weight(foreign));
            }
            ForeignTier::Peer if is_news => peers.push(apply_weight(foreign)),
            ForeignTier::Global | ForeignTier::Peer => {}
        }
    }
    sort_hits(&mut peers);
    peers.truncate(PEER_HITS_MAX);
    let mut new_hits = global;
    new_hits.extend(peers);
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

fn apply_weight(foreign: ForeignHit) -> SearchHit {
    let ForeignHit {
        mut hit,
        weight,
        tier,
    } = foreign;
    // A negative score would rise when it is multiplied.
    let lost = hit.explained.score.max(0.0) * (weight.clamp(0.0, 1.0) - 1.0);
    let part = match tier {
        ForeignTier::Global => GLOBAL_PART,
        ForeignTier::Peer => PEER_PART,
    };
    hit.explained.adjust(part, lost);
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
