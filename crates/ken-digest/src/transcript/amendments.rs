//! Amendments: words that change an earlier decision, and the decision that they change.
//!
//! An amendment that stays unlinked misleads: the older rule is still shown as current. Two signs
//! are needed. The words say that something decided before changes, and the subject is the same:
//! both texts share enough of the words that the other decisions lack.

use std::collections::{BTreeMap, BTreeSet};

use crate::modality::normalize_words;
use crate::words::contains_phrase;

/// Minimum share of the rarer words that an amendment has in common with what it changes, and their
/// minimum number. On the development conversations other decisions reach 0.15.
const SHARE_MIN: f64 = 0.2;
const SHARED_WORDS_MIN: usize = 3;

/// Minimum length of a word by which texts are compared; shorter ones are mostly grammar.
const CONTENT_WORD_CHARS: usize = 5;

/// Phrases that announce a change of something decided, in the three languages of the development
/// data. Words of ordinary rules, such as "no longer", are missing on purpose.
const AMENDING: &str = "\
    amend, amends, amended, amending, amendment, supersede, supersedes, superseding, superseded, replaces the, reverse that, reverse the, reversed, \
    scrap the, scrap that, scrap it, i was wrong, we were wrong, changed my mind, change my mind, changed our mind, change of plan, change of plans, \
    on second thought, instead of the old, the old rule, the old policy, new rule, new policy, revised, revise, revising, overrule, overrules, \
    update to the, updates to the, final answer, was a mistake, bad idea, ok then not, \
    ändern wir, doch nicht, doch lieber, statt bisher, blöde idee, war falsch, war ein fehler, revidieren, revidiert, neue regel, \
    nehme ich zurück, nehmen wir zurück, \
    cambiamos, cambio de, me equivoqué, nos equivocamos, rectifico, sustituye, reemplaza, nueva regla, mejor al revés, era un error, mala idea";

/// Returns whether a text says that something decided before changes.
pub(super) fn announces_amendment(text: &str) -> bool {
    contains_phrase(&normalize_words(text), AMENDING)
}

/// Text of a decision, and the conversation that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionText {
    pub text: String,
    /// `None` if the decision was not captured from a conversation.
    pub conversation: Option<String>,
}

/// Returns the places of the decisions that an amendment changes, among all `older` decisions.
///
/// A conversation often states one decision several times: when it is made, and in a summary. So an
/// amendment changes the nearest decision of other conversations together with all that the same
/// conversation said about its subject, and the nearest one of its own conversation.
#[must_use]
pub fn find_amended(amendment: &DecisionText, older: &[DecisionText]) -> Vec<usize> {
    let subjects = SubjectIndex::new(older.iter().map(|it| it.text.as_str()));
    let own = content_words(&amendment.text);
    let is_own = |place: &usize| {
        amendment.conversation.is_some() && older[*place].conversation == amendment.conversation
    };
    let (same, others): (Vec<usize>, Vec<usize>) = (0..older.len()).partition(is_own);
    let mut amended: Vec<usize> = subjects.nearest(&own, &same).into_iter().collect();
    if let Some(nearest) = subjects.nearest(&own, &others) {
        let changed = &older[nearest];
        amended.extend(others.into_iter().filter(|&place| {
            let is_restated = changed.conversation.is_some()
                && older[place].conversation == changed.conversation
                && subjects.share(&subjects.words[nearest], place).is_some();
            place == nearest || is_restated
        }));
    }
    amended
}

/// Content words of decisions, and how many of the decisions have each.
struct SubjectIndex {
    words: Vec<BTreeSet<String>>,
    uses: BTreeMap<String, usize>,
}

impl SubjectIndex {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let words: Vec<BTreeSet<String>> = texts.map(content_words).collect();
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for word in words.iter().flatten() {
            *uses.entry(word.clone()).or_default() += 1;
        }
        Self { words, uses }
    }

    /// Returns the place of the nearest decision about the subject of `own`.
    fn nearest(&self, own: &BTreeSet<String>, places: &[usize]) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for &place in places {
            // Of equals the newest: an amendment changes what is valid now.
            if let Some(share) = self.share(own, place)
                && best.is_none_or(|(most, _)| share >= most)
            {
                best = Some((share, place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Returns the share of the rarer words in common, if both are about the same subject.
    fn share(&self, own: &BTreeSet<String>, place: usize) -> Option<f64> {
        let other = &self.words[place];
        let shared: BTreeSet<String> = own.intersection(other).cloned().collect();
        let share = self.weigh(&shared) / self.weigh(other).min(self.weigh(own));
        (shared.len() >= SHARED_WORDS_MIN && share >= SHARE_MIN).then_some(share)
    }

    /// Sums the weights of words. A word that many decisions have says little about the subject.
    fn weigh(&self, words: &BTreeSet<String>) -> f64 {
        let weight = |word: &String| {
            let uses = self.uses.get(word).copied().unwrap_or(1);
            ((self.words.len() + 1) as f64 / uses as f64).ln()
        };
        words.iter().map(weight).sum()
    }
}

/// Returns the words that say what a text is about.
pub(super) fn content_words(text: &str) -> BTreeSet<String> {
    let is_content = |word: &&str| {
        word.chars().count() >= CONTENT_WORD_CHARS || word.contains(|c: char| c.is_numeric())
    };
    // Code is a subject, too: `normalize_words` leaves out what stands in backticks.
    let words = normalize_words(&text.replace('`', " "));
    let content = words.split_whitespace().filter(is_content);
    content.map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_decision_are_announced_and_rules_are_not() {
        for text in [
            "Amended rule, superseding the old one: …",
            "I was wrong. yaml out, toml in.",
            "das war eine blöde Idee",
            "sí, cambiamos: nada de borrado físico",
        ] {
            assert!(announces_amendment(text), "{text}");
        }
        for text in [
            "From now on retries carry the key.",
            "We no longer accept the old header.",
            "Amenities are listed first.",
            "Das gibt es nicht mehr.",
        ] {
            assert!(!announces_amendment(text), "{text}");
        }
    }

    fn decision(conversation: &str, text: &str) -> DecisionText {
        DecisionText {
            text: text.to_owned(),
            conversation: (!conversation.is_empty()).then(|| conversation.to_owned()),
        }
    }

    #[test]
    fn the_decision_about_the_same_subject_is_found() {
        let older = [
            decision(
                "",
                "Settled: invoices are rounded to whole cents, never to tenths.",
            ),
            decision(
                "",
                "Settled: retries of the upstream stop after five attempts, with a backoff of at most 60 seconds.",
            ),
            decision("", "Decided: uploads over 20 megabytes are refused."),
        ];
        let amendment = decision(
            "",
            "Amended: retries of the upstream stop after five attempts as before, the backoff is at most 30 seconds.",
        );
        assert_eq!(find_amended(&amendment, &older), [1]);
        assert_eq!(find_amended(&amendment, &older[2..]), [0; 0]);
        assert_eq!(find_amended(&amendment, &[]), [0; 0]);
        assert_eq!(find_amended(&decision("", ""), &older), [0; 0]);
    }

    #[test]
    fn of_equal_decisions_the_newest_is_amended() {
        let same = decision(
            "",
            "Settled: retries of the upstream stop after five attempts.",
        );
        let older = [same.clone(), same.clone()];
        assert_eq!(find_amended(&same, &older), [1]);
    }

    #[test]
    fn a_decision_is_amended_wherever_its_conversation_states_it() {
        let older = [
            decision(
                "a",
                "Never more than five attempts: retries of the upstream lock accounts.",
            ),
            decision("a", "Uploads over 20 megabytes are refused with a message."),
            decision(
                "a",
                "Settled: retries of the upstream stop after five attempts, with a backoff of at most 60 seconds.",
            ),
            decision(
                "b",
                "Settled: invoices are rounded to whole cents, never to tenths.",
            ),
        ];
        let amendment = decision(
            "c",
            "Amended: retries of the upstream stop after five attempts as before, the backoff is at most 30 seconds.",
        );
        assert_eq!(find_amended(&amendment, &older), [0, 2]);
    }

    #[test]
    fn a_summary_replaces_its_own_exchange_and_the_older_conversation() {
        let older = [
            decision(
                "a",
                "Settled: retries of the upstream stop after five attempts, with a backoff of at most 60 seconds.",
            ),
            decision(
                "b",
                "Thirty: the backoff for retries of the upstream stays below 32 seconds, five attempts.",
            ),
        ];
        let summary = decision(
            "b",
            "Amended: retries of the upstream stop after five attempts as before, the backoff is at most 30 seconds.",
        );
        assert_eq!(find_amended(&summary, &older), [1, 0]);
    }
}
