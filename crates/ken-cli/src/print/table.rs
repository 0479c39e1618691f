//! Text tables with aligned columns, one of which is truncated to fit the width.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{escape_invisible, styled};

/// Spaces between columns.
const GAP: usize = 2;
/// Minimum width of the flexible column.
const FLEXIBLE_MIN: usize = 16;

/// A table of styled cells.
#[derive(Debug)]
pub(crate) struct TextTable {
    heads: Vec<&'static str>,
    rows: Vec<Vec<TableCell>>,
    /// The index of the column that is truncated.
    flexible: usize,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self {
            text: escape_invisible(&text.into()),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

impl TextTable {
    pub(crate) fn new(heads: &[&'static str], flexible: usize) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
            flexible,
        }
    }

    pub(crate) fn push(&mut self, row: Vec<TableCell>) {
        self.rows.push(row);
    }

    /// Returns the columns that have content in some row.
    fn used(&self) -> Vec<usize> {
        let filled = |column: &usize| {
            self.rows
                .iter()
                .any(|row| row.get(*column).is_some_and(|cell| !cell.text.is_empty()))
        };
        (0..self.heads.len()).filter(filled).collect()
    }

    /// Renders the table with its head for lines of `width` columns.
    pub(crate) fn render(&self, width: usize) -> String {
        let columns = self.used();
        let column_width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            widest.max(self.heads[column].width())
        };
        let mut widths: Vec<usize> = columns.iter().map(|column| column_width(*column)).collect();
        let total = widths.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
        if let Some(index) = columns.iter().position(|column| *column == self.flexible) {
            let excess = total.saturating_sub(width);
            // At least a readable minimum, unless the content itself is narrower.
            widths[index] = widths[index]
                .saturating_sub(excess)
                .max(FLEXIBLE_MIN.min(widths[index]));
        }
        let head: Vec<TableCell> = self
            .heads
            .iter()
            .map(|head| TableCell::styled(super::DIM, *head))
            .collect();
        let mut out = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            push_row(&mut out, row, &columns, &widths);
        }
        out
    }
}

fn push_row(out: &mut String, row: &[TableCell], columns: &[usize], widths: &[usize]) {
    // Padding is written only before the next text, so that no line ends with spaces.
    let mut line = String::new();
    let mut padding = 0;
    for (column, width) in columns.iter().zip(widths) {
        let Some(cell) = row.get(*column) else {
            continue;
        };
        let text = truncate_columns(&cell.text, *width);
        // Width is measured without the style: its escape codes take no columns.
        if !text.is_empty() {
            let _ = write!(line, "{:padding$}", "");
            padding = 0;
            line.push_str(&styled(cell.style, &text));
        }
        padding += width - text.width() + GAP;
    }
    out.push_str(&line);
    out.push('\n');
}

/// Truncates `text` to `width` columns, with an ellipsis.
pub(crate) fn truncate_columns(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        // One column is reserved for the ellipsis.
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Wraps a line at spaces.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && last.width() + 1 + word.width() > width {
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
        let mut table = TextTable::new(&["ID", "TITLE", "MARKS", "TAGS"], 1);
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
        assert_eq!(truncate_columns("支払いは安全", 7), "支払い…");
        assert_eq!(truncate_columns("支払い", 6), "支払い");
    }
}
