//! `ken stats` for people: numbers with what they mean, and on a terminal bars beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ken_core::lift::Worth;
use ken_core::time::Date;
use ken_engine::usage::{Counts, Day, Surface};
use unicode_width::UnicodeWidthStr as _;

use super::worth::worth_text;
use super::{BOLD, counted, cut, styled};
use crate::commands::stats_span;

/// Columns of the names on the left.
const NAME_WIDTH: usize = 10;

/// Columns of a number.
const NUMBER_WIDTH: usize = 9;

/// Columns of the longest bar.
const BAR_WIDTH: usize = 30;

/// Heights of a column of the days.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What there is to tell.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) first: Date,
    pub(crate) today: Date,
    pub(crate) days: Vec<Day>,
    pub(crate) runs: BTreeMap<String, u64>,
    pub(crate) lift: Worth,
}

impl Stats {
    /// Returns everything, added up.
    pub(crate) fn all(&self) -> Counts {
        let mut sum = Counts::default();
        let all = self.days.iter().flat_map(|day| day.by.values());
        all.for_each(|it| sum += *it);
        sum
    }

    /// Returns what was asked through one surface.
    pub(crate) fn of(&self, surface: Surface) -> Counts {
        let mut sum = Counts::default();
        let all = self.days.iter().filter_map(|day| day.by.get(&surface));
        all.for_each(|it| sum += *it);
        sum
    }

    fn asked_on(&self, date: Date) -> u64 {
        let day = self.days.iter().find(|day| day.date == date);
        day.map_or(0, |day| day.by.values().map(Counts::asked).sum())
    }
}

/// Returns the dashboard; `is_drawn` where a terminal of `width` columns shows it.
pub(crate) fn dashboard(stats: &Stats, is_drawn: bool, width: usize) -> String {
    let all = stats.all();
    let title = format!("{} to {}, this machine", stats.first, stats.today);
    let mut text = format!("{}\n\n", styled(BOLD, title));
    let mut line = |line: &str| {
        let _ = writeln!(text, "{}", cut(line.trim_end(), width));
    };
    for (name, number, says) in asked(&all) {
        line(&row(name, number, &says));
    }
    line("");
    if is_drawn && 0 < all.asked() {
        line(&by_day(stats, width));
        line("");
    }
    let most = Surface::ALL.map(|it| stats.of(it).asked());
    let most = most.into_iter().max().unwrap_or(0);
    for surface in Surface::ALL {
        let asked = stats.of(surface).asked();
        let drawn = match is_drawn {
            true => bar(asked, most, width),
            false => String::new(),
        };
        line(&row(surface.name(), asked, &drawn));
    }
    line("");
    let outcomes = stats.runs.iter();
    let outcomes = outcomes.map(|(outcome, count)| format!("{count} {outcome}"));
    let outcomes = outcomes.collect::<Vec<_>>().join(", ");
    line(&row("runs", stats.runs.values().sum(), &outcomes));
    let lift = worth_text(stats.lift);
    line(&format!("{:<NAME_WIDTH$}{lift}", "lift"));
    text
}

/// What was asked and what came of it, a row each.
fn asked(all: &Counts) -> [(&'static str, u64, String); 6] {
    let kinds = format!(
        "{}, {}",
        counted(all.searches, "search", "searches"),
        counted(all.briefs, "briefing", "briefings")
    );
    let shown = counted(all.shown, "entry", "entries");
    let shown = format!("with {shown} of {} that were relevant", all.hits);
    let nothing = "answers in which no entry was relevant enough";
    let withheld = "relevant entries kept back: contradicted by code, raw or not approved";
    let spared = "not shown, thanks to cap, tiers and one-liners";
    [
        ("asked", all.asked(), kinds),
        ("answered", all.asked() - all.empty, shown),
        ("nothing", all.empty, nothing.to_owned()),
        ("withheld", all.withheld, withheld.to_owned()),
        ("tokens", all.tokens_shown, "shown".to_owned()),
        ("", all.tokens_not_shown, spared.to_owned()),
    ]
}

fn row(name: &str, number: u64, says: &str) -> String {
    let number = grouped(number);
    format!("{name:<NAME_WIDTH$}{number:>NUMBER_WIDTH$}  {says}")
}

/// Draws how much was asked each day; the last days where not all fit.
fn by_day(stats: &Stats, width: usize) -> String {
    let days = stats_span(stats.first, stats.today);
    let room = width.saturating_sub(NAME_WIDTH).max(1);
    let days = &days[days.len().saturating_sub(room)..];
    let asked: Vec<u64> = days.iter().map(|date| stats.asked_on(*date)).collect();
    let most = asked.iter().copied().max().unwrap_or(0).max(1);
    let last = HEIGHTS.len() as u64 - 1;
    let column = |count: &u64| match *count {
        0 => ' ',
        count => {
            let at = (count * last).div_ceil(most);
            HEIGHTS[usize::try_from(at).unwrap_or(0).min(HEIGHTS.len() - 1)]
        }
    };
    let drawn: String = asked.iter().map(column).collect();
    let name = "by day";
    let line = format!("{name:<NAME_WIDTH$}{drawn}");
    let told = format!("  most {most}");
    match line.width() + told.width() <= width {
        true => format!("{line}{told}"),
        false => line,
    }
}

/// Draws a bar for `count` beside one for `most`.
fn bar(count: u64, most: u64, width: usize) -> String {
    let room = width
        .saturating_sub(NAME_WIDTH + NUMBER_WIDTH + 2)
        .min(BAR_WIDTH) as u64;
    let length = match most {
        0 => 0,
        most => (count * room).div_ceil(most),
    };
    "█".repeat(usize::try_from(length).unwrap_or(0))
}

/// Returns a number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if 0 < at && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats() -> Stats {
        let counts = |asked| Counts {
            searches: asked,
            empty: 1,
            hits: 3 * asked,
            shown: 2 * asked,
            tokens_shown: 1234 * asked,
            tokens_not_shown: 10_000,
            ..Counts::default()
        };
        let day = |date: &str, cli, hook| Day {
            date: date.parse().unwrap(),
            by: BTreeMap::from([(Surface::Cli, counts(cli)), (Surface::Hook, counts(hook))]),
            is_full: false,
        };
        Stats {
            first: "2026-11-10".parse().unwrap(),
            today: "2026-11-16".parse().unwrap(),
            days: vec![day("2026-11-11", 2, 8), day("2026-11-16", 1, 39)],
            runs: BTreeMap::from([("succeeded".to_owned(), 4)]),
            lift: Worth::TooFew {
                shown: 0,
                withheld: 0,
            },
        }
    }

    #[test]
    fn a_terminal_shows_bars_and_days() {
        let plain = anstream::adapter::strip_str(&dashboard(&stats(), true, 80)).to_string();
        assert_eq!(
            plain,
            "2026-11-10 to 2026-11-16, this machine\n\n\
             asked            50  50 searches, 0 briefings\n\
             answered         46  with 100 entries of 150 that were relevant\n\
             nothing           4  answers in which no entry was relevant enough\n\
             withheld          0  relevant entries kept back: contradicted by code, raw or n…\n\
             tokens       61 700  shown\n\
             \u{20}            40 000  not shown, thanks to cap, tiers and one-liners\n\n\
             by day     ▃    █  most 40\n\n\
             cli               3  ██\n\
             mcp               0\n\
             hook             47  ██████████████████████████████\n\n\
             runs              4  4 succeeded\n\
             lift      not enough runs yet (n = 0)\n"
        );
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for width in 40..120 {
            let plain = anstream::adapter::strip_str(&dashboard(&stats(), true, width)).to_string();
            for line in plain.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn without_a_terminal_nothing_is_drawn() {
        let plain = dashboard(&stats(), false, 100);
        assert!(!plain.contains(['█', '▃']), "{plain}");
    }
}
