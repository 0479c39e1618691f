//! A browser for the terminal: search as you type, one entry, its history.
//!
//! [`keys`] says what a key means, [`state`] what it does, [`view`] what is seen of it; here the
//! engine is asked and the terminal borrowed. It reads only, and nothing of it runs unless asked for.

mod keys;
mod state;
mod styled;
#[cfg(test)]
mod tests;
mod view;

use std::cell::Cell;
use std::io;
use std::time::Duration;

use ken_core::store::Filter;
use ken_engine::Engine;
use ken_engine::search::{Floor, Search};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use ratatui::crossterm::style::force_color_output;

pub(crate) use styled::Paint;

use crate::commands::versions;
use crate::failure::Failure;
use keys::Wish;
use state::{Detail, Effect, Row, Source, State};

/// Entries listed where nothing is searched for; more than anybody scrolls through.
const LISTED_MAX: usize = 500;

/// Draws the state while the engine is at work.
type Redraw<'a> = &'a mut dyn FnMut(&mut State);

/// Whether it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    Over,
}

/// What is shown and who is asked.
#[derive(Debug)]
pub(crate) struct Browser<'a> {
    engine: &'a mut Engine,
    filter: Filter,
    state: State,
    paint: Paint,
}

impl<'a> Browser<'a> {
    /// Looks at the entries `filter` lets through, beginning with a search for `query`.
    pub(crate) fn new(engine: &'a mut Engine, filter: Filter, query: String, paint: Paint) -> Self {
        let today = engine.now().date();
        Self {
            engine,
            filter,
            state: State::new(query, today),
            paint,
        }
    }

    /// Borrows the terminal until somebody quits; it is given back whatever happens.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        force_color_output(self.paint == Paint::Coloured);
        // Also makes a panic give the terminal back before it is told.
        let outcome = match ratatui::try_init() {
            Ok(mut terminal) => self.follow(&mut terminal),
            Err(error) => Err(terminal_failed(&error)),
        };
        ratatui::restore();
        outcome
    }

    fn follow(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        let paint = self.paint;
        let failed = Cell::new(None);
        let mut redraw = |state: &mut State| {
            if let Err(error) = draw(terminal, state, paint) {
                failed.set(Some(error));
            }
        };
        redraw(&mut self.state);
        self.act(Effect::Search, &mut redraw)?;
        loop {
            redraw(&mut self.state);
            if let Some(error) = failed.take() {
                return Err(terminal_failed(&error));
            }
            let keys = pending_keys().map_err(|e| terminal_failed(&e))?;
            if self.press(&keys, &mut redraw)? == Flow::Over {
                return Ok(());
            }
        }
    }

    /// Takes keys that were pressed, asking the engine no more often than they need.
    fn press(&mut self, keys: &[KeyEvent], redraw: Redraw<'_>) -> Result<Flow, Failure> {
        let mut waiting = Effect::Nothing;
        for key in keys {
            let Some(wish) = keys::wish(key, self.state.focus) else {
                continue;
            };
            // Letters typed while a search was under way are one search; a step needs its answer.
            if waiting == Effect::Search && !matches!(wish, Wish::Edit(_)) {
                self.act(waiting, redraw)?;
                redraw(&mut self.state);
                waiting = Effect::Nothing;
            }
            waiting = waiting.max(self.state.update(wish));
            if waiting == Effect::Quit {
                return Ok(Flow::Over);
            }
        }
        self.act(waiting, redraw)?;
        Ok(Flow::On)
    }

    fn act(&mut self, effect: Effect, redraw: Redraw<'_>) -> Result<(), Failure> {
        match effect {
            Effect::Nothing | Effect::Quit => Ok(()),
            Effect::Load => self.load(),
            Effect::Search => {
                self.ask(redraw)?;
                self.load()
            }
        }
    }

    /// Asks for the list: what a search finds, or the newest entries.
    fn ask(&mut self, redraw: Redraw<'_>) -> Result<(), Failure> {
        self.engine.refresh()?;
        if self.state.query.trim().is_empty() {
            return self.list();
        }
        let found = self.search(Floor::Relevant, redraw)?;
        if !found.is_empty() {
            self.state.show(Source::Relevant, found);
            return Ok(());
        }
        // A word is half typed, perhaps: the nearest there is, until something answers.
        let found = self.search(Floor::None, redraw)?;
        self.state.show(Source::Nearest, found);
        Ok(())
    }

    fn search(&mut self, floor: Floor, redraw: Redraw<'_>) -> Result<Vec<Row>, Failure> {
        let search = Search {
            query: self.state.query.clone(),
            filter: self.filter.clone(),
            floor,
            ..Search::default()
        };
        let state = &mut self.state;
        let answer = self.engine.search(&search, &mut |at, all| {
            state.source = Source::Reading(at, all);
            redraw(state);
        })?;
        let rows = answer.hits.into_iter();
        Ok(rows.map(|hit| Row::Found(Box::new(hit))).collect())
    }

    fn list(&mut self) -> Result<(), Failure> {
        let filter = Filter {
            limit: Some(LISTED_MAX + 1),
            ..self.filter.clone()
        };
        let mut entries = self.engine.list(&filter)?;
        let source = if LISTED_MAX < entries.len() {
            Source::Newest
        } else {
            Source::Whole
        };
        entries.truncate(LISTED_MAX);
        let rows = entries.into_iter();
        let rows = rows.map(|entry| Row::Listed(Box::new(entry))).collect();
        self.state.show(source, rows);
        Ok(())
    }

    /// Reads what the page tells about the row in hand.
    fn load(&mut self) -> Result<(), Failure> {
        if let Some(row) = self.state.row() {
            let entry = row.entry();
            let detail = Detail {
                id: entry.id,
                versions: versions(self.engine, entry)?,
                history: self.engine.history(entry.id)?,
            };
            self.state.open(detail);
        }
        Ok(())
    }
}

fn draw(terminal: &mut DefaultTerminal, state: &mut State, paint: Paint) -> io::Result<()> {
    let drawn = terminal.draw(|frame| {
        view::fit(state, frame.area(), paint);
        view::draw(frame, state, paint);
    });
    drawn.map(|_| ())
}

/// Waits for something to happen and returns the keys pressed by then.
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

fn terminal_failed(error: &io::Error) -> Failure {
    Failure::io("cannot use the terminal", error)
}
