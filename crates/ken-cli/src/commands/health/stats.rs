//! `ken health stats`: counts queries on this machine, their results and the outcomes of runs.

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::Args;
use ken_core::trust::impact::ImpactEstimate;
use ken_core::values::text::enum_label;
use ken_core::values::time::Date;
use ken_engine::Engine;
use ken_engine::usage::{DAYS_MAX, UsageCounts, UsageDay, UsageSurface};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::stats_text::{UsageStats, dashboard};

/// `ken health stats`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken health stats --since 4w")]
pub(crate) struct StatsArgs {
    /// Start of the period: days or weeks, such as 7d or 4w, or a date, such as 2026-11-01
    #[arg(long, value_name = "SINCE", default_value = "7d")]
    pub(crate) since: Since,
}

/// Start of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// A number of days, including today.
    Days(u32),
    /// A date.
    Date(Date),
}

impl Since {
    /// Returns the first day of the period.
    pub(crate) fn first(self, today: Date) -> Date {
        let earliest = today.minus_days(DAYS_MAX);
        match self {
            Self::Days(days) => today.minus_days(days - 1),
            Self::Date(date) => date.clamp(earliest, today),
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(date) = text.parse() {
            return Ok(Self::Date(date));
        }
        let weeks = text.strip_suffix('w').and_then(|it| it.parse::<u32>().ok());
        let weeks = weeks.and_then(|it| it.checked_mul(7));
        let days = text.strip_suffix('d').and_then(|it| it.parse().ok());
        match weeks.or(days) {
            Some(days @ 1..=DAYS_MAX) => Ok(Self::Days(days)),
            Some(_) | None => Err(format!("write 7d, 4w or 2026-11-01, at most {DAYS_MAX}d")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_days_weeks_or_a_date() {
        let today: Date = "2026-11-16".parse().unwrap();
        for (text, first) in [
            ("1d", "2026-11-16"),
            ("7d", "2026-11-10"),
            ("2w", "2026-11-03"),
            ("2026-11-01", "2026-11-01"),
            ("2030-01-01", "2026-11-16"),
        ] {
            let since: Since = text.parse().unwrap();
            assert_eq!(since.first(today).to_string(), first, "{text}");
        }
        for wrong in [
            "",
            "0d",
            "7",
            "d",
            "-1d",
            "1000d",
            "9999999999w",
            "yesterday",
        ] {
            assert!(wrong.parse::<Since>().is_err(), "{wrong}");
        }
    }
}

#[derive(Serialize)]
struct StatsObject<'a> {
    schema: &'static str,
    since: String,
    until: String,
    all: UsageCounts,
    by_surface: BTreeMap<&'static str, UsageCounts>,
    days: Vec<DayObject>,
    /// Runs that ended, by outcome.
    runs: &'a BTreeMap<String, u64>,
    lift: ImpactEstimate,
}

#[derive(Serialize)]
struct DayObject {
    date: String,
    #[serde(flatten)]
    counts: UsageCounts,
    /// Whether there was more than could be counted.
    full: bool,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &StatsArgs,
) -> Result<CommandExit, CommandFailure> {
    let stats = session.read(|engine| {
        let first = args.since.first(engine.now().date());
        usage_stats(engine, first)
    })?;
    if session.is_json() {
        session.printer.json(&stats_object(&stats))?;
        return Ok(CommandExit::Fine);
    }
    let (is_drawn, width) = (session.printer.is_terminal(), session.printer.width());
    session.printer.text(dashboard(&stats, is_drawn, width))?;
    if stats.days.iter().any(|day| day.is_full) {
        session
            .printer
            .note("a day had more queries than Ken counts")?;
    }
    Ok(CommandExit::Fine)
}

/// Returns the usage since a day.
pub(crate) fn usage_stats(engine: &Engine, first: Date) -> Result<UsageStats, CommandFailure> {
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    for run in engine.past_runs()? {
        if first <= run.at.date() {
            let outcome = run.known_outcome();
            let label = outcome.map_or_else(|| "unknown".to_owned(), |it| enum_label(&it));
            *runs.entry(label).or_default() += 1;
        }
    }
    Ok(UsageStats {
        first,
        today: engine.now().date(),
        days: engine.usage_since(first)?,
        runs,
        lift: engine.impact_report()?.all,
    })
}

/// Returns the JSON document of the usage.
pub(crate) fn stats_object(stats: &UsageStats) -> impl Serialize {
    let total = |day: &UsageDay| {
        let mut sum = UsageCounts::default();
        day.by_surface.values().for_each(|it| sum += *it);
        sum
    };
    let days = stats.days.iter().map(|day| DayObject {
        date: day.date.to_string(),
        counts: total(day),
        full: day.is_full,
    });
    let by_surface = UsageSurface::ALL.map(|it| (it.name(), stats.of(it)));
    StatsObject {
        schema: "ken.stats.v1",
        since: stats.first.to_string(),
        until: stats.today.to_string(),
        all: stats.all(),
        by_surface: by_surface.into_iter().collect(),
        days: days.collect(),
        runs: &stats.runs,
        lift: stats.lift,
    }
}

/// Returns every day of a period, for a chart.
pub(crate) fn span(first: Date, today: Date) -> Vec<Date> {
    let count = today.days_since(first);
    (0..=count)
        .rev()
        .map(|back| today.minus_days(back))
        .collect()
}
