//! How work ended in a period: sums, and what the rules about work say. Told from events alone and kept nowhere.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ken_core::event;
use ken_core::health::history::{Advice, escalations, recommendations};
use ken_core::health::{Facts, Insight, Outcome, Rule};
use ken_core::time::{DAY_MS, Timestamp};
use serde::Serialize;

use super::{Desk, Failure};

/// Days a period may have.
const DAYS_MAX: u32 = 366;

/// Strategies and threads that are told apart, those with most runs first.
const SLICES_MAX: usize = 50;

/// The rules about work.
const RULES: [Rule; 4] = [
    Rule::StrategyEfficiency,
    Rule::DiminishingRounds,
    Rule::CostOutlier,
    Rule::KnowledgeRoi,
];

/// A number of days up to now: `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    days: u32,
}

/// A text that is no period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no period: say 1d to {DAYS_MAX}d, or 1w to 52w")]
pub struct PeriodError(String);

/// How work ended in a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcomes {
    pub from: Timestamp,
    pub to: Timestamp,
    #[serde(flatten)]
    pub all: Slice,
    /// By how it was gone about.
    pub strategies: BTreeMap<String, Slice>,
    /// By thread of work.
    pub threads: BTreeMap<String, Slice>,
    /// Agents by their part in it.
    pub roles: BTreeMap<String, u64>,
    /// What the four rules about work say; they recommend and never override.
    pub insights: Vec<Insight>,
    /// What a person should look at because work keeps failing.
    pub escalations: Vec<Advice>,
    /// What outcomes say about settings; nothing is set by them.
    pub recommendations: Vec<Advice>,
}

/// Sums over some runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slice {
    pub runs: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub abandoned: u64,
    /// Of those that somebody judged.
    pub success_rate: Option<f64>,
    /// The mean, from 0 to 1, of those that somebody judged.
    pub quality: Option<f64>,
    pub rounds: u64,
    pub cost_micros: u64,
    /// Of the runs whose cost is known.
    pub cost_micros_median: Option<u64>,
    pub duration_ms: u64,
    /// Of the runs of which it is known.
    pub duration_ms_median: Option<u64>,
    /// Entries that were shown, and entries that came out of it.
    pub entries_accessed: u64,
    pub entries_extracted: u64,
}

impl Default for Period {
    fn default() -> Self {
        Self { days: 7 }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}d", self.days)
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let wrong = || {
            PeriodError(ken_core::text::shortened(
                &ken_core::text::visible(text),
                20,
            ))
        };
        let (number, days) = match (text.strip_suffix('d'), text.strip_suffix('w')) {
            (Some(number), _) => (number, 1),
            (None, Some(number)) => (number, 7),
            (None, None) => return Err(wrong()),
        };
        let is_plain = number.bytes().all(|it| it.is_ascii_digit());
        let number = number.parse::<u32>().ok().filter(|_| is_plain);
        let days = number.and_then(|it| it.checked_mul(days));
        let days = days.filter(|it| (1..=DAYS_MAX).contains(it));
        days.map(|days| Self { days }).ok_or_else(wrong)
    }
}

impl Period {
    /// Returns when a period that ends `now` began.
    #[must_use]
    pub fn since(self, now: Timestamp) -> Timestamp {
        now.minus_millis(u64::from(self.days) * DAY_MS)
    }
}

/// Adds up how work ended in a period.
pub async fn outcomes(desk: &mut Desk, period: Period) -> Result<Outcomes, Failure> {
    let since = period.since(desk.now);
    let ended = desk.outcomes_since(Some(since)).await?;
    Ok(added_up(ended, since, desk.now))
}

/// Adds outcomes up that lie in a period.
#[must_use]
pub fn added_up(mut ended: Vec<Outcome>, from: Timestamp, to: Timestamp) -> Outcomes {
    ended.retain(|it| from <= it.at && it.at <= to);
    let mut roles: BTreeMap<String, u64> = BTreeMap::new();
    for (role, count) in ended.iter().flat_map(|it| &it.closed.roles) {
        *roles.entry(role.to_string()).or_default() += u64::from(*count);
    }
    let strategy = |it: &Outcome| it.closed.strategy.as_ref().map(ToString::to_string);
    let thread = |it: &Outcome| it.closed.thread.as_ref().map(ToString::to_string);
    let (strategies, threads) = (sliced(&ended, strategy), sliced(&ended, thread));
    let all = Slice::of(ended.iter());
    let facts = Facts {
        now: to,
        entries: Vec::new(),
        foreign: Vec::new(),
        errors: BTreeMap::new(),
        peers: BTreeMap::new(),
        dismissed: std::collections::BTreeSet::new(),
        outcomes: ended,
        weights: ken_core::score::Weights::default(),
        policy: ken_core::maintenance::Policy::default(),
    };
    Outcomes {
        from,
        to,
        all,
        strategies,
        threads,
        roles,
        insights: RULES.iter().flat_map(|rule| rule.look(&facts)).collect(),
        escalations: escalations(&facts),
        recommendations: recommendations(&facts),
    }
}

/// Returns the sums of outcomes that share a name, of the names with most runs.
fn sliced(ended: &[Outcome], name: impl Fn(&Outcome) -> Option<String>) -> BTreeMap<String, Slice> {
    let mut groups: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for it in ended {
        if let Some(name) = name(it) {
            groups.entry(name).or_default().push(it);
        }
    }
    let mut groups: Vec<(String, Vec<&Outcome>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    groups.truncate(SLICES_MAX);
    let slice = |(name, all): (String, Vec<&Outcome>)| (name, Slice::of(all.into_iter()));
    groups.into_iter().map(slice).collect()
}

impl Slice {
    fn of<'a>(all: impl Iterator<Item = &'a Outcome>) -> Self {
        let mut slice = Self::default();
        let (mut qualities, mut costs, mut durations) = (Vec::new(), Vec::new(), Vec::new());
        for it in all {
            slice.runs += 1;
            match it.closed.outcome {
                event::Outcome::Succeeded => slice.succeeded += 1,
                event::Outcome::Failed => slice.failed += 1,
                event::Outcome::Abandoned => slice.abandoned += 1,
            }
            slice.rounds += u64::from(it.closed.rounds);
            slice.cost_micros += it.closed.cost_micros;
            slice.duration_ms += it.closed.duration_ms;
            slice.entries_accessed += u64::from(it.closed.accessed);
            slice.entries_extracted += u64::from(it.closed.extracted);
            qualities.extend(it.quality());
            durations.extend(Some(it.closed.duration_ms).filter(|it| 0 < *it));
            costs.extend(Some(it.closed.cost_micros).filter(|it| 0 < *it));
        }
        let judged = slice.succeeded + slice.failed;
        slice.success_rate = (0 < judged).then(|| slice.succeeded as f64 / judged as f64);
        let count = qualities.len();
        slice.quality = (0 < count).then(|| qualities.iter().sum::<f64>() / count as f64);
        slice.cost_micros_median = median(costs);
        slice.duration_ms_median = median(durations);
        slice
    }
}

/// Returns the lower of the two in the middle.
fn median(mut all: Vec<u64>) -> Option<u64> {
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use ken_core::event::RunClosed;

    use super::*;

    fn ended(at: u64, outcome: event::Outcome, cost_micros: u64) -> Outcome {
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
        Outcome { closed, at }
    }

    #[test]
    fn ui_08_a_period_is_a_number_of_days_or_weeks() {
        for (text, days) in [("7d", 7), ("1d", 1), ("366d", 366), ("2w", 14)] {
            assert_eq!(text.parse(), Ok(Period { days }), "{text}");
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
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }

    #[test]
    fn ui_08_outcomes_of_the_period_are_added_up_and_no_others() {
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
        let told = added_up(all, from, to);
        let slice = &told.all;
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
        assert_eq!(told.roles, BTreeMap::from([("reviewer".to_owned(), 8)]));
        assert_eq!(told.strategies["solo"], told.all);
        assert!(told.threads.is_empty());
    }

    #[test]
    fn nothing_happened_is_an_answer() {
        let (from, to) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let told = added_up(Vec::new(), from, to);
        assert_eq!(told.all, Slice::default());
        assert!(told.insights.is_empty());
    }

    #[test]
    fn hlt_14_rules_about_work_look_at_the_period() {
        let long = |at| {
            let mut it = ended(at, event::Outcome::Failed, 0);
            it.closed.rounds = 12;
            it
        };
        let told = added_up(
            vec![long(10), long(11)],
            Timestamp::from_millis(0),
            Timestamp::from_millis(20),
        );
        let rules: Vec<Rule> = told.insights.iter().map(|it| it.rule).collect();
        assert_eq!(rules, [Rule::DiminishingRounds]);
    }
}
