//! Conversion of printed text to lines of the screen.
//!
//! The printer marks styles with the few escape codes in [`STYLES`]. Every other control character
//! is shown escaped and never sent to the terminal.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar as _;

use crate::print::escape_invisible;

/// The replacement of a tab.
const TAB_SPACES: &str = "    ";

/// The start of an escape code; `m` ends a code that sets a style.
const ESCAPE: &str = "\u{1b}[";

const STYLES: [(&str, Style); 6] = [
    ("0", Style::new()),
    ("1", Style::new().bold()),
    ("2", Style::new().dim()),
    ("31", Style::new().fg(Color::Red)),
    ("32", Style::new().fg(Color::Green)),
    ("33", Style::new().fg(Color::Yellow)),
];

/// The use of styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorMode {
    Plain,
    Colored,
}

impl ColorMode {
    /// Returns `style`, or no style if styles are off.
    pub(crate) fn style(self, style: Style) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Colored => style,
        }
    }
}

/// Splits `text` into lines of at most `width` columns.
pub(crate) fn wrap_lines(text: &str, width: usize, paint: ColorMode) -> Vec<Line<'static>> {
    let mut builder = LineBuilder {
        lines: Vec::new(),
        width: width.max(1),
        used: 0,
        style: Style::new(),
    };
    for line in text.lines() {
        builder.begin();
        for (index, part) in line.split(ESCAPE).enumerate() {
            if index == 0 {
                builder.push(part);
            } else {
                builder.escaped(part, paint);
            }
        }
    }
    builder.lines
}

struct LineBuilder {
    lines: Vec<Line<'static>>,
    width: usize,
    /// Columns used in the last line.
    used: usize,
    style: Style,
}

impl LineBuilder {
    fn begin(&mut self) {
        self.lines.push(Line::default());
        self.used = 0;
    }

    /// Processes the text after the start of an escape code.
    fn escaped(&mut self, part: &str, paint: ColorMode) {
        let known = part.split_once('m').and_then(|(code, rest)| {
            let (_, style) = STYLES.iter().find(|(listed, _)| *listed == code)?;
            Some((*style, rest))
        });
        match known {
            Some((style, rest)) => {
                // Code 0 resets; `patch` with an empty style would keep the old one.
                self.style = if style == Style::new() {
                    style
                } else {
                    self.style.patch(paint.style(style))
                };
                self.push(rest);
            }
            None => {
                self.push(ESCAPE);
                self.push(part);
            }
        }
    }

    /// Appends text and wraps it at the width.
    fn push(&mut self, text: &str) {
        let mut span = String::new();
        for c in escape_invisible(text).replace('\t', TAB_SPACES).chars() {
            let columns = c.width().unwrap_or(0);
            if self.used + columns > self.width && self.used > 0 {
                self.flush(&mut span);
                self.begin();
            }
            self.used += columns;
            span.push(c);
        }
        self.flush(&mut span);
    }

    fn flush(&mut self, span: &mut String) {
        let text = std::mem::take(span);
        if let (Some(line), false) = (self.lines.last_mut(), text.is_empty()) {
            line.push_span(Span::styled(text, self.style));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::{BAD, BOLD, DIM, GOOD, WARN, styled};

    fn plain(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_style_of_the_printer_is_known() {
        for style in [BOLD, DIM, GOOD, WARN, BAD] {
            let lines = wrap_lines(&format!("a{}c", styled(style, "b")), 80, ColorMode::Colored);
            assert_eq!(plain(&lines), ["abc"]);
            let styles: Vec<Style> = lines[0].spans.iter().map(|span| span.style).collect();
            assert_ne!(styles[1], Style::new());
            assert_eq!([styles[0], styles[2]], [Style::new(); 2]);
        }
    }

    #[test]
    fn without_color_no_style_is_left() {
        let lines = wrap_lines(&styled(BAD.bold(), "b"), 80, ColorMode::Plain);
        assert!(lines[0].spans.iter().all(|it| it.style == Style::new()));
    }

    #[test]
    fn codes_that_are_not_ours_are_shown_and_not_sent() {
        let evil = "a\u{1b}[2Jb\u{1b}]0;title\u{7}\u{1b}[31;1mc";
        let lines = plain(&wrap_lines(evil, 200, ColorMode::Colored));
        let shown = "a\\u{1b}[2Jb\\u{1b}]0;title\\u{7}\\u{1b}[31;1mc";
        assert_eq!(lines, [shown]);
    }

    #[test]
    fn a_word_longer_than_the_line_goes_on_in_the_next() {
        let found = wrap_lines("支払いabc\n\nd\te", 4, ColorMode::Plain);
        assert_eq!(plain(&found), ["支払", "いab", "c", "", "d   ", " e"]);
    }
}
