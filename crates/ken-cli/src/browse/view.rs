//! The screen: a search line, the list, the page of one entry, and what the keys do.
//!
//! Draws a [`State`] and changes nothing else; [`fit`] tells it first how much room there is.
//! Nothing relies on colour: the row in hand has a mark, the pane in hand the keys below it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Paragraph};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::keys::Focus;
use super::state::{Detail, Room, Row, Side, Source, State};
use super::styled::{self, Paint};
use crate::print::entry_text::{self, status_style};
use crate::print::event_text::event_text;
use crate::print::hits::{matching, sureness};
use crate::print::{BOLD, WARN, counted, cut, visible};
use ken_core::object::marks;

/// Narrower than this only one pane is shown.
const TWO_PANES_COLUMNS: u16 = 80;
/// What the list takes of both panes.
const LIST_PERCENT: u16 = 45;
const LIST_COLUMNS_MAX: u16 = 64;
/// Lines of an entry in the list.
const ROW_LINES: u16 = 2;

const PROMPT: &str = "Search: ";
const MARK: &str = "▸ ";
const UNMARKED: &str = "  ";

/// Where everything stands; what is not shown has no room.
struct Areas {
    search: Rect,
    list: Rect,
    page: Rect,
    keys: Rect,
}

impl Areas {
    fn of(screen: Rect, focus: Focus) -> Self {
        let rows = [
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ];
        let [search, panes, keys] = Layout::vertical(rows).areas(screen);
        let list_columns = match focus {
            _ if TWO_PANES_COLUMNS <= panes.width => (panes.width / 100 * LIST_PERCENT
                + panes.width % 100 * LIST_PERCENT / 100)
                .min(LIST_COLUMNS_MAX),
            Focus::List => panes.width,
            Focus::Page => 0,
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

/// Lays the page out for `screen` and tells the state how much room there is.
pub(crate) fn fit(state: &mut State, screen: Rect, paint: Paint) {
    let areas = Areas::of(screen, state.focus);
    let (list, page) = (inside(areas.list), inside(areas.page));
    let room = Room {
        entries: usize::from(list.height / ROW_LINES),
        lines: usize::from(page.height),
    };
    let text = page_text(state, usize::from(page.width));
    let lines = styled::lines(&text, usize::from(page.width), paint);
    state.fit(room, lines);
}

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State, paint: Paint) {
    let areas = Areas::of(frame.area(), state.focus);
    draw_search(frame, areas.search, state, paint);
    if !areas.list.is_empty() {
        draw_list(frame, areas.list, state, paint);
    }
    if !areas.page.is_empty() {
        draw_page(frame, areas.page, state, paint);
    }
    let keys = Line::styled(keys(state), paint.style(Style::new().dim()));
    frame.render_widget(keys, areas.keys);
}

/// Returns what the page says, with the printer's styles.
fn page_text(state: &State, width: usize) -> String {
    let Some(row) = state.row() else {
        return String::new();
    };
    let loaded = |it: &&Detail| it.id == row.entry().id;
    let detail = state.detail.as_ref().filter(loaded);
    let of = |pick: fn(&Detail) -> &[_]| detail.map_or(&[][..], pick);
    match state.side {
        Side::History => of(|it| &it.history)
            .iter()
            .map(|recorded| event_text(recorded, width))
            .collect(),
        Side::Entry => {
            let matching = match row {
                Row::Listed(_) => String::new(),
                Row::Found(hit) => matching(hit),
            };
            let sureness = sureness(&row.facts(state.today), state.today);
            let entry = entry_text::render(row.entry(), of(|it| &it.versions), &[], width);
            format!("{sureness}\n{matching}\n{entry}")
        }
    }
}

fn draw_search(frame: &mut Frame<'_>, area: Rect, state: &State, paint: Paint) {
    let room = usize::from(area.width).saturating_sub(PROMPT.width() + 1);
    let query = visible(&state.query);
    let shown = end_of(&query, room);
    let mut line = Line::from(PROMPT);
    if query.is_empty() {
        let dim = paint.style(Style::new().dim());
        line.push_span(Span::styled("type what you look for", dim));
    } else {
        line.push_span(shown.to_owned());
    }
    frame.render_widget(line, area);
    if state.focus == Focus::List && !area.is_empty() {
        let column = u16::try_from(PROMPT.width() + shown.width()).unwrap_or(u16::MAX);
        let column = area.x.saturating_add(column).min(area.right() - 1);
        frame.set_cursor_position((column, area.y));
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, state: &State, paint: Paint) {
    let inner = inside(area);
    frame.render_widget(
        pane(&list_title(state), state.focus == Focus::List, paint),
        area,
    );
    let width = usize::from(inner.width);
    let room = usize::from(inner.height / ROW_LINES).max(1);
    let mut text = Text::default();
    for (place, row) in state.rows.iter().enumerate().skip(state.top).take(room) {
        let selected = place == state.selected;
        let style = if selected {
            paint.style(Style::new().reversed())
        } else {
            Style::new()
        };
        for line in row_lines(row, selected, width, paint) {
            let missing = width.saturating_sub(line.width());
            let line = line.style(style);
            let filled = Span::raw(" ".repeat(if selected { missing } else { 0 }));
            text.push_line(line + filled);
        }
    }
    if state.rows.is_empty() && state.source == Source::Whole {
        text = Text::from("`ken add --help` says how to write one");
    }
    frame.render_widget(Paragraph::new(text), inner);
}

/// Returns the two lines of a row.
fn row_lines(row: &Row, selected: bool, width: usize, paint: Paint) -> Vec<Line<'static>> {
    let entry = row.entry();
    let status = entry.status.value;
    let mark = if selected { MARK } else { UNMARKED };
    let kind = entry.kind().map_or("entry", ken_core::kind::Kind::name);
    let mut head = format!(
        "{mark}{}  {kind}  {}",
        crate::print::styled(BOLD, entry.id),
        crate::print::styled(status_style(status), status),
    );
    for it in marks(entry) {
        head.push_str("  ");
        head.push_str(&crate::print::styled(WARN, it));
    }
    let title = format!("{UNMARKED}{}", visible(&entry.title()));
    let mut lines = styled::lines(&head, width, paint);
    lines.truncate(1);
    lines.push(Line::from(cut(&title, width)));
    lines
}

fn draw_page(frame: &mut Frame<'_>, area: Rect, state: &State, paint: Paint) {
    let title = match state.side {
        Side::Entry => "entry",
        Side::History => "history",
    };
    let mut block = pane(title, state.focus == Focus::Page, paint);
    if state.scroll < state.scroll_max() {
        block = block.title_bottom(Line::from(" ↓ more ").right_aligned());
    }
    frame.render_widget(block, area);
    let inner = inside(area);
    let shown = state.lines.iter().skip(state.scroll);
    let shown: Vec<Line<'_>> = shown.take(usize::from(inner.height)).cloned().collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

fn list_title(state: &State) -> String {
    let count = counted(state.rows.len() as u64, "entry", "entries");
    match state.source {
        Source::Unasked => "reading entries".to_owned(),
        Source::Reading(at, all) => format!("reading entries, {at} of {all}"),
        Source::Whole if state.rows.is_empty() => "no entries".to_owned(),
        Source::Whole => format!("{count}, newest first"),
        Source::Newest => format!("the newest {count}"),
        Source::Relevant => format!("{count}, best first"),
        Source::Nearest if state.rows.is_empty() => "nothing found".to_owned(),
        Source::Nearest => "nothing relevant, nearest first".to_owned(),
    }
}

/// Returns the keys that do something now.
fn keys(state: &State) -> &'static str {
    match (state.focus, state.side) {
        (Focus::List, _) => "↑↓ row  Enter open  ^L history  Esc clear  ^Q quit",
        (Focus::Page, Side::Entry) => "↑↓ scroll  ←→ entry  h history  Esc back  ^Q quit",
        (Focus::Page, Side::History) => "↑↓ scroll  ←→ entry  h entry  Esc back  ^Q quit",
    }
}

fn pane(title: &str, in_hand: bool, paint: Paint) -> Block<'static> {
    let style = if in_hand {
        Style::new()
    } else {
        paint.style(Style::new().dim())
    };
    Block::bordered()
        .title(format!(" {title} "))
        .border_style(style)
}

/// Returns the room within the lines round a pane.
fn inside(pane: Rect) -> Rect {
    pane.inner(Margin::new(1, 1))
}

/// Returns as much of the end of `text` as `width` columns hold.
fn end_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if width < used {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}
