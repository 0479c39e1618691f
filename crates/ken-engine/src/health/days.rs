//! Counts of each day, for trends: one line per day in a local file beside the latest report.

use ken_core::health::{HealthFacts, HealthInsight, InsightSeverity};
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Date;
use ken_ledger::{Dir as _, DiskError};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::write_atomically;

/// Path of the file, below `.ken/`.
const DAYS_FILE: &str = ".local/health/days.tsv";

/// Number of days kept.
pub const HEALTH_DAYS_MAX: usize = 400;

/// Counts on the last report of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthDay {
    pub date: Date,
    /// Live entries by status, in the order of [`EntryStatus::ALL`].
    pub by_status: [u64; EntryStatus::ALL.len()],
    /// Confirmations of live entries so far, by provenance.
    pub independent: u64,
    pub manual: u64,
    pub primed: u64,
    /// Insights of the two upper severities.
    pub action_required: u64,
    pub attention: u64,
}

impl HealthDay {
    /// Counts the facts and insights of a report.
    pub(super) fn new(facts: &HealthFacts, insights: &[HealthInsight]) -> Self {
        let mut day = Self {
            date: facts.now.date(),
            ..Self::default()
        };
        for entry in &facts.entries {
            // `EntryStatus::ALL` is in discriminant order.
            day.by_status[entry.status.value as usize] += 1;
            day.independent += u64::from(entry.confirmation.independent);
            day.manual += u64::from(entry.confirmation.manual);
            day.primed += u64::from(entry.confirmation.primed);
        }
        for insight in insights {
            match insight.severity {
                InsightSeverity::ActionRequired => day.action_required += 1,
                InsightSeverity::Attention => day.attention += 1,
                InsightSeverity::Info => {}
            }
        }
        day
    }

    /// Formats the counts as a line.
    fn to_line(self) -> String {
        let rest = [
            self.independent,
            self.manual,
            self.primed,
            self.action_required,
            self.attention,
        ];
        let counts = self.by_status.into_iter().chain(rest);
        let counts: String = counts.map(|count| format!("\t{count}")).collect();
        format!("{}{counts}\n", self.date)
    }

    /// Parses a line; `None` for a torn line or one of another version.
    fn parse(line: &str) -> Option<Self> {
        let (date, counts) = line.split_once('\t')?;
        let counts: Option<Vec<u64>> = counts.split('\t').map(|it| it.parse().ok()).collect();
        let [
            a,
            b,
            c,
            d,
            e,
            independent,
            manual,
            primed,
            action_required,
            attention,
        ] = counts?.try_into().ok()?;
        Some(Self {
            date: date.parse().ok()?,
            by_status: [a, b, c, d, e],
            independent,
            manual,
            primed,
            action_required,
            attention,
        })
    }
}

/// Replaces the line of the day and drops the oldest lines beyond the limit.
pub(super) fn store_day(engine: &Engine, day: HealthDay) -> Result<(), EngineError> {
    let mut days = health_days(engine)?;
    // Nothing to write if the report was computed again.
    if days.last() == Some(&day) {
        return Ok(());
    }
    days.retain(|other| other.date != day.date);
    days.push(day);
    days.sort_by_key(|day| day.date);
    let kept = &days[days.len().saturating_sub(HEALTH_DAYS_MAX)..];
    let text: String = kept.iter().map(|day| day.to_line()).collect();
    let written = write_atomically(&*engine.ken, DAYS_FILE, text.as_bytes());
    Ok(written.map_err(DiskError::on("write", DAYS_FILE))?)
}

/// Returns the stored days, oldest first.
pub(crate) fn health_days(engine: &Engine) -> Result<Vec<HealthDay>, EngineError> {
    let bytes = match engine.ken.read(DAYS_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(DiskError::on("read", DAYS_FILE)(error).into()),
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(HealthDay::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_reads_back_as_it_was_written() {
        let day = HealthDay {
            date: "2026-11-18".parse().unwrap(),
            by_status: [1, 2, 3, 4, 5],
            independent: 6,
            manual: 7,
            primed: 8,
            action_required: 9,
            attention: 10,
        };
        let line = day.to_line();
        assert_eq!(line, "2026-11-18\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n");
        assert_eq!(HealthDay::parse(line.trim_end()), Some(day));
    }

    #[test]
    fn other_lines_are_skipped() {
        for line in [
            "",
            "2026-11-18",
            "2026-11-18\t1\t2",
            "x\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10",
        ] {
            assert_eq!(HealthDay::parse(line), None, "{line}");
        }
    }
}
