//! How often somebody may come: a bucket that fills with time and is emptied by requests.

use std::time::Duration;

/// How often somebody may come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second, in the long run.
    pub per_second: f64,
    /// Requests at once.
    pub burst: f64,
}

impl Default for Rate {
    /// What a few agents at work never reach.
    fn default() -> Self {
        Self {
            per_second: 50.0,
            burst: 200.0,
        }
    }
}

/// What is left of a rate.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    left: f64,
    /// When it was last looked at, since the server began.
    at: Duration,
}

impl Bucket {
    /// A bucket that is full.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self {
            left: rate.burst,
            at: Duration::ZERO,
        }
    }

    /// Takes one request; returns how long to wait where there is none left.
    pub fn take(&mut self, rate: Rate, now: Duration) -> Result<(), Duration> {
        let gained = now.saturating_sub(self.at).as_secs_f64() * rate.per_second;
        self.left = (self.left + gained).min(rate.burst);
        self.at = self.at.max(now);
        if self.left < 1.0 {
            let missing = (1.0 - self.left) / rate.per_second;
            return Err(Duration::from_secs_f64(missing));
        }
        self.left -= 1.0;
        Ok(())
    }

    /// Returns whether a whole burst may come: nothing is left of what was taken.
    #[must_use]
    pub fn is_full(&self, rate: Rate, now: Duration) -> bool {
        let gained = now.saturating_sub(self.at).as_secs_f64() * rate.per_second;
        rate.burst <= self.left + gained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        per_second: 2.0,
        burst: 3.0,
    };

    #[test]
    fn a_bucket_empties_and_fills_with_time() {
        let mut bucket = Bucket::new(RATE);
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
        let mut bucket = Bucket::new(RATE);
        let late = Duration::from_secs(3_600);
        for _ in 0..3 {
            assert_eq!(bucket.take(RATE, late), Ok(()));
        }
        assert!(bucket.take(RATE, late).is_err());
        assert!(bucket.take(RATE, Duration::ZERO).is_err());
    }
}
