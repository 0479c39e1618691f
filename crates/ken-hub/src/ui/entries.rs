//! Lists, entries, their history and neighbors, norms, sources, and the start page of a workspace.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Relation;
use ken_core::ledger::page::FacetCount;
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{RelevanceFloor, SearchQuery};
use ken_core::trust::facts::{EntryFacts, Validity};
use ken_core::trust::run::exposure_log::ExposureRecord;
use ken_core::values::condition::TruthValue;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::enum_label;
use ken_core::values::time::Timestamp;
use ken_ui::address::{EntryListQuery, InboxLane, RepoPath};
use ken_ui::view::{
    AnchorState, AnchorStateKind, ConditionState, ConfidencePoint, EntryListView, EntryRow,
    EntryView, EventLine, Facet, FacetName, HistoryView, HomeView, ListSource, Neighbor,
    NeighborRelation, NeighborsView, NormRow, NormsView, PeopleView, RunSummaryRow, ShownRecord,
    count_statuses, statement_of,
};

use super::source::{WorkspaceSource, is_curator};
use crate::api::{format_position, parse_position};
use crate::service::{self, HubSearchRequest, SelectionLimits, ServiceError, WorkspaceSession};

/// Entries per page.
const PAGE_ENTRIES: u32 = 50;

/// Entries on the start page.
const NEWEST: u32 = 10;

/// Norms on one page.
const NORMS_MAX: u32 = 500;

/// Reason why no anchor is checked.
const NO_CODE: &str = "the hub has no code; `ken verify` in a clone checks it";

/// Returns the row of an entry. A hub cannot check it against the code.
pub(super) fn row(entry: Entry, now: Timestamp) -> EntryRow {
    EntryRow {
        facts: EntryFacts::from_entry(&entry, None, now),
        entry,
        hit: None,
    }
}

/// Returns the search of a list with words.
pub(super) fn search_query(query: &EntryListQuery) -> SearchQuery {
    SearchQuery {
        query: query.words.clone(),
        filter: query.filter(),
        floor: RelevanceFloor::Relevant,
        ..SearchQuery::default()
    }
}

/// Returns a page of a list, or the hits of a search if the query has words.
pub(super) async fn select(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    query: &EntryListQuery,
) -> Result<EntryListView, ServiceError> {
    if query.words.trim().is_empty() {
        list(source, session, query).await
    } else {
        search(source, session, query).await
    }
}

/// Returns one page of a list, with facets on the first page. Lists have one order: newest first.
async fn list(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    query: &EntryListQuery,
) -> Result<EntryListView, ServiceError> {
    let (filter, reader) = (query.filter(), source.reader()?);
    let after = query.after.as_deref();
    let after = after.and_then(|it| parse_position(it).ok());
    let author = query.by.as_deref();
    let author = author.and_then(|it| it.parse::<ContributionSource>().ok());
    let path = query.path.as_deref().map(|it| it.trim_end_matches('/'));
    let page = if author.is_none() && path.is_none() {
        service::list_entries(session, &reader, &filter, after.as_ref(), PAGE_ENTRIES).await?
    } else {
        let wanted = |entry: &Entry| {
            let is_from = author.as_ref().is_none_or(|it| it.matches_entry(entry));
            is_from && path.is_none_or(|path| is_below(entry, path))
        };
        let limit = (PAGE_ENTRIES as usize, wanted);
        service::list_entries_where(session, &reader, &filter, after.as_ref(), limit).await?
    };
    let is_counted = query.after.is_none() && author.is_none() && path.is_none();
    let facets = if is_counted {
        Some(service::count_facets(session, &filter).await?)
    } else {
        None
    };
    let facet = |name, values: &[FacetCount]| {
        let values = values.iter();
        Facet {
            name,
            values: values
                .map(|it| (it.value.clone(), u64::from(it.entries)))
                .collect(),
        }
    };
    let now = session.now();
    Ok(EntryListView {
        rows: page.entries.into_iter().map(|it| row(it, now)).collect(),
        source: ListSource::Listed,
        total: facets.as_ref().map(|it| it.total),
        facets: facets.map_or_else(Vec::new, |it| {
            vec![
                facet(FacetName::Kind, &it.kinds),
                facet(FacetName::Status, &it.statuses),
                facet(FacetName::Tag, &it.tags),
            ]
        }),
        next: page.next.as_ref().map(format_position),
        withheld: Vec::new(),
    })
}

/// Returns whether an entry is anchored in a file or below a folder.
fn is_below(entry: &Entry, path: &str) -> bool {
    let anchors = entry.content.iter().flat_map(|it| &it.anchors);
    let below = |anchor: &str| {
        let rest = anchor.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    anchors.map(|it| it.at.path()).any(below)
}

/// Returns the hits of a search: the relevant entries, or else the nearest ones.
async fn search(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    query: &EntryListQuery,
) -> Result<EntryListView, ServiceError> {
    let mut request = HubSearchRequest {
        search: search_query(query),
        portion: SelectionLimits::default(),
        reader: source.reader()?,
    };
    let mut listed = ListSource::Relevant;
    let mut answer = service::search(session, request.clone()).await?;
    if answer.hits.is_empty() {
        // The last word may be incomplete, so the nearest entries are better than none.
        request.search.floor = RelevanceFloor::None;
        listed = ListSource::Nearest;
        answer = service::search(session, request).await?;
        answer
            .hits
            .retain(|hit| hit.coverage > 0.0 || hit.cosine > 0.0);
    }
    Ok(EntryListView {
        rows: answer.hits.into_iter().map(EntryRow::from_hit).collect(),
        source: listed,
        total: None,
        facets: Vec::new(),
        next: None,
        withheld: answer.withheld,
    })
}

pub(super) async fn entry(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    wanted: &str,
) -> Result<EntryView, ServiceError> {
    let reader = source.reader()?;
    let details = service::show_entry(session, &reader, wanted).await?;
    let events = service::history(session, &reader, wanted).await?;
    let neighbors = load_neighbors(session, &details.entry, &details.conflicts).await?;
    let policy = service::show_review_policy(session).await?;
    let shown = service::list_exposures(session, details.entry.id).await?;
    let entry = details.entry;
    let content = entry.content.as_ref();
    let anchors = content.into_iter().flat_map(|it| &it.anchors);
    let anchors = anchors.map(|it| AnchorState {
        location: it.at.clone(),
        kind: AnchorStateKind::Unverifiable,
        lines: None,
        moved_to: None,
        reason: NO_CODE.to_owned(),
        diff: None,
    });
    let conditions = content.into_iter().flat_map(|it| &it.depends_on);
    let conditions = conditions.map(|it| ConditionState {
        condition: it.to_string(),
        truth: TruthValue::Unverifiable,
        reason: NO_CODE.to_owned(),
    });
    let versions = events.iter().filter(|it| {
        let id = it.event.event.id;
        entry.concurrent.contains(&id)
    });
    let versions = versions.filter_map(|it| {
        let event = &it.event.event;
        Some((event.id, event.by.clone(), statement_of(&event.body)?))
    });
    let approvals = entry.approvals.iter();
    Ok(EntryView {
        facts: EntryFacts::from_entry(&entry, None, details.now),
        anchors: anchors.collect(),
        conditions: conditions.collect(),
        since: entry.exposures_since_confirmation(),
        policy,
        impact: entry.tallies.impact(),
        trend: ConfidencePoint::trend(&entry, Validity::Unverifiable, details.now.date()),
        events: events.iter().rev().map(event_line).collect(),
        neighbors,
        shown: shown.into_iter().map(shown_record).collect(),
        approvals: approvals
            .map(|it| format!("{} by {}", it.on, it.by))
            .collect(),
        versions: versions.collect(),
        suggested_citation: None,
        entry,
    })
}

fn shown_record(record: ExposureRecord) -> ShownRecord {
    ShownRecord {
        at: record.at,
        agent: record.agent,
        run: record.run,
        decision: record.decision,
        was_used: record.was_used,
    }
}

/// Returns the line of an event, with its pusher if that is not the author.
fn event_line(event: &service::HistoryEvent) -> EventLine {
    let mut line = EventLine::from_event(&event.event);
    if let Some((pusher, at)) = &event.arrival {
        let author = event.event.event.by.to_string();
        if *pusher != author {
            line.text = format!("{} (pushed by {pusher}, {at})", line.text);
        }
    }
    line
}

pub(super) async fn history(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    wanted: &str,
) -> Result<HistoryView, ServiceError> {
    let reader = source.reader()?;
    let details = service::show_entry(session, &reader, wanted).await?;
    let events = service::history(session, &reader, wanted).await?;
    let recorded: Vec<_> = events.iter().map(|it| it.event.clone()).collect();
    let mut view = HistoryView::from_events(details.entry, &recorded);
    view.events = events.iter().rev().map(event_line).collect();
    Ok(view)
}

pub(super) async fn neighbors(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    wanted: &str,
) -> Result<NeighborsView, ServiceError> {
    let reader = source.reader()?;
    let details = service::show_entry(session, &reader, wanted).await?;
    let found = load_neighbors(session, &details.entry, &details.conflicts).await?;
    let anchors = details.entry.content.iter().flat_map(|it| &it.anchors);
    Ok(NeighborsView {
        anchors: anchors.map(|it| it.at.to_string()).collect(),
        neighbors: found,
        shown_runs: details.entry.tallies.shown,
        entry: details.entry,
    })
}

/// Returns the entries that an entry names or contradicts, as far as the person may see them.
async fn load_neighbors(
    session: &mut WorkspaceSession,
    entry: &Entry,
    conflicts: &[EntryId],
) -> Result<Vec<Neighbor>, ServiceError> {
    let mut related: Vec<(EntryId, NeighborRelation, String)> = Vec::new();
    for link in &entry.links {
        let relation = match link.rel {
            Relation::Contradicts => NeighborRelation::Contradicts,
            Relation::RelatesTo => NeighborRelation::UsedTogether,
            Relation::DependsOn
            | Relation::DerivedFrom
            | Relation::Refines
            | Relation::Supersedes => NeighborRelation::Source,
        };
        related.push((link.to, relation, enum_label(&link.rel)));
    }
    let promoted = entry.created.iter().flat_map(|it| &it.promoted_from);
    let same = NeighborRelation::StatesTheSame;
    let replaced = entry.merged_into.iter().chain(&entry.superseded_by);
    related.extend(promoted.map(|id| (*id, NeighborRelation::Source, "promoted from".to_owned())));
    related.extend(
        entry
            .merged_from
            .iter()
            .map(|id| (*id, same, "merged from".to_owned())),
    );
    related.extend(replaced.map(|id| (*id, same, "replaced by".to_owned())));
    for id in conflicts {
        if !related.iter().any(|(other, ..)| other == id) {
            let relation = NeighborRelation::Contradicts;
            related.push((*id, relation, "contradicts".to_owned()));
        }
    }
    let ids: BTreeSet<EntryId> = related.iter().map(|(id, ..)| *id).collect();
    let titles = service::load_titles(session, &ids).await?;
    let found = related.into_iter().filter_map(|(id, relation, label)| {
        Some(Neighbor {
            id,
            title: titles.get(&id)?.clone(),
            relation,
            label,
            weight: None,
        })
    });
    Ok(found.collect())
}

pub(super) async fn norms(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    path: Option<&RepoPath>,
) -> Result<NormsView, ServiceError> {
    let filter = EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    };
    let reader = source.reader()?;
    let page = service::list_entries(session, &reader, &filter, None, NORMS_MAX).await?;
    let mut entries = page.entries;
    if let Some(path) = path {
        let wanted = service::show_norms(session, &reader, &[path.to_string()]).await?;
        entries.retain(|it| wanted.shown.iter().any(|shown| shown.id == it.id));
    }
    let now = session.now();
    let norm = |entry: Entry| {
        let approvals = entry.approvals.iter();
        NormRow {
            check: NormRow::check_of(&entry),
            approvals: approvals
                .map(|it| format!("{} by {}", it.on, it.by))
                .collect(),
            row: row(entry, now),
        }
    };
    Ok(NormsView {
        norms: entries.into_iter().map(norm).collect(),
    })
}

pub(super) async fn people(
    _source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<PeopleView, ServiceError> {
    let (entries, workspace) = service::list_sources(session).await?;
    Ok(PeopleView::from_entries(&entries, &workspace))
}

pub(super) async fn home(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<HomeView, ServiceError> {
    let filter = EntryFilter::default();
    let reader = source.reader()?;
    let facets = service::count_facets(session, &filter).await?;
    let newest = service::list_entries(session, &reader, &filter, None, NEWEST).await?;
    let open = service::list_open_runs(session).await?;
    let pending = if is_curator(source) {
        let waiting = service::count_review_items(session).await?;
        vec![(InboxLane::Quarantined, waiting)]
    } else {
        Vec::new()
    };
    let now = session.now();
    Ok(HomeView {
        counts: count_statuses(&facets.statuses),
        newest: newest.entries.into_iter().map(|it| row(it, now)).collect(),
        open_runs: open.iter().map(RunSummaryRow::from_notes).collect(),
        changed_files: Vec::new(),
        days: Vec::new(),
        pending,
    })
}
