//! Budgets: how many pages, bytes and how much time a request and a day may take.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::refusal::FetchRefusal;

/// Limits of one request for knowledge and of one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBudget {
    pub pages_per_run: u32,
    pub pages_per_day: u32,
    pub bytes_per_run: u64,
    pub bytes_per_day: u64,
    pub time_per_run: Duration,
    pub time_per_day: Duration,
}

/// Spent part of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    pub pages: u32,
    pub bytes: u64,
    pub millis: u64,
}

impl Default for FetchBudget {
    fn default() -> Self {
        Self {
            // One `llms.txt` and two of the pages that it lists.
            pages_per_run: 3,
            pages_per_day: 60,
            bytes_per_run: 4 << 20,
            bytes_per_day: 60 << 20,
            time_per_run: Duration::from_secs(30),
            time_per_day: Duration::from_mins(10),
        }
    }
}

impl FetchBudget {
    /// Returns a budget with every limit set to the lower one of both.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        Self {
            pages_per_run: self.pages_per_run.min(other.pages_per_run),
            pages_per_day: self.pages_per_day.min(other.pages_per_day),
            bytes_per_run: self.bytes_per_run.min(other.bytes_per_run),
            bytes_per_day: self.bytes_per_day.min(other.bytes_per_day),
            time_per_run: self.time_per_run.min(other.time_per_run),
            time_per_day: self.time_per_day.min(other.time_per_day),
        }
    }

    /// Refuses if nothing is left for another page.
    pub(crate) fn check(&self, run: BudgetUse, day: BudgetUse) -> Result<(), FetchRefusal> {
        if run.pages >= self.pages_per_run || day.pages >= self.pages_per_day {
            return Err(FetchRefusal::PageBudget);
        }
        if run.bytes >= self.bytes_per_run || day.bytes >= self.bytes_per_day {
            return Err(FetchRefusal::ByteBudget);
        }
        let is_spent = |millis: u64, limit: Duration| u128::from(millis) >= limit.as_millis();
        if is_spent(run.millis, self.time_per_run) || is_spent(day.millis, self.time_per_day) {
            return Err(FetchRefusal::TimeBudget);
        }
        Ok(())
    }

    /// Returns the bytes that are left.
    pub(crate) fn bytes_left(&self, run: BudgetUse, day: BudgetUse) -> u64 {
        let run = self.bytes_per_run.saturating_sub(run.bytes);
        run.min(self.bytes_per_day.saturating_sub(day.bytes))
    }
}

impl BudgetUse {
    pub(crate) fn add(&mut self, pages: u32, bytes: u64, millis: u64) {
        self.pages = self.pages.saturating_add(pages);
        self.bytes = self.bytes.saturating_add(bytes);
        self.millis = self.millis.saturating_add(millis);
    }
}
