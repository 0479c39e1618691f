//! State of the browser, and the effect of actions on it.
//!
//! This module knows neither a terminal nor a ledger. A [`BrowserAction`] returns a
//! [`BrowserEffect`] that names the required query. Results come back through
//! `BrowserState::set_rows` and `BrowserState::set_detail`.
//!
//! Invariant: `selected` is the index of a row, unless there are no rows.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::trust::facts::EntryFacts;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::time::Date;
use ken_engine::search::SearchHit;
use ratatui::text::Line;

use super::keys::{BrowserAction, MoveStep, PaneFocus, QueryEdit};

/// Maximum characters of a query.
const QUERY_CHARS_MAX: usize = 400;

/// The work required after an action, the most urgent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BrowserEffect {
    Nothing,
    /// The details of the selected entry must be loaded.
    Load,
    /// The list must be loaded again.
    Search,
    Quit,
}

/// An entry of the list.
#[derive(Debug)]
pub(crate) enum ListRow {
    Listed(Box<Entry>),
    Found(Box<SearchHit>),
}

impl ListRow {
    pub(crate) fn entry(&self) -> &Entry {
        match self {
            Self::Listed(entry) => entry,
            Self::Found(hit) => &hit.entry,
        }
    }

    pub(crate) fn facts(&self, today: Date) -> EntryFacts {
        match self {
            Self::Listed(entry) => EntryFacts::from_entry(entry, None, today.start()),
            Self::Found(hit) => hit.facts.clone(),
        }
    }
}

/// The details of the selected entry.
#[derive(Debug)]
pub(crate) struct RowDetail {
    pub(crate) id: EntryId,
    /// The events of concurrent versions.
    pub(crate) versions: Vec<RecordedEvent>,
    /// Every event, oldest first.
    pub(crate) history: Vec<RecordedEvent>,
}

/// The view on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageView {
    Entry,
    History,
    /// The list of keys.
    Help,
}

/// The source of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListSource {
    /// Nothing was loaded yet.
    Initial,
    /// A search is running: entries read, and their total.
    Reading(usize, usize),
    /// All entries, newest first.
    Whole,
    /// The newest entries; there are more.
    Newest,
    /// The relevant hits of a query, best first.
    Relevant,
    /// The nearest entries; none is relevant.
    Nearest,
}

/// The size of the panes, in rows of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaneSize {
    /// Number of entries that fit in the list.
    pub(crate) entries: usize,
    /// Number of lines that fit on the page.
    pub(crate) lines: usize,
}

/// The complete state of the screen.
#[derive(Debug)]
pub(crate) struct BrowserState {
    pub(crate) today: Date,
    pub(crate) query: String,
    /// The memory that the list is restricted to.
    pub(crate) memory: Option<Memory>,
    pub(crate) source: ListSource,
    pub(crate) rows: Vec<ListRow>,
    pub(crate) selected: usize,
    /// The first visible row.
    pub(crate) top: usize,
    pub(crate) focus: PaneFocus,
    pub(crate) side: PageView,
    pub(crate) detail: Option<RowDetail>,
    /// The page, as last laid out.
    pub(crate) lines: Vec<Line<'static>>,
    /// The first visible line of the page.
    pub(crate) scroll: usize,
    room: PaneSize,
}

impl BrowserState {
    pub(crate) fn new(query: String, today: Date) -> Self {
        Self {
            today,
            query,
            memory: None,
            source: ListSource::Initial,
            rows: Vec::new(),
            selected: 0,
            top: 0,
            focus: PaneFocus::List,
            side: PageView::Entry,
            detail: None,
            lines: Vec::new(),
            scroll: 0,
            room: PaneSize::default(),
        }
    }

    /// Returns the selected row.
    pub(crate) fn row(&self) -> Option<&ListRow> {
        self.rows.get(self.selected)
    }

    /// Applies an action and returns the work that is left for the caller.
    pub(crate) fn update(&mut self, action: BrowserAction) -> BrowserEffect {
        match (action, self.focus) {
            (BrowserAction::Quit, _) => BrowserEffect::Quit,
            (BrowserAction::Edit(edit), _) => self.edit(edit),
            (BrowserAction::Move(step), PaneFocus::List) | (BrowserAction::Neighbor(step), _) => {
                self.select(step)
            }
            (BrowserAction::Move(step), PaneFocus::Page) => self.scroll(step),
            (BrowserAction::Open, _) => {
                if self.row().is_some() {
                    self.focus = PaneFocus::Page;
                }
                BrowserEffect::Nothing
            }
            (BrowserAction::History, _) => self.turn(),
            (BrowserAction::Help, _) => self.help(),
            (BrowserAction::Filter, _) => {
                self.memory = next_memory(self.memory);
                BrowserEffect::Search
            }
            (BrowserAction::Back, PaneFocus::List) => self.edit(QueryEdit::Empty),
            (BrowserAction::Back, PaneFocus::Page) => self.back(),
        }
    }

    /// Replaces the list with the result of a query.
    pub(crate) fn show(&mut self, source: ListSource, rows: Vec<ListRow>) {
        self.source = source;
        self.rows = rows;
        self.selected = 0;
        self.top = 0;
        self.scroll = 0;
        // The details belong to a row of the old list.
        self.detail = None;
        if self.rows.is_empty() {
            self.focus = PaneFocus::List;
        }
    }

    /// Sets the details of the selected row.
    pub(crate) fn open(&mut self, detail: RowDetail) {
        self.detail = Some(detail);
    }

    /// Sets the size and the laid-out page, and keeps both scroll positions valid.
    pub(crate) fn fit(&mut self, room: PaneSize, lines: Vec<Line<'static>>) {
        self.room = room;
        self.lines = lines;
        self.scroll = self.scroll.min(self.scroll_max());
        // A pane too small for one entry would make `clamp` panic: its minimum exceeds its
        // maximum.
        if room.entries > 0 {
            let lowest = (self.selected + 1).saturating_sub(room.entries);
            self.top = self.top.clamp(lowest, self.selected);
        }
    }

    /// Returns the scroll position at which the end of the page is visible.
    pub(crate) fn scroll_max(&self) -> usize {
        self.lines.len().saturating_sub(self.room.lines)
    }

    fn edit(&mut self, edit: QueryEdit) -> BrowserEffect {
        let before = self.query.len();
        match edit {
            // Pasted text arrives as single keys; the limit keeps each search fast.
            QueryEdit::Type(c) if self.query.chars().count() < QUERY_CHARS_MAX => {
                self.query.push(c);
            }
            QueryEdit::Type(_) => {}
            QueryEdit::Erase => {
                self.query.pop();
            }
            QueryEdit::EraseWord => {
                let text = self.query.trim_end();
                let space = text.char_indices().rfind(|(_, c)| c.is_whitespace());
                // The space itself stays, as in a shell. It may take more than one byte.
                let keep = space.map_or(0, |(at, c)| at + c.len_utf8());
                self.query.truncate(keep);
            }
            QueryEdit::Empty => self.query.clear(),
        }
        if self.query.len() == before {
            BrowserEffect::Nothing
        } else {
            BrowserEffect::Search
        }
    }

    fn select(&mut self, step: MoveStep) -> BrowserEffect {
        let last = self.rows.len().saturating_sub(1);
        let selected = apply_step(self.selected, step, self.room.entries).min(last);
        if selected == self.selected {
            return BrowserEffect::Nothing;
        }
        self.selected = selected;
        self.scroll = 0;
        BrowserEffect::Load
    }

    fn scroll(&mut self, step: MoveStep) -> BrowserEffect {
        let scroll = apply_step(self.scroll, step, self.room.lines);
        self.scroll = scroll.min(self.scroll_max());
        BrowserEffect::Nothing
    }

    /// Switches between the entry and its history.
    fn turn(&mut self) -> BrowserEffect {
        if self.row().is_some() {
            self.scroll = 0;
            (self.focus, self.side) = match (self.focus, self.side) {
                (PaneFocus::Page, PageView::History) => (PaneFocus::Page, PageView::Entry),
                // From the list, the history is always shown, whichever view was last open.
                (PaneFocus::Page, PageView::Entry | PageView::Help) | (PaneFocus::List, _) => {
                    (PaneFocus::Page, PageView::History)
                }
            };
        }
        BrowserEffect::Nothing
    }

    /// Shows the list of keys, or the entry again.
    fn help(&mut self) -> BrowserEffect {
        self.scroll = 0;
        (self.focus, self.side) = match self.side {
            PageView::Help => (PaneFocus::List, PageView::Entry),
            PageView::Entry | PageView::History => (PaneFocus::Page, PageView::Help),
        };
        BrowserEffect::Nothing
    }

    fn back(&mut self) -> BrowserEffect {
        self.scroll = 0;
        match self.side {
            PageView::History => self.side = PageView::Entry,
            PageView::Help => return self.help(),
            PageView::Entry => self.focus = PaneFocus::List,
        }
        BrowserEffect::Nothing
    }
}

/// Returns the memory that the filter key selects next.
fn next_memory(memory: Option<Memory>) -> Option<Memory> {
    match memory {
        None => Some(Memory::Semantic),
        Some(Memory::Semantic) => Some(Memory::Procedural),
        Some(Memory::Procedural | Memory::Episodic) => None,
    }
}

/// Returns the position after a step from `at`; the caller limits it to the end.
fn apply_step(at: usize, step: MoveStep, page: usize) -> usize {
    match step {
        MoveStep::Up => at.saturating_sub(1),
        MoveStep::Down => at.saturating_add(1),
        // A pane may be too small for a single entry; a page step must still move.
        MoveStep::PageUp => at.saturating_sub(page.max(1)),
        MoveStep::PageDown => at.saturating_add(page.max(1)),
        MoveStep::First => 0,
        MoveStep::Last => usize::MAX,
    }
}
