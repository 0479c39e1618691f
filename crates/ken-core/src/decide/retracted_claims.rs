//! Tombstones: the check that a retracted claim is not proposed again, even reworded.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::Refusal;
use crate::ledger::entry::Entry;
use crate::ledger::event::RetractReason;
use crate::trust::similarity::{
    REWORDED_SHARE, SimilarityVerdict, TokenizedStatement, classify_similarity,
};
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::text::{Statement, fold_look_alikes};

/// Retracted claims, indexed for repeated lookups.
#[derive(Debug, Default)]
pub struct RetractedClaims {
    claims: Vec<RetractedClaim>,
    /// Indexes into `claims` by word.
    by_word: BTreeMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct RetractedClaim {
    entry: Entry,
    claim: TokenizedStatement,
}

impl RetractedClaims {
    /// Indexes the statements of retracted entries.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut index = Self::default();
        for entry in entries {
            let Some(content) = &entry.content else {
                continue;
            };
            let claim = TokenizedStatement::parse(&fold_look_alikes(content.statement.as_str()));
            // A set, so that a repeated word counts once in `find_repeated`.
            for word in claim.words().iter().collect::<BTreeSet<_>>() {
                let positions = index.by_word.entry(word.clone()).or_default();
                positions.push(index.claims.len());
            }
            index.claims.push(RetractedClaim { entry, claim });
        }
        index
    }

    /// Refuses a statement that repeats a retracted claim, unless a person overrides the tombstone.
    pub fn check(
        &self,
        statement: &Statement,
        overrides: Option<EntryId>,
        by: &Actor,
    ) -> Result<(), Refusal> {
        let Some(tombstone) = self.find_repeated(statement) else {
            return Ok(());
        };
        // The override must name this tombstone: a blanket override could hide another retraction.
        if overrides == Some(tombstone.id) {
            if by.is_human() {
                return Ok(());
            }
            let what = "overriding a retraction";
            return Err(Refusal::PersonNeeded {
                what,
                by: by.clone(),
            });
        }
        let reason = match tombstone
            .retracted
            .as_ref()
            .map(|retraction| retraction.reason)
        {
            Some(RetractReason::False) => "false",
            Some(RetractReason::Unwanted) => "unwanted",
            Some(RetractReason::Duplicate | RetractReason::Obsolete | RetractReason::Withdrawn)
            | None => "retracted",
        };
        Err(Refusal::Tombstone {
            entry: tombstone.id,
            reason,
        })
    }

    /// Returns the retracted entry whose claim `statement` repeats.
    pub fn find_repeated(&self, statement: &Statement) -> Option<&Entry> {
        if self.claims.is_empty() {
            return None;
        }
        let claim = TokenizedStatement::parse(&fold_look_alikes(statement.as_str()));
        let distinct: BTreeSet<&String> = claim.words().iter().collect();
        // Counting shared words first avoids the expensive comparison with every retracted claim.
        let mut common = vec![0_usize; self.claims.len()];
        for position in distinct
            .iter()
            .filter_map(|word| self.by_word.get(*word))
            .flatten()
        {
            common[*position] += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "words of a statement")]
        let is_enough = |common: usize| common as f64 >= REWORDED_SHARE * distinct.len() as f64;
        let mut candidates = self
            .claims
            .iter()
            .zip(common)
            .filter(|(_, count)| is_enough(*count))
            .map(|(retracted, _)| retracted);
        candidates
            .find(|retracted| is_repetition(&retracted.claim, &claim))
            .map(|retracted| &retracted.entry)
    }
}

/// Returns whether `b` repeats `a` in the same or other words.
///
/// Similar meaning alone is not enough, because a match refuses a proposal.
fn is_repetition(a: &TokenizedStatement, b: &TokenizedStatement) -> bool {
    matches!(
        classify_similarity(a, b, None),
        SimilarityVerdict::Same | SimilarityVerdict::Reworded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        let parse = |text| TokenizedStatement::parse(&fold_look_alikes(text));
        is_repetition(&parse(a), &parse(b))
    }

    #[test]
    fn letters_that_look_the_same_are_the_same() {
        let claim = "Charging a card twice is safe";
        for copy in [
            "Ｃharging a card twice is safe",
            "Charging a c\u{430}rd twice is s\u{430}fe",
            "Ch\u{3b1}rging a card twice is safe",
            "𝐂harging a 𝐜𝐚𝐫𝐝 twice is safe",
            "Cha\u{301}rging a card twice is safe",
            "Char\u{200b}ging a card twice is safe",
        ] {
            assert!(alike(claim, copy), "{copy}");
        }
        assert!(!alike(claim, "Зарядка карты дважды безопасна"));
    }

    #[test]
    fn rewording_is_recognized_and_opposition_is_not() {
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
