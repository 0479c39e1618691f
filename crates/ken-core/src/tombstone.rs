//! Whether a proposed claim was taken back before, also in other words.

use std::collections::{BTreeMap, BTreeSet};

use crate::actor::Actor;
use crate::decide::{Proposal, Refusal};
use crate::entry::Entry;
use crate::event::RetractReason;
use crate::likeness::{Claim, Likeness, REWORDED_SHARE, likeness};
use crate::text::Statement;

/// The claims that were taken back, ready to be asked many times.
#[derive(Debug, Default)]
pub struct Stones {
    stones: Vec<Stone>,
    /// Places in `stones` by the words they use.
    by_word: BTreeMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Stone {
    entry: Entry,
    claim: Claim,
}

impl Stones {
    /// Makes claims ready to be compared with.
    pub fn new(entries: Vec<Entry>) -> Self {
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

    /// Refuses what was taken back before, unless a person overrides that.
    pub fn check(&self, proposal: &Proposal, by: &Actor) -> Result<(), Refusal> {
        let Some(stone) = self.said_before(&proposal.content.statement) else {
            return Ok(());
        };
        if proposal.overrides == Some(stone.id) {
            if by.is_human() {
                return Ok(());
            }
            let what = "overriding a retraction";
            return Err(Refusal::PersonNeeded {
                what,
                by: by.clone(),
            });
        }
        let reason = match stone.retracted.as_ref().map(|retraction| retraction.reason) {
            Some(RetractReason::False) => "false",
            Some(RetractReason::Unwanted) => "unwanted",
            Some(RetractReason::Duplicate | RetractReason::Obsolete | RetractReason::Withdrawn)
            | None => "retracted",
        };
        Err(Refusal::Tombstone {
            entry: stone.id,
            reason,
        })
    }

    /// Returns the retracted entry that `statement` says again.
    pub fn said_before(&self, statement: &Statement) -> Option<&Entry> {
        if self.stones.is_empty() {
            return None;
        }
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
        #[expect(clippy::cast_precision_loss, reason = "words of a statement")]
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
