//! Report on the outcomes of runs in a period: totals and health rules. Computed from events and
//! stored nowhere.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ken_core::health::history::{OutcomeAdvice, escalations, recommendations};
use ken_core::health::{HealthFacts, HealthInsight, HealthRule, RunOutcome};
use ken_core::ledger::event;
use ken_core::values::time::{DAY_MS, Timestamp};
use serde::Serialize;

use super::{ServiceError, WorkspaceSession};

/// Maximum length of a period in days.
const DAYS_MAX: u32 = 366;

/// Maximum number of strategies and threads listed, those with the most runs first.
const SLICES_MAX: usize = 50;

/// Health rules that examine runs.
const RULES: [HealthRule; 4] = [
    HealthRule::StrategyEfficiency,
    HealthRule::DiminishingRounds,
    HealthRule::CostOutlier,
    HealthRule::KnowledgeRoi,
];

/// A number of days that ends now, such as `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportPeriod {
    days: u32,
}

/// Error for an invalid period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid period: use 1d to {DAYS_MAX}d, or 1w to 52w")]
pub struct ReportPeriodError(String);

/// Outcomes of the runs in a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeReport {
    pub from: Timestamp,
    pub to: Timestamp,
    #[serde(flatten)]
    pub all: OutcomeTotals,
    /// Totals per strategy.
    pub strategies: BTreeMap<String, OutcomeTotals>,
    /// Totals per thread.
    pub threads: BTreeMap<String, OutcomeTotals>,
    /// Number of agents per role.
    pub roles: BTreeMap<String, u64>,
    /// Results of the four rules; they recommend and never override settings.
    pub insights: Vec<HealthInsight>,
    /// Repeated failures that need a person's attention.
    pub escalations: Vec<OutcomeAdvice>,
    /// Recommended settings; none is applied automatically.
    pub recommendations: Vec<OutcomeAdvice>,
}

/// Totals over a set of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutcomeTotals {
    pub runs: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub abandoned: u64,
    /// Share of succeeded runs among those that succeeded or failed.
    pub success_rate: Option<f64>,
    /// Mean quality from 0 to 1 of the runs with a quality.
    pub quality: Option<f64>,
    pub rounds: u64,
    pub cost_micros: u64,
    /// Median over the runs with a known cost.
    pub cost_micros_median: Option<u64>,
    pub duration_ms: u64,
    /// Median over the runs with a known duration.
    pub duration_ms_median: Option<u64>,
    /// Entries shown in the runs, and entries created from them.
    pub entries_accessed: u64,
    pub entries_extracted: u64,
}

impl Default for ReportPeriod {
    fn default() -> Self {
        Self { days: 7 }
    }
}

impl fmt::Display for ReportPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}d", self.days)
    }
}

impl FromStr for ReportPeriod {
    type Err = ReportPeriodError;

    fn from_str(text: &str) -> Result<Self, ReportPeriodError> {
        let wrong = || {
            ReportPeriodError(ken_core::values::text::truncate(
                &ken_core::values::text::escape_invisible(text),
                20,
            ))
        };
        let (number, days) = match (text.strip_suffix('d'), text.strip_suffix('w')) {
            (Some(number), _) => (number, 1),
            (None, Some(number)) => (number, 7),
            (None, None) => return Err(wrong()),
        };
        // `u32::from_str` also accepts a leading plus sign.
        let is_plain = number.bytes().all(|it| it.is_ascii_digit());
        let number = number.parse::<u32>().ok().filter(|_| is_plain);
        let days = number.and_then(|it| it.checked_mul(days));
        let days = days.filter(|it| (1..=DAYS_MAX).contains(it));
        days.map(|days| Self { days }).ok_or_else(wrong)
    }
}

impl ReportPeriod {
    /// Returns the start of the period that ends at `now`.
    #[must_use]
    pub fn since(self, now: Timestamp) -> Timestamp {
        now.minus_millis(u64::from(self.days) * DAY_MS)
    }
}

/// Reports the outcomes of a period.
pub async fn report_outcomes(
    session: &mut WorkspaceSession,
    period: ReportPeriod,
) -> Result<OutcomeReport, ServiceError> {
    let since = period.since(session.now);
    let ended = session.outcomes_since(Some(since)).await?;
    Ok(summarize_outcomes(ended, since, session.now))
}

/// Summarizes the outcomes between `from` and `to`.
#[must_use]
pub fn summarize_outcomes(
    mut ended: Vec<RunOutcome>,
    from: Timestamp,
    to: Timestamp,
) -> OutcomeReport {
    ended.retain(|outcome| (from..=to).contains(&outcome.at));
    let mut roles: BTreeMap<String, u64> = BTreeMap::new();
    for (role, count) in ended.iter().flat_map(|it| &it.closed.roles) {
        *roles.entry(role.to_string()).or_default() += u64::from(*count);
    }
    let strategy = |it: &RunOutcome| it.closed.strategy.as_ref().map(ToString::to_string);
    let thread = |it: &RunOutcome| it.closed.thread.as_ref().map(ToString::to_string);
    let (strategies, threads) = (
        totals_by_name(&ended, strategy),
        totals_by_name(&ended, thread),
    );
    let all = OutcomeTotals::from_outcomes(ended.iter());
    // The rules about runs read only the time and the outcomes, so the other facts stay empty.
    let facts = HealthFacts {
        now: to,
        entries: Vec::new(),
        foreign: Vec::new(),
        errors: BTreeMap::new(),
        peers: BTreeMap::new(),
        dismissed: std::collections::BTreeSet::new(),
        outcomes: ended,
        weights: ken_core::retrieval::score::RankingWeights::default(),
        policy: ken_core::health::maintenance::MaintenancePolicy::default(),
    };
    OutcomeReport {
        from,
        to,
        all,
        strategies,
        threads,
        roles,
        insights: RULES
            .iter()
            .flat_map(|rule| rule.evaluate(&facts))
            .collect(),
        escalations: escalations(&facts),
        recommendations: recommendations(&facts),
    }
}

/// Returns totals per name, for the names with the most runs.
fn totals_by_name(
    ended: &[RunOutcome],
    name: impl Fn(&RunOutcome) -> Option<String>,
) -> BTreeMap<String, OutcomeTotals> {
    let mut groups: BTreeMap<String, Vec<&RunOutcome>> = BTreeMap::new();
    for outcome in ended {
        if let Some(name) = name(outcome) {
            groups.entry(name).or_default().push(outcome);
        }
    }
    let mut groups: Vec<(String, Vec<&RunOutcome>)> = groups.into_iter().collect();
    // The sort is stable, so names with equally many runs stay in alphabetical order.
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    groups.truncate(SLICES_MAX);
    let slice = |(name, all): (String, Vec<&RunOutcome>)| {
        (name, OutcomeTotals::from_outcomes(all.into_iter()))
    };
    groups.into_iter().map(slice).collect()
}

impl OutcomeTotals {
    fn from_outcomes<'a>(all: impl Iterator<Item = &'a RunOutcome>) -> Self {
        let mut slice = Self::default();
        let (mut qualities, mut costs, mut durations) = (Vec::new(), Vec::new(), Vec::new());
        for outcome in all {
            slice.runs += 1;
            match outcome.closed.outcome {
                event::Outcome::Succeeded => slice.succeeded += 1,
                event::Outcome::Failed => slice.failed += 1,
                event::Outcome::Abandoned => slice.abandoned += 1,
            }
            slice.rounds += u64::from(outcome.closed.rounds);
            slice.cost_micros += outcome.closed.cost_micros;
            slice.duration_ms += outcome.closed.duration_ms;
            slice.entries_accessed += u64::from(outcome.closed.accessed);
            slice.entries_extracted += u64::from(outcome.closed.extracted);
            qualities.extend(outcome.quality());
            // Zero means that the run did not report the value; it would distort the medians.
            durations.extend(Some(outcome.closed.duration_ms).filter(|ms| *ms > 0));
            costs.extend(Some(outcome.closed.cost_micros).filter(|micros| *micros > 0));
        }
        // Abandoned runs say nothing about success, so they are not part of the rate.
        let judged = slice.succeeded + slice.failed;
        slice.success_rate = (judged > 0).then(|| slice.succeeded as f64 / judged as f64);
        let count = qualities.len();
        slice.quality = (count > 0).then(|| qualities.iter().sum::<f64>() / count as f64);
        slice.cost_micros_median = median(costs);
        slice.duration_ms_median = median(durations);
        slice
    }
}

/// Returns the median; of an even number of values, the lower one in the middle.
fn median(mut all: Vec<u64>) -> Option<u64> {
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use ken_core::ledger::event::RunClosed;

    use super::*;

    fn ended(at: u64, outcome: event::Outcome, cost_micros: u64) -> RunOutcome {
        let closed = RunClosed {
            run: format!("R-{at}"),
            outcome,
            quality_milli: None,
            rounds: 2,
            cost_micros,
            strategy: Some("solo".parse().expect("a tag")),
            agents: Vec::new(),
            roles: BTreeMap::from([("reviewer".parse().expect("a tag"), 2)]),
            thread: None,
            duration_ms: at,
            accessed: 3,
            extracted: 1,
        };
        let at = Timestamp::from_millis(at);
        RunOutcome { closed, at }
    }

    #[test]
    fn a_period_is_a_number_of_days_or_weeks() {
        for (text, days) in [("7d", 7), ("1d", 1), ("366d", 366), ("2w", 14)] {
            assert_eq!(text.parse(), Ok(ReportPeriod { days }), "{text}");
        }
        for text in [
            "",
            "d",
            "7",
            "0d",
            "367d",
            "53w",
            "-1d",
            "+7d",
            "7 d",
            "7D",
            "99999999999d",
            "7dd",
        ] {
            assert!(text.parse::<ReportPeriod>().is_err(), "{text}");
        }
    }

    #[test]
    fn outcomes_of_the_period_are_added_up_and_no_others() {
        use event::Outcome::{Abandoned, Failed, Succeeded};
        let (from, to) = (Timestamp::from_millis(100), Timestamp::from_millis(200));
        let all = vec![
            ended(99, Succeeded, 1_000),
            ended(100, Succeeded, 10),
            ended(150, Failed, 30),
            ended(160, Abandoned, 0),
            ended(200, Succeeded, 20),
            ended(201, Failed, 1_000),
        ];
        let report = summarize_outcomes(all, from, to);
        let slice = &report.all;
        assert_eq!((slice.runs, slice.succeeded, slice.failed), (4, 2, 1));
        assert_eq!(slice.abandoned, 1);
        assert_eq!(slice.success_rate, Some(2.0 / 3.0));
        assert_eq!(
            (slice.cost_micros, slice.cost_micros_median),
            (60, Some(20))
        );
        assert_eq!(
            (slice.duration_ms, slice.duration_ms_median),
            (610, Some(150))
        );
        assert_eq!((slice.rounds, slice.entries_accessed), (8, 12));
        assert_eq!(slice.entries_extracted, 4);
        assert_eq!(report.roles, BTreeMap::from([("reviewer".to_owned(), 8)]));
        assert_eq!(report.strategies["solo"], report.all);
        assert!(report.threads.is_empty());
    }

    #[test]
    fn nothing_happened_is_an_answer() {
        let (from, to) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let report = summarize_outcomes(Vec::new(), from, to);
        assert_eq!(report.all, OutcomeTotals::default());
        assert!(report.insights.is_empty());
    }

    #[test]
    fn rules_about_work_look_at_the_period() {
        let long = |at| {
            let mut outcome = ended(at, event::Outcome::Failed, 0);
            outcome.closed.rounds = 12;
            outcome
        };
        let report = summarize_outcomes(
            vec![long(10), long(11)],
            Timestamp::from_millis(0),
            Timestamp::from_millis(20),
        );
        let rules: Vec<HealthRule> = report.insights.iter().map(|it| it.rule).collect();
        assert_eq!(rules, [HealthRule::DiminishingRounds]);
    }
}
