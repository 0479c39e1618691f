//! Use of rediscovery: what a workspace does with the belief in an entry.
//!
//! Only descriptive entries have a belief: nobody can find a decision in the code. What a person
//! wrote, confirmed or pinned is never doubted. Incidents are shown at once and never withheld, so
//! the gate leaves them alone; a low belief only ranks them lower.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::entry::Entry;
use crate::ledger::rediscovery::{RediscoveryModel, StoredModel};
use crate::ledger::workspace::WorkspaceState;
use crate::trust::review::HoldoutShare;
use crate::trust::run::holdout::{is_single_agent_claim, is_vouched_for};
use crate::values::kind::EntryKind;

/// Workspace setting that holds the mode.
pub const REDISCOVERY_KEY: &str = "rediscovery";

/// Workspace setting that holds the model fitted to its entries.
pub const REDISCOVERY_MODEL_KEY: &str = "rediscovery-model";

/// Belief below which the gate does not push an entry.
pub const PUSH_MIN: f64 = 0.4;

/// Belief at which an entry counts as decided and is withheld less often.
pub const DECIDED_MIN: f64 = 0.95;

/// Belief below which the gate archives an entry, and the chances it takes.
pub const ARCHIVE_BELOW: f64 = 0.01;
pub const ARCHIVE_CHANCES_MIN: u32 = 20;

/// Holdout share of an undecided entry, in thousandths of agents.
pub const UNDECIDED_SHARE_MILLI: u16 = 300;

/// Holdout of a decided entry: thousandths of runs in which one of several agents does not see it,
/// and thousandths of such runs in which a single agent does not.
pub const DECIDED_RUNS_MILLI: u16 = 300;
pub const DECIDED_ALONE_MILLI: u16 = 333;

/// Steps of expectation maximization when a model is fitted to a workspace.
pub const FIT_STEPS: usize = 20;

/// What a workspace does with the belief in an entry.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RediscoveryMode {
    /// Shows it and changes nothing else.
    #[default]
    Observe,
    /// Multiplies the score by it, and withholds undecided entries more often.
    Rank,
    /// Also pushes no entry below [`PUSH_MIN`]. Searches still find it.
    Gate,
}

/// The independent evidence for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RediscoveryEvidence {
    /// Runs in which an unprimed agent found the claim, of those in which one could have.
    pub found: u32,
    pub chances: u32,
    /// Probability that the claim is true, in [0, 1].
    pub belief: f64,
}

/// The mode of a workspace and its fitted model, if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RediscoveryPolicy {
    pub mode: RediscoveryMode,
    pub fitted: Option<StoredModel>,
}

/// Returns the model that the entries of a workspace suggest; `None` if no entry had a chance.
pub fn fit_to_entries(entries: &[Entry]) -> Option<StoredModel> {
    let traces = entries.iter().filter(|it| !it.is_prescriptive());
    let traces = traces.map(|entry| &entry.tallies.rediscovery);
    // An entry without chances would only repeat the prior.
    let traces: Vec<_> = traces.filter(|it| it.chances > 0).collect();
    let fitted = RediscoveryModel::standard().fit(&traces, FIT_STEPS);
    (!traces.is_empty()).then(|| fitted.to_stored())
}

impl RediscoveryMode {
    /// All modes, from the weakest to the strongest.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Rank, Self::Gate];

    /// Returns the name in commands and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Rank => "rank",
            Self::Gate => "gate",
        }
    }
}

impl RediscoveryPolicy {
    /// The default: observe, with the standard model.
    pub const OBSERVE: Self = Self {
        mode: RediscoveryMode::Observe,
        fitted: None,
    };

    /// Returns the policy of a workspace; the default replaces what is missing or invalid.
    pub fn from_workspace(workspace: &WorkspaceState) -> Self {
        Self {
            mode: workspace.configured(REDISCOVERY_KEY).unwrap_or_default(),
            fitted: workspace.configured(REDISCOVERY_MODEL_KEY),
        }
    }

    /// Returns the model of the workspace.
    pub fn model(&self) -> RediscoveryModel {
        let fitted = self.fitted.as_ref().map(RediscoveryModel::from_stored);
        fitted.unwrap_or(*RediscoveryModel::standard())
    }

    /// Returns the independent evidence for an entry; `None` if its kind prescribes.
    pub fn evidence(&self, entry: &Entry) -> Option<RediscoveryEvidence> {
        let trace = &entry.tallies.rediscovery;
        // A kind that is not known yet may prescribe.
        let describes = entry.kind().is_some_and(|kind| !kind.is_prescriptive());
        describes.then(|| RediscoveryEvidence {
            found: trace.found,
            chances: trace.chances,
            belief: self.model().belief(trace),
        })
    }

    /// Returns the belief in an entry, if evidence may decide about it: no person vouches for it.
    fn doubtful_belief(&self, entry: &Entry) -> Option<f64> {
        let doubtful = Some(entry).filter(|entry| !is_vouched_for(entry))?;
        self.evidence(doubtful).map(|it| it.belief)
    }

    /// Returns whether an entry may be shown to an agent that did not ask for it.
    ///
    /// The claim of a single agent waits for a second finder in every mode. The gate also holds
    /// back entries that are not believed.
    pub fn may_push(&self, entry: &Entry) -> bool {
        let belief = || self.doubtful_belief(entry);
        let is_believed = || belief().is_none_or(|belief| belief >= PUSH_MIN);
        // Missing an incident costs more than reading one.
        let is_gated =
            self.mode == RediscoveryMode::Gate && entry.kind() != Some(EntryKind::Incident);
        !is_single_agent_claim(entry) && (!is_gated || is_believed())
    }

    /// Returns the holdout share of an entry, if the mode decides it: larger while the belief is
    /// undecided, smaller but never zero afterwards.
    pub fn holdout_share(&self, entry: &Entry) -> Option<HoldoutShare> {
        let belief = self.score_factor(entry)?;
        Some(if belief < DECIDED_MIN {
            HoldoutShare::in_every_run(UNDECIDED_SHARE_MILLI)
        } else {
            HoldoutShare {
                runs_milli: DECIDED_RUNS_MILLI,
                alone_milli: DECIDED_ALONE_MILLI,
                // The agent with the smallest draw is enough.
                agents_milli: 1,
            }
        })
    }

    /// Returns whether silence archives an entry, if the mode decides it.
    ///
    /// The gate shows no doubtful entry, so the rule of [`ReviewPolicy`] would never see enough
    /// reviews of it. It would also archive a true claim that agents rarely report.
    ///
    /// [`ReviewPolicy`]: crate::trust::review::ReviewPolicy
    pub fn archives(&self, entry: &Entry) -> Option<bool> {
        match self.mode {
            RediscoveryMode::Observe | RediscoveryMode::Rank => None,
            RediscoveryMode::Gate => {
                let belief = self.doubtful_belief(entry)?;
                let chances = entry.tallies.rediscovery.chances;
                Some(belief < ARCHIVE_BELOW && chances >= ARCHIVE_CHANCES_MIN)
            }
        }
    }

    /// Returns the factor of an entry's score, if the mode has one.
    pub fn score_factor(&self, entry: &Entry) -> Option<f64> {
        match self.mode {
            RediscoveryMode::Observe => None,
            RediscoveryMode::Rank | RediscoveryMode::Gate => self.doubtful_belief(entry),
        }
    }
}

impl fmt::Display for RediscoveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for RediscoveryEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, chances, .. } = self;
        // One is singular in both places, independently.
        let times = if *found == 1 { "time" } else { "times" };
        let all = if *chances == 1 { "chance" } else { "chances" };
        write!(f, "found independently {found} {times} in {chances} {all}")
    }
}
