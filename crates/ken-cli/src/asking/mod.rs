//! Asking the ledgers, one way for every surface: what this repository knows, below it what the global ledger adds.
//!
//! What an agent is about to be shown is written down first. What was asked is counted, in numbers.

mod global;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::surface::{self, Page};
use ken_core::time::Date;
use ken_engine::brief::Brief;
use ken_engine::runs::Reader;
use ken_engine::search::{Answer, Portion, Search};
use ken_engine::usage::{Answered, Asked};
use ken_engine::{Engine, Error};

use crate::failure::Failure;
use crate::world::Surroundings;

pub(crate) use global::{Beside, HEADING};

/// What is asked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) search: Search,
    pub(crate) portion: Portion,
    /// Whether somebody asked in words only; those without a good answer are kept.
    pub(crate) is_in_words: bool,
}

/// What a search found, here and in the global ledger.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) search: Search,
    pub(crate) answer: Answer,
    pub(crate) page: Page,
    pub(crate) global: Beside,
    pub(crate) today: Date,
}

/// What somebody is told before work begins, here and from the global ledger.
#[derive(Debug)]
pub(crate) struct Briefed {
    pub(crate) brief: Brief,
    pub(crate) known: Page,
    pub(crate) global: Beside,
}

/// Who asks, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) surroundings: &'a Surroundings,
    /// Nobody where a person reads: what people saw is not counted.
    pub(crate) reader: Option<&'a Reader>,
}

impl Asker<'_> {
    /// Searches, and writes down what is shown.
    pub(crate) fn search(
        self,
        engine: &mut Engine,
        question: Question,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Found, Failure> {
        let Question {
            mut search,
            portion,
            is_in_words,
        } = question;
        if let (None, Some(reader)) = (&search.thread, self.reader) {
            search.thread = engine.thread_of(reader)?;
        }
        let answer = engine.search(&search, progress)?;
        if is_in_words {
            // An answer is worth no less where this cannot be noted.
            let _ = engine.note_missed(&search, &answer);
        }
        let page = answer.page(portion);
        let local = (&answer, &page);
        let global = global::overlay(self.surroundings, engine, &search, local, portion);
        if let Some(reader) = self.reader {
            let shown = page.shown.iter().chain(global.shown()).map(|it| it.id);
            engine.note_shown(reader, &shown.collect::<Vec<EntryId>>(), How::Pull)?;
        }
        self.count(engine, (Asked::Search, &answer), vec![&page], &global);
        Ok(Found {
            search,
            answer,
            page,
            global,
            today: engine.now().date(),
        })
    }

    /// Gathers what to know before work begins, and writes down what is shown.
    pub(crate) fn brief(
        self,
        engine: &mut Engine,
        mut search: Search,
        portion: Portion,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Briefed, Failure> {
        if let (None, Some(reader)) = (&search.thread, self.reader) {
            search.thread = engine.thread_of(reader)?;
        }
        let mut brief = engine.brief(&search, progress)?;
        let known = engine.hand_over(&mut brief, portion, self.reader)?;
        let local = (&brief.known, &known);
        let global = global::overlay(self.surroundings, engine, &search, local, portion);
        if let Some(reader) = self.reader {
            let shown: Vec<EntryId> = global.shown().iter().map(|it| it.id).collect();
            engine.note_shown(reader, &shown, How::Brief)?;
        }
        let pages = vec![&brief.norms, &known];
        self.count(engine, (Asked::Brief, &brief.known), pages, &global);
        Ok(Briefed {
            brief,
            known,
            global,
        })
    }
}

/// Finds the entry that `wanted` names, here or else in the global ledger, and tells of it with the engine that has it.
pub(crate) fn find<T>(
    surroundings: &Surroundings,
    engine: &mut Engine,
    wanted: &str,
    tell: impl FnOnce(&mut Engine, Entry) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let found = engine.find(wanted);
    if let Err(Error::NotFound(_)) = &found
        && let Some(mut global) = surroundings.open_global()?
        && let Ok(entry) = global.find(wanted)
    {
        return tell(&mut global, entry);
    }
    let entry = found?;
    tell(engine, entry)
}

impl Asker<'_> {
    /// Counts an answer that was shown on `pages`, and what the global ledger added.
    fn count<'p>(
        self,
        engine: &Engine,
        (asked, answer): (Asked, &Answer),
        mut pages: Vec<&'p Page>,
        global: &'p Beside,
    ) {
        pages.extend(global.overlay.as_ref().map(|it| &it.page));
        let answered = Answered::of(asked, answer, &pages);
        engine.count(self.surroundings.surface, answered);
    }
}

impl Briefed {
    /// Returns all of it as an agent reads it.
    pub(crate) fn text(&self) -> String {
        let all = self.global.beside(self.known.clone());
        surface::brief(&self.brief.norms, &all, self.brief.known.served_by.name())
    }
}
