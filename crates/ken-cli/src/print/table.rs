//! Columns that line up, one of them giving way where the line would be too long.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{styled, visible};

/// Spaces between columns.
const GAP: usize = 2;
/// The flexible column never gets narrower than this.
const FLEXIBLE_MIN: usize = 16;

/// Rows of cells.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    /// The column that is cut where the line would be too long.
    flexible: usize,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self {
            text: visible(&text.into()),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

impl Table {
    pub(crate) fn new(heads: &[&'static str], flexible: usize) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
            flexible,
        }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Leaves out columns no row has anything in.
    fn used(&self) -> Vec<usize> {
        let filled = |column: &usize| {
            self.rows
                .iter()
                .any(|row| row.get(*column).is_some_and(|cell| !cell.text.is_empty()))
        };
        (0..self.heads.len()).filter(filled).collect()
    }

    /// Lays the table out for a line of `width` columns; the head stands above.
    pub(crate) fn render(&self, width: usize) -> String {
        let columns = self.used();
        let wide = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            widest.max(self.heads[column].width())
        };
        let mut widths: Vec<usize> = columns.iter().map(|column| wide(*column)).collect();
        let total = widths.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
        if let Some(place) = columns.iter().position(|column| *column == self.flexible) {
            let excess = total.saturating_sub(width);
            widths[place] = widths[place]
                .saturating_sub(excess)
                .max(FLEXIBLE_MIN.min(widths[place]));
        }
        let head: Vec<Cell> = self
            .heads
            .iter()
            .map(|head| Cell::styled(super::DIM, *head))
            .collect();
        let mut out = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            push_row(&mut out, row, &columns, &widths);
        }
        out
    }
}

fn push_row(out: &mut String, row: &[Cell], columns: &[usize], widths: &[usize]) {
    let mut line = String::new();
    let mut owed = 0;
    for (column, width) in columns.iter().zip(widths) {
        let Some(cell) = row.get(*column) else {
            continue;
        };
        let text = cut(&cell.text, *width);
        if !text.is_empty() {
            let _ = write!(line, "{:owed$}", "");
            owed = 0;
            line.push_str(&styled(cell.style, &text));
        }
        owed += width - text.width() + GAP;
    }
    out.push_str(&line);
    out.push('\n');
}

/// Shortens `text` to `width` columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if width < used + wide + 1 {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Breaks a line at spaces.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && width < last.width() + 1 + word.width() {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn the_flexible_column_gives_way_and_empty_columns_are_left_out() {
        let mut table = Table::new(&["ID", "TITLE", "MARKS", "TAGS"], 1);
        let title = "A title that is far too long for the line";
        table.push(vec!["L-1".into(), title.into(), "".into(), "auth".into()]);
        table.push(vec!["L-22".into(), "Kurz".into(), "".into(), "".into()]);
        assert_eq!(
            plain(&table.render(32)),
            "ID    TITLE                 TAGS\nL-1   A title that is far…  auth\nL-22  Kurz\n"
        );
    }

    #[test]
    fn wide_characters_count_as_two_columns() {
        assert_eq!(cut("支払いは安全", 7), "支払い…");
        assert_eq!(cut("支払い", 6), "支払い");
    }
}
