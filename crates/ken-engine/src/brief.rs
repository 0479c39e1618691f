//! The start of work: the norms that hold for what is in hand, and the few entries worth knowing.

use std::collections::BTreeMap;

use ken_core::answer::Hit;
use ken_core::brief::{NORMS_MAX, deal, norms_for};
use ken_core::id::EntryId;
use ken_core::kind::{Memory, Prefix};
use ken_core::run::blind::is_one_agents_word;
use ken_core::run::{How, Offer};
use ken_core::store::{Filter, Store as _};
use ken_core::surface::{Finding, Page, Tier};
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::Error;
use crate::runs::Reader;
use crate::search::{Answer, Portion, Search};

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
        let span = tracing::info_span!(
            "brief",
            gen_ai.operation.name = "search_memory",
            hits = Empty,
            norms = Empty
        );
        let _in = span.enter();
        let mut known = self.search(search, progress)?;
        let hits = &mut known.hits;
        hits.retain(|hit| hit.entry.id.prefix() != Prefix::Norm);
        let heard = hits.extract_if(.., |hit| is_one_agents_word(&hit.entry));
        let unsaid = heard.map(|hit| hit.entry.id).collect();
        let norms = self.norms_for(&search.paths)?;
        self.note_health_quickly();
        span.record("hits", known.hits.len());
        span.record("norms", norms.shown.len());
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
        let lay_out = |hits: &[Hit]| {
            let findings: Vec<Finding<'_>> = hits.iter().map(Hit::as_finding).collect();
            portion.page(&findings)
        };
        let (page, decided) = deal(&mut brief.known.hits, &offers, lay_out);
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
    pub fn norms_for(&self, paths: &[String]) -> Result<Page, Error> {
        let filter = Filter {
            memory: Some(Memory::Procedural),
            ..Filter::default()
        };
        let workspace = self.workspace()?;
        let norms = norms_for(self.index.list(&filter)?, &workspace, paths, self.now());
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
