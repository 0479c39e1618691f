//! JSON of a workspace's pages: the documents of the command line and the API.

use ken_core::json::{EntryJson, EventJson, OpenRunJson, PastRunJson};
use ken_core::ledger::entry::Entry;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::enum_label;
use ken_ui::address::{EntryListQuery, InboxLane, PageAddress, RepoPath, RunListQuery};
use ken_ui::hub::ReviewView;
use ken_ui::view::{EntryRow, SourceSummary};
use serde::Serialize;
use serde_json::{Value, json};

use super::source::WorkspaceSource;
use super::{entries, runs};
use crate::service::{self, ServiceError, WorkspaceSession};

fn value(object: &impl Serialize) -> Value {
    // Documents contain only strings, numbers, lists and maps with string keys.
    serde_json::to_value(object).expect("a document serializes to JSON")
}

/// Returns entries as `ken list` prints them, with their verdicts.
fn row_documents<'a>(rows: impl IntoIterator<Item = &'a EntryRow>) -> Value {
    let documents = rows.into_iter().map(|row| {
        let verdict = enum_label(&row.facts.validity);
        value(&EntryJson::new(&row.entry).with("validity", verdict.into()))
    });
    documents.collect()
}

/// Returns the JSON document of a page.
pub(super) async fn document(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    page: &PageAddress,
) -> Result<Value, ServiceError> {
    match page {
        PageAddress::Home => home(source, session).await,
        PageAddress::Entries(query) => list(source, session, query).await,
        PageAddress::Entry { entry } => {
            let details = service::show_entry(session, &source.reader()?, entry).await?;
            Ok(value(&EntryJson::new(&details.entry)))
        }
        PageAddress::History { entry } => history(source, session, entry).await,
        PageAddress::Neighbors { entry } => neighbors(source, session, entry).await,
        PageAddress::Add { anchor } => {
            let kinds: Vec<&str> = EntryKind::ALL.iter().map(|it| it.name()).collect();
            Ok(json!({ "anchor": anchor, "kinds": kinds }))
        }
        PageAddress::Brief(query) => {
            let view = runs::brief(source, session, query).await?;
            let ids = |list: &[(_, String)]| list.iter().map(|it| value(&it.0)).collect::<Value>();
            Ok(json!({
                "text": view.text,
                "tokens": view.tokens,
                "shown": ids(&view.shown),
                "left_out": ids(&view.left_out),
            }))
        }
        PageAddress::Runs(query) => run_list(session, query).await,
        PageAddress::Run { run } => run_document(session, run).await,
        PageAddress::CompareRuns { first, second } => Ok(json!({
            "first": run_document(session, first).await?,
            "second": run_document(session, second).await?,
        })),
        PageAddress::Health => {
            let report = service::report_health(session).await?;
            Ok(json!({
                "insights": value(&report.insights),
                "outcomes": value(&report.outcomes),
                "escalations": value(&report.escalations),
                "recommendations": value(&report.recommendations),
            }))
        }
        PageAddress::Stats => {
            let view = runs::stats(source, session).await?;
            let totals = view.totals.into_iter();
            Ok(totals
                .map(|(name, text)| (name, Value::from(text)))
                .collect())
        }
        PageAddress::Norms { path } => norms(source, session, path.as_ref()).await,
        PageAddress::People => people(source, session).await,
        PageAddress::Impact => impact(source, session).await,
        PageAddress::Inbox { .. }
        | PageAddress::Path { .. }
        | PageAddress::Documents
        | PageAddress::Change { .. }
        | PageAddress::Forage
        | PageAddress::Peers
        | PageAddress::Peer { .. }
        | PageAddress::Settings => Err(ServiceError::invalid_request(
            "a hub has no such page; run `ken ui` in a clone",
        )),
    }
}

async fn home(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<Value, ServiceError> {
    let view = entries::home(source, session).await?;
    let open = service::list_open_runs(session).await?;
    let open: Vec<_> = open.iter().map(OpenRunJson::new).collect();
    let pending = view.pending.iter();
    let pending =
        pending.map(|(lane, number)| (InboxLane::name(*lane).to_owned(), (*number).into()));
    Ok(json!({
        "counts": view.counts,
        "newest": row_documents(&view.newest),
        "open_runs": value(&open),
        "pending": Value::Object(pending.collect()),
    }))
}

async fn list(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    query: &EntryListQuery,
) -> Result<Value, ServiceError> {
    let view = entries::select(source, session, query).await?;
    Ok(json!({
        "items": row_documents(&view.rows),
        "total": view.total,
        "next": view.next,
    }))
}

async fn history(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    entry: &str,
) -> Result<Value, ServiceError> {
    let events = service::history(session, &source.reader()?, entry).await?;
    let events = events.iter().map(|it| value(&EventJson::new(&it.event)));
    Ok(events.collect())
}

async fn neighbors(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    entry: &str,
) -> Result<Value, ServiceError> {
    let view = entries::neighbors(source, session, entry).await?;
    let neighbors = view.neighbors.iter().map(
        |it| json!({ "id": it.id, "title": it.title, "relation": it.label, "weight": it.weight }),
    );
    Ok(json!({
        "entry": value(&EntryJson::new(&view.entry)),
        "anchors": view.anchors,
        "neighbors": neighbors.collect::<Value>(),
        "shown_runs": view.shown_runs,
    }))
}

async fn run_list(
    session: &mut WorkspaceSession,
    query: &RunListQuery,
) -> Result<Value, ServiceError> {
    let open = service::list_open_runs(session).await?;
    let open: Vec<_> = open.iter().map(OpenRunJson::new).collect();
    let mut past = service::list_past_runs(session).await?;
    past.retain(|it| {
        let wanted = query.outcome.as_ref();
        wanted.is_none_or(|wanted| *wanted == it.outcome_label())
    });
    let past: Vec<_> = past.iter().map(PastRunJson::new).collect();
    Ok(json!({ "open": value(&open), "past": value(&past) }))
}

async fn run_document(session: &mut WorkspaceSession, id: &str) -> Result<Value, ServiceError> {
    let details = service::show_run(session, id).await?;
    Ok(match (&details.notes, &details.past) {
        (Some(notes), _) => value(&OpenRunJson::new(notes)),
        (None, Some(past)) => value(&PastRunJson::new(past)),
        (None, None) => Value::Null,
    })
}

async fn norms(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    path: Option<&RepoPath>,
) -> Result<Value, ServiceError> {
    let view = entries::norms(source, session, path).await?;
    Ok(row_documents(view.norms.iter().map(|it| &it.row)))
}

async fn people(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<Value, ServiceError> {
    let view = entries::people(source, session).await?;
    let summary = |it: &SourceSummary| {
        json!({
            "source": it.source.to_string(),
            "live": it.live,
            "verified": it.verified,
            "retracted_as_false": it.retracted_as_false,
            "all": it.all,
            "is_revoked": it.is_revoked,
        })
    };
    let all = |sources: &[SourceSummary]| sources.iter().map(summary).collect::<Value>();
    Ok(json!({ "authors": all(&view.authors), "origins": all(&view.origins) }))
}

async fn impact(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<Value, ServiceError> {
    let report = service::measure_impacts(session, &source.reader()?).await?;
    let items = report.entries.iter();
    let items = items.map(|(entry, impact)| json!({ "id": entry.id, "impact": impact }));
    Ok(json!({ "all": report.all, "items": items.collect::<Value>() }))
}

/// Returns the JSON document of the inbox.
pub(super) fn inbox(view: &ReviewView) -> Value {
    let entry = |entry: &Entry| value(&EntryJson::new(entry));
    let events = view.events.iter().map(|it| {
        json!({
            "event": it.id,
            "type": it.type_name,
            "author": it.author,
            "pusher": it.pusher,
            "at": it.at,
            "reason": it.reason,
            "entry": it.entry,
            "line": it.raw,
        })
    });
    let entries = view.entries.iter().map(|it| {
        json!({
            "entry": entry(&it.row.entry),
            "findings": it.findings,
            "needs_approval": it.needs_approval,
        })
    });
    let approvals = view.approvals.iter().map(|it| {
        json!({
            "entry": entry(&it.row.entry),
            "reason": it.reason,
            "digest": it.digest,
            "authors": it.authors,
            "previous": it.previous,
        })
    });
    json!({
        "quarantined_events": events.collect::<Value>(),
        "quarantined_entries": entries.collect::<Value>(),
        "approvals": approvals.collect::<Value>(),
    })
}
