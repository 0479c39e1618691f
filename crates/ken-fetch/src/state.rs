//! State that outlives a process: what the day spent, and what each host asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::BudgetUse;
use crate::robots::RobotsRules;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Maximum number of hosts remembered.
const HOSTS_MAX: usize = 200;

/// State of the gateway; the caller stores it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FetchState {
    /// Days since the Unix epoch.
    day: u64,
    spent: BudgetUse,
    hosts: BTreeMap<String, HostState>,
}

/// What is known of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    /// No request before this time in milliseconds.
    pub blocked_until: u64,
    /// Time of the request for which the next must wait: a bucket of two requests.
    pub(crate) next_free: u64,
    pub(crate) robots: Option<RobotsRules>,
    pub(crate) robots_until: u64,
    pub(crate) last_used: u64,
}

impl FetchState {
    /// Returns what the day of `now_ms` spent; a new day begins with nothing.
    pub fn spent(&mut self, now_ms: u64) -> &mut BudgetUse {
        let day = now_ms / DAY_MS;
        // Only forward: a clock that was set back must not grant a new budget.
        if day > self.day {
            self.day = day;
            self.spent = BudgetUse::default();
        }
        &mut self.spent
    }

    /// Returns the state of a host.
    pub(crate) fn host(&mut self, host: &str, now_ms: u64) -> &mut HostState {
        // Every name below an allowed host is a host of its own, so redirects and links could make
        // this state grow without a bound.
        if !self.hosts.contains_key(host) && self.hosts.len() >= HOSTS_MAX {
            let oldest = self.hosts.iter().min_by_key(|(_, it)| it.last_used);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.hosts.remove(&name);
            }
        }
        let state = self.hosts.entry(host.to_owned()).or_default();
        state.last_used = now_ms;
        state
    }

    /// Returns the hosts with their states.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &HostState)> {
        self.hosts
            .iter()
            .map(|(name, state)| (name.as_str(), state))
    }
}
