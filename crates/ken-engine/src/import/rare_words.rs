//! Index that finds claims with rare words in common, to avoid comparing all pairs.

use std::collections::{BTreeSet, HashMap};

use ken_core::trust::similarity::TokenizedStatement;

/// Maximum number of claims a word may occur in to be considered rare.
const COMMON_MAX: usize = 400;

/// Maximum number of words looked up per claim, rarest first.
const LOOKED_UP_MAX: usize = 12;

/// Maximum number of neighbors returned per claim.
const NEIGHBORS_MAX: usize = 24;

/// Minimum number of words a neighbor must share.
const SHARED_MIN: usize = 2;

/// Inverted index from words to claims.
#[derive(Debug, Default)]
pub struct NeighborIndex {
    positions: HashMap<String, Vec<u32>>,
}

impl NeighborIndex {
    /// Indexes claims. A claim is identified by its position.
    pub fn new<'c>(claims: impl IntoIterator<Item = &'c TokenizedStatement>) -> Self {
        let mut positions: HashMap<String, Vec<u32>> = HashMap::new();
        for (place, claim) in (0..).zip(claims) {
            for word in claim.words().iter().collect::<BTreeSet<_>>() {
                match positions.get_mut(word) {
                    Some(all) => all.push(place),
                    None => {
                        positions.insert(word.clone(), vec![place]);
                    }
                }
            }
        }
        Self { positions }
    }

    /// Returns the positions of the claims with the most rare words in common, nearest first.
    pub fn nearest(&self, claim: &TokenizedStatement) -> Vec<usize> {
        let words: BTreeSet<&String> = claim.words().iter().collect();
        let known = words.iter().filter_map(|word| self.positions.get(*word));
        let mut rare: Vec<&Vec<u32>> = known.filter(|it| it.len() <= COMMON_MAX).collect();
        rare.sort_by_key(|it| it.len());
        // A claim with a single rare word can share no more than that one.
        let least = SHARED_MIN.min(rare.len());
        let mut shared: HashMap<u32, (usize, f64)> = HashMap::new();
        for places in rare.into_iter().take(LOOKED_UP_MAX) {
            // Rare words weigh more, as in inverse document frequency.
            let weight = 1.0 / (1.0 + places.len() as f64);
            for place in places {
                let (count, sum) = shared.entry(*place).or_default();
                *count += 1;
                *sum += weight;
            }
        }
        let mut near: Vec<(u32, f64)> = shared
            .into_iter()
            .filter(|(_, (count, _))| *count >= least)
            .map(|(place, (_, weight))| (place, weight))
            .collect();
        // The position breaks ties, because the order of a hash map differs between runs.
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.truncate(NEIGHBORS_MAX);
        near.into_iter().map(|(place, _)| place as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_rare_words_is_near() {
        let texts = [
            "Retries need an idempotency key",
            "Use tabs for indentation",
            "Indentation uses four spaces",
        ];
        let claims: Vec<TokenizedStatement> = texts
            .iter()
            .map(|it| TokenizedStatement::parse(it))
            .collect();
        let all = NeighborIndex::new(&claims);
        assert_eq!(
            all.nearest(&TokenizedStatement::parse(
                "An idempotency key makes retries safe"
            )),
            [0]
        );
        assert_eq!(
            all.nearest(&TokenizedStatement::parse(
                "Never use spaces for indentation"
            )),
            [1, 2]
        );
        assert!(
            all.nearest(&TokenizedStatement::parse("Something else entirely"))
                .is_empty()
        );
    }
}
