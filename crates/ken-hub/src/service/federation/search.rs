//! Approved entries of peers in a search: discounted by trust, labeled, below verified local hits.

use std::collections::BTreeSet;

use ken_core::federation::competing::{CompetingHypotheses, HypothesisGrounds, compare_hypotheses};
use ken_core::federation::{ForeignSource, Freshness, GRACE_DAYS, foreign_weight};
use ken_core::retrieval::ranking::{CandidateScorer, ForeignHit, ForeignTier, SearchHit};
use ken_core::trust::contradiction::{ContradictionSide, find_contradiction};
use ken_core::values::id::EntryId;
use ken_core::values::time::{DAY_MS, Date};
use uuid::Uuid;

use super::parse_publisher;
use crate::service::{ServiceError, WorkspaceSession};
use crate::store::{ShownPeer, StoreError, StoreQuery};

/// Maximum number of candidates taken from one peer.
const HITS_PER_PEER_MAX: usize = 5;

/// Maximum number of local hits that are compared with a foreign one.
const COMPARED_MAX: usize = 5;

/// Hits of all peers for one search.
#[derive(Clone, Debug, Default)]
pub struct ForeignHits {
    pub hits: Vec<ForeignHit>,
    pub sources: Vec<ForeignSource>,
    pub competing: Vec<CompetingHypotheses>,
}

impl WorkspaceSession {
    /// Searches the approved entries of the organization's peers.
    ///
    /// Nothing is asked beyond the list of peers if none may be shown. An id that the workspace or
    /// an earlier hit uses is left out, so that a peer cannot choose the id of a local entry.
    pub(in crate::service) async fn search_peers(
        &mut self,
        scorer: &CandidateScorer<'_>,
        query: &StoreQuery<'_>,
        local: &[SearchHit],
    ) -> Result<ForeignHits, ServiceError> {
        let mut found = ForeignHits::default();
        // What was not renewed for long may have been taken back.
        let grace = u64::from(GRACE_DAYS) * DAY_MS;
        let peers = self.tx.shown_peers(self.now.minus_millis(grace)).await?;
        if peers.is_empty() {
            return Ok(found);
        }
        let ids: Vec<Uuid> = peers.iter().map(|it| it.id).collect();
        let candidates = self.tx.peer_candidates(&ids, query).await?;
        // Asked by id: a local entry that is no candidate of this search counts, too.
        let named: Vec<EntryId> = candidates.iter().map(|it| it.candidate.entry.id).collect();
        let known = self.tx.entries(&named).await?;
        let mut taken: BTreeSet<EntryId> = known.iter().map(|it| it.id).collect();
        for candidate in candidates {
            let id = candidate.candidate.entry.id;
            let Some(peer) = peers.iter().find(|it| it.id == candidate.peer) else {
                continue;
            };
            let of_peer = found.sources.iter().filter(|it| it.peer == peer.name);
            let is_full = of_peer.count() >= HITS_PER_PEER_MAX;
            let entry = &candidate.candidate.entry;
            // A hub has no lockfile that says whether a package version is used.
            let has_condition = entry
                .content
                .as_ref()
                .is_none_or(|it| !it.depends_on.is_empty());
            if is_full || has_condition || self.services.guard.refuses_entry(entry) {
                continue;
            }
            let Ok(mut hit) = scorer.score(candidate.candidate) else {
                continue;
            };
            if !taken.insert(id) {
                continue;
            }
            // Ids of another ledger mean nothing here.
            hit.conflicts.clear();
            let today = self.now.date();
            compare(
                local,
                &mut hit,
                (candidate.first_seen, today),
                &mut found.competing,
            );
            let source = foreign_source(peer, id, candidate.first_seen, self.now)?;
            found.hits.push(ForeignHit {
                hit,
                weight: source.weight,
                tier: ForeignTier::Peer,
            });
            found.sources.push(source);
        }
        Ok(found)
    }
}

/// Describes the peer of a hit.
fn foreign_source(
    peer: &ShownPeer,
    entry: EntryId,
    first_seen: Date,
    now: ken_core::values::time::Timestamp,
) -> Result<ForeignSource, StoreError> {
    Ok(ForeignSource {
        entry,
        peer: peer.name.clone(),
        publisher: parse_publisher(&peer.publisher)?,
        publication: peer.publication.parse().map_err(StoreError::damaged)?,
        hops: peer.hops,
        trust: peer.trust,
        mean: peer.mean,
        weight: foreign_weight(peer.trust, peer.hops, peer.weight_max),
        freshness: if now < peer.expires_at {
            Freshness::Fresh
        } else {
            Freshness::Stale
        },
        published: peer.published_at,
        expires: Some(peer.expires_at),
        first_seen: Some(first_seen),
    })
}

/// Marks a foreign hit that contradicts local ones, and says which side is preferred.
fn compare(
    local: &[SearchHit],
    hit: &mut SearchHit,
    (first_seen, today): (Date, Date),
    competing: &mut Vec<CompetingHypotheses>,
) {
    let Some(side) = ContradictionSide::from_entry(&hit.entry) else {
        return;
    };
    let foreign = HypothesisGrounds::of_foreign(&hit.entry, &hit.facts, Some(first_seen));
    let mut opponents = Vec::new();
    for other in local.iter().take(COMPARED_MAX) {
        let against = ContradictionSide::from_entry(&other.entry);
        let Some(reason) = against.and_then(|it| find_contradiction(&it, &side, None)) else {
            continue;
        };
        let grounds = HypothesisGrounds::of_local(&other.entry, &other.facts);
        opponents.push(other.entry.id);
        competing.push(CompetingHypotheses {
            local: other.entry.id,
            foreign: hit.entry.id,
            preferred: compare_hypotheses(&grounds, &foreign, today),
            rule: reason.rule.name(),
        });
    }
    hit.conflicts = opponents;
}
