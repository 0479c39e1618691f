//! Terminal browser: search as you type, one entry, its history.
//!
//! [`keys`] maps keys to actions, [`state`] applies them, [`view`] draws the result. This module
//! queries the engine and owns the terminal. The browser only reads.

mod keys;
mod state;
mod styled;
#[cfg(test)]
mod tests;
mod view;

use std::cell::Cell;
use std::io;
use std::time::Duration;

use ken_core::ledger::store::EntryFilter;
use ken_engine::Engine;
use ken_engine::search::{RelevanceFloor, SearchQuery};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use ratatui::crossterm::style::force_color_output;

use crate::commands::versions;
use crate::failure::CommandFailure;
use keys::BrowserAction;
use state::{BrowserEffect, BrowserState, ListRow, ListSource, RowDetail};

pub(crate) use styled::ColorMode;

/// Maximum entries listed without a query.
const LISTED_MAX: usize = 500;

/// Draws the state while the engine works.
type RedrawCallback<'a> = &'a mut dyn FnMut(&mut BrowserState);

/// The state of the event loop after some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventLoopState {
    On,
    Finished,
}

/// The browser: its state and the engine it queries.
#[derive(Debug)]
pub(crate) struct EntryBrowser<'a> {
    engine: &'a mut Engine,
    filter: EntryFilter,
    state: BrowserState,
    paint: ColorMode,
}

impl<'a> EntryBrowser<'a> {
    /// Creates a browser for the entries that match `filter`, with an initial query.
    pub(crate) fn new(
        engine: &'a mut Engine,
        filter: EntryFilter,
        query: String,
        paint: ColorMode,
    ) -> Self {
        let today = engine.now().date();
        Self {
            engine,
            filter,
            state: BrowserState::new(query, today),
            paint,
        }
    }

    /// Runs until the user quits. The terminal is restored on every exit path.
    pub(crate) fn run(mut self) -> Result<(), CommandFailure> {
        force_color_output(self.paint == ColorMode::Colored);
        // `try_init` also installs a panic hook that restores the terminal before the message.
        let outcome = match ratatui::try_init() {
            Ok(mut terminal) => self.follow(&mut terminal),
            Err(error) => Err(terminal_failed(&error)),
        };
        ratatui::restore();
        outcome
    }

    fn follow(&mut self, terminal: &mut DefaultTerminal) -> Result<(), CommandFailure> {
        let paint = self.paint;
        // The engine calls `redraw` in the middle of a search and cannot return our error, so it
        // is kept here.
        let failed = Cell::new(None);
        let mut redraw = |state: &mut BrowserState| {
            if let Err(error) = draw(terminal, state, paint) {
                failed.set(Some(error));
            }
        };
        redraw(&mut self.state);
        self.act(BrowserEffect::Search, &mut redraw)?;
        loop {
            redraw(&mut self.state);
            if let Some(error) = failed.take() {
                return Err(terminal_failed(&error));
            }
            let keys = pending_keys().map_err(|e| terminal_failed(&e))?;
            if self.press(&keys, &mut redraw)? == EventLoopState::Finished {
                return Ok(());
            }
        }
    }

    /// Handles pressed keys with as few queries as possible.
    fn press(
        &mut self,
        keys: &[KeyEvent],
        redraw: RedrawCallback<'_>,
    ) -> Result<EventLoopState, CommandFailure> {
        let mut pending = BrowserEffect::Nothing;
        for key in keys {
            let Some(action) = keys::action_for_key(key, self.state.focus) else {
                continue;
            };
            // Letters typed during a search are combined into one search. Any other action refers
            // to the list the user will see, so the search runs first.
            if pending == BrowserEffect::Search && !matches!(action, BrowserAction::Edit(_)) {
                self.act(pending, redraw)?;
                redraw(&mut self.state);
                pending = BrowserEffect::Nothing;
            }
            pending = pending.max(self.state.update(action));
            if pending == BrowserEffect::Quit {
                return Ok(EventLoopState::Finished);
            }
        }
        self.act(pending, redraw)?;
        Ok(EventLoopState::On)
    }

    fn act(
        &mut self,
        effect: BrowserEffect,
        redraw: RedrawCallback<'_>,
    ) -> Result<(), CommandFailure> {
        match effect {
            BrowserEffect::Nothing | BrowserEffect::Quit => Ok(()),
            BrowserEffect::Load => self.load(),
            BrowserEffect::Search => {
                self.ask(redraw)?;
                self.load()
            }
        }
    }

    /// Loads the list: the hits of the query, or the newest entries.
    fn ask(&mut self, redraw: RedrawCallback<'_>) -> Result<(), CommandFailure> {
        self.engine.refresh()?;
        if self.state.query.trim().is_empty() {
            return self.list();
        }
        // The browser records no exposures: a person reads.
        let search = SearchQuery {
            query: self.state.query.clone(),
            filter: self.filter(),
            floor: RelevanceFloor::Relevant,
            // The last word may be incomplete, so the nearest entries are better than none.
            or_nearest: true,
            ..SearchQuery::default()
        };
        let state = &mut self.state;
        let answer = self.engine.search(&search, &mut |at, all| {
            state.source = ListSource::Reading(at, all);
            redraw(state);
        })?;
        let rows = answer.hits.into_iter();
        let rows = rows.map(|hit| ListRow::Found(Box::new(hit))).collect();
        let source = if answer.is_nearest {
            ListSource::Nearest
        } else {
            ListSource::Relevant
        };
        self.state.show(source, rows);
        Ok(())
    }

    /// Returns the filter of the command line, narrowed by the filter key.
    fn filter(&self) -> EntryFilter {
        EntryFilter {
            memory: self.state.memory.or(self.filter.memory),
            ..self.filter.clone()
        }
    }

    fn list(&mut self) -> Result<(), CommandFailure> {
        let filter = EntryFilter {
            // One more than shown reveals whether there are more.
            limit: Some(LISTED_MAX + 1),
            ..self.filter()
        };
        let mut entries = self.engine.list(&filter)?;
        let source = if entries.len() > LISTED_MAX {
            ListSource::Newest
        } else {
            ListSource::Whole
        };
        entries.truncate(LISTED_MAX);
        let rows = entries
            .into_iter()
            .map(|entry| ListRow::Listed(Box::new(entry)));
        self.state.show(source, rows.collect());
        Ok(())
    }

    /// Loads the details of the selected row.
    fn load(&mut self) -> Result<(), CommandFailure> {
        if let Some(row) = self.state.row() {
            let entry = row.entry();
            let detail = RowDetail {
                id: entry.id,
                versions: versions(self.engine, entry)?,
                history: self.engine.history(entry.id)?,
            };
            self.state.open(detail);
        }
        Ok(())
    }
}

fn draw(
    terminal: &mut DefaultTerminal,
    state: &mut BrowserState,
    paint: ColorMode,
) -> io::Result<()> {
    let drawn = terminal.draw(|frame| {
        view::fit(state, frame.area(), paint);
        view::draw(frame, state, paint);
    });
    drawn.map(|_| ())
}

/// Waits for an event and returns the keys pressed so far.
fn pending_keys() -> io::Result<Vec<KeyEvent>> {
    let mut keys = Vec::new();
    loop {
        if let Event::Key(key) = event::read()? {
            keys.push(key);
        }
        if !event::poll(Duration::ZERO)? {
            return Ok(keys);
        }
    }
}

fn terminal_failed(error: &io::Error) -> CommandFailure {
    CommandFailure::io("cannot use the terminal", error)
}
