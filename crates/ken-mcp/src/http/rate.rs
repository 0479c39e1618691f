//! Rate limit with a token bucket.

use std::time::Duration;

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Sustained requests per second.
    pub per_second: f64,
    /// Maximum requests at once.
    pub burst: f64,
}

impl Default for RateLimit {
    /// A limit that a few agents never reach.
    fn default() -> Self {
        Self {
            per_second: 50.0,
            burst: 200.0,
        }
    }
}

/// The state of a rate limit.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    left: f64,
    /// The time of the last update, measured from the start of the server.
    at: Duration,
}

impl TokenBucket {
    /// Creates a full bucket.
    #[must_use]
    pub fn new(rate: RateLimit) -> Self {
        Self {
            left: rate.burst,
            at: Duration::ZERO,
        }
    }

    /// Takes one request; returns the time to wait if none is left.
    pub fn take(&mut self, rate: RateLimit, now: Duration) -> Result<(), Duration> {
        self.refill(rate, now);
        if self.left < 1.0 {
            let missing = (1.0 - self.left) / rate.per_second;
            return Err(Duration::from_secs_f64(missing));
        }
        self.left -= 1.0;
        Ok(())
    }

    /// Subtracts the cost of a request that was let through. The bucket may go into debt, by at
    /// most one burst, which the following requests wait for.
    pub fn charge(&mut self, rate: RateLimit, now: Duration, cost: f64) {
        self.refill(rate, now);
        self.left = (self.left - cost).max(-rate.burst);
    }

    fn refill(&mut self, rate: RateLimit, now: Duration) {
        let gained = now.saturating_sub(self.at).as_secs_f64() * rate.per_second;
        self.left = (self.left + gained).min(rate.burst);
        // Concurrent requests may arrive with an earlier time; time must not run backwards, or the
        // same interval would be credited twice.
        self.at = self.at.max(now);
    }

    /// Returns true if the bucket is full, so its state need not be kept.
    #[must_use]
    pub fn is_full(&self, rate: RateLimit, now: Duration) -> bool {
        let gained = now.saturating_sub(self.at).as_secs_f64() * rate.per_second;
        self.left + gained >= rate.burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: RateLimit = RateLimit {
        per_second: 2.0,
        burst: 3.0,
    };

    #[test]
    fn a_debt_is_at_most_one_burst() {
        let mut bucket = TokenBucket::new(RATE);
        assert_eq!(bucket.take(RATE, Duration::ZERO), Ok(()));
        bucket.charge(RATE, Duration::ZERO, 1_000.0);
        let wait = bucket.take(RATE, Duration::ZERO);
        assert_eq!(wait, Err(Duration::from_secs(2)));
        assert_eq!(bucket.take(RATE, Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn a_bucket_empties_and_fills_with_time() {
        let mut bucket = TokenBucket::new(RATE);
        for _ in 0..3 {
            assert_eq!(bucket.take(RATE, Duration::ZERO), Ok(()));
        }
        assert!(!bucket.is_full(RATE, Duration::from_millis(1_400)));
        assert!(bucket.is_full(RATE, Duration::from_millis(1_500)));
        assert_eq!(
            bucket.take(RATE, Duration::ZERO),
            Err(Duration::from_millis(500))
        );
        assert_eq!(bucket.take(RATE, Duration::from_millis(500)), Ok(()));
        assert!(bucket.take(RATE, Duration::from_millis(600)).is_err());
    }

    #[test]
    fn it_never_holds_more_than_a_burst_and_time_that_runs_back_gives_nothing() {
        let mut bucket = TokenBucket::new(RATE);
        let late = Duration::from_secs(3_600);
        for _ in 0..3 {
            assert_eq!(bucket.take(RATE, late), Ok(()));
        }
        assert!(bucket.take(RATE, late).is_err());
        assert!(bucket.take(RATE, Duration::ZERO).is_err());
    }
}
