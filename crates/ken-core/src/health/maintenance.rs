//! Maintenance services: when they are due, and the policy that lets them run unasked.
//!
//! There is no timer. A service is due if something changed since its last run and a day has
//! passed; this is checked when work starts and ends. The policy, set by people, decides whether a
//! due service runs unasked; by default it is only suggested. No service asks a language model.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::health::drift::STALE_DAYS;
use crate::ledger::entry::Entry;
use crate::ledger::event::Overlay;
use crate::ledger::workspace::WorkspaceState;
use crate::values::kind::Memory;
use crate::values::status::EntryStatus;
use crate::values::time::{DAY_MS, Date, Timestamp};

/// Workspace setting that holds the policy.
pub const MAINTENANCE_KEY: &str = "maintenance";

/// Prefix of the full name of a service.
pub const SERVICE_PREFIX: &str = "service:consolidation:";

/// Prefix of the strategy of a run that a service made.
pub const STRATEGY_PREFIX: &str = "maintenance/";

/// Minimum time between two runs of a daily service, in milliseconds.
pub const DUE_AFTER_MS: u64 = DAY_MS;

/// Errors from which a rarely shown entry is stale: top hits that did not answer the query.
pub const SWEEP_ERRORS_MIN: u64 = 5;
/// Exposures below which an entry counts as rarely shown.
pub const SWEEP_SHOWN_BELOW: u64 = 3;

/// A maintenance service that can be run by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceService {
    /// Merges certain duplicates and lists probable ones.
    Dedup,
    /// Marks entries stale that are unused or fail to answer.
    StaleSweep,
    /// Finds entries of opposite polarity on one subject.
    Contradiction,
    /// Resets the confidence of stuck entries; only started by hand.
    ConfidenceReset,
    /// Looks for documentation that fills gaps; the results wait for a person.
    Forage,
}

/// A category of work that a policy may allow unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceCategory {
    Dedup,
    StaleSweep,
    Contradiction,
    Distillation,
    Forage,
}

/// The extent of maintenance that runs unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceMode {
    /// None; services are only suggested.
    #[default]
    Suggest,
    /// The listed categories, with a notice.
    AutoNotify,
    /// Every category.
    Autonomous,
}

/// The maintenance policy of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaintenancePolicy {
    pub mode: MaintenanceMode,
    pub auto_actions: BTreeSet<MaintenanceCategory>,
    /// Entries that may be changed unasked per day.
    pub daily_maintenance_budget: u32,
    /// Runs that may be made unasked per day.
    pub max_maintenance_colonies: u32,
}

/// Unasked changes and runs within the last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MaintenanceUsage {
    pub changes: u32,
    pub runs: u32,
}

/// The answer to whether a category may run unasked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenancePermission {
    /// Allowed, up to this number of changed entries.
    Granted(u32),
    /// The policy does not allow the category.
    NotAllowed,
    /// The daily number of changed entries is used up.
    BudgetSpent,
    /// The daily number of runs is used up.
    TooManyRuns,
}

/// The reason why the stale sweep marks an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleReason {
    /// Neither shown nor confirmed for this number of days.
    NotAsked(u32),
    /// Top hit without answering, this number of times.
    NoAnswer(u64),
}

impl Default for MaintenancePolicy {
    fn default() -> Self {
        Self {
            mode: MaintenanceMode::Suggest,
            auto_actions: BTreeSet::new(),
            daily_maintenance_budget: 50,
            max_maintenance_colonies: 3,
        }
    }
}

impl MaintenanceService {
    /// All services.
    pub const ALL: [Self; 5] = [
        Self::Dedup,
        Self::StaleSweep,
        Self::Contradiction,
        Self::ConfidenceReset,
        Self::Forage,
    ];

    /// Returns the short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::StaleSweep => "stale_sweep",
            Self::Contradiction => "contradiction",
            Self::ConfidenceReset => "confidence_reset",
            Self::Forage => "forage",
        }
    }

    /// Returns the name with [`SERVICE_PREFIX`].
    pub fn full_name(self) -> String {
        format!("{SERVICE_PREFIX}{}", self.name())
    }

    /// Returns the policy category; `None` for a service that only a person starts.
    pub fn category(self) -> Option<MaintenanceCategory> {
        match self {
            Self::Dedup => Some(MaintenanceCategory::Dedup),
            Self::StaleSweep => Some(MaintenanceCategory::StaleSweep),
            Self::Contradiction => Some(MaintenanceCategory::Contradiction),
            Self::ConfidenceReset => None,
            Self::Forage => Some(MaintenanceCategory::Forage),
        }
    }

    /// Returns a one-line description.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Dedup => "Merge duplicate entries",
            Self::StaleSweep => "Mark entries stale that are unused or do not answer queries",
            Self::Contradiction => "Find entries that contradict each other",
            Self::ConfidenceReset => "Reset the confidence of entries that are stuck",
            Self::Forage => "Look for documentation about gaps",
        }
    }

    /// Returns whether the service is due: something changed since its last run, a day or more ago.
    pub fn is_due(self, last: Option<Timestamp>, is_dirty: bool, now: Timestamp) -> bool {
        // Services without a category are manual and never become due.
        let is_daily = self.category().is_some();
        let rested = last.is_none_or(|last| last.plus_millis(DUE_AFTER_MS) <= now);
        is_daily && is_dirty && rested
    }
}

impl FromStr for MaintenanceService {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix(SERVICE_PREFIX).unwrap_or(text);
        let known = Self::ALL.into_iter().find(|it| it.name() == name);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is not a valid service; known: {names}")
        })
    }
}

impl fmt::Display for MaintenanceService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl MaintenanceCategory {
    /// All categories.
    pub const ALL: [Self; 5] = [
        Self::Dedup,
        Self::StaleSweep,
        Self::Contradiction,
        Self::Distillation,
        Self::Forage,
    ];

    /// Returns the name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::StaleSweep => "stale_sweep",
            Self::Contradiction => "contradiction",
            Self::Distillation => "distillation",
            Self::Forage => "forage",
        }
    }
}

impl fmt::Display for MaintenanceCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl MaintenancePolicy {
    /// Returns the policy of a workspace, or the default if it is missing or invalid.
    pub fn from_workspace(workspace: &WorkspaceState) -> Self {
        workspace.configured(MAINTENANCE_KEY).unwrap_or_default()
    }

    /// Returns whether the policy allows a category unasked.
    pub fn allows(&self, category: MaintenanceCategory) -> bool {
        match self.mode {
            MaintenanceMode::Suggest => false,
            MaintenanceMode::AutoNotify => self.auto_actions.contains(&category),
            MaintenanceMode::Autonomous => true,
        }
    }

    /// Checks a category against the policy and the daily limits.
    pub fn check_permission(
        &self,
        category: MaintenanceCategory,
        spent: MaintenanceUsage,
    ) -> MaintenancePermission {
        let left = self.daily_maintenance_budget.saturating_sub(spent.changes);
        if !self.allows(category) {
            MaintenancePermission::NotAllowed
        } else if spent.runs >= self.max_maintenance_colonies {
            MaintenancePermission::TooManyRuns
        } else if left == 0 {
            MaintenancePermission::BudgetSpent
        } else {
            MaintenancePermission::Granted(left)
        }
    }

    /// Returns this policy with `category` allowed unasked.
    #[must_use]
    pub fn with_allowed(&self, category: MaintenanceCategory) -> Self {
        let mut policy = self.clone();
        // Starts from the effective set: in mode `suggest` listed actions are not allowed and must
        // not become active as a side effect.
        policy.auto_actions = self.allowed_categories().chain([category]).collect();
        policy.mode = self.mode.max(MaintenanceMode::AutoNotify);
        policy
    }

    /// Returns this policy with `category` only suggested.
    #[must_use]
    pub fn without_allowed(&self, category: MaintenanceCategory) -> Self {
        let mut policy = self.clone();
        policy.auto_actions = self
            .allowed_categories()
            .filter(|it| *it != category)
            .collect();
        // `autonomous` allows every category, so excluding one needs the explicit list.
        policy.mode = if policy.auto_actions.is_empty() {
            MaintenanceMode::Suggest
        } else {
            MaintenanceMode::AutoNotify
        };
        policy
    }

    /// Returns the exact command that sets this mode and these actions.
    pub fn command(&self) -> String {
        let mut command = format!("ken health maintain policy --mode {}", self.mode.name());
        if !self.auto_actions.is_empty() {
            let names: Vec<&str> = self.auto_actions.iter().map(|it| it.name()).collect();
            command += &format!(" --auto {}", names.join(","));
        }
        command
    }

    fn allowed_categories(&self) -> impl Iterator<Item = MaintenanceCategory> {
        MaintenanceCategory::ALL
            .into_iter()
            .filter(|it| self.allows(*it))
    }
}

impl MaintenanceMode {
    /// Returns the name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suggest => "suggest",
            Self::AutoNotify => "auto_notify",
            Self::Autonomous => "autonomous",
        }
    }
}

/// Formats a task so that its text shows that maintenance requested it.
pub fn format_task(category: &str, what: &str) -> String {
    format!("[maintenance:{category}] {what}")
}

/// Returns the reason to mark an entry stale, if any; `holds` is set if the code supports it.
///
/// The sweep covers unpinned descriptive entries of the semantic memory only: a prescriptive entry
/// ends by a review, and episodic entries have no meaningful status. Age makes nothing false:
/// disuse is no reason while the code supports the entry.
pub fn stale_reason(entry: &Entry, errors: u64, holds: bool, today: Date) -> Option<StaleReason> {
    let is_sweepable = entry.is_live()
        && !entry.is_read_only()
        && !entry.is_prescriptive()
        && entry.id.prefix().memory() == Memory::Semantic
        && !entry.has_annotation(Overlay::Pin);
    match entry.status.value {
        EntryStatus::Candidate | EntryStatus::Active | EntryStatus::Verified if is_sweepable => {}
        EntryStatus::Candidate
        | EntryStatus::Active
        | EntryStatus::Verified
        | EntryStatus::Stale
        | EntryStatus::Rejected => return None,
    }
    // Errors alone decide only while hardly any run was shown the entry.
    if errors >= SWEEP_ERRORS_MIN && entry.tallies.shown < SWEEP_SHOWN_BELOW {
        return Some(StaleReason::NoAnswer(errors));
    }
    let silent_days = today.days_since(last_access(entry));
    (!holds && silent_days > STALE_DAYS).then_some(StaleReason::NotAsked(silent_days))
}

/// Returns the day an entry was last shown, used or confirmed, or else proposed.
pub fn last_access(entry: &Entry) -> Date {
    let shown = entry.tallies.days.keys().next_back().copied();
    // `Option` orders `None` below every day, so one known day is enough.
    let last = shown.max(entry.confirmation.last);
    last.unwrap_or_else(|| entry.history.first.wall.date())
}

impl fmt::Display for StaleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked(days) => write!(f, "it was not used for {days} days"),
            Self::NoAnswer(times) => write!(
                f,
                "{times} times it was the top hit without an answer, or marked as unhelpful"
            ),
        }
    }
}
