//! Whether a proposed claim was taken back before, also in other words.

use std::collections::{BTreeSet, HashMap};

use ken_core::entry::Entry;
use ken_core::text::{Statement, comparison_words};

/// Share of words two statements must have in common to count as the same claim.
const LIKENESS_MIN: f64 = 0.8;
/// Below this many words only equality counts: short texts are alike too easily.
const WORDS_MIN: usize = 4;

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
    words: Vec<String>,
}

impl Stones {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut all = Self::default();
        for entry in entries {
            let Some(content) = &entry.content else {
                continue;
            };
            let words = comparison_words(content.statement.as_str());
            for word in words.iter().collect::<BTreeSet<_>>() {
                let places = all.by_word.entry(word.clone()).or_default();
                places.push(all.stones.len());
            }
            all.stones.push(Stone { entry, words });
        }
        all
    }

    /// Returns the retracted entry that `statement` says again.
    pub(crate) fn said_before(&self, statement: &Statement) -> Option<&Entry> {
        let words = comparison_words(statement.as_str());
        let set: BTreeSet<&String> = words.iter().collect();
        let mut common = vec![0_usize; self.stones.len()];
        for place in set
            .iter()
            .filter_map(|word| self.by_word.get(*word))
            .flatten()
        {
            common[*place] += 1;
        }
        let enough = |common: usize| LIKENESS_MIN * set.len() as f64 <= common as f64;
        let near = self.stones.iter().zip(common).filter(|(_, n)| enough(*n));
        let mut near = near.map(|(stone, _)| stone);
        let again = |stone: &&Stone| {
            stone.words == words || is_reworded(&set, &stone.words.iter().collect())
        };
        near.find(again).map(|stone| &stone.entry)
    }
}

/// Returns whether two statements make the same claim, also in other words.
pub(crate) fn says_same(one: &Statement, other: &Statement) -> bool {
    let (one, other) = (
        comparison_words(one.as_str()),
        comparison_words(other.as_str()),
    );
    one == other || is_reworded(&one.iter().collect(), &other.iter().collect())
}

/// Words in common over words in either. Order and repetition are no matter, but a word more on
/// one side ("not", "never") always is: opposites share nearly every word.
fn is_reworded(a: &BTreeSet<&String>, b: &BTreeSet<&String>) -> bool {
    const OPPOSITES: [&str; 6] = ["not", "no", "never", "without", "cannot", "don"];
    let differing = a.symmetric_difference(b);
    if differing
        .into_iter()
        .any(|word| OPPOSITES.contains(&word.as_str()))
    {
        return false;
    }
    let (common, either) = (a.intersection(b).count(), a.union(b).count());
    WORDS_MIN <= common && LIKENESS_MIN <= common as f64 / either as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        let (a, b) = (comparison_words(a), comparison_words(b));
        a == b || is_reworded(&a.iter().collect(), &b.iter().collect())
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
