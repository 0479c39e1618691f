//! The screen: the query, the list, the page of one entry and the key help.
//!
//! [`draw`] only reads the state; [`fit`] tells the state the available space first. Nothing
//! depends on color: the selected row has a marker, and the key help belongs to the focused pane.

use ken_core::json::lifecycle_labels;
use ken_core::values::kind::Memory;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Paragraph};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::keys::PaneFocus;
use super::state::{BrowserState, ListRow, ListSource, PageView, PaneSize, RowDetail};
use super::styled::{self, ColorMode};
use crate::print::entry_text::{self, EntrySurroundings, status_style};
use crate::print::event_text::event_text;
use crate::print::hits::{confidence_text, match_text};
use crate::print::{BOLD, WARN, escape_invisible, pluralize, truncate_columns};

/// Minimum width for two panes.
const TWO_PANES_COLUMNS: u16 = 80;
/// Width of the list in percent of both panes.
const LIST_PERCENT: u16 = 45;
const LIST_COLUMNS_MAX: u16 = 64;
/// Lines per entry in the list.
const ROW_LINES: u16 = 2;

const PROMPT: &str = "Search: ";
const SELECTED_MARKER: &str = "▸ ";
const UNSELECTED_MARKER: &str = "  ";

/// The areas of the screen; a hidden one is empty.
struct ScreenAreas {
    search: Rect,
    list: Rect,
    page: Rect,
    keys: Rect,
}

impl ScreenAreas {
    fn of(screen: Rect, focus: PaneFocus) -> Self {
        let rows = [
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ];
        let [search, panes, keys] = Layout::vertical(rows).areas(screen);
        // In a narrow terminal, the focused pane gets the whole width.
        let list_columns = match focus {
            // Split in two terms: `width * LIST_PERCENT` could overflow `u16`.
            _ if panes.width >= TWO_PANES_COLUMNS => (panes.width / 100 * LIST_PERCENT
                + panes.width % 100 * LIST_PERCENT / 100)
                .min(LIST_COLUMNS_MAX),
            PaneFocus::List => panes.width,
            PaneFocus::Page => 0,
        };
        let columns = [Constraint::Length(list_columns), Constraint::Min(0)];
        let [list, page] = Layout::horizontal(columns).areas(panes);
        Self {
            search,
            list,
            page,
            keys,
        }
    }
}

/// Lays out the page for `screen` and passes the available space to the state.
pub(crate) fn fit(state: &mut BrowserState, screen: Rect, paint: ColorMode) {
    let areas = ScreenAreas::of(screen, state.focus);
    let (list, page) = (inner_area(areas.list), inner_area(areas.page));
    let room = PaneSize {
        entries: usize::from(list.height / ROW_LINES),
        lines: usize::from(page.height),
    };
    let text = page_text(state, usize::from(page.width));
    let lines = styled::wrap_lines(&text, usize::from(page.width), paint);
    state.fit(room, lines);
}

/// Draws the screen.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &BrowserState, paint: ColorMode) {
    let areas = ScreenAreas::of(frame.area(), state.focus);
    draw_search(frame, areas.search, state, paint);
    if !areas.list.is_empty() {
        draw_list(frame, areas.list, state, paint);
    }
    if !areas.page.is_empty() {
        draw_page(frame, areas.page, state, paint);
    }
    let keys = Line::styled(key_help(state), paint.style(Style::new().dim()));
    frame.render_widget(keys, areas.keys);
}

/// Every key and what it does.
const KEYS: &str = "\
Letters in the list search as you type; on the page they are commands.

↑ ↓          select a row, or scroll the page; also ^N ^P
PgUp PgDn    a page up or down; Home and End go to the ends
Enter, Tab   open the entry
Esc          back; in the list, clear the query
← →          previous and next entry, on the page
h, ^L        history of the entry
^F           filter: lessons, norms, everything
^W, ^U       erase a word, the whole query
F1, ?        this page; ? on the page only
^Q, ^C       quit

The browser only reads. To change the selected entry, quit and run
`ken edit ID --statement TEXT`, `ken confirm ID` or `ken retract ID`.
";

/// Returns the text of the page, with the printer's styles.
fn page_text(state: &BrowserState, width: usize) -> String {
    let row = match (state.side, state.row()) {
        (PageView::Help, _) => return KEYS.to_owned(),
        (PageView::Entry | PageView::History, None) => return String::new(),
        (PageView::Entry | PageView::History, Some(row)) => row,
    };
    // While another row is being loaded, the details of the old one must not be shown with it.
    let loaded = |it: &&RowDetail| it.id == row.entry().id;
    let detail = state.detail.as_ref().filter(loaded);
    let of = |pick: fn(&RowDetail) -> &[_]| detail.map_or(&[][..], pick);
    match state.side {
        PageView::History => of(|it| &it.history)
            .iter()
            .map(|recorded| event_text(recorded, None, width))
            .collect(),
        PageView::Entry | PageView::Help => {
            let matching = match row {
                ListRow::Listed(_) => String::new(),
                ListRow::Found(hit) => match_text(hit),
            };
            let sureness = confidence_text(row.entry(), &row.facts(state.today), state.today);
            let surroundings = EntrySurroundings {
                versions: of(|it| &it.versions),
                ..EntrySurroundings::default()
            };
            let entry = entry_text::render_entry(row.entry(), surroundings, width);
            format!("{sureness}\n{matching}\n{entry}")
        }
    }
}

fn draw_search(frame: &mut Frame<'_>, area: Rect, state: &BrowserState, paint: ColorMode) {
    let room = usize::from(area.width).saturating_sub(PROMPT.width() + 1);
    let query = escape_invisible(&state.query);
    let shown = tail_columns(&query, room);
    let mut line = Line::from(PROMPT);
    if query.is_empty() {
        let dim = paint.style(Style::new().dim());
        line.push_span(Span::styled("type a query", dim));
    } else {
        line.push_span(shown.to_owned());
    }
    frame.render_widget(line, area);
    if state.focus == PaneFocus::List && !area.is_empty() {
        let offset = u16::try_from(PROMPT.width() + shown.width()).unwrap_or(u16::MAX);
        let column = area.x.saturating_add(offset).min(area.right() - 1);
        frame.set_cursor_position((column, area.y));
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, state: &BrowserState, paint: ColorMode) {
    let inner = inner_area(area);
    frame.render_widget(
        pane_block(&list_title(state), state.focus == PaneFocus::List, paint),
        area,
    );
    let width = usize::from(inner.width);
    let room = usize::from(inner.height / ROW_LINES).max(1);
    let mut text = Text::default();
    for (index, row) in state.rows.iter().enumerate().skip(state.top).take(room) {
        let selected = index == state.selected;
        let style = if selected {
            paint.style(Style::new().reversed())
        } else {
            Style::new()
        };
        for line in row_lines(row, selected, width, paint) {
            let missing = width.saturating_sub(line.width());
            // The highlight must reach the border, so the selected line is padded.
            let line = line.style(style);
            let filled = Span::raw(" ".repeat(if selected { missing } else { 0 }));
            text.push_line(line + filled);
        }
    }
    if state.rows.is_empty() && state.source == ListSource::Whole {
        // Only for an empty ledger: after a search, an empty list has another reason.
        text = Text::from("`ken add --help` shows how to add one");
    }
    frame.render_widget(Paragraph::new(text), inner);
}

/// Returns the two lines of a row.
fn row_lines(row: &ListRow, selected: bool, width: usize, paint: ColorMode) -> Vec<Line<'static>> {
    let entry = row.entry();
    let status = entry.status.value;
    let mark = if selected {
        SELECTED_MARKER
    } else {
        UNSELECTED_MARKER
    };
    let kind = entry
        .kind()
        .map_or("entry", ken_core::values::kind::EntryKind::name);
    let mut head = format!(
        "{mark}{}  {kind}  {}",
        crate::print::styled(BOLD, entry.id),
        crate::print::styled(status_style(status), status),
    );
    for state in lifecycle_labels(entry) {
        head.push_str("  ");
        head.push_str(&crate::print::styled(WARN, state));
    }
    let title = format!("{UNSELECTED_MARKER}{}", escape_invisible(&entry.title()));
    let mut lines = styled::wrap_lines(&head, width, paint);
    // The list has a fixed height per entry, so a head that wraps is cut.
    lines.truncate(1);
    lines.push(Line::from(truncate_columns(&title, width)));
    lines
}

fn draw_page(frame: &mut Frame<'_>, area: Rect, state: &BrowserState, paint: ColorMode) {
    let title = match state.side {
        PageView::Entry => "entry",
        PageView::History => "history",
        PageView::Help => "keys",
    };
    let mut block = pane_block(title, state.focus == PaneFocus::Page, paint);
    if state.scroll < state.scroll_max() {
        block = block.title_bottom(Line::from(" ↓ more ").right_aligned());
    }
    frame.render_widget(block, area);
    let inner = inner_area(area);
    let visible_lines = state.lines.iter().skip(state.scroll);
    let shown: Vec<Line<'_>> = visible_lines
        .take(usize::from(inner.height))
        .cloned()
        .collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

fn list_title(state: &BrowserState) -> String {
    let (one, many) = match state.memory {
        None => ("entry", "entries"),
        Some(Memory::Semantic) => ("lesson", "lessons"),
        Some(Memory::Procedural) => ("norm", "norms"),
        Some(Memory::Episodic) => ("observation", "observations"),
    };
    let count = pluralize(state.rows.len() as u64, one, many);
    match state.source {
        ListSource::Initial => "reading entries".to_owned(),
        ListSource::Reading(at, all) => format!("reading entries, {at} of {all}"),
        ListSource::Whole if state.rows.is_empty() => format!("no {many}"),
        ListSource::Whole => format!("{count}, newest first"),
        ListSource::Newest => format!("the newest {count}"),
        ListSource::Relevant => format!("{count}, best first"),
        ListSource::Nearest if state.rows.is_empty() => "no entries found".to_owned(),
        ListSource::Nearest => "no relevant entries, most similar first".to_owned(),
    }
}

/// Returns the help for the keys that work now.
fn key_help(state: &BrowserState) -> &'static str {
    match (state.focus, state.side) {
        (PaneFocus::List, _) => {
            "↑↓ row  Enter open  ^L history  ^F filter  Esc clear  F1 help  ^Q quit"
        }
        (PaneFocus::Page, PageView::Help) => "↑↓ scroll  Esc back  ^Q quit",
        (PaneFocus::Page, PageView::Entry) => {
            "↑↓ scroll  ←→ entry  h history  Esc back  ? help  ^Q quit"
        }
        (PaneFocus::Page, PageView::History) => {
            "↑↓ scroll  ←→ entry  h entry  Esc back  ? help  ^Q quit"
        }
    }
}

fn pane_block(title: &str, is_focused: bool, paint: ColorMode) -> Block<'static> {
    let style = if is_focused {
        Style::new()
    } else {
        paint.style(Style::new().dim())
    };
    Block::bordered()
        .title(format!(" {title} "))
        .border_style(style)
}

/// Returns the area inside the border of a pane.
fn inner_area(pane: Rect) -> Rect {
    pane.inner(Margin::new(1, 1))
}

/// Returns the end of `text` that fits in `width` columns.
fn tail_columns(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}
