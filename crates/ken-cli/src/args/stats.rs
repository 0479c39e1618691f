//! `ken stats`: how far back to look.

use std::str::FromStr;

use clap::Args;
use ken_core::time::Date;
use ken_engine::usage::DAYS_MAX;

/// `ken stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// How far back: days or weeks, such as 7d or 4w, or a day, such as 2026-11-01
    #[arg(long, value_name = "SINCE", default_value = "7d")]
    pub(crate) since: Since,
}

/// How far back to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// So many days, today included.
    Days(u32),
    /// From this day on.
    Date(Date),
}

impl Since {
    /// Returns the first day.
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
