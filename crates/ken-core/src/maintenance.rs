//! What keeps knowledge in order: which services there are, when they are due and who lets them run.
//!
//! There is no timer. A service is due when something changed since it last ran and a day has passed; that is
//! asked when work begins and when it ends. Whether a due service also runs unasked is a policy people set:
//! by default it is only suggested. Nothing here asks a model.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::drift::STALE_DAYS;
use crate::entry::Entry;
use crate::event::Overlay;
use crate::kind::Memory;
use crate::status::Status;
use crate::time::{DAY_MS, Date, Timestamp};
use crate::workspace::Workspace;

/// The setting of a workspace that holds its policy.
pub const MAINTENANCE_KEY: &str = "maintenance";

/// How the full name of a service begins.
pub const SERVICE_PREFIX: &str = "service:consolidation:";

/// How the strategy of a run begins that a service made.
pub const STRATEGY_PREFIX: &str = "maintenance/";

/// Milliseconds that pass between two runs of a daily service.
pub const DUE_AFTER_MS: u64 = DAY_MS;

/// An entry that came first this often without answering, and was shown to fewer runs than that, is stale.
pub const SWEEP_ERRORS_MIN: u64 = 5;
pub const SWEEP_SHOWN_BELOW: u64 = 3;

/// What can be run by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Makes entries one that say the same without doubt, and lists the others.
    Dedup,
    /// Marks entries stale that nobody asked for, or that came up and did not answer.
    StaleSweep,
    /// Finds entries that speak for and against the same.
    Contradiction,
    /// Begins anew with entries that are stuck; only by hand.
    ConfidenceReset,
}

/// What a policy may let happen unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Dedup,
    StaleSweep,
    Contradiction,
    Distillation,
}

/// How much happens unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing.
    #[default]
    Suggest,
    /// What the policy lists, and it is told.
    AutoNotify,
    /// Everything that can.
    Autonomous,
}

/// What people decided about maintenance here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    pub mode: Mode,
    pub auto_actions: BTreeSet<Category>,
    /// Entries that may be changed unasked within a day.
    pub daily_maintenance_budget: u32,
    /// Runs that may be made unasked within a day.
    pub max_maintenance_colonies: u32,
}

/// What was done unasked within the last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    pub changes: u32,
    pub runs: u32,
}

/// Whether something may happen unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Leave {
    /// It may change so many entries.
    Granted(u32),
    /// The policy does not name it.
    NotAllowed,
    /// The entries that may be changed in a day are.
    BudgetSpent,
    /// The runs that may be made in a day were.
    TooManyRuns,
}

/// Why an entry is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// Nobody was shown it, or found it, for so many days.
    NotAsked(u32),
    /// It came first so often without answering.
    NoAnswer(u64),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Suggest,
            auto_actions: BTreeSet::new(),
            daily_maintenance_budget: 50,
            max_maintenance_colonies: 3,
        }
    }
}

impl Service {
    pub const ALL: [Self; 4] = [
        Self::Dedup,
        Self::StaleSweep,
        Self::Contradiction,
        Self::ConfidenceReset,
    ];

    /// Returns its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::StaleSweep => "stale_sweep",
            Self::Contradiction => "contradiction",
            Self::ConfidenceReset => "confidence_reset",
        }
    }

    /// Returns its name among all services.
    pub fn full_name(self) -> String {
        format!("{SERVICE_PREFIX}{}", self.name())
    }

    /// Returns what a policy calls it; nothing of what only a person starts.
    pub fn category(self) -> Option<Category> {
        match self {
            Self::Dedup => Some(Category::Dedup),
            Self::StaleSweep => Some(Category::StaleSweep),
            Self::Contradiction => Some(Category::Contradiction),
            Self::ConfidenceReset => None,
        }
    }

    /// Returns what it does, in a few words.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Dedup => "Make entries one that say the same",
            Self::StaleSweep => "Mark entries stale that nobody asks for or that do not answer",
            Self::Contradiction => "Find entries that speak for and against the same",
            Self::ConfidenceReset => "Begin anew with entries whose confidence is stuck",
        }
    }

    /// Returns whether it is due: something changed since it last ran, and a day has passed.
    pub fn is_due(self, last: Option<Timestamp>, is_dirty: bool, now: Timestamp) -> bool {
        let is_daily = self.category().is_some();
        let rested = last.is_none_or(|last| last.plus_millis(DUE_AFTER_MS) <= now);
        is_daily && is_dirty && rested
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix(SERVICE_PREFIX).unwrap_or(text);
        let known = Self::ALL.into_iter().find(|it| it.name() == name);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no service; there are {names}")
        })
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Category {
    pub const ALL: [Self; 4] = [
        Self::Dedup,
        Self::StaleSweep,
        Self::Contradiction,
        Self::Distillation,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::StaleSweep => "stale_sweep",
            Self::Contradiction => "contradiction",
            Self::Distillation => "distillation",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Policy {
    /// Returns the policy of a workspace: the default one where its own is missing or not sound.
    pub fn of(workspace: &Workspace) -> Self {
        workspace.configured(MAINTENANCE_KEY).unwrap_or_default()
    }

    /// Returns whether the policy lets something happen unasked.
    pub fn allows(&self, category: Category) -> bool {
        match self.mode {
            Mode::Suggest => false,
            Mode::AutoNotify => self.auto_actions.contains(&category),
            Mode::Autonomous => true,
        }
    }

    /// Returns whether something may happen unasked now, after what was done today.
    pub fn leave(&self, category: Category, spent: Spent) -> Leave {
        let left = self.daily_maintenance_budget.saturating_sub(spent.changes);
        if !self.allows(category) {
            Leave::NotAllowed
        } else if self.max_maintenance_colonies <= spent.runs {
            Leave::TooManyRuns
        } else if left == 0 {
            Leave::BudgetSpent
        } else {
            Leave::Granted(left)
        }
    }

    /// Returns the policy that also lets `category` happen unasked.
    #[must_use]
    pub fn with(&self, category: Category) -> Self {
        let mut policy = self.clone();
        policy.auto_actions = self.allowed().chain([category]).collect();
        policy.mode = self.mode.max(Mode::AutoNotify);
        policy
    }

    /// Returns the policy that only suggests `category`.
    #[must_use]
    pub fn without(&self, category: Category) -> Self {
        let mut policy = self.clone();
        policy.auto_actions = self.allowed().filter(|it| *it != category).collect();
        policy.mode = match policy.auto_actions.is_empty() {
            true => Mode::Suggest,
            false => Mode::AutoNotify,
        };
        policy
    }

    /// Returns the exact command that sets mode and actions.
    pub fn command(&self) -> String {
        let mut command = format!("ken maintain policy --mode {}", self.mode.name());
        if !self.auto_actions.is_empty() {
            let names: Vec<&str> = self.auto_actions.iter().map(|it| it.name()).collect();
            command += &format!(" --auto {}", names.join(","));
        }
        command
    }

    fn allowed(&self) -> impl Iterator<Item = Category> {
        Category::ALL.into_iter().filter(|it| self.allows(*it))
    }
}

impl Mode {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suggest => "suggest",
            Self::AutoNotify => "auto_notify",
            Self::Autonomous => "autonomous",
        }
    }
}

/// Returns the text of a task, by which everybody sees that nobody but maintenance asked for it.
pub fn task(category: &str, what: &str) -> String {
    format!("[maintenance:{category}] {what}")
}

/// Returns why an entry should be marked stale, if so; `holds` is whether the code bears it out.
///
/// Only what agents found is swept: norms are people's, raw signals have no status worth changing, what is pinned
/// stays. And time makes nothing false: where the code bears an entry out, silence is no reason.
pub fn sweep(entry: &Entry, errors: u64, holds: bool, today: Date) -> Option<Stale> {
    let may_go = entry.is_live()
        && !entry.is_read_only()
        && entry.id.prefix().memory() == Memory::Semantic
        && !entry.is_marked(Overlay::Pin);
    match entry.status.value {
        Status::Candidate | Status::Active | Status::Verified if may_go => {}
        Status::Candidate
        | Status::Active
        | Status::Verified
        | Status::Stale
        | Status::Rejected => return None,
    }
    if SWEEP_ERRORS_MIN <= errors && entry.tallies.shown < SWEEP_SHOWN_BELOW {
        return Some(Stale::NoAnswer(errors));
    }
    let silent = today.days_since(last_access(entry));
    (!holds && STALE_DAYS < silent).then_some(Stale::NotAsked(silent))
}

/// Returns the day an entry was last shown, used or found, at first that of its proposal.
pub fn last_access(entry: &Entry) -> Date {
    let shown = entry.tallies.days.keys().next_back().copied();
    let last = shown.max(entry.confirmation.last);
    last.unwrap_or_else(|| entry.history.first.wall.date())
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked(days) => write!(f, "nobody asked for it for {days} days"),
            Self::NoAnswer(times) => write!(f, "it came first {times} times without answering"),
        }
    }
}
