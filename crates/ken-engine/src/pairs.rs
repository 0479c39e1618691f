//! Entries that say the same: found, made one, or told apart for good.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::entry::Entry;
use ken_core::event::{Origin, PairKind, Relation};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::likeness::{Claim, Merging, Near, compare};
use ken_core::status::Status;
use ken_core::store::{Filter, Store as _};
use ken_core::text::Statement;

use crate::engine::Engine;
use crate::error::Error;

/// Entries a word may stand in before it tells nothing about which of them are alike.
const COMMON_MIN: usize = 50;

/// Or as a part of all entries, where those are many.
const COMMON_PART: usize = 20;

/// Words of an entry that others are looked up by, rarest first.
const RARE_MAX: usize = 24;

/// Entries each is compared with.
const NEIGHBOURS_MAX: usize = 32;

/// Pairs that are listed where nobody says how many: what a person looks through in one go.
pub const LISTED_MAX: usize = 20;

/// Two entries that look like one.
#[derive(Clone, Debug)]
pub struct Pair {
    pub first: Entry,
    pub second: Entry,
    /// How near the built-in model finds them; absent without it.
    pub cosine: Option<f64>,
    pub merging: Merging,
    /// How likely they are one in other words, from 0 to 1.
    pub score: f64,
    /// Whether something speaks for their being contrary.
    pub may_be_opposites: bool,
}

impl Engine {
    /// Returns pairs of entries in use that may say the same and that nobody told apart: first those that do without
    /// doubt, then the likeliest.
    pub fn duplicates(&mut self) -> Result<Vec<Pair>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let workspace = self.index.workspace()?;
        let said: Vec<&str> = entries.iter().map(Entry::said).collect();
        let claims: Vec<Claim> = said.iter().map(|it| Claim::of(it)).collect();
        let vectors = self.built_in_vectors(&said)?;
        let mut pairs = Vec::new();
        for (one, other) in candidates(&claims) {
            let (first, second) = (&entries[one], &entries[other]);
            let (low, high) = (first.id.min(second.id), first.id.max(second.id));
            let dismissed = (low, high, PairKind::Duplicate);
            let same_prefix = first.id.prefix() == second.id.prefix();
            if !same_prefix || workspace.dismissed.contains(&dismissed) {
                continue;
            }
            let cosine = vectors.as_ref().map(|it| it.1[one].cosine(&it.1[other]));
            let model = vectors.as_ref().map_or("", |it| it.0.as_str());
            let near = cosine.map(|cosine| Near { model, cosine });
            let compared = compare(&claims[one], &claims[other], near);
            if compared.merging != Merging::Apart {
                pairs.push(Pair {
                    first: first.clone(),
                    second: second.clone(),
                    cosine,
                    merging: compared.merging,
                    score: compared.score,
                    may_be_opposites: compared.may_be_opposites,
                });
            }
        }
        let doubt = |it: &Pair| it.merging != Merging::Merge;
        pairs.sort_by(|a, b| {
            let surest = doubt(a).cmp(&doubt(b)).then(b.score.total_cmp(&a.score));
            surest.then_with(|| (a.first.id, a.second.id).cmp(&(b.first.id, b.second.id)))
        });
        Ok(pairs)
    }

    /// Makes one of every two entries that are the same word for word; returns which were.
    ///
    /// The one somebody stood up for stays. Norms are merged by people only.
    pub fn merge_equal(&mut self, by: &Actor) -> Result<Vec<Pair>, Error> {
        let mut merged = Vec::new();
        for pair in self.duplicates()? {
            let is_norm = pair.first.id.prefix().memory() == Memory::Procedural;
            if pair.merging != Merging::Merge || (is_norm && !by.is_human()) {
                continue;
            }
            let (first, second) = (self.entry(pair.first.id)?, self.entry(pair.second.id)?);
            // An earlier pair may have taken one of them.
            if first.merged_into.is_some() || second.merged_into.is_some() {
                continue;
            }
            let (stays, goes) = match rank(&first) < rank(&second) {
                true => (second.id, first.id),
                false => (first.id, second.id),
            };
            match self.merge(stays, &[goes], None, by) {
                Ok(_) => merged.push(pair),
                // Such as one that waits in quarantine: it stays where it is.
                Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(merged)
    }

    /// Makes `sources` part of `target`; `chosen` is a wording somebody picked.
    pub fn merge(
        &mut self,
        target: EntryId,
        sources: &[EntryId],
        chosen: Option<Statement>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let sources = sources.iter().map(|id| self.entry(*id));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let target_now = self.entry(target)?;
        let draft = decide::merge(&target_now, &sources, chosen)?;
        let draft = decide::worded_by(draft, &target_now, by);
        self.record(vec![draft], by)?;
        self.render_due()?;
        self.entry(target)
    }

    /// Lets `new` take the place of `old`, and links back to it.
    pub fn supersede(&mut self, old: EntryId, new: EntryId, by: &Actor) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let (older, newer) = (self.entry(old)?, self.entry(new)?);
        let mut drafts = vec![decide::supersede(&older, &newer)?];
        drafts.extend(decide::link(&newer, &older, Relation::Supersedes).ok());
        self.record(drafts, by)?;
        self.render_due()?;
        self.entry(new)
    }

    /// Notes for good that two entries do not say the same.
    pub fn dismiss_duplicate(
        &mut self,
        one: EntryId,
        other: EntryId,
        by: &Actor,
    ) -> Result<(), Error> {
        self.dismiss((one, other), PairKind::Duplicate, by)
    }

    /// Notes for good that a pair is not what it was taken for.
    pub(crate) fn dismiss(
        &mut self,
        (one, other): (EntryId, EntryId),
        as_what: PairKind,
        by: &Actor,
    ) -> Result<(), Error> {
        self.absorb_before_writing()?;
        let (one, other) = (self.entry(one)?, self.entry(other)?);
        let workspace = self.index.workspace()?;
        let draft = decide::dismiss_pair(&one, &other, as_what, &workspace)?;
        self.record(vec![draft], by)?;
        Ok(())
    }
}

/// How far somebody stood up for an entry, and whether a person wrote it.
pub(crate) type Rank = (u8, bool);

/// Returns which of two entries stays where they become one: the greater.
pub(crate) fn rank(entry: &Entry) -> Rank {
    let status = match entry.status.value {
        Status::Verified => 2,
        Status::Active => 1,
        Status::Candidate | Status::Stale | Status::Rejected => 0,
    };
    let origin = entry.created.as_ref().map(|it| it.origin);
    (status, origin == Some(Origin::Human))
}

/// Returns which claims are worth comparing, each pair once: those that share the rarest words, without comparing all
/// with all.
pub fn candidates(claims: &[Claim]) -> BTreeSet<(usize, usize)> {
    let mut places: HashMap<&String, Vec<usize>> = HashMap::new();
    for (place, claim) in claims.iter().enumerate() {
        for stem in claim.stems() {
            places.entry(stem).or_default().push(place);
        }
    }
    let common = COMMON_MIN.max(claims.len() / COMMON_PART);
    let mut found = BTreeSet::new();
    for (one, claim) in claims.iter().enumerate() {
        let mut with: Vec<&Vec<usize>> = claim.stems().iter().map(|it| &places[it]).collect();
        with.retain(|it| it.len() <= common);
        with.sort_by_key(|it| it.len());
        let mut shared: BTreeMap<usize, f64> = BTreeMap::new();
        for places in with.into_iter().take(RARE_MAX) {
            let weight = (1.0 + claims.len() as f64 / places.len() as f64).ln();
            for other in places.iter().filter(|it| **it != one) {
                *shared.entry(*other).or_default() += weight;
            }
        }
        let mut nearest: Vec<(usize, f64)> = shared.into_iter().collect();
        nearest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let nearest = nearest.into_iter().take(NEIGHBOURS_MAX);
        found.extend(nearest.map(|(other, _)| (one.min(other), one.max(other))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_rare_words_is_compared_and_not_all_with_all() {
        let mut texts: Vec<String> = (0..400)
            .map(|number| format!("Entry number {number} is about topic{number} of the store"))
            .collect();
        texts.push("A retried payment is charged twice unless its key is kept".to_owned());
        texts.push("Keep the key of every payment that may be retried".to_owned());
        let claims: Vec<Claim> = texts.iter().map(|text| Claim::of(text)).collect();
        let found = candidates(&claims);
        assert!(found.contains(&(400, 401)));
        assert!(found.len() <= NEIGHBOURS_MAX * claims.len());
        assert!(found.iter().all(|(one, other)| one < other));
        assert!(candidates(&[]).is_empty());
    }
}
