//! `ken stats`: what was asked on this machine, what came of it, and how work went.

use std::collections::BTreeMap;

use ken_core::lift::Worth;
use ken_core::text::word;
use ken_core::time::Date;
use ken_engine::usage::{Counts, Day, Surface};
use serde::Serialize;

use super::Session;
use crate::args::StatsArgs;
use crate::failure::{Exit, Failure};
use crate::print::stats_text::{Stats, dashboard};

#[derive(Serialize)]
struct StatsObject<'a> {
    schema: &'static str,
    since: String,
    until: String,
    all: Counts,
    by_surface: BTreeMap<&'static str, Counts>,
    days: Vec<DayObject>,
    /// Runs that ended, by outcome.
    runs: &'a BTreeMap<String, u64>,
    lift: Worth,
}

#[derive(Serialize)]
struct DayObject {
    date: String,
    #[serde(flatten)]
    counts: Counts,
    /// Whether there was more than could be counted.
    full: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &StatsArgs) -> Result<Exit, Failure> {
    let stats = session.read(|engine| {
        let today = engine.now().date();
        let first = args.since.first(today);
        let mut runs: BTreeMap<String, u64> = BTreeMap::new();
        for run in engine.past_runs()? {
            if first <= run.at.date() {
                *runs.entry(word(&run.closed.outcome)).or_default() += 1;
            }
        }
        Ok(Stats {
            first,
            today,
            days: engine.usage(first)?,
            runs,
            lift: engine.lifts()?.all,
        })
    })?;
    if session.is_json() {
        session.printer.json(&object(&stats))?;
        return Ok(Exit::Fine);
    }
    let (is_drawn, width) = (session.printer.is_terminal(), session.printer.width());
    session.printer.text(dashboard(&stats, is_drawn, width))?;
    if stats.days.iter().any(|day| day.is_full) {
        session
            .printer
            .note("more was asked on a day than is counted")?;
    }
    Ok(Exit::Fine)
}

fn object(stats: &Stats) -> StatsObject<'_> {
    let total = |day: &Day| {
        let mut sum = Counts::default();
        day.by.values().for_each(|it| sum += *it);
        sum
    };
    let days = stats.days.iter().map(|day| DayObject {
        date: day.date.to_string(),
        counts: total(day),
        full: day.is_full,
    });
    let by_surface = Surface::ALL.map(|it| (it.name(), stats.of(it)));
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

/// Returns every day of a span, for somebody who draws them side by side.
pub(crate) fn span(first: Date, today: Date) -> Vec<Date> {
    let count = today.days_since(first);
    (0..=count)
        .rev()
        .map(|back| today.minus_days(back))
        .collect()
}
