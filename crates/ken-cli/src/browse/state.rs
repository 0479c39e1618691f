//! What the browser shows, and what a wish does to it.
//!
//! Knows neither a terminal nor a ledger: a [`Wish`] goes in, an [`Effect`] says what has to be
//! asked, and the answers come back through [`State::show`] and [`State::open`].
//!
//! Invariant: `selected` is a row whenever there is one.

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::time::Date;
use ken_engine::search::Hit;
use ratatui::text::Line;

use super::keys::{Edit, Focus, Step, Wish};

/// Characters of a search.
const QUERY_CHARS_MAX: usize = 400;

/// What has to be done after a wish, the most urgent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    Nothing,
    /// The selected entry has to be read.
    Load,
    /// The list has to be asked for anew.
    Search,
    Quit,
}

/// An entry of the list.
#[derive(Debug)]
pub(crate) enum Row {
    Listed(Box<Entry>),
    Found(Box<Hit>),
}

impl Row {
    pub(crate) fn entry(&self) -> &Entry {
        match self {
            Self::Listed(entry) => entry,
            Self::Found(hit) => &hit.entry,
        }
    }

    pub(crate) fn facts(&self, today: Date) -> EntryFacts {
        match self {
            Self::Listed(entry) => EntryFacts::of(entry, None, today.start()),
            Self::Found(hit) => hit.facts.clone(),
        }
    }
}

/// What the page needs beside the row.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) id: EntryId,
    /// The events of concurrent wordings.
    pub(crate) versions: Vec<Recorded>,
    /// Every event, oldest first.
    pub(crate) history: Vec<Recorded>,
}

/// What the page tells about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Entry,
    History,
}

/// Where the list came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nothing was asked yet.
    Unasked,
    /// How many of how many entries a search has read.
    Reading(usize, usize),
    /// All entries, newest first.
    Whole,
    /// The newest entries; there are more.
    Newest,
    /// What answers a search, best first.
    Relevant,
    /// Nothing answers: what comes nearest.
    Nearest,
}

/// Room the panes have, in rows of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Entries the list has room for.
    pub(crate) entries: usize,
    /// Lines the page has room for.
    pub(crate) lines: usize,
}

/// Everything on the screen.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) today: Date,
    pub(crate) query: String,
    pub(crate) source: Source,
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: usize,
    /// The first row on the screen.
    pub(crate) top: usize,
    pub(crate) focus: Focus,
    pub(crate) side: Side,
    pub(crate) detail: Option<Detail>,
    /// The page, as it was laid out last.
    pub(crate) lines: Vec<Line<'static>>,
    /// The first line of it on the screen.
    pub(crate) scroll: usize,
    room: Room,
}

impl State {
    pub(crate) fn new(query: String, today: Date) -> Self {
        Self {
            today,
            query,
            source: Source::Unasked,
            rows: Vec::new(),
            selected: 0,
            top: 0,
            focus: Focus::List,
            side: Side::Entry,
            detail: None,
            lines: Vec::new(),
            scroll: 0,
            room: Room::default(),
        }
    }

    /// Returns the row in hand.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Does what can be done without asking anybody, and returns what is left.
    pub(crate) fn update(&mut self, wish: Wish) -> Effect {
        match (wish, self.focus) {
            (Wish::Quit, _) => Effect::Quit,
            (Wish::Edit(edit), _) => self.edit(edit),
            (Wish::Move(step), Focus::List) | (Wish::Neighbour(step), _) => self.select(step),
            (Wish::Move(step), Focus::Page) => self.scroll(step),
            (Wish::Open, _) => {
                if self.row().is_some() {
                    self.focus = Focus::Page;
                }
                Effect::Nothing
            }
            (Wish::History, _) => self.turn(),
            (Wish::Back, Focus::List) => self.edit(Edit::Empty),
            (Wish::Back, Focus::Page) => self.back(),
        }
    }

    /// Takes the answer to a search or the listing.
    pub(crate) fn show(&mut self, source: Source, rows: Vec<Row>) {
        self.source = source;
        self.rows = rows;
        self.selected = 0;
        self.top = 0;
        self.scroll = 0;
        self.detail = None;
        if self.rows.is_empty() {
            self.focus = Focus::List;
        }
    }

    /// Takes what was read about the row in hand.
    pub(crate) fn open(&mut self, detail: Detail) {
        self.detail = Some(detail);
    }

    /// Takes the page as it is laid out for the screen and keeps both panes within it.
    pub(crate) fn fit(&mut self, room: Room, lines: Vec<Line<'static>>) {
        self.room = room;
        self.lines = lines;
        self.scroll = self.scroll.min(self.scroll_max());
        if 0 < room.entries {
            let lowest = (self.selected + 1).saturating_sub(room.entries);
            self.top = self.top.clamp(lowest, self.selected);
        }
    }

    /// Returns the first line on the screen when the end of the page is.
    pub(crate) fn scroll_max(&self) -> usize {
        self.lines.len().saturating_sub(self.room.lines)
    }

    fn edit(&mut self, edit: Edit) -> Effect {
        let before = self.query.len();
        match edit {
            Edit::Type(c) if self.query.chars().count() < QUERY_CHARS_MAX => self.query.push(c),
            Edit::Type(_) => {}
            Edit::Erase => {
                self.query.pop();
            }
            Edit::EraseWord => {
                let text = self.query.trim_end();
                let space = text.char_indices().rfind(|(_, c)| c.is_whitespace());
                let keep = space.map_or(0, |(at, c)| at + c.len_utf8());
                self.query.truncate(keep);
            }
            Edit::Empty => self.query.clear(),
        }
        if self.query.len() == before {
            Effect::Nothing
        } else {
            Effect::Search
        }
    }

    fn select(&mut self, step: Step) -> Effect {
        let last = self.rows.len().saturating_sub(1);
        let selected = moved(self.selected, step, self.room.entries).min(last);
        if selected == self.selected {
            return Effect::Nothing;
        }
        self.selected = selected;
        self.scroll = 0;
        Effect::Load
    }

    fn scroll(&mut self, step: Step) -> Effect {
        let scroll = moved(self.scroll, step, self.room.lines);
        self.scroll = scroll.min(self.scroll_max());
        Effect::Nothing
    }

    /// Turns to the other side of the page.
    fn turn(&mut self) -> Effect {
        if self.row().is_some() {
            self.scroll = 0;
            (self.focus, self.side) = match (self.focus, self.side) {
                (Focus::Page, Side::History) => (Focus::Page, Side::Entry),
                (Focus::Page, Side::Entry) | (Focus::List, _) => (Focus::Page, Side::History),
            };
        }
        Effect::Nothing
    }

    fn back(&mut self) -> Effect {
        self.scroll = 0;
        match self.side {
            Side::History => self.side = Side::Entry,
            Side::Entry => self.focus = Focus::List,
        }
        Effect::Nothing
    }
}

/// Returns where a step leads that begins at `at`; the caller knows the end.
fn moved(at: usize, step: Step, page: usize) -> usize {
    match step {
        Step::Up => at.saturating_sub(1),
        Step::Down => at.saturating_add(1),
        Step::PageUp => at.saturating_sub(page.max(1)),
        Step::PageDown => at.saturating_add(page.max(1)),
        Step::First => 0,
        Step::Last => usize::MAX,
    }
}
