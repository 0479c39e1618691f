//! JSON of pages: the documents that the command line prints, or the data of the page.

use std::collections::BTreeSet;

use ken_core::json::{EntryJson, EventJson, OpenRunJson, PastRunJson, SearchJson, SearchResult};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::enum_label;
use ken_engine::Engine;
use ken_engine::search::{RelevanceFloor, SearchQuery, SelectionLimits};
use ken_engine::validity::ChangeOrigin;
use ken_engine::verify::VerifyScope;
use ken_ui::address::{BriefQuery, EntryListQuery, InboxLane, PageAddress, RepoPath, RunListQuery};
use ken_ui::view::{EntryRow, PathView, SourceSummary};
use serde::Serialize;
use serde_json::{Value, json};

use super::check_cache::CheckCache;
use super::{code, entries, forage, health, peers, runs};
use crate::commands;
use crate::failure::CommandFailure;
use crate::world::Environment;

fn value(object: &impl Serialize) -> Result<Value, CommandFailure> {
    serde_json::to_value(object).map_err(|error| CommandFailure::json(&error))
}

/// Returns the JSON document of a page.
pub(super) fn document(
    engine: &mut Engine,
    environment: &Environment,
    checks: &CheckCache,
    page: &PageAddress,
) -> Result<Value, CommandFailure> {
    match page {
        PageAddress::Home => home(engine, checks),
        PageAddress::Inbox { .. } => inbox_document(engine, checks),
        PageAddress::Entries(query) if query.words.is_empty() => list(engine, query),
        PageAddress::Entries(query) => search(engine, query),
        PageAddress::Entry { entry } => value(&EntryJson::new(&engine.find(entry)?)),
        PageAddress::History { entry } => {
            let id = engine.find(entry)?.id;
            let events = engine.history(id)?;
            value(&events.iter().map(EventJson::new).collect::<Vec<_>>())
        }
        PageAddress::Neighbors { entry } => neighbors(engine, entry),
        PageAddress::Add { anchor } => {
            let kinds: Vec<&str> = EntryKind::ALL.iter().map(|it| it.name()).collect();
            Ok(json!({ "anchor": anchor, "kinds": kinds }))
        }
        PageAddress::Path { path, revision, .. } => {
            path_document(engine, checks, path, revision.as_deref())
        }
        PageAddress::Brief(query) => brief(engine, environment, query),
        PageAddress::Runs(query) => run_list(engine, query),
        PageAddress::Run { run } => run_document(engine, run),
        PageAddress::CompareRuns { first, second } => Ok(json!({
            "first": run_document(engine, first)?,
            "second": run_document(engine, second)?,
        })),
        PageAddress::Health => value(&engine.health_report()?),
        PageAddress::Stats => {
            let first = health::first_day(engine);
            value(&commands::stats_object(&commands::usage_stats(
                engine, first,
            )?))
        }
        PageAddress::Norms { path } => {
            let view = entries::norms(engine, path.as_ref())?;
            row_documents(view.norms.iter().map(|it| &it.row))
        }
        PageAddress::People => people(engine, checks),
        PageAddress::Forage => forage::document(engine),
        PageAddress::Peers => peers::list_document(environment),
        PageAddress::Peer { peer, query } => peers::document(engine, environment, peer, query),
        PageAddress::Documents => value(&commands::audit_object(&engine.audit(&[])?)),
        PageAddress::Change { base } => {
            let scope = VerifyScope::Change {
                base: base.as_deref(),
                head: None,
                from: ChangeOrigin::Member,
            };
            value(&commands::verify_object(
                &engine.verify(scope, &mut |_, _| ())?,
            ))
        }
        PageAddress::Impact => impact(engine, checks),
        // The router answers with the settings of the browser.
        PageAddress::Settings => Ok(Value::Null),
    }
}

fn entry_document(entry: &Entry) -> Result<Value, CommandFailure> {
    value(&EntryJson::new(entry))
}

/// Returns entries as `ken list` prints them, with their verdicts.
fn row_documents<'a>(rows: impl Iterator<Item = &'a EntryRow>) -> Result<Value, CommandFailure> {
    let documents = rows.map(|row| {
        let verdict = enum_label(&row.facts.validity);
        EntryJson::new(&row.entry).with("validity", verdict.into())
    });
    value(&documents.collect::<Vec<_>>())
}

/// Returns what `ken inbox` prints, from the checks that the page shows.
fn inbox_document(engine: &mut Engine, checks: &CheckCache) -> Result<Value, CommandFailure> {
    let (_, invalid) = checks.invalid(engine)?;
    let invalid = invalid
        .iter()
        .map(|it| (it.entry.clone(), Some(it.validity)));
    let mut stale: Vec<(Entry, Option<Validity>)> = invalid.collect();
    let checked: BTreeSet<EntryId> = stale.iter().map(|(entry, _)| entry.id).collect();
    let by_status = engine.list(&EntryFilter {
        status: Some(EntryStatus::Stale),
        ..EntryFilter::default()
    })?;
    let others = by_status.into_iter().filter(|it| !checked.contains(&it.id));
    stale.extend(others.map(|entry| (entry, None)));
    commands::inbox_document(engine, checks.contradictions(), stale)
}

fn home(engine: &mut Engine, checks: &CheckCache) -> Result<Value, CommandFailure> {
    let view = health::home(engine, checks)?;
    let open = engine.open_runs()?;
    let open: Vec<_> = open.iter().map(OpenRunJson::new).collect();
    let pending = view
        .pending
        .iter()
        .map(|(lane, number)| (InboxLane::name(*lane), *number));
    Ok(json!({
        "counts": view.counts,
        "newest": row_documents(view.newest.iter())?,
        "open_runs": value(&open)?,
        "changed_files": view.changed_files,
        "pending": pending.collect::<std::collections::BTreeMap<_, _>>(),
    }))
}

fn neighbors(engine: &mut Engine, wanted: &str) -> Result<Value, CommandFailure> {
    let view = entries::neighbors(engine, wanted)?;
    let neighbors = view.neighbors.iter().map(
        |it| json!({ "id": it.id, "title": it.title, "relation": it.label, "weight": it.weight }),
    );
    Ok(json!({
        "entry": entry_document(&view.entry)?,
        "anchors": view.anchors,
        "neighbors": neighbors.collect::<Vec<_>>(),
        "shown_runs": view.shown_runs,
    }))
}

fn path_document(
    engine: &mut Engine,
    checks: &CheckCache,
    path: &RepoPath,
    revision: Option<&str>,
) -> Result<Value, CommandFailure> {
    match code::path(engine, checks, path, revision)? {
        PathView::Folder(folder) => {
            let children = folder.children.iter().map(|it| {
                json!({ "path": it.path.as_str(), "is_folder": it.is_folder, "entries": it.entries, "invalid": it.invalid })
            });
            Ok(json!({
                "path": path.as_str(),
                "children": children.collect::<Vec<_>>(),
                "about": row_documents(folder.about.iter())?,
            }))
        }
        PathView::File(file) => {
            let mut notes = Vec::new();
            for note in &file.notes {
                let lines = note.anchor.lines.map(|it| [it.first, it.last]);
                notes.push(json!({
                    "entry": entry_document(&note.row.entry)?,
                    "validity": enum_label(&note.row.facts.validity),
                    "anchor": note.anchor.location.to_string(),
                    "lines": lines,
                    "diff": note.anchor.diff,
                }));
            }
            let symbols = file.symbols.iter();
            let symbols = symbols
                .map(|it| json!({ "name": it.name, "lines": [it.lines.first, it.lines.last] }));
            Ok(json!({
                "path": path.as_str(),
                "revision": revision,
                "lines": file.lines.len(),
                "notes": notes,
                "about": row_documents(file.about.iter())?,
                "norms": row_documents(file.norms.iter())?,
                "symbols": symbols.collect::<Vec<_>>(),
            }))
        }
    }
}

fn brief(
    engine: &mut Engine,
    environment: &Environment,
    query: &BriefQuery,
) -> Result<Value, CommandFailure> {
    match runs::briefing(engine, environment, query)? {
        Some(briefing) => value(&commands::brief_object(&briefing, &briefing.text())),
        None => Ok(Value::Null),
    }
}

fn people(engine: &mut Engine, checks: &CheckCache) -> Result<Value, CommandFailure> {
    let view = checks.people(engine)?;
    let source = |it: &SourceSummary| {
        json!({
            "source": it.source.to_string(),
            "live": it.live,
            "verified": it.verified,
            "retracted_as_false": it.retracted_as_false,
            "all": it.all,
            "is_revoked": it.is_revoked,
        })
    };
    let all = |sources: &[SourceSummary]| sources.iter().map(source).collect::<Vec<_>>();
    Ok(json!({ "authors": all(&view.authors), "origins": all(&view.origins) }))
}

fn impact(engine: &mut Engine, checks: &CheckCache) -> Result<Value, CommandFailure> {
    let view = checks.impact(engine)?;
    let (observed, mut effects) = view
        .observed
        .map_or_else(Default::default, |it| (Some(it.all), it.entries));
    let mut all = vec![value(&commands::impact_object(None, view.all, observed))?];
    for (entry, impact) in &view.entries {
        let observed = effects.remove(&entry.id);
        all.push(value(&commands::impact_object(
            Some(entry),
            *impact,
            observed,
        ))?);
    }
    // The rest was tried in observed sessions only.
    for (id, observed) in effects {
        if let Ok(entry) = engine.entry(id) {
            let impact = entry.tallies.impact();
            let object = commands::impact_object(Some(&entry), impact, Some(observed));
            all.push(value(&object)?);
        }
    }
    Ok(all.into())
}

fn list(engine: &mut Engine, query: &EntryListQuery) -> Result<Value, CommandFailure> {
    let view = entries::list(engine, query)?;
    let all = row_documents(view.rows.iter())?;
    Ok(json!({ "entries": all, "total": view.total, "next": view.next }))
}

fn search(engine: &mut Engine, query: &EntryListQuery) -> Result<Value, CommandFailure> {
    let search = SearchQuery {
        query: query.words.clone(),
        filter: query.filter(),
        floor: RelevanceFloor::Relevant,
        ..SearchQuery::default()
    };
    let answer = engine.search(&search, &mut |_, _| ())?;
    value(&SearchJson::new(SearchResult {
        query: &search.query,
        served_by: answer.served_by.name(),
        hits: &answer.hits,
        withheld: &answer.withheld,
        page: &answer.page(SelectionLimits::default()),
        global: None,
    }))
}

fn run_list(engine: &mut Engine, query: &RunListQuery) -> Result<Value, CommandFailure> {
    let open = engine.open_runs()?;
    let open: Vec<_> = open.iter().map(OpenRunJson::new).collect();
    let mut past = engine.past_runs()?;
    past.retain(|it| {
        query
            .outcome
            .as_ref()
            .is_none_or(|wanted| *wanted == it.outcome_label())
    });
    let past: Vec<_> = past.iter().map(PastRunJson::new).collect();
    Ok(json!({ "open": value(&open)?, "past": value(&past)? }))
}

fn run_document(engine: &mut Engine, id: &str) -> Result<Value, CommandFailure> {
    if let Some(run) = engine.open_runs()?.iter().find(|it| it.id == id) {
        return value(&OpenRunJson::new(run));
    }
    let past = engine.past_runs()?;
    let Some(past) = past.iter().rev().find(|it| it.closed.run == id) else {
        let mut failure = CommandFailure::usage(format!("there is no run `{id}`"));
        failure.code = "not_found";
        return Err(failure);
    };
    let document = PastRunJson::new(past);
    match engine.ended_run(id)? {
        Some(notes) => value(&document.with_activity(&notes)),
        None => value(&document),
    }
}
