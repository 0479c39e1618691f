//! Text as the printer writes it, turned into lines of the screen.
//!
//! The printer marks styles with the few escape codes of [`STYLES`]. Every other control character
//! is shown, never sent.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar as _;

use crate::print::visible;

/// Columns a tab takes.
const TAB: &str = "    ";

/// What begins a code of the terminal; `m` ends one that sets a style.
const ESCAPE: &str = "\u{1b}[";

const STYLES: [(&str, Style); 6] = [
    ("0", Style::new()),
    ("1", Style::new().bold()),
    ("2", Style::new().dim()),
    ("31", Style::new().fg(Color::Red)),
    ("32", Style::new().fg(Color::Green)),
    ("33", Style::new().fg(Color::Yellow)),
];

/// Whether styles are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

impl Paint {
    /// Returns `style` where styles are wanted.
    pub(crate) fn style(self, style: Style) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Coloured => style,
        }
    }
}

/// Returns the lines of `text`, none wider than `width` columns.
pub(crate) fn lines(text: &str, width: usize, paint: Paint) -> Vec<Line<'static>> {
    let mut page = Page {
        lines: Vec::new(),
        width: width.max(1),
        used: 0,
        style: Style::new(),
    };
    for line in text.lines() {
        page.begin();
        for (place, part) in line.split(ESCAPE).enumerate() {
            if place == 0 {
                page.push(part);
            } else {
                page.escaped(part, paint);
            }
        }
    }
    page.lines
}

struct Page {
    lines: Vec<Line<'static>>,
    width: usize,
    /// Columns of the last line that are taken.
    used: usize,
    style: Style,
}

impl Page {
    fn begin(&mut self) {
        self.lines.push(Line::default());
        self.used = 0;
    }

    /// Takes what follows the beginning of an escape code.
    fn escaped(&mut self, part: &str, paint: Paint) {
        let known = part.split_once('m').and_then(|(code, rest)| {
            let (_, style) = STYLES.iter().find(|(known, _)| *known == code)?;
            Some((*style, rest))
        });
        match known {
            Some((style, rest)) => {
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

    /// Writes text behind what is there, in a new line where it ends.
    fn push(&mut self, text: &str) {
        let mut span = String::new();
        for c in visible(text).replace('\t', TAB).chars() {
            let wide = c.width().unwrap_or(0);
            if self.width < self.used + wide && 0 < self.used {
                self.flush(&mut span);
                self.begin();
            }
            self.used += wide;
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
            let lines = lines(&format!("a{}c", styled(style, "b")), 80, Paint::Coloured);
            assert_eq!(plain(&lines), ["abc"]);
            let styles: Vec<Style> = lines[0].spans.iter().map(|span| span.style).collect();
            assert_ne!(styles[1], Style::new());
            assert_eq!([styles[0], styles[2]], [Style::new(); 2]);
        }
    }

    #[test]
    fn without_colour_no_style_is_left() {
        let lines = lines(&styled(BAD.bold(), "b"), 80, Paint::Plain);
        assert!(lines[0].spans.iter().all(|it| it.style == Style::new()));
    }

    #[test]
    fn codes_that_are_not_ours_are_shown_and_not_sent() {
        let evil = "a\u{1b}[2Jb\u{1b}]0;title\u{7}\u{1b}[31;1mc";
        let lines = plain(&lines(evil, 200, Paint::Coloured));
        let shown = "a\\u{1b}[2Jb\\u{1b}]0;title\\u{7}\\u{1b}[31;1mc";
        assert_eq!(lines, [shown]);
    }

    #[test]
    fn a_word_longer_than_the_line_goes_on_in_the_next() {
        let found = lines("支払いabc\n\nd\te", 4, Paint::Plain);
        assert_eq!(plain(&found), ["支払", "いab", "c", "", "d   ", " e"]);
    }
}
