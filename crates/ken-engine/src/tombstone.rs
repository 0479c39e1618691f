//! Whether a proposed claim was taken back before, also in other words.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::text::{Statement, comparison_words};

/// Share of words two statements must have in common to count as the same claim.
const LIKENESS_MIN: f64 = 0.8;
/// Below this many words only equality counts: short texts are alike too easily.
const WORDS_MIN: usize = 4;

/// Returns the retracted entry that `statement` says again.
pub(crate) fn tombstone_for<'a>(statement: &Statement, stones: &'a [Entry]) -> Option<&'a Entry> {
    let words = comparison_words(statement.as_str());
    let set: BTreeSet<&String> = words.iter().collect();
    stones.iter().find(|stone| {
        let Some(content) = &stone.content else {
            return false;
        };
        let others = comparison_words(content.statement.as_str());
        words == others || is_reworded(&set, &others.iter().collect())
    })
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
