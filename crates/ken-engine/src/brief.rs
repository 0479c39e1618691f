//! The start of work: the norms that hold for what is in hand, and the few entries worth knowing.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::entry::Entry;
use ken_core::event::Arm;
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::kind::{Memory, Prefix};
use ken_core::run::blind::is_one_agents_word;
use ken_core::run::{How, Offer};
use ken_core::score;
use ken_core::store::{Filter, Store as _};
use ken_core::surface::{Finding, Page, Tier};

use crate::engine::Engine;
use crate::error::Error;
use crate::runs::Reader;
use crate::search::{Answer, Portion, Search};

/// Norms that are told at most, a line each.
const NORMS_MAX: usize = 7;

/// What somebody should know before they begin.
#[derive(Clone, Debug)]
pub struct Brief {
    /// One line each; those about what is in hand come first.
    pub norms: Page,
    /// What is known, norms left out.
    pub known: Answer,
    /// What fits and rests on one agent's word: nobody is told who did not ask.
    pub unsaid: Vec<EntryId>,
}

impl Engine {
    /// Returns what to know before doing what `search` asks about.
    pub fn brief(
        &mut self,
        search: &Search,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Brief, Error> {
        let mut known = self.search(search, progress)?;
        let hits = &mut known.hits;
        hits.retain(|hit| hit.entry.id.prefix() != Prefix::Norm);
        let heard = hits.extract_if(.., |hit| is_one_agents_word(&hit.entry));
        let unsaid = heard.map(|hit| hit.entry.id).collect();
        let norms = self.norms_for(&search.paths)?;
        self.note_health_quickly();
        Ok(Brief {
            norms,
            known,
            unsaid,
        })
    }

    /// Lays out what `reader` is given of a briefing, and writes down what that was.
    ///
    /// In a run somebody opened chance keeps some entries from some agents: only those can find them unseen.
    pub fn hand_over(
        &mut self,
        brief: &mut Brief,
        portion: Portion,
        reader: Option<&Reader>,
    ) -> Result<Page, Error> {
        let Some(reader) = reader else {
            return Ok(brief.known.page(portion));
        };
        let hits = brief.known.hits.iter().map(|hit| &hit.entry);
        let offers: BTreeMap<EntryId, Offer> = self
            .offers(reader, hits)?
            .into_iter()
            .map(|offer| (offer.entry, offer))
            .collect();
        let withheld = |id: &EntryId| {
            let offer = offers.get(id);
            offer.is_some_and(|it| it.arm == Arm::Withheld)
        };
        let mut decided = BTreeSet::new();
        let page = loop {
            let page = brief.known.page(portion);
            decided.extend(page.shown.iter().map(|it| it.id));
            if !page.shown.iter().any(|it| withheld(&it.id)) {
                break page;
            }
            let is_kept_back = |id: &EntryId| decided.contains(id) && withheld(id);
            let hits = &mut brief.known.hits;
            hits.retain(|hit| !is_kept_back(&hit.entry.id));
        };
        let norms: Vec<EntryId> = brief.norms.shown.iter().map(|it| it.id).collect();
        self.note_shown(reader, &norms, How::Brief)?;
        if offers.is_empty() {
            let shown: Vec<EntryId> = page.shown.iter().map(|it| it.id).collect();
            self.note_shown(reader, &shown, How::Brief)?;
        }
        let fitted = brief.known.hits.iter().map(|hit| hit.entry.id);
        let fitted = fitted.filter(|id| !decided.contains(id));
        let passed: Vec<EntryId> = fitted.chain(brief.unsaid.iter().copied()).collect();
        let decided = decided.iter().filter_map(|id| offers.get(id).copied());
        self.note_pushed(reader, decided.collect(), passed)?;
        Ok(page)
    }

    /// Returns the norms for the whole repository and for `paths`.
    pub(crate) fn norms_for(&self, paths: &[String]) -> Result<Page, Error> {
        let filter = Filter {
            memory: Some(Memory::Procedural),
            ..Filter::default()
        };
        let now = self.now();
        let workspace = self.workspace()?;
        let mut norms: Vec<(Entry, EntryFacts)> = Vec::new();
        for entry in self.index.list(&filter)? {
            let mut facts = EntryFacts::of(&entry, None, now);
            facts.revoked = workspace.is_revoked(&entry);
            if score::withheld(&entry, &facts).is_none() && reach(&entry, paths).is_some() {
                norms.push((entry, facts));
            }
        }
        norms.sort_by_key(|(entry, _)| (reach(entry, paths), entry.kind(), entry.id));
        let findings: Vec<Finding<'_>> = norms
            .iter()
            .map(|(entry, facts)| Finding {
                entry,
                facts,
                score: 0.0,
                conflicts: &[],
            })
            .collect();
        let portion = Portion {
            cap: NORMS_MAX,
            budget: usize::MAX,
            tier: Some(Tier::Summary),
            role: None,
        };
        Ok(portion.page(&findings))
    }
}

/// How near a norm is to what is in hand; nearer ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    InHand,
    Everywhere,
}

/// Returns whether a norm is about one of `paths`.
pub(crate) fn is_norm_for(entry: &Entry, paths: &[String]) -> bool {
    reach(entry, paths) == Some(Reach::InHand)
}

/// Returns whether a norm holds for `paths`: it names one of them, or no place at all.
fn reach(entry: &Entry, paths: &[String]) -> Option<Reach> {
    let content = entry.content.as_ref()?;
    if content.evidence.is_empty() {
        return Some(Reach::Everywhere);
    }
    let mut anchors = content.evidence.iter();
    let covers = anchors.any(|anchor| paths.iter().any(|path| anchor.at.covers(path)));
    covers.then_some(Reach::InHand)
}
