//! Approved entries of peers in a search: discounted by trust, labeled, below verified local hits.

use std::collections::BTreeMap;

use ken_core::federation::ForeignSource;
use ken_core::federation::competing::{CompetingHypotheses, HypothesisGrounds, compare_hypotheses};
use ken_core::retrieval::ranking::{ForeignHit, ForeignTier};
use ken_core::trust::contradiction::{ContradictionSide, find_contradiction};
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;
use ken_core::values::time::Date;

use super::peer::PeerLedger;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::search::{SearchHit, SearchQuery};
use crate::validity;

/// Maximum number of candidates taken from one peer.
const HITS_PER_PEER_MAX: usize = 5;

/// Maximum number of local hits that are compared with a foreign one.
const COMPARED_MAX: usize = 5;

/// Hits of all peers for one search.
#[derive(Clone, Debug, Default)]
pub struct PeerHits {
    pub hits: Vec<ForeignHit>,
    pub sources: BTreeMap<EntryId, ForeignSource>,
    pub competing: Vec<CompetingHypotheses>,
}

/// Searches the approved entries of peers.
///
/// An entry with package conditions is a hit only while this repository's lockfile resolves a
/// matching version. An id that this repository uses itself is left out, so that a peer cannot
/// choose the id of a local entry.
pub(crate) fn search_peers(
    engine: &mut Engine,
    peers: &mut [PeerLedger],
    search: &SearchQuery,
    local: &[SearchHit],
) -> Result<PeerHits, EngineError> {
    let mut found = PeerHits::default();
    for peer in peers {
        let trust = peer.trust()?;
        let weight = peer.weight(trust);
        let answer = peer.engine.search(&search.elsewhere(), &mut |_, _| {})?;
        let mut taken = 0;
        for mut hit in answer.hits {
            let id = hit.entry.id;
            let is_free = engine.find(&id.to_string()).is_err() && !found.sources.contains_key(&id);
            if taken >= HITS_PER_PEER_MAX || !is_free || !peer.is_entry_shown(&hit.entry) {
                continue;
            }
            if !applies_here(engine, &mut hit)? {
                continue;
            }
            taken += 1;
            // Ids of the peer's own ledger mean nothing here.
            hit.conflicts.clear();
            let first_seen = peer.first_seen(&hit.entry);
            compare(engine, local, &mut hit, first_seen, &mut found.competing);
            let head = peer.peer.replica.head.as_ref();
            let source = ForeignSource {
                entry: id,
                peer: peer.peer.name.clone(),
                publisher: peer.peer.replica.publisher,
                publication: peer.peer.replica.publication.clone(),
                hops: peer.peer.hops,
                trust: trust.score(),
                mean: trust.mean(),
                weight,
                freshness: peer.peer.replica.freshness(engine.now()),
                published: head.map(|it| it.at),
                expires: head.map(|it| it.expires),
                first_seen,
            };
            found.sources.insert(id, source);
            let tier = ForeignTier::Peer;
            found.hits.push(ForeignHit { hit, weight, tier });
        }
    }
    Ok(found)
}

/// Returns whether the package conditions of a foreign entry hold in this repository.
fn applies_here(engine: &mut Engine, hit: &mut SearchHit) -> Result<bool, EngineError> {
    let content = hit.entry.content.as_ref();
    if content.is_none_or(|it| it.depends_on.is_empty()) {
        return Ok(true);
    }
    let checked = validity::anchoring::validity_of(engine, [&hit.entry])?;
    let validity = checked.get(&hit.entry.id).copied().unwrap_or_default();
    hit.facts.validity = validity;
    // Without a lockfile nothing says that the version is used here.
    Ok(validity == Validity::Holds)
}

/// Marks a foreign hit that contradicts local ones, and says which side is preferred.
fn compare(
    engine: &Engine,
    local: &[SearchHit],
    hit: &mut SearchHit,
    first_seen: Option<Date>,
    competing: &mut Vec<CompetingHypotheses>,
) {
    let Some(side) = ContradictionSide::from_entry(&hit.entry) else {
        return;
    };
    let foreign = HypothesisGrounds::of_foreign(&hit.entry, &hit.facts, first_seen);
    for other in local.iter().take(COMPARED_MAX) {
        let against = ContradictionSide::from_entry(&other.entry);
        let Some(reason) = against.and_then(|it| find_contradiction(&it, &side, None)) else {
            continue;
        };
        let grounds = HypothesisGrounds::of_local(&other.entry, &other.facts);
        hit.conflicts.push(other.entry.id);
        competing.push(CompetingHypotheses {
            local: other.entry.id,
            foreign: hit.entry.id,
            preferred: compare_hypotheses(&grounds, &foreign, engine.now().date()),
            rule: reason.rule.name(),
        });
    }
}
