//! Views made of values of the ledger alone, the same for a repository and for a hub.

use std::collections::BTreeMap;

use ken_core::json::{describe_event, withheld_entries};
use ken_core::ledger::entry::{Entry, EntryTallies};
use ken_core::ledger::event::{EventBody, RecordedEvent, RetractReason};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::retrieval::ranking::SearchHit;
use ken_core::trust::facts::Validity;
use ken_core::trust::posterior::{EvidenceDecay, beta_quantile, compute_posterior_on};
use ken_core::trust::run::closed::PastRun;
use ken_core::trust::run::{AgentActivity, Run};
use ken_core::values::content::KindDetail;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Date;

use super::{
    ConfidencePoint, EntryRow, EventLine, HistoryView, HitScore, NormRow, PeopleView, RunLine,
    RunSummaryRow, SourceSummary, WordingChange,
};

/// Points of the confidence over time.
const TREND_POINTS_MAX: u32 = 60;

impl EntryRow {
    /// Returns the row of a hit.
    pub fn from_hit(hit: SearchHit) -> Self {
        Self {
            entry: hit.entry,
            facts: hit.facts,
            hit: Some(HitScore {
                cosine: hit.cosine,
                coverage: hit.coverage,
                explained: hit.explained,
            }),
        }
    }
}

impl EventLine {
    /// Returns the line of an event.
    pub fn from_event(recorded: &RecordedEvent) -> Self {
        let event = &recorded.event;
        Self {
            id: event.id,
            at: event.at.wall,
            by: event.by.clone(),
            name: event.body.type_name().to_owned(),
            text: describe_event(recorded),
            raw: recorded.line().to_owned(),
        }
    }
}

impl HistoryView {
    /// Returns the history of an entry from its events in canonical order.
    pub fn from_events(entry: Entry, events: &[RecordedEvent]) -> Self {
        let wordings = events.iter().filter_map(|it| {
            Some(WordingChange {
                event: it.event.id,
                at: it.event.at.wall,
                by: it.event.by.clone(),
                statement: statement_of(&it.event.body)?,
            })
        });
        Self {
            wordings: wordings.collect(),
            events: events.iter().rev().map(EventLine::from_event).collect(),
            entry,
        }
    }
}

/// Returns the statement that an event sets, if it sets one.
pub fn statement_of(body: &EventBody) -> Option<String> {
    if let EventBody::Proposed(data) = body {
        return Some(data.content.statement.to_string());
    }
    if let EventBody::Revised(data) = body {
        return data.changes.statement.as_ref().map(ToString::to_string);
    }
    None
}

impl NormRow {
    /// Describes the check that `ken verify` runs for a norm.
    pub fn check_of(entry: &Entry) -> Option<String> {
        let detail = entry.content.as_ref()?.detail.as_ref()?;
        if let KindDetail::Norm(norm) = detail {
            return Some(norm.check.to_string());
        }
        None
    }
}

impl ConfidencePoint {
    /// Returns the confidence over the life of an entry.
    pub fn trend(entry: &Entry, validity: Validity, today: Date) -> Vec<Self> {
        let tallies: &EntryTallies = &entry.tallies;
        let (Some(first), false) = (tallies.days.keys().next().copied(), tallies.days.is_empty())
        else {
            return Vec::new();
        };
        let ageing = EvidenceDecay::for_live(entry.decay_class(), validity);
        let days = today.days_since(first);
        let step = (days / TREND_POINTS_MAX).max(1);
        let ages = (0..=days / step).rev().map(|at| at * step);
        let point = |age: u32| {
            let on = today.minus_days(age);
            let posterior = compute_posterior_on(tallies, ageing, on);
            Self {
                on,
                mean: posterior.mean(),
                low: beta_quantile(posterior, 0.1),
                high: beta_quantile(posterior, 0.9),
            }
        };
        ages.map(point).collect()
    }
}

impl RunSummaryRow {
    /// Returns the row of a run whose notes are known.
    pub fn from_notes(run: &Run) -> Self {
        let sum = |count: fn(&AgentActivity) -> usize| {
            run.agents.values().map(|it| count(it) as u64).sum()
        };
        Self {
            id: run.id.clone(),
            task: run.task.as_ref().map(ToString::to_string),
            agents: run.agents.keys().cloned().collect(),
            at: run.opened,
            last: run.last,
            state: RunLine::Open,
            shown: sum(|it| it.shown.len()),
            withheld: sum(|it| withheld_entries(it).count()),
            used: sum(|it| it.used.len()),
            found: sum(|it| it.findings.len()),
            added: sum(|it| it.added.len()),
            quality_milli: None,
        }
    }

    /// Returns the row of an ended run, with its notes if they are still known.
    pub fn from_past(past: &PastRun, notes: Option<&Run>) -> Self {
        let closed = &past.closed;
        let noted = notes.map(Self::from_notes);
        Self {
            id: closed.run.clone(),
            task: noted.as_ref().and_then(|it| it.task.clone()),
            agents: closed.agents.clone(),
            at: past.at,
            last: past.at,
            state: RunLine::Ended(past.known_outcome()),
            shown: u64::from(closed.accessed),
            withheld: noted.as_ref().map_or(0, |it| it.withheld),
            used: noted.as_ref().map_or(0, |it| it.used),
            found: noted.as_ref().map_or(0, |it| it.found),
            added: u64::from(closed.extracted),
            quality_milli: closed.quality_milli,
        }
    }
}

impl PeopleView {
    /// Counts entries by author and origin, those with the most entries first.
    pub fn from_entries<'e>(
        entries: impl IntoIterator<Item = &'e Entry>,
        workspace: &WorkspaceState,
    ) -> Self {
        let mut authors: BTreeMap<ContributionSource, SourceSummary> = BTreeMap::new();
        let mut origins: BTreeMap<ContributionSource, SourceSummary> = BTreeMap::new();
        for entry in entries {
            let Some(created) = &entry.created else {
                continue;
            };
            let author = ContributionSource::Author(created.by.without_session());
            let origin = ContributionSource::Origin(created.origin);
            for (counts, source) in [(&mut authors, author), (&mut origins, origin)] {
                let summary = counts.entry(source.clone());
                summary
                    .or_insert_with(|| SourceSummary::new(source))
                    .add(entry);
            }
        }
        let finish = |sources: BTreeMap<ContributionSource, SourceSummary>| {
            let mut all: Vec<SourceSummary> = sources.into_values().collect();
            for it in &mut all {
                it.is_revoked = workspace.revoked.contains(&it.source);
            }
            all.sort_by_key(|it| std::cmp::Reverse(it.all));
            all
        };
        Self {
            authors: finish(authors),
            origins: finish(origins),
        }
    }
}

impl SourceSummary {
    /// Returns the summary of a source without entries.
    pub fn new(source: ContributionSource) -> Self {
        Self {
            source,
            live: 0,
            verified: 0,
            retracted_as_false: 0,
            all: 0,
            is_revoked: false,
        }
    }

    /// Counts an entry.
    pub fn add(&mut self, entry: &Entry) {
        self.all += 1;
        self.live += u64::from(entry.is_live());
        self.verified += u64::from(entry.is_live() && entry.status.value == EntryStatus::Verified);
        let is_false = entry
            .retracted
            .as_ref()
            .is_some_and(|it| it.reason == RetractReason::False);
        self.retracted_as_false += u64::from(is_false);
    }
}
