//! What a look at the whole says: fourteen rules over the state, each a pure predicate with its numbers.
//!
//! No model is asked and nothing is changed. An insight says what is so, about which entries, and the exact
//! command to act on it; three rules also say what is worth researching. Rules about work that was done
//! recommend and never override. Reading order: [`knowledge`] rules 1 to 7, [`performance`] 8 to 11,
//! [`advice`] 12 to 14, [`history`] what outcomes add up to, [`thresholds`] when the slow loop speaks.

pub mod advice;
pub mod history;
pub mod knowledge;
pub mod performance;
pub mod thresholds;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::actor::Actor;
use crate::entry::{Entry, Tally};
use crate::event::{PairKind, RunClosed};
use crate::id::EntryId;
use crate::maintenance::Policy;
use crate::run::written::PastRun;
use crate::score::Weights;
use crate::time::Timestamp;

/// Everything the rules may know.
#[derive(Clone, Debug)]
pub struct Facts {
    pub now: Timestamp,
    /// Entries in use.
    pub entries: Vec<Entry>,
    /// What came from peers, in use or waiting for a person.
    pub foreign: Vec<Entry>,
    /// How often an entry came first without answering, or was called unhelpful.
    pub errors: BTreeMap<EntryId, u64>,
    pub peers: BTreeMap<Actor, Tally>,
    /// Pairs somebody looked at and told apart.
    pub dismissed: BTreeSet<(EntryId, EntryId, PairKind)>,
    /// How work ended, in the order it did.
    pub outcomes: Vec<Outcome>,
    pub weights: Weights,
    pub policy: Policy,
}

/// How one run ended, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub closed: RunClosed,
    pub at: Timestamp,
}

impl From<PastRun> for Outcome {
    fn from(PastRun { closed, at, .. }: PastRun) -> Self {
        Self { closed, at }
    }
}

/// How much an insight asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    ActionRequired,
    Attention,
    Info,
}

/// The fourteen rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    ConfidenceDecline,
    Contradiction,
    TrustDrop,
    CoverageGap,
    StaleCluster,
    MergeOpportunity,
    Inbound,
    StrategyEfficiency,
    DiminishingRounds,
    CostOutlier,
    KnowledgeRoi,
    Evaporation,
    Branching,
    EarnedAutonomy,
}

/// What one rule has to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Insight {
    /// Its place among the fourteen, from 1.
    pub number: u8,
    pub rule: Rule,
    pub category: &'static str,
    pub severity: Severity,
    pub what: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryId>,
    /// The exact command that acts on it, or shows what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub research: Option<Research>,
}

/// Work that would settle the matter, ready to be begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Research {
    pub role: &'static str,
    pub task: String,
    /// The exact command that begins it.
    pub command: String,
}

/// Every rule, in the order of their numbers.
pub const RULES: [Rule; 14] = [
    Rule::ConfidenceDecline,
    Rule::Contradiction,
    Rule::TrustDrop,
    Rule::CoverageGap,
    Rule::StaleCluster,
    Rule::MergeOpportunity,
    Rule::Inbound,
    Rule::StrategyEfficiency,
    Rule::DiminishingRounds,
    Rule::CostOutlier,
    Rule::KnowledgeRoi,
    Rule::Evaporation,
    Rule::Branching,
    Rule::EarnedAutonomy,
];

/// Returns what all rules say, the gravest first.
pub fn insights(facts: &Facts) -> Vec<Insight> {
    let mut found: Vec<Insight> = RULES.iter().flat_map(|rule| rule.look(facts)).collect();
    found.sort_by_key(|it| (it.severity, it.number));
    found
}

impl Rule {
    /// Returns its place among the fourteen, from 1.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the word that insights of its sort are filed under.
    pub fn category(self) -> &'static str {
        match self {
            Self::ConfidenceDecline => "confidence",
            Self::Contradiction => "contradiction",
            Self::TrustDrop => "federation",
            Self::CoverageGap => "coverage",
            Self::StaleCluster => "staleness",
            Self::MergeOpportunity => "merge",
            Self::Inbound => "inbound",
            Self::StrategyEfficiency
            | Self::DiminishingRounds
            | Self::CostOutlier
            | Self::KnowledgeRoi => "performance",
            Self::Evaporation => "evaporation",
            Self::Branching => "branching",
            Self::EarnedAutonomy => "autonomy",
        }
    }

    /// Returns whether its insights say what to research.
    pub fn suggests_research(self) -> bool {
        match self {
            Self::Contradiction | Self::CoverageGap | Self::StaleCluster => true,
            Self::ConfidenceDecline
            | Self::TrustDrop
            | Self::MergeOpportunity
            | Self::Inbound
            | Self::StrategyEfficiency
            | Self::DiminishingRounds
            | Self::CostOutlier
            | Self::KnowledgeRoi
            | Self::Evaporation
            | Self::Branching
            | Self::EarnedAutonomy => false,
        }
    }

    /// Returns what the rule has to say about `facts`.
    pub fn look(self, facts: &Facts) -> Vec<Insight> {
        match self {
            Self::ConfidenceDecline => knowledge::confidence_decline(facts),
            Self::Contradiction => knowledge::contradiction(facts),
            Self::TrustDrop => knowledge::trust_drop(facts),
            Self::CoverageGap => knowledge::coverage_gap(facts),
            Self::StaleCluster => knowledge::stale_cluster(facts),
            Self::MergeOpportunity => knowledge::merge_opportunity(facts),
            Self::Inbound => knowledge::inbound(facts),
            Self::StrategyEfficiency => performance::strategy_efficiency(facts),
            Self::DiminishingRounds => performance::diminishing_rounds(facts),
            Self::CostOutlier => performance::cost_outlier(facts),
            Self::KnowledgeRoi => performance::knowledge_roi(facts),
            Self::Evaporation => advice::evaporation(facts),
            Self::Branching => advice::branching(facts),
            Self::EarnedAutonomy => advice::earned_autonomy(facts),
        }
    }
}

impl Insight {
    fn new(rule: Rule, severity: Severity, what: String) -> Self {
        Self {
            number: rule.number(),
            rule,
            category: rule.category(),
            severity,
            what,
            entries: Vec::new(),
            command: None,
            research: None,
        }
    }

    fn about(mut self, entries: impl IntoIterator<Item = EntryId>) -> Self {
        self.entries = entries.into_iter().collect();
        self
    }

    fn command(mut self, command: String) -> Self {
        self.command = Some(command);
        self
    }

    /// Adds work for a researcher; only three rules do.
    fn research(mut self, what: &str) -> Self {
        let task = crate::maintenance::task(self.category, what);
        let command = format!(
            "ken run open --agent researcher,role=researcher --task {}",
            quoted(&task)
        );
        let role = "researcher";
        self.research = self.rule.suggests_research().then_some(Research {
            role,
            task,
            command,
        });
        self
    }
}

impl Facts {
    /// Returns how often an entry disappointed.
    pub fn errors_of(&self, id: EntryId) -> u64 {
        self.errors.get(&id).copied().unwrap_or_default()
    }
}

/// Returns how often entries disappointed: `missed` are those that came first and did not answer, each as often as it did;
/// what `entries` were called unhelpful is added. Those that never did are left out.
pub fn disappointments(
    missed: impl IntoIterator<Item = EntryId>,
    entries: &[Entry],
) -> BTreeMap<EntryId, u64> {
    let mut errors: BTreeMap<EntryId, u64> = BTreeMap::new();
    for id in missed {
        *errors.entry(id).or_default() += 1;
    }
    for entry in entries.iter().filter(|it| 0 < it.tallies.unhelpful) {
        *errors.entry(entry.id).or_default() += entry.tallies.unhelpful;
    }
    errors
}

/// Returns the first part of each tag of an entry: what it is about, broadly.
pub fn domains(entry: &Entry) -> BTreeSet<String> {
    let tags = entry.content.iter().flat_map(|it| &it.tags);
    let first = |tag: &crate::text::Tag| {
        let tag = tag.as_str();
        tag.split('/').next().unwrap_or(tag).to_owned()
    };
    tags.map(first).collect()
}

/// Returns what two sets have in common, as a share of what is in either.
pub fn overlap<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    let common = one.intersection(other).count();
    let either = one.len() + other.len() - common;
    ratio(common as u64, either as u64)
}

/// Returns a share; of nothing there is none.
fn ratio(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => as_float(part) / as_float(whole),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and costs far below 2^53"
)]
fn as_float(count: u64) -> f64 {
    count as f64
}

/// Returns `text` as one word of a shell command.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns ids as a sentence names them.
fn listed(ids: &[EntryId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    match ids.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
