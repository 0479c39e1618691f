//! The start of work: the norms that hold for what is in hand, and the few entries worth knowing.

use ken_core::brief::{Dealt, deal, norms_page, set_apart};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::run::How;
use ken_core::store::{Filter, Store as _};
use ken_core::surface::Page;
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::Error;
use crate::runs::Reader;
use crate::search::{Answer, Portion, Search, laid_out, page_of};

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
        let unsaid = set_apart(&mut known.hits);
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
        let Brief {
            norms,
            known,
            unsaid,
        } = brief;
        let offers = self.offers(reader, known.hits.iter().map(|hit| &hit.entry))?;
        let lay_out = |hits: &[_]| page_of(hits, portion);
        let Dealt {
            page,
            shown,
            offers,
            passed,
        } = deal(&mut known.hits, offers, unsaid, lay_out);
        let told = [norms.ids(), shown].concat();
        self.note_shown(reader, &told, How::Brief)?;
        self.note_pushed(reader, offers, passed)?;
        Ok(page)
    }

    /// Returns the norms for the whole repository and for `paths`.
    pub fn norms_for(&self, paths: &[String]) -> Result<Page, Error> {
        let filter = Filter {
            memory: Some(Memory::Procedural),
            ..Filter::default()
        };
        let workspace = self.workspace()?;
        let norms = self.index.list(&filter)?;
        Ok(norms_page(norms, &workspace, paths, self.now(), laid_out))
    }
}
