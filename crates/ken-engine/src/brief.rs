//! The start of work: the norms that hold for what is in hand, and the few entries worth knowing.

use ken_core::entry::Entry;
use ken_core::facts::EntryFacts;
use ken_core::kind::{Memory, Prefix};
use ken_core::score;
use ken_core::store::{Filter, Store as _};
use ken_core::surface::{Finding, Page, Tier};

use crate::engine::Engine;
use crate::error::Error;
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
}

impl Engine {
    /// Returns what to know before doing what `search` asks about.
    pub fn brief(
        &mut self,
        search: &Search,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Brief, Error> {
        let mut known = self.search(search, progress)?;
        known
            .hits
            .retain(|hit| hit.entry.id.prefix() != Prefix::Norm);
        let norms = self.norms_for(&search.paths)?;
        Ok(Brief { norms, known })
    }

    /// Returns the norms for the whole repository and for `paths`.
    fn norms_for(&self, paths: &[String]) -> Result<Page, Error> {
        let filter = Filter {
            memory: Some(Memory::Procedural),
            ..Filter::default()
        };
        let now = self.now();
        let mut norms: Vec<(Entry, EntryFacts)> = Vec::new();
        for entry in self.index.list(&filter)? {
            let facts = EntryFacts::of(&entry, None, now);
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
