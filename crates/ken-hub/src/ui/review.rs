//! The inbox of a workspace: what waits for a curator, and their decisions.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ken_core::ledger::entry::Entry;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::Note;
use ken_ui::hub::{
    ApprovalLine, HubOverview, QuarantinedEntryLine, QuarantinedEventLine, ReviewView,
    json_response, review_page, wants_json, workspace_base,
};
use ken_ui::view::{EntryRow, statement_of};

use super::documents;
use super::entries::row;
use super::session::{PageSession, keep_notice, see_other};
use crate::api::AppState;
use crate::api::body::PathParams;
use crate::api::caller::{AtLeastCurator, RequireWorkspaceRole};
use crate::api::problem::{Kind, Problem};
use crate::service::{
    self, ApprovalQueueItem, ApprovalRequest, ReleaseMethod, ServiceError, WorkspaceSession,
};

/// Maximum items per list of the inbox.
const ITEMS_MAX: u32 = 100;

/// Shows what waits in a workspace.
pub(super) async fn show(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    headers: HeaderMap,
    PathParams(name): PathParams<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let context = app.service_context();
    let begun = WorkspaceSession::begin(&app.database, &context, access.caller, access.workspace);
    let mut work = begun.await?;
    let view = load(&mut work).await?;
    work.commit().await?;
    if wants_json(&headers, query.as_deref()) {
        return Ok(json_response(StatusCode::OK, &documents::inbox(&view)));
    }
    let mut frame = session.frame();
    frame.hub = HubOverview {
        workspace: Some(name.clone()),
        ..frame.hub
    };
    frame.organization.clone_from(&name);
    Ok(review_page(&frame, &name, &view).respond(&frame, &headers, StatusCode::OK))
}

async fn load(session: &mut WorkspaceSession) -> Result<ReviewView, ServiceError> {
    let now = session.now();
    let mut view = ReviewView::default();
    for held in service::list_quarantined_events(session, None, ITEMS_MAX).await? {
        let event = &held.copy.event;
        let entry = event.entries().next();
        let current = match entry {
            Some(id) => current_statement(session, id).await?,
            None => None,
        };
        view.events.push(QuarantinedEventLine {
            id: event.id,
            type_name: event.body.type_name().to_owned(),
            author: event.by.to_string(),
            pusher: held.pusher.actor.clone(),
            at: held.at,
            reason: held.finding.clone(),
            entry,
            current,
            proposed: statement_of(&event.body),
            raw: held.copy.line().to_owned(),
        });
    }
    for held in service::list_quarantined_entries(session, None, ITEMS_MAX).await? {
        view.entries.push(QuarantinedEntryLine {
            findings: held.findings.iter().cloned().collect(),
            needs_approval: held.release_method == ReleaseMethod::Approve,
            row: row(held.entry, now),
        });
    }
    let queue = service::load_approval_queue(session).await?;
    for (items, reason) in [
        (queue.pending, "quarantined until approved"),
        (queue.promoted, "promoted to the organization in a clone"),
    ] {
        for item in items {
            let line = approval(session, item, reason).await?;
            view.approvals.push(line);
        }
    }
    // An entry that an approval releases is listed once, with its approval.
    let approvals = &view.approvals;
    view.entries.retain(|held| {
        let id = held.row.entry.id;
        !held.needs_approval || !approvals.iter().any(|it| it.row.entry.id == id)
    });
    for item in queue.candidates {
        view.approvals.push(ApprovalLine {
            reason: "eligible for the whole organization because of its outcomes",
            digest: item.artifact,
            authors: Vec::new(),
            previous: previous_statement(session, &item.entry).await?,
            row: EntryRow {
                entry: item.entry,
                facts: item.facts,
                hit: None,
            },
        });
    }
    Ok(view)
}

async fn approval(
    session: &mut WorkspaceSession,
    item: ApprovalQueueItem,
    reason: &'static str,
) -> Result<ApprovalLine, ServiceError> {
    let now = session.now();
    Ok(ApprovalLine {
        reason,
        digest: item.artifact,
        authors: item.authors.iter().map(ToString::to_string).collect(),
        previous: previous_statement(session, &item.entry).await?,
        row: row(item.entry, now),
    })
}

async fn current_statement(
    session: &mut WorkspaceSession,
    id: EntryId,
) -> Result<Option<String>, ServiceError> {
    let found = session.tx.entry(id).await?;
    let statement = found.map(|it| it.statement_text().to_owned());
    Ok(statement.filter(|it| !it.is_empty()))
}

/// Returns the statement before the last edit, if there was one.
async fn previous_statement(
    session: &mut WorkspaceSession,
    entry: &Entry,
) -> Result<Option<String>, ServiceError> {
    let events = session.tx.history(entry.id).await?;
    let statements = events.iter().filter_map(|it| statement_of(&it.event.body));
    let mut statements: Vec<String> = statements.collect();
    statements.retain(|it| it != entry.statement_text());
    Ok(statements.pop())
}

/// Decisions of a curator.
const ACTIONS: [&str; 6] = [
    "approve",
    "decline",
    "release-entry",
    "discard-entry",
    "release-event",
    "discard-event",
];

/// Carries out a decision and returns to the inbox.
pub(super) async fn decide(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
    Extension(session): Extension<PageSession>,
    PathParams((name, action)): PathParams<(String, String)>,
) -> Result<Response, Problem> {
    if !ACTIONS.contains(&action.as_str()) {
        return Err(Problem::not_found("form"));
    }
    let workspace = access.workspace;
    let context = app.service_context();
    let begun = WorkspaceSession::begin(&app.database, &context, access.caller, workspace);
    let mut work = begun.await?;
    let done = carry_out(&mut work, &action, &session).await?;
    work.commit().await?;
    app.log_notifier.notify(workspace);
    keep_notice(&app, &session, &done).await?;
    Ok(see_other(&format!("{}/inbox", workspace_base(&name))))
}

async fn carry_out(
    work: &mut WorkspaceSession,
    action: &str,
    session: &PageSession,
) -> Result<String, Problem> {
    let form = &session.form;
    let subject = form.text("subject").unwrap_or_default();
    let reason = form.text("reason").map(str::parse::<Note>).transpose();
    let reason = reason.map_err(|error| Problem::invalid(error.to_string()))?;
    let event = || {
        let id = subject.parse::<EventId>();
        id.map_err(|_| Problem::not_found("quarantined event"))
    };
    Ok(match action {
        "approve" => {
            let request = ApprovalRequest {
                artifact: form.text("digest").unwrap_or_default().to_owned(),
                signature: None,
                overrides: form.text("override").is_some(),
            };
            let entry = service::approve(work, subject, request).await?;
            format!("{} is approved.", entry.id)
        }
        "decline" => {
            let entry = service::reject(work, subject, reason).await?;
            format!("{} is declined.", entry.id)
        }
        "release-entry" => {
            let entry = service::release_entry(work, subject, reason).await?;
            format!("{} is released.", entry.id)
        }
        "discard-entry" => {
            let entry = service::discard_entry(work, subject, reason).await?;
            format!("{} is discarded.", entry.id)
        }
        "release-event" => {
            service::release_event(work, event()?).await?;
            "The event is in the log.".to_owned()
        }
        "discard-event" => {
            service::discard_event(work, event()?).await?;
            "The event is deleted.".to_owned()
        }
        _ => return Err(Problem::new(Kind::NotFound, "there is no such form")),
    })
}
