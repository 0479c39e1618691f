//! Health report: rules over the state, each a pure predicate with its thresholds.
//!
//! The rules ask no language model and change nothing. An insight names a problem, the affected
//! entries and the exact command to act on it; three rules also suggest research. Rules about
//! finished work recommend and never override settings. Reading order: [`knowledge`] holds rules 1
//! to 7, [`performance`] 8 to 11, [`advice`] 12 to 14, [`history`] summarizes outcomes, and
//! [`thresholds`] decides when a report demands attention.

pub mod advice;
pub mod drift;
pub mod gates;
pub mod history;
pub mod knowledge;
pub mod maintenance;
pub mod performance;
pub mod thresholds;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::health::maintenance::MaintenancePolicy;
use crate::ledger::entry::{BetaTally, Entry};
use crate::ledger::event::{PairKind, RunClosed};
use crate::ledger::workspace::WorkspaceState;
use crate::retrieval::score::RankingWeights;
use crate::trust::run::closed::PastRun;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::time::Timestamp;

/// Maximum number of insights of one report with a signal for the forager.
pub const FORAGE_SIGNALS_MAX: usize = 3;

/// The input of the rules.
#[derive(Clone, Debug)]
pub struct HealthFacts {
    pub now: Timestamp,
    /// Live entries.
    pub entries: Vec<Entry>,
    /// Entries from peers, live or quarantined.
    pub foreign: Vec<Entry>,
    /// Times each entry was the top hit without answering the query, or was rated unhelpful.
    pub errors: BTreeMap<EntryId, u64>,
    pub peers: BTreeMap<Actor, BetaTally>,
    /// Pairs that a person reviewed and dismissed.
    pub dismissed: BTreeSet<(EntryId, EntryId, PairKind)>,
    /// Outcomes of runs, oldest first.
    pub outcomes: Vec<RunOutcome>,
    pub weights: RankingWeights,
    pub policy: MaintenancePolicy,
}

/// The outcome of one run and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    pub closed: RunClosed,
    pub at: Timestamp,
}

impl From<PastRun> for RunOutcome {
    fn from(PastRun { closed, at, .. }: PastRun) -> Self {
        Self { closed, at }
    }
}

/// The urgency of an insight, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InsightSeverity {
    ActionRequired,
    Attention,
    Info,
}

/// The health rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthRule {
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

/// A problem that one rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HealthInsight {
    /// The number of the rule, from 1 to 14.
    pub number: u8,
    pub rule: HealthRule,
    pub category: &'static str,
    pub severity: InsightSeverity,
    pub what: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryId>,
    /// The exact command that acts on the problem or shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub research: Option<ResearchTask>,
    /// What the forager may look for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forage_signal: Option<ForageSignal>,
}

/// A question for the forager that follows from a gap. It stays on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForageSignal {
    pub question: String,
}

/// A research task that would settle the problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResearchTask {
    pub role: &'static str,
    pub task: String,
    /// The exact command that starts the task.
    pub command: String,
}

/// Every rule, in the order of their numbers.
pub const RULES: [HealthRule; 14] = [
    HealthRule::ConfidenceDecline,
    HealthRule::Contradiction,
    HealthRule::TrustDrop,
    HealthRule::CoverageGap,
    HealthRule::StaleCluster,
    HealthRule::MergeOpportunity,
    HealthRule::Inbound,
    HealthRule::StrategyEfficiency,
    HealthRule::DiminishingRounds,
    HealthRule::CostOutlier,
    HealthRule::KnowledgeRoi,
    HealthRule::Evaporation,
    HealthRule::Branching,
    HealthRule::EarnedAutonomy,
];

/// Evaluates all rules and returns their insights, most urgent first.
pub fn evaluate_rules(facts: &HealthFacts) -> Vec<HealthInsight> {
    let mut found: Vec<HealthInsight> =
        RULES.iter().flat_map(|rule| rule.evaluate(facts)).collect();
    // A stable sort: insights of one rule keep the order of their entries.
    found.sort_by_key(|it| (it.severity, it.number));
    // Attention is the budget of the forager: the most urgent gaps only.
    let signals = found.iter_mut().filter(|it| it.forage_signal.is_some());
    for insight in signals.skip(FORAGE_SIGNALS_MAX) {
        insight.forage_signal = None;
    }
    found
}

impl HealthRule {
    /// Returns the number of the rule, from 1 to 14.
    pub fn number(self) -> u8 {
        // The declaration order of the variants is the numbering.
        self as u8 + 1
    }

    /// Returns the category of its insights.
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

    /// Returns whether its insights carry a research task.
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

    /// Evaluates the rule.
    pub fn evaluate(self, facts: &HealthFacts) -> Vec<HealthInsight> {
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

impl HealthInsight {
    fn new(rule: HealthRule, severity: InsightSeverity, what: String) -> Self {
        Self {
            number: rule.number(),
            rule,
            category: rule.category(),
            severity,
            what,
            entries: Vec::new(),
            command: None,
            research: None,
            forage_signal: None,
        }
    }

    fn with_forage_signal(mut self, question: Option<String>) -> Self {
        self.forage_signal = question.map(|question| ForageSignal { question });
        self
    }

    fn with_entries(mut self, entries: impl IntoIterator<Item = EntryId>) -> Self {
        self.entries = entries.into_iter().collect();
        self
    }

    fn with_command(mut self, command: String) -> Self {
        self.command = Some(command);
        self
    }

    /// Adds a research task, for the three rules that suggest research.
    fn with_research(mut self, what: &str) -> Self {
        let task = maintenance::format_task(self.category, what);
        let command = format!(
            "ken run open --agent researcher,role=researcher --task {}",
            shell_quote(&task)
        );
        let role = "researcher";
        // Dropped for other rules, so that the output cannot disagree with `suggests_research`.
        self.research = self.rule.suggests_research().then_some(ResearchTask {
            role,
            task,
            command,
        });
        self
    }
}

impl HealthFacts {
    /// Assembles the facts from entries of every lifecycle state.
    ///
    /// `missed` lists an entry once per query for which it was the top hit and did not answer.
    pub fn new(
        now: Timestamp,
        mut entries: Vec<Entry>,
        missed: impl IntoIterator<Item = EntryId>,
        outcomes: Vec<RunOutcome>,
        workspace: &WorkspaceState,
    ) -> Self {
        // Collected before the filter below: entries from peers may be quarantined, hence not live.
        let inbound = entries.iter().filter(|entry| entry.is_inbound());
        let foreign = inbound.cloned().collect();
        entries.retain(Entry::is_live);
        Self {
            now,
            errors: count_errors(missed, &entries),
            outcomes,
            weights: RankingWeights::from_workspace(workspace).unwrap_or_default(),
            policy: MaintenancePolicy::from_workspace(workspace),
            peers: workspace.peers.clone(),
            dismissed: workspace.dismissed.clone(),
            entries,
            foreign,
        }
    }

    /// Returns the error count of an entry.
    pub fn errors_of(&self, id: EntryId) -> u64 {
        self.errors.get(&id).copied().unwrap_or_default()
    }
}

/// Counts errors per entry: occurrences in `missed` plus ratings as unhelpful.
///
/// `missed` lists an entry once per query for which it was the top hit and did not answer. Entries
/// without errors are absent from the result.
pub fn count_errors(
    missed: impl IntoIterator<Item = EntryId>,
    entries: &[Entry],
) -> BTreeMap<EntryId, u64> {
    let mut errors: BTreeMap<EntryId, u64> = BTreeMap::new();
    for id in missed {
        *errors.entry(id).or_default() += 1;
    }
    for entry in entries.iter().filter(|it| it.tallies.unhelpful > 0) {
        *errors.entry(entry.id).or_default() += entry.tallies.unhelpful;
    }
    errors
}

/// Returns the top-level tags of an entry, which are its domains.
pub fn domains(entry: &Entry) -> BTreeSet<String> {
    let tags = entry.content.iter().flat_map(|it| &it.tags);
    let first = |tag: &crate::values::text::Tag| {
        let tag = tag.as_str();
        tag.split('/').next().unwrap_or(tag).to_owned()
    };
    tags.map(first).collect()
}

/// Returns the Jaccard index of two sets.
pub fn jaccard<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    let common = one.intersection(other).count();
    let either = one.len() + other.len() - common;
    ratio(common as u64, either as u64)
}

/// Returns `part / whole`, or 0 if `whole` is 0.
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

/// Quotes `text` as one word of a POSIX shell command.
pub fn shell_quote(text: &str) -> String {
    // Tags and actor names come from events of others; unquoted they could inject shell commands.
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Joins ids for a sentence: "A, B and C".
fn join_ids(ids: &[EntryId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    match ids.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
