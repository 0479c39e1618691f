//! Instants and dates as plain values.
//!
//! This module has no clock: callers pass the time. The range is 1970 to 9999, so that every
//! printed form has the same width and sorts like the value.

use std::fmt;
use std::str::FromStr;

use crate::values::text_form::text_form;

/// Milliseconds per day.
pub const DAY_MS: u64 = 86_400_000;

/// An instant in UTC with millisecond precision, printed as `2026-11-14T22:51:03.120Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

/// A calendar day in UTC, printed as `2026-11-14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// The reason a text is not a valid time or date.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error("`{0}` is not a UTC time such as 2026-11-14T22:51:03.120Z")]
    NotATime(String),
    #[error("`{0}` is not a date such as 2026-11-14")]
    NotADate(String),
}

impl Timestamp {
    /// The last instant with a four-digit year.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Creates an instant from milliseconds since 1970, at most [`Self::MAX`].
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.min(Self::MAX.0))
    }

    /// Creates an instant from seconds since 1970, at most [`Self::MAX`].
    pub fn from_seconds(seconds: u64) -> Self {
        Self::from_millis(seconds.saturating_mul(1000))
    }

    /// Returns the milliseconds since 1970.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the day of this instant.
    pub fn date(self) -> Date {
        Date((self.0 / DAY_MS) as u32)
    }

    /// Returns the instant `millis` later, at most [`Self::MAX`].
    pub fn plus_millis(self, millis: u64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Returns the instant `millis` earlier, not before 1970.
    pub fn minus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// Returns the milliseconds from `earlier` to `self`; zero if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Date {
    /// Returns the first instant of the day.
    pub fn start(self) -> Timestamp {
        Timestamp::from_millis(u64::from(self.0) * DAY_MS)
    }

    /// Returns the whole days from `earlier` to `self`; zero if `earlier` is later.
    pub fn days_since(self, earlier: Self) -> u32 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the day `days` earlier, not before 1970.
    pub fn minus_days(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    fn parts(self) -> (u32, u32, u32) {
        // Howard Hinnant's `civil_from_days`: years start in March, so that leap days come last.
        // 719,468 days lie between 0000-03-01 and 1970-01-01; an era of 400 years has 146,097 days.
        let z = self.0 + 719_468;
        let era = z / 146_097;
        let doe = z % 146_097;
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let year = yoe + era * 400 + u32::from(month <= 2);
        (year, month, day)
    }

    fn from_parts(year: u32, month: u32, day: u32) -> Option<Self> {
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        // The inverse, `days_from_civil`.
        let y = if month <= 2 { year - 1 } else { year };
        let era = y / 400;
        let yoe = y % 400;
        let mp = (month + 9) % 12;
        let doy = (153 * mp + 2) / 5 + day - 1;
        let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
        let date = Self((era * 146_097 + doe).checked_sub(719_468)?);
        // Converting back rejects days that do not exist, such as February 29 in a common year.
        (date.parts() == (year, month, day)).then_some(date)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.0 % DAY_MS;
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, milli) = (rest / 1000 % 60, rest % 1000);
        write!(
            f,
            "{}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z",
            self.date()
        )
    }
}

impl FromStr for Date {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse_date(text.as_bytes()).ok_or_else(|| TimeError::NotADate(text.to_owned()))
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Parses the full form, with or without milliseconds.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse_timestamp(text.as_bytes()).ok_or_else(|| TimeError::NotATime(text.to_owned()))
    }
}

fn parse_date(text: &[u8]) -> Option<Date> {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    if year.len() != 4 {
        return None;
    }
    Date::from_parts(digits(year)?, digits(&[*m1, *m2])?, digits(&[*d1, *d2])?)
}

fn parse_timestamp(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let (clock, milli) = match rest {
        [b'T', clock @ .., b'.', a, b, c, b'Z'] => (clock, digits(&[*a, *b, *c])?),
        [b'T', clock @ .., b'Z'] => (clock, 0),
        _ => return None,
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock else {
        return None;
    };
    let (hour, minute) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
    let second = digits(&[*s1, *s2])?;
    // A leap second (60) is rejected: every day has exactly `DAY_MS`.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let millis = u64::from(hour * 3600 + minute * 60 + second) * 1000 + u64::from(milli);
    Some(parse_date(date)?.start().plus_millis(millis))
}

fn digits(text: &[u8]) -> Option<u32> {
    // Not `str::parse`, which accepts a leading `+`. At most four digits, so it cannot overflow.
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + u32::from(byte - b'0'))
    })
}

text_form!(
    Timestamp,
    "Timestamp",
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$"
);
text_form!(Date, "Date", r"^\d{4}-\d{2}-\d{2}$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_range_round_trips() {
        let last = Timestamp::MAX.date();
        for day in (0..=last.0)
            .step_by(17)
            .chain([0, 59, 60, 365, 11_016, last.0])
        {
            let text = Date(day).to_string();
            assert_eq!(text.parse(), Ok(Date(day)), "{text}");
        }
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for bad in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "1969-12-31",
            "26-01-01",
            "2026-1-1",
        ] {
            assert!(bad.parse::<Date>().is_err(), "{bad}");
        }
        for bad in [
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:60Z",
            "",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn moving_stays_within_the_range() {
        let at = Timestamp::from_millis;
        for (from, back, there) in [(5, 0, 5), (5, 2, 3), (5, 5, 0), (5, 6, 0), (0, u64::MAX, 0)] {
            assert_eq!(at(from).minus_millis(back), at(there), "{from} - {back}");
        }
        for (later, earlier, between) in [(5, 2, 3), (5, 5, 0), (2, 5, 0)] {
            assert_eq!(at(later).millis_since(at(earlier)), between);
        }
        assert_eq!(Timestamp::MAX.plus_millis(u64::MAX), Timestamp::MAX);
    }

    #[test]
    fn printed_times_sort_as_values() {
        let a = Timestamp::from_millis(1_700_000_000_123);
        let b = a.plus_millis(1);
        assert!(a.to_string() < b.to_string());
        assert_eq!(a.to_string().parse(), Ok(a));
    }
}
