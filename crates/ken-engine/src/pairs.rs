//! Entries that say the same: found, made one, or told apart for good.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::entry::Entry;
use ken_core::event::{PairKind, Relation};
use ken_core::id::EntryId;
use ken_core::likeness::{Claim, Merging, likeness};
use ken_core::store::{Filter, Store as _};
use ken_core::text::Statement;
use ken_index::Vector;

use crate::engine::Engine;
use crate::error::Error;

/// Entries a word may stand in before it tells nothing about which of them are alike.
const COMMON_MIN: usize = 50;

/// Words two entries must share to be compared.
const SHARED_MIN: usize = 3;

/// Two entries that look like one.
#[derive(Clone, Debug)]
pub struct Pair {
    pub first: Entry,
    pub second: Entry,
    /// How near the built-in model finds them; absent without it.
    pub cosine: Option<f64>,
    pub merging: Merging,
}

impl Engine {
    /// Returns pairs of entries in use that seem to say the same and that nobody told apart.
    pub fn duplicates(&mut self) -> Result<Vec<Pair>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let workspace = self.index.workspace()?;
        let said: Vec<&str> = entries.iter().map(Entry::said).collect();
        let claims: Vec<Claim> = said.iter().map(|it| Claim::of(it)).collect();
        let vectors = self.built_in_vectors(&said)?;
        let mut pairs = Vec::new();
        for (one, other) in sharing_words(&claims) {
            let (first, second) = (&entries[one], &entries[other]);
            let (low, high) = (first.id.min(second.id), first.id.max(second.id));
            let dismissed = (low, high, PairKind::Duplicate);
            let same_prefix = first.id.prefix() == second.id.prefix();
            if !same_prefix || workspace.dismissed.contains(&dismissed) {
                continue;
            }
            let near = |it: &Vec<Vector>| it[one].cosine(&it[other]);
            let cosine = vectors.as_ref().map(near);
            let merging = likeness(&claims[one], &claims[other], cosine).merging(cosine);
            if merging != Merging::Apart {
                pairs.push(Pair {
                    first: first.clone(),
                    second: second.clone(),
                    cosine,
                    merging,
                });
            }
        }
        pairs.sort_by_key(|it| (it.first.id, it.second.id));
        Ok(pairs)
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
        let draft = decide::merge(&self.entry(target)?, &sources, chosen)?;
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
        self.absorb_before_writing()?;
        let (one, other) = (self.entry(one)?, self.entry(other)?);
        let workspace = self.index.workspace()?;
        let draft = decide::dismiss_pair(&one, &other, PairKind::Duplicate, &workspace)?;
        self.record(vec![draft], by)?;
        Ok(())
    }
}

/// Returns which claims have some uncommon words in common, each pair once.
pub(crate) fn sharing_words(claims: &[Claim]) -> BTreeSet<(usize, usize)> {
    let mut places: HashMap<&String, Vec<usize>> = HashMap::new();
    for (place, claim) in claims.iter().enumerate() {
        for word in claim.words().iter().collect::<BTreeSet<_>>() {
            places.entry(word).or_default().push(place);
        }
    }
    let common = COMMON_MIN.max(claims.len() / 20);
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for with in places.values().filter(|it| it.len() <= common) {
        for (at, one) in with.iter().enumerate() {
            for other in &with[at + 1..] {
                *shared.entry((*one, *other)).or_default() += 1;
            }
        }
    }
    let enough = shared.into_iter().filter(|(_, words)| SHARED_MIN <= *words);
    enough.map(|(pair, _)| pair).collect()
}
