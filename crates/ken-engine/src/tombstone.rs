//! Whether a proposed claim was taken back before, also in other words.

use std::collections::{BTreeSet, HashMap};

use ken_core::entry::Entry;
use ken_core::likeness::{Claim, Likeness, REWORDED_SHARE, likeness};
use ken_core::text::Statement;

/// The claims that were taken back, ready to be asked many times.
#[derive(Debug, Default)]
pub(crate) struct Stones {
    stones: Vec<Stone>,
    /// Places in `stones` by the words they use.
    by_word: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Stone {
    entry: Entry,
    claim: Claim,
}

impl Stones {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut all = Self::default();
        for entry in entries {
            let Some(content) = &entry.content else {
                continue;
            };
            let claim = Claim::of(content.statement.as_str());
            for word in claim.words().iter().collect::<BTreeSet<_>>() {
                let places = all.by_word.entry(word.clone()).or_default();
                places.push(all.stones.len());
            }
            all.stones.push(Stone { entry, claim });
        }
        all
    }

    /// Returns the retracted entry that `statement` says again.
    pub(crate) fn said_before(&self, statement: &Statement) -> Option<&Entry> {
        let claim = Claim::of(statement.as_str());
        let set: BTreeSet<&String> = claim.words().iter().collect();
        let mut common = vec![0_usize; self.stones.len()];
        for place in set
            .iter()
            .filter_map(|word| self.by_word.get(*word))
            .flatten()
        {
            common[*place] += 1;
        }
        let enough = |common: usize| REWORDED_SHARE * set.len() as f64 <= common as f64;
        let near = self.stones.iter().zip(common).filter(|(_, n)| enough(*n));
        let mut near = near.map(|(stone, _)| stone);
        let again = |stone: &&Stone| says_again(&stone.claim, &claim);
        near.find(again).map(|stone| &stone.entry)
    }
}

/// Alike in meaning is not enough: a proposal is refused over it.
fn says_again(a: &Claim, b: &Claim) -> bool {
    matches!(likeness(a, b, None), Likeness::Same | Likeness::Reworded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        says_again(&Claim::of(a), &Claim::of(b))
    }

    #[test]
    fn rewording_is_recognised_and_opposition_is_not() {
        assert!(alike("Charging twice is safe", "charging twice, is safe!"));
        assert!(alike(
            "Retry the payment call twice after a network timeout",
            "After a network timeout, retry the payment call twice"
        ));
        assert!(!alike(
            "Retry the payment call twice after a network timeout",
            "Never retry the payment call twice after a network timeout"
        ));
        assert!(!alike("Use tabs", "Use spaces"));
    }
}
