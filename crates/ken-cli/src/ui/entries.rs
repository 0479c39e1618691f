//! Lists, entries, their history and neighbors, norms and sources.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Relation;
use ken_core::ledger::page::{FacetCount, FacetCounts, PageFilter, PageQuery, PageStart};
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::trust::facts::EntryFacts;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::enum_label;
use ken_core::values::time::Date;
use ken_engine::Engine;
use ken_engine::promotion::ApprovalValidity;
use ken_engine::search::{RelevanceFloor, SearchQuery};
use ken_ui::address::{EntryListQuery, RepoPath};
use ken_ui::view::{
    ConfidencePoint, EntryListView, EntryRow, EntryView, EventLine, Facet, FacetName, HistoryView,
    ListSource, Neighbor, NeighborRelation, NeighborsView, NormRow, NormsView, PeopleView,
    ShownRecord, statement_of,
};

use super::rows::{anchor_state, condition_state, rows};
use crate::commands::versions;
use crate::failure::CommandFailure;

/// Records of who was shown an entry.
const SHOWN_RECORDS_MAX: usize = 50;

/// Entries per page.
const PAGE_ENTRIES: usize = 50;

/// Returns one page of a list, with facets on the first page.
pub(super) fn list(
    engine: &mut Engine,
    query: &EntryListQuery,
) -> Result<EntryListView, CommandFailure> {
    let source = query
        .by
        .as_deref()
        .and_then(|it| it.parse::<ContributionSource>().ok());
    let (author, origin) = match source {
        Some(ContributionSource::Author(author)) => (Some(author), None),
        Some(ContributionSource::Origin(origin)) => (None, Some(origin)),
        None => (None, None),
    };
    let filter = PageFilter {
        entries: query.filter(),
        author,
        origin,
        path: query
            .path
            .as_ref()
            .map(|it| it.trim_end_matches('/').to_owned()),
    };
    let cursor = query.after.as_ref().and_then(|it| it.parse().ok());
    let is_first = cursor.is_none();
    let page = engine.entry_page(&PageQuery {
        filter: filter.clone(),
        sort: query.order,
        start: cursor.map_or(PageStart::First, PageStart::After),
        limit: PAGE_ENTRIES,
        today: engine.now().date(),
    })?;
    let counts = is_first.then(|| engine.facet_counts(&filter)).transpose()?;
    Ok(EntryListView {
        rows: rows(engine, page.entries)?,
        source: ListSource::Listed,
        total: counts.as_ref().map(|it| u64::from(it.total)),
        facets: counts.map(facets).unwrap_or_default(),
        next: page.after.map(|it| it.to_string()),
        withheld: Vec::new(),
    })
}

fn facets(counts: FacetCounts) -> Vec<Facet> {
    let facet = |name, values: Vec<FacetCount>| Facet {
        name,
        values: values
            .into_iter()
            .map(|it| (it.value, u64::from(it.entries)))
            .collect(),
    };
    vec![
        facet(FacetName::Kind, counts.kinds),
        facet(FacetName::Status, counts.statuses),
        facet(FacetName::Path, counts.paths),
        facet(FacetName::Tag, counts.tags),
        facet(FacetName::By, counts.authors),
    ]
}

/// Returns the hits of a search: the relevant entries, or else the nearest ones.
pub(super) fn search(
    engine: &mut Engine,
    query: &EntryListQuery,
) -> Result<EntryListView, CommandFailure> {
    let search = SearchQuery {
        query: query.words.clone(),
        filter: query.filter(),
        floor: RelevanceFloor::Relevant,
        // The last word may be incomplete, so the nearest entries are better than none.
        or_nearest: true,
        ..SearchQuery::default()
    };
    let mut answer = engine.search(&search, &mut |_, _| ())?;
    let mut source = ListSource::Relevant;
    if answer.is_nearest {
        source = ListSource::Nearest;
        answer
            .hits
            .retain(|hit| hit.coverage > 0.0 || hit.cosine > 0.0);
    }
    Ok(EntryListView {
        rows: answer.hits.into_iter().map(EntryRow::from_hit).collect(),
        source,
        total: None,
        facets: Vec::new(),
        next: None,
        withheld: answer.withheld,
    })
}

pub(super) fn entry(engine: &mut Engine, wanted: &str) -> Result<EntryView, CommandFailure> {
    let entry = engine.find(wanted)?;
    let check = engine.check_entry(entry.id)?;
    let report = engine.explain_confidence(&entry)?;
    let events = engine.history(entry.id)?;
    let validity = if entry.is_checkable() {
        check.validity
    } else {
        report.validity
    };
    let versions = versions(engine, &entry)?;
    let versions = versions.iter().map(|it| {
        (
            it.event.id,
            it.event.by.clone(),
            statement_of(&it.event.body).unwrap_or_default(),
        )
    });
    let approvals = engine.approval_validities(&entry)?;
    Ok(EntryView {
        facts: EntryFacts::from_entry(&entry, Some(validity), engine.now()),
        anchors: check.anchors.iter().map(anchor_state).collect(),
        conditions: check.conditions.iter().map(condition_state).collect(),
        since: report.since,
        policy: report.policy,
        impact: report.impact,
        trend: ConfidencePoint::trend(&entry, validity, engine.now().date()),
        events: events.iter().rev().map(EventLine::from_event).collect(),
        neighbors: neighbors_of(engine, &entry)?,
        shown: shown(engine, &entry)?,
        approvals: approvals
            .iter()
            .map(|(it, validity)| approval(&it.by, it.on, validity))
            .collect(),
        versions: versions.collect(),
        suggested_citation: suggested_citation(engine),
        entry,
    })
}

fn approval(by: &ken_core::values::actor::Actor, on: Date, validity: &ApprovalValidity) -> String {
    let note = match validity {
        ApprovalValidity::Unsigned => String::new(),
        ApprovalValidity::Signed => ", signed".to_owned(),
        ApprovalValidity::Invalid(why) => format!(", NOT VALID: {why}"),
    };
    format!("{on} by {by}{note}")
}

/// Returns the citation that suits a decision about the code: the current commit.
pub(super) fn suggested_citation(engine: &Engine) -> Option<String> {
    let commit = engine.head_commit()?;
    Some(format!("commit:{}", commit.get(..12).unwrap_or(&commit)))
}

/// Returns who was shown the entry, newest first.
fn shown(engine: &Engine, entry: &Entry) -> Result<Vec<ShownRecord>, CommandFailure> {
    let log = engine.exposure_log(Some(entry.id), SHOWN_RECORDS_MAX)?;
    let records = log.records.into_iter().map(|it| ShownRecord {
        at: it.at,
        agent: it.agent,
        run: it.run,
        decision: it.decision,
        was_used: it.was_used,
    });
    Ok(records.collect())
}

pub(super) fn history(engine: &mut Engine, wanted: &str) -> Result<HistoryView, CommandFailure> {
    let entry = engine.find(wanted)?;
    let events = engine.history(entry.id)?;
    Ok(HistoryView::from_events(entry, &events))
}

pub(super) fn neighbors(
    engine: &mut Engine,
    wanted: &str,
) -> Result<NeighborsView, CommandFailure> {
    let entry = engine.find(wanted)?;
    let anchors = entry.content.iter().flat_map(|it| &it.anchors);
    Ok(NeighborsView {
        anchors: anchors.map(|it| it.at.to_string()).collect(),
        neighbors: neighbors_of(engine, &entry)?,
        shown_runs: entry.tallies.shown,
        entry,
    })
}

/// Returns the entries that `entry` itself names, with relation, label and weight.
fn named_neighbors(
    entry: &Entry,
    today: Date,
) -> Vec<(EntryId, NeighborRelation, String, Option<f64>)> {
    let mut found = Vec::new();
    for link in &entry.links {
        let relation = match link.rel {
            Relation::Contradicts => NeighborRelation::Contradicts,
            Relation::RelatesTo => NeighborRelation::UsedTogether,
            Relation::DependsOn
            | Relation::DerivedFrom
            | Relation::Refines
            | Relation::Supersedes => NeighborRelation::Source,
        };
        found.push((link.to, relation, enum_label(&link.rel), None));
    }
    let mut add = |id: &EntryId, relation, label: &str, weight| {
        found.push((*id, relation, label.to_owned(), weight));
    };
    for id in entry.created.iter().flat_map(|it| &it.promoted_from) {
        add(id, NeighborRelation::Source, "promoted from", None);
    }
    for id in &entry.merged_from {
        add(id, NeighborRelation::StatesTheSame, "merged from", None);
    }
    for id in entry.merged_into.iter().chain(&entry.superseded_by) {
        add(id, NeighborRelation::StatesTheSame, "replaced by", None);
    }
    for (id, weight) in &entry.tallies.together {
        if let Some(weight) = weight.weight_on(today) {
            let relation = NeighborRelation::UsedTogether;
            add(id, relation, "used together", Some(weight));
        }
    }
    found
}

fn neighbors_of(engine: &mut Engine, entry: &Entry) -> Result<Vec<Neighbor>, CommandFailure> {
    let mut named = named_neighbors(entry, engine.now().date());
    for id in engine.opponents(entry.id)? {
        if !named.iter().any(|(it, ..)| *it == id) {
            let label = "contradicts".to_owned();
            named.push((id, NeighborRelation::Contradicts, label, None));
        }
    }
    let mut found = Vec::new();
    for (id, relation, label, weight) in named {
        // A neighbor may be missing in this branch.
        if let Ok(other) = engine.entry(id) {
            found.push(Neighbor {
                id,
                title: other.title(),
                relation,
                label,
                weight,
            });
        }
    }
    let unweighted = |other: &Entry, relation, label| Neighbor {
        id: other.id,
        title: other.title(),
        relation,
        label,
        weight: None,
    };
    for id in engine.entries_linking_to(entry.id)? {
        let other = engine.entry(id)?;
        let back = other.links.iter().find(|link| link.to == entry.id);
        if let Some(link) = back.filter(|it| it.rel != Relation::Contradicts) {
            let label = enum_label(&link.rel);
            found.push(unweighted(&other, NeighborRelation::Dependent, label));
        }
    }
    for related in engine.related_entries(entry.id)? {
        let other = &related.entry;
        if !found.iter().any(|it| it.id == other.id) {
            let label = enum_label(&related.relation);
            found.push(unweighted(other, NeighborRelation::StatesTheSame, label));
        }
    }
    // The strongest first; the others keep their order.
    found.sort_by(|a, b| b.weight.unwrap_or(0.0).total_cmp(&a.weight.unwrap_or(0.0)));
    Ok(found)
}

pub(super) fn norms(
    engine: &mut Engine,
    path: Option<&RepoPath>,
) -> Result<NormsView, CommandFailure> {
    let filter = EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    };
    let mut entries = engine.list(&filter)?;
    if let Some(path) = path {
        let wanted = engine.norms_for(&[path.to_string()])?;
        let wanted: Vec<_> = wanted.shown.iter().map(|it| it.id).collect();
        entries.retain(|it| wanted.contains(&it.id));
    }
    let mut norms = Vec::new();
    for row in rows(engine, entries)? {
        let approvals = engine.approval_validities(&row.entry)?;
        norms.push(NormRow {
            check: NormRow::check_of(&row.entry),
            approvals: approvals
                .iter()
                .map(|(it, validity)| approval(&it.by, it.on, validity))
                .collect(),
            row,
        });
    }
    Ok(NormsView { norms })
}

pub(super) fn people(engine: &mut Engine) -> Result<PeopleView, CommandFailure> {
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let entries = engine.list(&filter)?;
    let workspace = engine.workspace()?;
    Ok(PeopleView::from_entries(&entries, &workspace))
}

/// Returns the newest live entries.
pub(super) fn newest(engine: &mut Engine, limit: usize) -> Result<Vec<EntryRow>, CommandFailure> {
    let filter = EntryFilter {
        limit: Some(limit),
        ..EntryFilter::default()
    };
    let entries = engine.list(&filter)?;
    rows(engine, entries)
}
