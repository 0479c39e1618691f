//! Manners: how long a host has to be left alone.

use std::time::Duration;

use ureq::http::Response;

use super::{FetchGateway, header};
use crate::policy::FetchUrl;
use crate::refusal::FetchRefusal;

/// Time between requests to a host.
const PACE_MS: u64 = 1_000;
/// Requests that may follow each other at once.
const BURST: u64 = 2;
/// Longest `Crawl-delay` that is waited for.
const CRAWL_DELAY_MAX_SECS: f64 = 10.0;
/// How long a host with a longer one is left alone.
const CRAWL_DELAY_BLOCK_MS: u64 = 24 * 60 * 60 * 1000;
/// Longest `Retry-After` that is waited for.
const RETRY_WAIT_MAX_MS: u64 = 60_000;
/// How long a host is left alone that gives no valid `Retry-After`.
const RETRY_DEFAULT_MS: u64 = 60 * 60 * 1000;
/// Longest time that a `Retry-After` blocks a host.
const RETRY_BLOCK_MAX_MS: u64 = 24 * 60 * 60 * 1000;

impl FetchGateway {
    /// Sends a request; on 429 and 503 waits once as long as the host asks, if that is short.
    pub(super) fn request_with_retry(
        &mut self,
        url: &FetchUrl,
    ) -> Result<Response<ureq::Body>, FetchRefusal> {
        let response = self.request(url)?;
        let Some(wait) = self.retry_wait(&response) else {
            return Ok(response);
        };
        if wait > RETRY_WAIT_MAX_MS {
            return Err(self.block(url.host(), wait));
        }
        // Waiting is charged as time, or a host could keep a run busy with polite answers.
        self.clock.sleep(Duration::from_millis(wait));
        self.spend(0, 0, wait);
        let response = self.request(url)?;
        match self.retry_wait(&response) {
            None => Ok(response),
            // Asked to wait twice: the host does not want this.
            Some(wait) => Err(self.block(url.host(), wait.max(RETRY_DEFAULT_MS))),
        }
    }

    /// Returns the milliseconds that a response asks to wait.
    fn retry_wait(&self, response: &Response<ureq::Body>) -> Option<u64> {
        if !matches!(response.status().as_u16(), 429 | 503) {
            return None;
        }
        let value = header(response.headers(), "retry-after").unwrap_or_default();
        let now = self.clock.now_ms();
        let wait = match value.trim().parse::<u64>() {
            Ok(seconds) => Some(seconds.saturating_mul(1000)),
            Err(_) => parse_http_date(value).map(|at| at.saturating_mul(1000).saturating_sub(now)),
        };
        // Bounded, because a mistake in the header must not block the host for years.
        Some(wait.unwrap_or(RETRY_DEFAULT_MS).min(RETRY_BLOCK_MAX_MS))
    }

    fn block(&mut self, host: &str, wait: u64) -> FetchRefusal {
        let now = self.clock.now_ms();
        let until = now + wait;
        self.state.host(host, now).blocked_until = until;
        FetchRefusal::RetryLater {
            host: host.to_owned(),
            until,
        }
    }

    /// Waits until the host may be asked again.
    pub(super) fn wait_for_turn(&mut self, host: &str) -> Result<(), FetchRefusal> {
        let now = self.clock.now_ms();
        let known = self.state.host(host, now);
        if known.blocked_until > now {
            let (host, until) = (host.to_owned(), known.blocked_until);
            return Err(FetchRefusal::RetryLater { host, until });
        }
        let delay = known.robots.as_ref().and_then(|it| it.crawl_delay);
        if delay.is_some_and(|it| it > CRAWL_DELAY_MAX_SECS) {
            return Err(self.block(host, CRAWL_DELAY_BLOCK_MS));
        }
        // Not negative and at most ten seconds, checked above and when it was parsed.
        let delay = delay.map_or(0, |it| Duration::from_secs_f64(it).as_millis() as u64);
        let (pace, burst) = if delay > PACE_MS {
            (delay, 1)
        } else {
            (PACE_MS, BURST)
        };
        // A leaky bucket: the schedule may lag behind the clock by the burst, and no further.
        let earliest = known.next_free.max(now.saturating_sub(pace * (burst - 1)));
        known.next_free = earliest + pace;
        let wait = earliest.saturating_sub(now);
        if wait > 0 {
            self.clock.sleep(Duration::from_millis(wait));
            self.spend(0, 0, wait);
        }
        Ok(())
    }
}

/// Parses an HTTP date such as `Wed, 21 Oct 2026 07:28:00 GMT` into seconds since the epoch.
fn parse_http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut words = text.split_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|it| *it == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next()?.ok()?);
    let is_date = (1970..=9999).contains(&year) && (1..=31).contains(&day);
    // A minute has 61 seconds where a leap second is inserted.
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the proleptic Gregorian calendar, with years that begin in March.
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted / 400;
    let year_of_era = shifted - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_dates_are_parsed() {
        let table = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2028 23:59:59 GMT", Some(1_835_481_599)),
            ("soon", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:18446744073709551615 GMT", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_http_date(text), expected, "{text}");
        }
    }
}
