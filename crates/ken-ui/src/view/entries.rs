//! Data of lists, entries and their history.

use std::collections::BTreeMap;

use ken_core::ledger::entry::{Entry, ExposureCount};
use ken_core::ledger::page::FacetCount;
use ken_core::ledger::source::ContributionSource;
use ken_core::retrieval::score::{ExplainedScore, HiddenReason};
use ken_core::trust::facts::EntryFacts;
use ken_core::trust::impact::ImpactEstimate;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::exposure_log::ExposureDecision;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::status::EntryStatus;
use ken_core::values::time::{Date, Timestamp};

use super::code::{AnchorState, ConditionState};
use super::runs::RunSummaryRow;

/// An entry with the facts that every list shows.
#[derive(Clone, Debug)]
pub struct EntryRow {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// Set if the entry is the hit of a search.
    pub hit: Option<HitScore>,
}

/// The reasons for a hit.
#[derive(Clone, Debug)]
pub struct HitScore {
    pub cosine: f64,
    pub coverage: f64,
    pub explained: ExplainedScore,
}

/// The way the rows of a list were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSource {
    /// All that match the filter.
    Listed,
    /// Relevant hits of a search.
    Relevant,
    /// Nothing was relevant: the nearest entries.
    Nearest,
}

/// One page of a list, or the hits of a search.
#[derive(Clone, Debug)]
pub struct EntryListView {
    pub rows: Vec<EntryRow>,
    pub source: ListSource,
    /// Number of all matches, if it is known.
    pub total: Option<u64>,
    /// Counts by facet, on the first page only.
    pub facets: Vec<Facet>,
    /// The cursor of the next page.
    pub next: Option<String>,
    pub withheld: Vec<(EntryId, HiddenReason)>,
}

/// A property of entries to filter by, with the number of entries per value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    pub name: FacetName,
    pub values: Vec<(String, u64)>,
}

/// Properties that lists are filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FacetName {
    Kind,
    Status,
    Tag,
    By,
    Path,
}

/// One entry with everything that is shown about it.
#[derive(Clone, Debug)]
pub struct EntryView {
    pub entry: Entry,
    pub facts: EntryFacts,
    pub anchors: Vec<AnchorState>,
    pub conditions: Vec<ConditionState>,
    /// Exposures since the last confirmation, and the policy that counts them.
    pub since: ExposureCount,
    pub policy: ReviewPolicy,
    pub impact: ImpactEstimate,
    /// Confidence over the life of the entry.
    pub trend: Vec<ConfidencePoint>,
    /// The newest events first.
    pub events: Vec<EventLine>,
    pub neighbors: Vec<Neighbor>,
    /// Who was shown the entry, newest first.
    pub shown: Vec<ShownRecord>,
    /// Approvals with their validity, described.
    pub approvals: Vec<String>,
    /// Statements of concurrent versions.
    pub versions: Vec<(EventId, Actor, String)>,
    /// A citation that suits a decision about the code: the current commit.
    pub suggested_citation: Option<String>,
}

/// The confidence in an entry on one day, with its 80 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidencePoint {
    pub on: Date,
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// One event of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    pub id: EventId,
    pub at: Timestamp,
    pub by: Actor,
    /// The type of the event, such as `entry.confirmed`.
    pub name: String,
    pub text: String,
    /// The line in the ledger.
    pub raw: String,
}

/// One record of who was shown an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRecord {
    pub at: Timestamp,
    pub agent: Actor,
    pub run: String,
    pub decision: ExposureDecision,
    /// Set if the agent reported that it used the entry.
    pub was_used: bool,
}

/// The history of an entry, and how its statement changed.
#[derive(Clone, Debug)]
pub struct HistoryView {
    pub entry: Entry,
    pub events: Vec<EventLine>,
    /// The statements in the order they were written.
    pub wordings: Vec<WordingChange>,
}

/// A statement of an entry and the event that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordingChange {
    pub event: EventId,
    pub at: Timestamp,
    pub by: Actor,
    pub statement: String,
}

/// The entries, sources and runs around one entry.
#[derive(Clone, Debug)]
pub struct NeighborsView {
    pub entry: Entry,
    pub anchors: Vec<String>,
    pub neighbors: Vec<Neighbor>,
    /// Number of runs that showed the entry.
    pub shown_runs: u64,
}

/// An entry that is related to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    pub id: EntryId,
    pub title: String,
    pub relation: NeighborRelation,
    /// The relation in words, such as `refines`.
    pub label: String,
    /// The strength of a co-occurrence.
    pub weight: Option<f64>,
}

/// The lane of a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighborRelation {
    /// The entry rests on it.
    Source,
    /// It rests on the entry.
    Dependent,
    Contradicts,
    StatesTheSame,
    UsedTogether,
}

/// The start page.
#[derive(Clone, Debug, Default)]
pub struct HomeView {
    /// Number of live entries by status.
    pub counts: BTreeMap<&'static str, u64>,
    pub newest: Vec<EntryRow>,
    pub open_runs: Vec<RunSummaryRow>,
    pub changed_files: Vec<String>,
    /// Usage of the last days, oldest first.
    pub days: Vec<super::health::DayCount>,
    /// Items of the inbox by lane, as far as they are known without a check of the code.
    pub pending: Vec<(crate::address::InboxLane, u64)>,
}

/// Norms that apply to a path, or all.
#[derive(Clone, Debug, Default)]
pub struct NormsView {
    pub norms: Vec<NormRow>,
}

/// A norm with what checks and approves it.
#[derive(Clone, Debug)]
pub struct NormRow {
    pub row: EntryRow,
    /// The check that `ken verify` runs, described.
    pub check: Option<String>,
    pub approvals: Vec<String>,
}

/// Authors and origins of entries.
#[derive(Clone, Debug, Default)]
pub struct PeopleView {
    pub authors: Vec<SourceSummary>,
    pub origins: Vec<SourceSummary>,
}

/// The entries of one author or origin.
#[derive(Clone, Debug)]
pub struct SourceSummary {
    pub source: ContributionSource,
    pub live: u64,
    pub verified: u64,
    pub retracted_as_false: u64,
    pub all: u64,
    pub is_revoked: bool,
}

/// The answer to "what would an agent be shown?".
#[derive(Clone, Debug, Default)]
pub struct BriefView {
    /// The text exactly as an agent receives it; `None` before the form was sent.
    pub text: Option<String>,
    pub tokens: usize,
    /// The entries in the text, with their titles.
    pub shown: Vec<(EntryId, String)>,
    /// Entries without room, and withheld ones, with the reason.
    pub left_out: Vec<(EntryId, String)>,
}

/// Returns the number of entries per status, also of statuses without any.
#[must_use]
pub fn count_statuses(found: &[FacetCount]) -> BTreeMap<&'static str, u64> {
    let number = |status: EntryStatus| {
        let found = found.iter().find(|it| it.value == status.name());
        (status.name(), found.map_or(0, |it| u64::from(it.entries)))
    };
    EntryStatus::ALL.into_iter().map(number).collect()
}
