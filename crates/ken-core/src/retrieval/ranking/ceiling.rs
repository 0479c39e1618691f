//! Ranking ceiling of unconfirmed text from the web: it never ranks above knowledge of this
//! workspace that is at least as relevant.
//!
//! A new entry has a wide posterior, so that a lucky draw could put it first. Once somebody
//! confirmed it, it ranks as any other.

use std::collections::BTreeSet;

use super::SearchHit;

/// Name of the score part that records the ceiling.
const CEILING_PART: &str = "unconfirmed web";

/// Lowers each unconfirmed hit from the web below every other hit whose relevance is at least its
/// own.
pub(super) fn apply_ceiling(hits: &mut [SearchHit]) {
    // Most searches have none: return before anything is sorted.
    let mut web: Vec<usize> = (0..hits.len())
        .filter(|at| hits[*at].entry.is_unconfirmed_web())
        .collect();
    if web.is_empty() {
        return;
    }
    let mut own: Vec<(f64, f64)> = hits
        .iter()
        .filter(|it| !it.entry.is_unconfirmed_web())
        .map(|it| (it.relevance, it.explained.score))
        .collect();
    own.sort_by(|a, b| b.0.total_cmp(&a.0));
    // The lowest score among the hits up to here, which are the ones at least as relevant.
    let mut lowest = f64::INFINITY;
    for (_, score) in &mut own {
        lowest = lowest.min(*score);
        *score = lowest;
    }
    // Best first, and no score twice, so that lowered hits keep their order.
    web.sort_by(|a, b| {
        let (a, b) = (&hits[*a], &hits[*b]);
        let by_score = b.explained.score.total_cmp(&a.explained.score);
        by_score.then(a.entry.id.cmp(&b.entry.id))
    });
    let mut taken: BTreeSet<u64> = BTreeSet::new();
    for at in web {
        let hit = &mut hits[at];
        let count = own.partition_point(|(relevance, _)| *relevance >= hit.relevance);
        let Some((_, bound)) = count.checked_sub(1).map(|last| own[last]) else {
            continue;
        };
        if hit.explained.score < bound {
            continue;
        }
        let mut most = bound.next_down();
        while !taken.insert(most.to_bits()) {
            most = most.next_down();
        }
        hit.explained
            .adjust(CEILING_PART, most - hit.explained.score);
        // The sum may round to the bound; assigning keeps the order strict.
        hit.explained.score = most;
    }
}
