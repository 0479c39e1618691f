//! Text of `ken health stats`: numbers with explanations, and bars on a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ken_core::trust::impact::ImpactEstimate;
use ken_core::values::time::Date;
use ken_engine::usage::{UsageCounts, UsageDay, UsageSurface};
use unicode_width::UnicodeWidthStr as _;

use super::impact::impact_text;
use super::{BOLD, pluralize, styled, truncate_columns};
use crate::commands::stats_span;

/// Columns of the names on the left.
const NAME_WIDTH: usize = 10;

/// Columns of a number.
const NUMBER_WIDTH: usize = 9;

/// Columns of the longest bar.
const BAR_WIDTH: usize = 30;

/// Column heights of the chart of days.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Usage statistics of a period.
#[derive(Debug)]
pub(crate) struct UsageStats {
    pub(crate) first: Date,
    pub(crate) today: Date,
    pub(crate) days: Vec<UsageDay>,
    pub(crate) runs: BTreeMap<String, u64>,
    pub(crate) lift: ImpactEstimate,
}

impl UsageStats {
    /// Returns the total of all days and surfaces.
    pub(crate) fn all(&self) -> UsageCounts {
        let mut sum = UsageCounts::default();
        let all = self.days.iter().flat_map(|day| day.by_surface.values());
        all.for_each(|it| sum += *it);
        sum
    }

    /// Returns the counts of one surface.
    pub(crate) fn of(&self, surface: UsageSurface) -> UsageCounts {
        let mut sum = UsageCounts::default();
        let all = self
            .days
            .iter()
            .filter_map(|day| day.by_surface.get(&surface));
        all.for_each(|it| sum += *it);
        sum
    }

    fn queries_on(&self, date: Date) -> u64 {
        let day = self.days.iter().find(|day| day.date == date);
        day.map_or(0, |day| {
            day.by_surface.values().map(UsageCounts::queries).sum()
        })
    }
}

/// Renders the dashboard; `is_drawn` adds bars for a terminal of `width` columns.
pub(crate) fn dashboard(stats: &UsageStats, is_drawn: bool, width: usize) -> String {
    let all = stats.all();
    let title = format!("{} to {}, this machine", stats.first, stats.today);
    let mut text = format!("{}\n\n", styled(BOLD, title));
    let mut line = |line: &str| {
        // Trimmed, because rows without an explanation end in spaces.
        let _ = writeln!(text, "{}", truncate_columns(line.trim_end(), width));
    };
    for (name, number, explanation) in summary_rows(&all) {
        line(&stats_row(name, number, &explanation));
    }
    line("");
    if is_drawn && all.queries() > 0 {
        line(&day_chart(stats, width));
        line("");
    }
    let per_surface = UsageSurface::ALL.map(|it| stats.of(it).queries());
    let most = per_surface.into_iter().max().unwrap_or(0);
    for surface in UsageSurface::ALL {
        let queries = stats.of(surface).queries();
        let drawn = if is_drawn {
            draw_bar(queries, most, width)
        } else {
            String::new()
        };
        line(&stats_row(surface.name(), queries, &drawn));
    }
    line("");
    let counts = stats.runs.iter();
    let listed = counts.map(|(outcome, count)| match outcome.as_str() {
        "unknown" => format!("{count} with unknown outcome"),
        _ => format!("{count} {outcome}"),
    });
    let outcomes = listed.collect::<Vec<_>>().join(", ");
    line(&stats_row("runs", stats.runs.values().sum(), &outcomes));
    let impact = impact_text(stats.lift);
    line(&format!("{:<NAME_WIDTH$}{impact}", "impact"));
    text
}

/// Returns the counts of queries and results, one row each.
fn summary_rows(all: &UsageCounts) -> [(&'static str, u64, String); 6] {
    let kinds = format!(
        "{}, {}",
        pluralize(all.searches, "search", "searches"),
        pluralize(all.briefs, "briefing", "briefings")
    );
    let entries = pluralize(all.shown, "entry", "entries");
    let shown = format!("with {entries} of {} relevant hits", all.hits);
    let no_hits = "queries without a relevant hit";
    let withheld = "relevant but hidden, such as entries whose code changed";
    let saved = "saved by limits, detail tiers and summaries";
    [
        ("queries", all.queries(), kinds),
        // Cannot underflow: every empty answer is also counted as a query.
        ("answered", all.queries() - all.empty, shown),
        ("no hits", all.empty, no_hits.to_owned()),
        ("withheld", all.withheld, withheld.to_owned()),
        ("tokens", all.tokens_shown, "shown".to_owned()),
        ("", all.tokens_not_shown, saved.to_owned()),
    ]
}

fn stats_row(name: &str, number: u64, explanation: &str) -> String {
    let number = group_thousands(number);
    format!("{name:<NAME_WIDTH$}{number:>NUMBER_WIDTH$}  {explanation}")
}

/// Draws the number of queries per day; the most recent days if not all fit.
fn day_chart(stats: &UsageStats, width: usize) -> String {
    let span = stats_span(stats.first, stats.today);
    let room = width.saturating_sub(NAME_WIDTH).max(1);
    // The end of the period is the most recent part, so the beginning is cut.
    let days = &span[span.len().saturating_sub(room)..];
    let counts: Vec<u64> = days.iter().map(|date| stats.queries_on(*date)).collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let last = HEIGHTS.len() as u64 - 1;
    let column = |count: &u64| match *count {
        0 => ' ',
        count => {
            // Rounded up, so that a day with a single query is visible.
            let at = (count * last).div_ceil(most);
            HEIGHTS[usize::try_from(at).unwrap_or(0).min(HEIGHTS.len() - 1)]
        }
    };
    let drawn: String = counts.iter().map(column).collect();
    let name = "by day";
    let line = format!("{name:<NAME_WIDTH$}{drawn}");
    let label = format!("  max {most}");
    if line.width() + label.width() <= width {
        format!("{line}{label}")
    } else {
        line
    }
}

/// Draws a bar for `count`, relative to the longest bar for `most`.
fn draw_bar(count: u64, most: u64, width: usize) -> String {
    let room = width
        .saturating_sub(NAME_WIDTH + NUMBER_WIDTH + 2)
        .min(BAR_WIDTH) as u64;
    let length = match most {
        0 => 0,
        // Rounded up, so that a surface with few queries still has a bar.
        most => (count * room).div_ceil(most),
    };
    "█".repeat(usize::try_from(length).unwrap_or(0))
}

/// Returns a number with its thousands separated.
fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            // A space, as in the SI: comma and dot mean different things in different countries.
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats() -> UsageStats {
        let counts = |queries| UsageCounts {
            searches: queries,
            empty: 1,
            hits: 3 * queries,
            shown: 2 * queries,
            tokens_shown: 1234 * queries,
            tokens_not_shown: 10_000,
            ..UsageCounts::default()
        };
        let day = |date: &str, cli, hook| UsageDay {
            date: date.parse().unwrap(),
            by_surface: BTreeMap::from([
                (UsageSurface::Cli, counts(cli)),
                (UsageSurface::Hook, counts(hook)),
            ]),
            is_full: false,
        };
        UsageStats {
            first: "2026-11-10".parse().unwrap(),
            today: "2026-11-16".parse().unwrap(),
            days: vec![day("2026-11-11", 2, 8), day("2026-11-16", 1, 39)],
            runs: BTreeMap::from([("succeeded".to_owned(), 4)]),
            lift: ImpactEstimate::TooFew {
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
             queries          50  50 searches, 0 briefings\n\
             answered         46  with 100 entries of 150 relevant hits\n\
             no hits           4  queries without a relevant hit\n\
             withheld          0  relevant but hidden, such as entries whose code changed\n\
             tokens       61 700  shown\n\
             \u{20}            40 000  saved by limits, detail tiers and summaries\n\n\
             by day     ▃    █  max 40\n\n\
             cli               3  ██\n\
             mcp               0\n\
             hook             47  ██████████████████████████████\n\
             ui                0\n\n\
             runs              4  4 succeeded\n\
             impact    not enough runs yet (n = 0)\n"
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
