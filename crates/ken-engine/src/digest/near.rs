//! Which texts of many are worth comparing with one: those that share its rarest words.

use std::collections::{BTreeSet, HashMap};

use ken_core::likeness::Claim;

/// Texts a word may stand in before it tells nothing.
const COMMON_MAX: usize = 400;

/// Words of one text that are looked up, rarest first.
const LOOKED_UP_MAX: usize = 12;

/// Texts one is compared with at most.
const NEAR_MAX: usize = 24;

/// Words two texts must share.
const SHARED_MIN: usize = 2;

/// Many texts, ready to be asked.
#[derive(Debug, Default)]
pub struct Neighbours {
    places: HashMap<String, Vec<u32>>,
}

impl Neighbours {
    /// Takes texts in; they are known by their place from now on.
    pub fn new<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> Self {
        let mut places: HashMap<String, Vec<u32>> = HashMap::new();
        for (place, claim) in (0..).zip(claims) {
            for word in claim.words().iter().collect::<BTreeSet<_>>() {
                match places.get_mut(word) {
                    Some(all) => all.push(place),
                    None => {
                        places.insert(word.clone(), vec![place]);
                    }
                }
            }
        }
        Self { places }
    }

    /// Returns the places of the texts nearest to `claim` by rare words in common, nearest first.
    pub fn near(&self, claim: &Claim) -> Vec<usize> {
        let words: BTreeSet<&String> = claim.words().iter().collect();
        let known = words.iter().filter_map(|word| self.places.get(*word));
        let mut rare: Vec<&Vec<u32>> = known.filter(|it| it.len() <= COMMON_MAX).collect();
        rare.sort_by_key(|it| it.len());
        let least = SHARED_MIN.min(rare.len());
        let mut shared: HashMap<u32, (usize, f64)> = HashMap::new();
        for places in rare.into_iter().take(LOOKED_UP_MAX) {
            let weight = 1.0 / (1.0 + places.len() as f64);
            for place in places {
                let (count, sum) = shared.entry(*place).or_default();
                *count += 1;
                *sum += weight;
            }
        }
        let mut near: Vec<(u32, f64)> = shared
            .into_iter()
            .filter(|(_, (count, _))| least <= *count)
            .map(|(place, (_, weight))| (place, weight))
            .collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.truncate(NEAR_MAX);
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
        let claims: Vec<Claim> = texts.iter().map(|it| Claim::of(it)).collect();
        let all = Neighbours::new(&claims);
        assert_eq!(
            all.near(&Claim::of("An idempotency key makes retries safe")),
            [0]
        );
        assert_eq!(
            all.near(&Claim::of("Never use spaces for indentation")),
            [1, 2]
        );
        assert!(all.near(&Claim::of("Something else entirely")).is_empty());
    }
}
